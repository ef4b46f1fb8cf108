"""Values of table properties: those that engines write and read, and those that none reads."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.delta.table_properties import FORMS

READ = (
    ("delta.appendOnly", "TRUE"),
    ("delta.enableDeletionVectors", "false"),
    ("delta.logRetentionDuration", "interval 30 days"),
    ("delta.logRetentionDuration", "INTERVAL 1 WEEK 2 HOURS"),
    ("delta.logRetentionDuration", "30 days"),
    ("delta.logRetentionDuration", "interval 3 months"),
    ("delta.deletedFileRetentionDuration", "interval '7' day"),
    ("delta.deletedFileRetentionDuration", "PT168H"),
    ("delta.deletedFileRetentionDuration", "interval 0 hours"),
    ("delta.checkpointInterval", "10"),
    ("delta.dataSkippingNumIndexedCols", "-1"),
    ("delta.isolationLevel", "WriteSerializable"),
    ("delta.parquet.compression.codec", "ZSTD"),
    ("delta.parquet.format.version", "2.12.0"),
)
NOT_READ = (
    ("delta.appendOnly", "yes"),
    ("delta.enableChangeDataFeed", " true"),
    ("delta.logRetentionDuration", "soon"),
    ("delta.deletedFileRetentionDuration", "7"),
    ("delta.checkpointInterval", "0"),
    ("delta.dataSkippingNumIndexedCols", "all"),
    ("delta.isolationLevel", "Snapshot"),
    ("delta.parquet.compression.codec", "fast"),
    ("delta.parquet.format.version", "3.0"),
)


@pytest.mark.parametrize(("name", "value"), READ)
def test_value_that_engines_read_fits(name: str, value: str):
    assert FORMS[name].fits(value)


@pytest.mark.parametrize(("name", "value"), NOT_READ)
def test_value_that_no_engine_reads_does_not_fit(name: str, value: str):
    assert not FORMS[name].fits(value)
