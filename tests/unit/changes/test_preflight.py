"""The preflight of changes: plans and refusals name the engines that are locked out, and a policy refuses."""

from __future__ import annotations

import json
import time

import pytest

from airflow_delta_provider.domain.changes.enable_features import plan_enabling
from airflow_delta_provider.domain.changes.lockouts import lockouts
from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.changes.preflight import Preflight, affects_engines, demands_after, with_lockouts
from airflow_delta_provider.domain.changes.steps import ColumnType, InOneCommit, SetProperties, WidenColumns
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_features import demands_of
from airflow_delta_provider.domain.engine.fleet import Fleet, RecentWriter, RecentWriters, TableFleet
from airflow_delta_provider.domain.report.report import Severity
from airflow_delta_provider.domain.request.change_options import EnableFeatureOptions
from airflow_delta_provider.jobs.migrations.planning import preflight_of
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Table
from tests.unit.states import ENGINE, LEGACY, TABLE, WIDENING, field, state_of, struct

STATE = state_of(struct(field("a", "integer")), protocol=LEGACY)
NOW = demands_of(STATE.protocol, STATE.metadata)
NOBODY = RecentWriters(days=7)
LEGACY_4 = ["appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"]
POLICY = {"must_stay_writable_by": ["deltalake 1.4.0"]}


def fleet(wire):
    return Fleet.parse(wire).on(lambda pattern: pattern == "*")


def planned(*features, allow=False):
    options = EnableFeatureOptions(features=features, allow_protocol_upgrade=allow)
    return plan_enabling(TABLE, options, STATE, ENGINE)


def recent(*names):
    now = demands_of(STATE.protocol, STATE.metadata)
    made = [RecentWriter(name=name, commits=3, first=1, last=9, managed=now) for name in names]
    return RecentWriters(days=7, writers=tuple(made))


def checked(made, writers, known=TableFleet()):  # noqa: B008 - it is never changed
    cleared = with_lockouts(made.plan, made.refusals, Preflight.of(made.plan, STATE, known, writers))
    assert cleared.undecided == ()
    return cleared.plan, cleared.refusals


def test_kept_engines_that_would_damage_the_table_come_before_those_that_would_be_locked_out():
    own = [
        {"engine": "Alpha", "releases": [{"writes": ["appendOnly", "invariants"], "refuses": ["rowTracking"]}]},
        {"engine": "Beta", "releases": [{"writes": ["appendOnly", "invariants"], "miswrites": ["rowTracking"]}]},
    ]
    known = fleet({"profiles": own, "must_stay_writable_by": ["Alpha", "Beta"]})
    made = planned("rowTracking", allow=True)
    refusals = with_lockouts(made.plan, made.refusals, Preflight.of(made.plan, STATE, known, NOBODY)).refusals
    assert [(finding.code, finding.subject) for finding in refusals] == [("CP03", "Beta"), ("CP02", "Alpha")]


def test_the_refusal_of_an_upgrade_names_engines_that_misread_the_table_before_those_that_are_locked_out():
    (refusal,) = planned("variantShredding").refusals
    assert refusal.effect.startswith("Engines that are known to misread the table then, without an error: delta-rs")
    assert "Readers and writers that do not support the added features are locked out." in refusal.effect


def test_the_refusal_of_an_upgrade_names_the_recent_writers_first():
    plan, (refusal,) = checked(planned("rowTracking"), recent("delta-rs 1.4.0", "Delta Spark 4.4.0"))
    assert refusal.code == "RQ09"
    assert refusal.effect.startswith(
        "Recent writers that would be locked out: delta-rs 1.4.0. "
        "delta-rs 1.4.0 wrote 3 commits in the last 7 days, most recently version 9. It would be locked out of writing"
    )
    assert "known not to write it then" in refusal.effect
    assert refusal.effect in refusal.message
    assert "Delta Spark 4.4.0" not in refusal.effect
    assert plan.notes[-1].startswith("delta-rs 1.4.0 wrote")
    assert plan.digest == planned("rowTracking").plan.digest


def test_what_is_allowed_goes_on_with_a_note_unless_a_policy_forbids_it():
    plan, refusals = checked(planned("rowTracking", allow=True), recent("delta-rs 1.4.0"))
    assert refusals == ()
    assert len(plan.notes) == 1
    plan, (refusal,) = checked(planned("rowTracking", allow=True), NOBODY, fleet(POLICY))
    assert (refusal.code, refusal.subject) == ("CP02", "delta-rs 1.4.0")
    assert checked(planned("appendOnly", "changeDataFeed", allow=True), NOBODY, fleet(POLICY))[1] == ()


def test_with_a_fleet_file_a_recent_writer_keeps_its_access_unless_the_policy_leaves_it_out():
    made, old = planned("rowTracking", allow=True), recent("delta-rs 1.4.0")
    plan, (refusal,) = checked(made, old, fleet({"must_stay_readable_by": ["Trino"]}))
    assert (refusal.code, refusal.subject) == ("CP02", "delta-rs 1.4.0")
    assert refusal.evidence.startswith("delta-rs 1.4.0 wrote 3 commits in the last 7 days")
    assert "Or declare it in the fleet file" in refusal.message
    for version in ({"version": "1.4.0"}, {}):
        declared = {"engine": "deltalake", "writes": True, **version}
        assert [f.code for f in checked(made, old, fleet({"engines": [declared]}))[1]][:1] == ["CP02"]
        left_out = fleet({"engines": [declared], "must_stay_readable_by": ["Trino"]})
        plan, refusals = checked(made, old, left_out)
        assert refusals == ()
        assert any("deltalake" in note or "delta-rs 1.4.0" in note for note in plan.notes)
        found = lockouts(NOW, demands_after(made.plan, STATE), left_out, old)
        assert {f.severity for f in found} == {Severity.WARNING}, "as check-compatibility reports"


def test_unknown_support_of_an_undeclared_recent_writer_withholds_the_change():
    made = planned("typeWidening", allow=True)
    known = fleet({"must_stay_readable_by": ["Delta Spark 4.4.0"]})
    preflight = Preflight.of(made.plan, STATE, known, recent("Delta Spark 0.1"))
    (finding,) = with_lockouts(made.plan, (), preflight).undecided
    assert (finding.code, finding.subject) == ("CP04", "Delta Spark 0.1")
    assert "Or declare it in the fleet file" in finding.message


def test_a_declared_engine_that_need_not_stay_is_noted():
    known = fleet({"engines": [{"engine": "Trino", "writes": True}], "must_stay_readable_by": ["Trino"]})
    plan, refusals = checked(planned("rowTracking", allow=True), NOBODY, known)
    assert refusals == ()
    assert plan.notes[0].startswith("Trino is declared to read and write this table. It would be locked out of writing")


@pytest.mark.parametrize("wrapped", [False, True])
def test_type_changes_count_where_the_protocol_stays(wrapped):
    before = state_of(struct(field("a", "integer")), protocol=WIDENING)
    step = WidenColumns((ColumnType(("a",), "INT", "BIGINT"),))
    plan = Plan(TABLE, (InOneCommit((step,)) if wrapped else step,), before.protocol, before.protocol)
    assert affects_engines(plan, before)
    (found,) = Preflight.of(plan, before, fleet({"must_stay_readable_by": ["Delta Spark 3.3.2"]}), NOBODY).found
    assert (found.code, found.subject) == ("CP01", "Delta Spark 3.3.2")


def test_the_log_is_read_only_where_a_plan_may_lock_engines_out(tmp_path, monkeypatch):
    table = OnDisk(tmp_path / "t", Table(field("id", "long")))
    file = table.log / f"{1:020d}.json"
    info = {"timestamp": int(time.time() * 1000), "engineInfo": "delta-rs:py-1.4.0", "operation": "WRITE"}
    file.write_text(json.dumps({"commitInfo": info}))
    head = table.opened.log.read_state()
    made = planned("rowTracking")
    found = preflight_of(table.opened, made.plan, head, None)
    (refusal,) = with_lockouts(made.plan, made.refusals, found).refusals
    assert "delta-rs 1.4.0 wrote 1 commit in the last 7 days" in refusal.message
    nothing = Plan(TABLE, (), head.protocol, head.protocol)
    monkeypatch.setattr(table.opened.log, "read_files", lambda names: pytest.fail("read"))
    assert preflight_of(table.opened, nothing, head, POLICY) == Preflight()
    cleared = with_lockouts(nothing, (), Preflight())
    assert (cleared.plan, cleared.refusals, cleared.undecided) == (nothing, (), ())


UNKNOWN = {
    "an engine about which nothing is known": (
        {"profiles": [{"engine": "Acme", "releases": [{"reads": ["columnMapping"]}]}]},
        "Acme",
        "Acme",
    ),
    "a release that its profile does not cover": ({}, "Delta Spark 0.1", "Delta Spark 0.1"),
    "an engine without a version, whose releases differ": ({}, "delta-rs", "delta-rs"),
    "a name of one's own": (
        {"engines": [{"engine": "deltalake", "name": "nightly export"}]},
        "nightly export",
        "NIGHTLY EXPORT",
    ),
}


@pytest.mark.parametrize(("wire", "engine", "accepted"), UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_support_of_an_engine_that_must_stay_withholds_the_change_until_it_is_accepted(wire, engine, accepted):
    made, known = planned("typeWidening", allow=True), fleet({**wire, "must_stay_readable_by": [engine]})
    preflight = Preflight.of(made.plan, STATE, known, NOBODY)
    cleared = with_lockouts(made.plan, made.refusals, preflight)
    (finding,) = cleared.undecided
    assert (cleared.refusals, finding.code, finding.severity) == ((), "CP04", Severity.UNDECIDED)
    assert f"{finding.subject} must stay able to read" in finding.message
    assert ("Its version is not known, and not every release" in finding.message) == (
        engine in ("delta-rs", "nightly export")
    )
    assert f"accept_unknown=['{finding.subject}']" in finding.message
    assert with_lockouts(made.plan, made.refusals, preflight, ["another"]).undecided == cleared.undecided
    cleared = with_lockouts(made.plan, made.refusals, preflight, [accepted])
    assert cleared.undecided == cleared.refusals == ()
    assert f"accepts that the support of {finding.subject} is unknown" in cleared.plan.notes[-1]


def test_accepting_that_support_is_unknown_allows_no_known_lockout():
    made, known = planned("rowTracking", allow=True), fleet(POLICY)
    preflight = Preflight.of(made.plan, STATE, known, NOBODY)
    (refusal,) = with_lockouts(made.plan, made.refusals, preflight, ["deltalake 1.4.0"]).refusals
    assert refusal.code == "CP02"


def test_a_recent_writer_that_cannot_go_on_writing_does_not_hide_that_its_reading_is_unknown():
    release = {"writes": ["appendOnly", "invariants"], "refuses_writing": ["typeWidening"]}
    acme = {"engine": "Acme", "releases": [release]}
    known = fleet({"profiles": [acme], "must_stay_readable_by": ["Acme"]})
    made = planned("typeWidening", allow=True)
    cleared = with_lockouts(made.plan, (), Preflight.of(made.plan, STATE, known, recent("Acme")))
    assert [finding.code for finding in cleared.undecided] == ["CP04"]


def test_demands_that_cannot_be_read_withhold_the_change_from_engines_that_must_stay():
    state = state_of(struct(field("a", "long", delta__typeChanges="long")), protocol=WIDENING)
    step = WidenColumns((ColumnType(("a",), "INT", "BIGINT"),))
    plan = Plan(TABLE, (step,), state.protocol, state.protocol)
    preflight = Preflight.of(plan, state, fleet({"must_stay_readable_by": ["Delta Spark 4.4.0"]}), NOBODY)
    (finding,) = with_lockouts(plan, (), preflight).undecided
    assert "type changes of the table cannot be read" in finding.message
    assert with_lockouts(plan, (), preflight, ["Delta Spark"]).undecided == ()


def test_a_feature_that_is_put_to_use_counts_though_the_protocol_stays():
    state = state_of(struct(field("a", "integer")), protocol=Protocol(1, 4))
    plan = Plan(TABLE, (SetProperties((("delta.enableChangeDataFeed", "true"),)),), state.protocol, state.protocol)
    acme = {"engine": "Acme", "releases": [{"lists_all": True, "writes_unused": LEGACY_4}]}
    known = fleet({"profiles": [acme], "must_stay_writable_by": ["Acme"]})
    assert affects_engines(plan, state)
    (refusal,) = with_lockouts(plan, (), Preflight.of(plan, state, known, NOBODY)).refusals
    assert (refusal.code, refusal.facts["features"]) == ("CP02", ["changeDataFeed"])
    harmless = Plan(TABLE, (SetProperties((("team", "sales"),)),), state.protocol, state.protocol)
    assert not affects_engines(harmless, state)
