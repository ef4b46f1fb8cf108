"""Stops Spark's work when the time for a table is over."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from pyspark.sql import SparkSession

from airflow_delta_provider.jobs.process.time_budget import OutOfTimeError, TimeBudget

#: Seconds between two attempts to cancel Spark's work: an action may run several jobs in sequence.
_AGAIN = 0.2
_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@contextmanager
def limited(spark: SparkSession, budget: TimeBudget) -> Iterator[None]:
    """Cancel Spark's work for this thread when the time is over.

    :raises OutOfTimeError: if work was cancelled
    """
    left = budget.left
    if left is None:
        yield
        return
    context, group, done = spark.sparkContext, f"airflow-delta-provider {uuid.uuid4().hex}", Event()

    def cancel() -> None:
        wait = max(left, 0)
        while not done.wait(wait):
            context.cancelJobGroup(group)
            wait = _AGAIN

    before = [context.getLocalProperty(name) for name in _GROUP]
    context.setJobGroup(group, before[1] or "", interruptOnCancel=True)
    watch = Thread(target=cancel, daemon=True)
    watch.start()
    try:
        yield
    except Exception as error:
        if budget.is_spent:
            raise OutOfTimeError from error
        raise
    finally:
        done.set()
        watch.join()
        with suppress(Exception):  # a session that has ended must not hide the result
            for name, value in zip(_GROUP, before):
                context.setLocalProperty(name, value)  # None removes it
