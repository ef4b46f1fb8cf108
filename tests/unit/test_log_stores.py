"""Every kind that changes tables can be told that nobody else writes, and is asked whether that is so."""

from __future__ import annotations

import dataclasses

import pytest

from airflow_delta_provider.domain.changes.commit.log_stores import check_log_store
from airflow_delta_provider.domain.request.kinds import OPTIONS
from airflow_delta_provider.jobs.run.command_line.main import COMMANDS


@pytest.mark.parametrize("kind", [command.kind for command in COMMANDS.values() if command.changes])
def test_every_change_can_be_allowed_where_the_log_store_does_not_keep_writers_apart(kind):
    assert "allow_unsafe_log_store" in {field.name for field in dataclasses.fields(OPTIONS[kind])}


@pytest.mark.parametrize(
    ("location", "safe"),
    [("hdfs://n/t", True), ("abfss://c@a/t", True), ("file:/t", True), ("s3a://b/t", False), ("gs://b/t", False)],
)
def test_store_of_a_mounted_place_is_judged_by_where_that_lies(location, safe):
    refusal = check_log_store("viewfs://lake/t", location, "io.delta.storage.HDFSLogStore", allow_unsafe=False)
    assert (refusal is None) is safe
    assert refusal is None or "viewfs://lake/t" in refusal.message
