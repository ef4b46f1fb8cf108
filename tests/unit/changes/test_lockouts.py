"""Engines that a table locks out: CP01 to CP09, without false alarms."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_delta_provider.domain.changes.lockouts import (
    check_known,
    check_probe,
    check_table,
    check_window,
    lockouts,
    outcomes,
)
from airflow_delta_provider.domain.delta.features.columns import TypeChange
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_features import demands_of
from airflow_delta_provider.domain.engine.fleet import Fleet, RecentWriter, RecentWriters, TableFleet
from airflow_delta_provider.domain.report.answers import Probe
from tests.unit.states import field, metadata_of, struct

LEGACY = Protocol(1, 2)
NOW = demands_of(LEGACY)


def demands(*features, changes=()):
    return demands_of(LEGACY.supporting(features), planned=changes)


def fleet(**wire):
    return Fleet.parse(wire).on(lambda pattern: pattern == "*")


def writers(*names, managed=NOW, first=10, last=20, commits=41):
    made = [RecentWriter(name=n, commits=commits, first=first, last=last, managed=managed) for n in names]
    return RecentWriters(days=7, writers=tuple(made), since=3)


NOBODY, NO_FLEET = RecentWriters(days=7), TableFleet()


def told(findings):
    return [(finding.code, finding.severity.value, finding.subject) for finding in findings]


def test_a_recent_writer_that_a_feature_would_lock_out_is_an_error_with_its_commits():
    (finding,) = lockouts(NOW, demands("rowTracking"), NO_FLEET, writers("delta-rs 1.4.0", "Delta Spark 4.4.0"))
    assert told([finding]) == [("CP02", "ERROR", "delta-rs 1.4.0")]
    assert finding.evidence.startswith(
        "delta-rs 1.4.0 wrote 41 commits in the last 7 days, most recently version 20. "
        "It would be locked out of writing by domainMetadata, rowTracking ("
    )
    assert finding.facts["commits"] == 41


def test_what_an_engine_managed_to_write_is_not_held_against_it():
    tracked = demands("rowTracking")
    assert lockouts(None, tracked, NO_FLEET, writers("delta-rs 1.4.0", managed=tracked)) == ()
    assert lockouts(None, tracked, NO_FLEET, writers("Delta Spark 99.0", managed=tracked)) == ()
    assert told(lockouts(None, tracked, NO_FLEET, writers("delta-rs 1.4.0"))) == [("CP02", "ERROR", "delta-rs 1.4.0")]
    unknown_then = lockouts(None, tracked, NO_FLEET, writers("delta-rs 1.4.0", managed=None))
    assert told(unknown_then) == [("CP02", "ERROR", "delta-rs 1.4.0")]


def test_an_engine_that_writes_what_it_disregards_is_an_error_although_it_managed_to():
    clustered = demands("clustering")
    found = lockouts(None, demands_of(Protocol(1, 7, None, frozenset({"clustering"}))), NO_FLEET, NOBODY)
    assert found == ()
    only = demands_of(Protocol(1, 7, None, frozenset({"clustering"})))
    found = lockouts(None, only, NO_FLEET, writers("delta-rs 0.25.5", managed=only))
    assert told(found) == [("CP03", "ERROR", "delta-rs 0.25.5")]
    assert told(lockouts(NOW, clustered, NO_FLEET, writers("delta-rs 0.25.5"))) == [
        ("CP02", "ERROR", "delta-rs 0.25.5")  # domainMetadata, which it refuses
    ]


def test_a_release_that_a_later_one_replaced_is_a_warning():
    old = RecentWriter(name="Delta Spark 3.1.0", commits=5, first=1, last=5, managed=NOW)
    new = RecentWriter(name="Delta Spark 4.4.0", commits=9, first=6, last=14, managed=NOW)
    both = RecentWriters(days=7, writers=(new, old), since=1)
    (finding,) = lockouts(NOW, demands("rowTracking"), NO_FLEET, both)
    assert told([finding]) == [("CP02", "WARNING", "Delta Spark 3.1.0")]
    assert ", and Delta Spark 4.4.0 since. It would" in finding.evidence
    together = RecentWriter(name="Delta Spark 4.4.0", commits=9, first=4, last=14, managed=NOW)
    (finding,) = lockouts(NOW, demands("rowTracking"), NO_FLEET, RecentWriters(days=7, writers=(together, old)))
    assert told([finding]) == [("CP02", "ERROR", "Delta Spark 3.1.0")]


def test_a_version_that_no_profile_knows_is_undecided_where_a_feature_is_added():
    found = lockouts(NOW, demands("rowTracking"), NO_FLEET, writers("delta-rs 1.9.0", "DuckDB"))
    # DuckDB's releases differ
    assert told(found) == [("CP04", "UNDECIDED", "delta-rs 1.9.0"), ("CP04", "UNDECIDED", "DuckDB")]
    assert lockouts(NOW, NOW, NO_FLEET, writers("delta-rs 1.9.0")) == ()


@pytest.mark.parametrize(("name", "words"), [(None, "does not sign"), ("Acme Loader 7.1", "no profile of Acme Loader")])
def test_a_writer_that_is_not_known_is_undecided_for_a_change_and_a_warning_without_one(name, words):
    (finding,) = lockouts(NOW, demands("rowTracking"), NO_FLEET, writers(name))
    assert told([finding]) == [("CP05", "UNDECIDED", name)]
    assert words in finding.evidence
    assert told(lockouts(None, NOW, NO_FLEET, writers(name))) == [("CP05", "WARNING", name)]
    assert told(lockouts(None, demands("rowTracking"), NO_FLEET, writers(name))) == [("CP05", "UNDECIDED", name)]
    assert lockouts(NOW, NOW, NO_FLEET, writers(name)) == ()
    assert told(check_table(NOW, demands("rowTracking"), NO_FLEET, writers(name))) == [("CP05", "UNDECIDED", name)]


def test_a_profile_of_the_fleet_decides_for_a_writer_of_ones_own():
    own = {"engine": "Acme Loader", "releases": [{"version": "7.1", "writes": ["rowTracking", "domainMetadata"]}]}
    declared = fleet(profiles=[own])
    assert lockouts(NOW, demands("rowTracking"), declared, writers("Acme Loader 7.1")) == ()
    assert told(lockouts(NOW, demands("clustering"), declared, writers("Acme Loader 7.1"))) == [
        ("CP04", "UNDECIDED", "Acme Loader 7.1")
    ]


def test_policy_makes_errors_and_what_is_only_declared_warnings():
    declared = fleet(
        engines=[{"engine": "deltalake", "version": "1.4.0", "writes": True}, {"engine": "Polars", "version": "2.1.0"}],
        must_stay_readable_by=["deltalake"],
    )
    found = lockouts(NOW, demands("rowTracking"), declared, NOBODY)
    assert told(found) == [("CP02", "WARNING", "delta-rs 1.4.0")]
    assert found[0].evidence.startswith("delta-rs 1.4.0 is declared to read and write this table. It would be")
    found = lockouts(NOW, demands("columnMapping"), declared, NOBODY)
    assert [(code, severity) for code, severity, _ in told(found)] == [
        ("CP04", "UNDECIDED"),  # its ways of reading differ
        ("CP02", "WARNING"),
        ("CP01", "WARNING"),
    ]


def test_without_a_policy_engines_have_to_stay_able_to_what_they_do():
    declared = fleet(engines=[{"engine": "Polars", "version": "2.1.0"}, {"engine": "Trino", "writes": "*"}])
    found = lockouts(NOW, demands("rowTracking"), declared, NOBODY)
    assert told(found) == [("CP02", "ERROR", "Trino")]
    assert told(lockouts(NOW, demands("typeWidening"), declared, NOBODY))[0] == ("CP01", "ERROR", "Polars 2.1.0")


def test_a_reader_is_not_asked_what_writers_need():
    declared = fleet(engines=[{"engine": "deltalake", "version": "1.6.6", "reads": True}])
    assert lockouts(NOW, demands("rowTracking", "clustering"), declared, NOBODY) == ()


def test_what_is_locked_out_already_is_not_named_by_a_change_that_adds_nothing_to_it():
    declared = fleet(must_stay_writable_by=["deltalake 1.4.0"])
    tracked = demands("rowTracking")
    assert told(lockouts(None, tracked, declared, NOBODY)) == [("CP02", "ERROR", "delta-rs 1.4.0")]
    assert lockouts(tracked, tracked, declared, NOBODY) == ()


def test_type_changes_lock_out_by_themselves():
    declared = fleet(must_stay_readable_by=["Delta Spark 3.3.2"])
    before, small = demands("typeWidening"), TypeChange("byte", "integer")
    assert lockouts(before, demands("typeWidening", changes=[small]), declared, NOBODY) == ()
    found = lockouts(before, demands("typeWidening", changes=[TypeChange("integer", "long")]), declared, NOBODY)
    assert told(found) == [("CP01", "ERROR", "Delta Spark 3.3.2")]
    assert "typeWidening: integer to long" in found[0].evidence


def test_an_engine_that_is_declared_and_wrote_is_named_once():
    declared = fleet(engines=[{"engine": "delta-rs", "version": "1.4.0", "name": "exports", "writes": True}])
    (finding,) = lockouts(NOW, demands("rowTracking"), declared, writers("delta-rs 1.4.0"))
    assert told([finding]) == [("CP02", "ERROR", "exports")]
    assert finding.evidence.startswith("exports wrote 41 commits")


def test_a_log_that_does_not_go_back_far_enough_is_said():
    short = RecentWriters(days=7, since=12, complete=False)
    assert told(check_window(short)) == [("CP06", "WARNING", None)]
    assert list(check_window(NOBODY)) == []


def test_of_a_change_of_a_table_that_nobody_is_known_to_use_nothing_is_known():
    assert told(check_known(NO_FLEET, NOBODY)) == [("CP09", "UNDECIDED", None)]
    assert list(check_known(NO_FLEET, writers("DuckDB"))) == []


def test_a_probe_that_is_refused_is_an_error_only_for_an_engine_that_has_to_stay():
    refused = Probe(engine="delta-rs", version="1.6.6", reads=False, message="unsupported: typeWidening")
    assert told(check_probe(refused, NO_FLEET, NOBODY)) == [("CP07", "WARNING", "delta-rs 1.6.6")]
    declared = fleet(must_stay_readable_by=["deltalake 1.6.6"])
    assert told(check_probe(refused, declared, NOBODY)) == [("CP07", "ERROR", "delta-rs 1.6.6")]
    undecided = Probe(engine="delta-rs", version=None, reads=None, message="the package deltalake is not installed")
    assert told(check_probe(undecided, declared, NOBODY)) == [("CP08", "WARNING", "delta-rs")]
    assert list(check_probe(Probe(engine="delta-rs", version="1.6.6", reads=True), declared, NOBODY)) == []


def test_outcomes_list_those_that_are_well_off_too():
    declared = fleet(engines=[{"engine": "BigQuery"}])
    listed = outcomes(demands("rowTracking"), declared, writers("delta-rs 1.4.0"))
    assert [(entry.engine, entry.outcome) for entry in listed] == [
        ("BigQuery", "OK"),
        ("delta-rs 1.4.0", "WRITE_LOCKED"),
    ]


def test_a_protocol_that_does_not_say_what_it_demands_is_undecided():
    broken = demands_of(Protocol(3, 7, None, frozenset({"deletionVectors"})))
    found = lockouts(None, broken, fleet(must_stay_readable_by=["Delta Spark 4.4.0"]), NOBODY)
    assert told(found) == [("CP04", "UNDECIDED", "Delta Spark 4.4.0")]
    assert "the protocol" in found[0].evidence


SPARK = fleet(engines=[{"engine": "Delta Spark", "version": "4.4.0"}])
NOT_NULL = metadata_of(struct(replace(field("id", "long"), nullable=False)))


def test_delta_spark_is_locked_out_of_a_table_that_uses_a_feature_without_listing_it():
    protocol = Protocol(3, 7, frozenset({"timestampNtz"}), frozenset({"timestampNtz"}))
    (finding,) = lockouts(None, demands_of(protocol, NOT_NULL), SPARK, NOBODY)
    assert finding.code == "CP01"
    assert "uses invariants without listing it" in finding.message
    assert lockouts(None, demands_of(protocol.supporting(["invariants"]), NOT_NULL), SPARK, NOBODY) == ()
    assert lockouts(None, demands_of(LEGACY, NOT_NULL), SPARK, NOBODY) == ()


@pytest.mark.parametrize(
    ("configuration", "listed", "unlisted"),
    [
        ({"delta.appendOnly": "true"}, "invariants", {"appendOnly"}),
        ({"delta.enableTypeWidening": "true"}, "typeWidening-preview", set()),
        ({"delta.enableRowTracking": "true"}, "invariants", {"rowTracking"}),
        ({"delta.constraints.positive": "id > 0"}, "invariants", {"checkConstraints"}),
    ],
)
def test_features_that_metadata_uses_and_lists_lack_are_named(configuration, listed, unlisted):
    protocol = Protocol(1, 7, None, frozenset({"invariants", listed}))
    metadata = replace(NOT_NULL, configuration=configuration)
    assert demands_of(protocol, metadata).unlisted == unlisted
