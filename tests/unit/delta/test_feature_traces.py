"""Traces of features in a history, and when they may be truncated."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from airflow_delta_provider.domain.delta.feature_traces import barrier, earliest_truncation, is_in_use, last_traces
from tests.unit.states import field, metadata_of, state_of, struct

PLAIN = struct(field("a", "long"))
WIDENED = struct(field("a", "long", delta__typeChanges=[{"fromType": "integer", "toType": "long"}]))
CLEAN = state_of(PLAIN, files=())


def meta(schema=PLAIN, **configuration):
    return [{"metaData": metadata_of(schema, {f"delta.{k}": v for k, v in configuration.items()}).to_json()}]


def added(vector):
    return [{"add": {"path": "f", "deletionVector": {"storageType": "i"} if vector else None}}]


@pytest.mark.parametrize(
    ("feature", "base", "commits", "expected"),
    [
        ("typeWidening", None, [meta(), added(False)], None),
        # Recorded in 1, still so in 2, clean from 3 on.
        ("typeWidening", None, [meta(), meta(WIDENED), added(False), meta(), []], 2),
        ("typeWidening", metadata_of(WIDENED), [added(False), meta()], 0),
        ("typeWidening-preview", metadata_of(PLAIN), [added(False), meta()], None),
        ("typeWidening", None, [meta(enableTypeWidening="true"), meta()], None),  # nothing was ever widened
        ("deletionVectors", None, [meta(enableDeletionVectors="true"), added(True), meta(), [{"remove": {}}]], 1),
        ("deletionVectors", None, [meta(), [{"remove": {"deletionVector": {"storageType": "i"}}}], []], 1),
        ("columnMapping", None, [meta(**{"columnMapping.mode": "name"}), [], meta()], 1),
        ("v2Checkpoint", None, [meta(checkpointPolicy="v2"), meta(checkpointPolicy="classic")], 0),
        ("vacuumProtocolCheck", None, [meta()], None),
    ],
)
def test_last_version_with_traces_is_found(feature, base, commits, expected):
    assert last_traces([feature], CLEAN, base, enumerate(commits)).get(feature) == expected


def test_traces_of_several_features_are_found_in_one_reading():
    mapped = {"columnMapping.mode": "name"}
    commits = [meta(WIDENED, **mapped), added(True), meta(**mapped), meta()]
    names = ["columnMapping", "deletionVectors", "typeWidening", "v2Checkpoint"]
    found = last_traces(names, CLEAN, None, enumerate(iter(commits)))
    assert found == {"columnMapping": 2, "deletionVectors": 1, "typeWidening": 1}


def test_history_that_tells_nothing_is_not_read():
    unread = ((version, pytest.fail("read")) for version in range(1))
    assert last_traces(["checkpointProtection", "vacuumProtocolCheck"], CLEAN, None, unread) == {}


def test_protection_of_checkpoints_ends_where_its_property_says():
    state = state_of(PLAIN, configuration={"delta.requireCheckpointProtectionBeforeVersion": "18"}, files=())
    assert last_traces(["checkpointProtection"], state, None, []) == {"checkpointProtection": 17}
    assert last_traces(["checkpointProtection"], CLEAN, None, []) == {}
    assert is_in_use("checkpointProtection", state)


def test_barrier_is_the_first_checkpoint_behind_the_traces():
    assert barrier(7, [3, 7, 8, 10]) == 8
    assert barrier(7, [3, 7]) is None


@pytest.mark.parametrize(
    ("written", "earliest"),
    [("10:00:00.000", "10:00"), ("10:00:00.001", "10:01"), ("10:00:59.999", "10:01"), ("23:59:30.000", "00:00")],
)
def test_history_may_be_truncated_from_the_next_full_minute_and_the_retention_on(written, earliest):
    time = datetime.fromisoformat(f"2026-03-01T{written}").replace(tzinfo=timezone.utc)
    found = earliest_truncation(time, timedelta(hours=24))
    assert f"{found:%H:%M}" == earliest
    assert (found.second, found.microsecond) == (0, 0)
    # As Delta decides: now minus the retention, cut to the minute, is not before the time of the file.
    for now in (found, found + timedelta(seconds=59), found - timedelta(milliseconds=1)):
        cutoff = (now - timedelta(hours=24)).replace(second=0, microsecond=0)
        assert (cutoff >= time) == (now >= found)


def test_malformed_metadata_in_a_commit_is_not_looked_into_for_features_without_traces():
    assert last_traces(["vacuumProtocolCheck"], CLEAN, None, [(0, [{"metaData": json.loads("{}")}])]) == {}
