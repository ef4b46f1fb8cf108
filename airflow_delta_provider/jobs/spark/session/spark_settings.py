"""Settings of a session that hold for a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set ``settings`` meanwhile; afterwards each is what it was before, or not set."""
    own = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, before in own.items():
            if before is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, before)
