"""Where Delta's log store keeps writers apart."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.changes.provider_commit import check_log_store


@pytest.mark.parametrize(
    ("location", "safe"),
    [("hdfs://n/t", True), ("abfss://c@a/t", True), ("file:/t", True), ("s3a://b/t", False), ("gs://b/t", False)],
)
def test_store_of_a_mounted_place_is_judged_by_where_that_lies(location, safe):
    refusal = check_log_store("viewfs://lake/t", location, "io.delta.storage.HDFSLogStore")
    assert (refusal is None) is safe
    assert refusal is None or "viewfs://lake/t" in refusal.message
