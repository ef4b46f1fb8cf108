"""How long the work on one table may take."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import TypeVar

from pyspark.sql import SparkSession

T = TypeVar("T")

#: Seconds between two attempts to cancel what Spark runs: an action may run one job after the other.
_AGAIN = 0.2
_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


class OutOfTimeError(Exception):
    """The time is over."""


class TimeBudget:
    """A time that begins with this object.

    :param seconds: how long it is; None where there is no end to it
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._started = monotonic()

    @property
    def is_spent(self) -> bool:
        """Whether it is over."""
        return self._left is not None and self._left <= 0

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Yield ``items`` as long as there is time.

        :raises OutOfTimeError: when there is none left for the next one
        """
        for item in items:
            if self.is_spent:
                raise OutOfTimeError
            yield item

    @contextmanager
    def limit(self, spark: SparkSession) -> Iterator[None]:
        """Cancel what Spark is doing for this thread when the time is over.

        :raises OutOfTimeError: if something was cancelled
        """
        left = self._left
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
            if self.is_spent:
                raise OutOfTimeError from error
            raise
        finally:
            done.set()
            watch.join()
            for name, value in zip(_GROUP, before):
                context.setLocalProperty(name, value)  # None takes it away

    @property
    def _left(self) -> float | None:
        return None if self.seconds is None else self._started + self.seconds - monotonic()
