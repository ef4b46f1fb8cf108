"""The preflight of changes: plans and refusals name the engines that are locked out, and a policy refuses."""

from __future__ import annotations

import json
import time

import pytest

from airflow_delta_provider.domain.changes.enable_features import plan_enabling
from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.changes.preflight import affects_engines, plan_lockouts, with_lockouts
from airflow_delta_provider.domain.changes.step import ColumnType, InOneCommit, WidenColumns
from airflow_delta_provider.domain.delta.demands import demands_of
from airflow_delta_provider.domain.engine.fleet import Fleet, TableFleet
from airflow_delta_provider.domain.engine.recent_writer import RecentWriter, RecentWriters
from airflow_delta_provider.domain.request.change_options import EnableFeatureOptions
from airflow_delta_provider.jobs.migrations.planning import locked_out
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Table
from tests.unit.states import ENGINE, LEGACY, TABLE, WIDENING, field, state_of, struct

STATE = state_of(struct(field("a", "integer")), protocol=LEGACY)
NOBODY = RecentWriters(days=7)
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
    found = plan_lockouts(made.plan, STATE, known, writers)
    return with_lockouts(made.plan, made.refusals, found, known)


def test_the_refusal_of_an_upgrade_names_the_recent_writers_first():
    plan, (refusal,) = checked(planned("rowTracking"), recent("delta-rs 1.4.0", "Delta Spark 4.4.0"))
    assert refusal.code == "RQ09"
    assert refusal.effect.startswith(
        "Recent writers that would be locked out: delta-rs 1.4.0. "
        "delta-rs 1.4.0 wrote 3 commits in the last 7 days, most recently version 9. It would be locked out of writing"
    )
    assert "Known not to write it then" in refusal.effect
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
    assert affects_engines(plan)
    (found,) = plan_lockouts(plan, before, fleet({"must_stay_readable_by": ["Delta Spark 3.3.2"]}), NOBODY)
    assert (found.code, found.subject) == ("CP01", "Delta Spark 3.3.2")


def test_the_log_is_read_only_where_a_plan_may_lock_engines_out(tmp_path, monkeypatch):
    table = OnDisk(tmp_path / "t", Table(field("id", "long")))
    file = table.log / f"{1:020d}.json"
    info = {"timestamp": int(time.time() * 1000), "engineInfo": "delta-rs:py-1.4.0", "operation": "WRITE"}
    file.write_text(json.dumps({"commitInfo": info}))
    head = table.opened.log.read_state()
    made = planned("rowTracking")
    found = locked_out(table.opened, made.plan, head, None)
    _, (refusal,) = with_lockouts(made.plan, made.refusals, found, TableFleet())
    assert "delta-rs 1.4.0 wrote 1 commit in the last 7 days" in refusal.message
    nothing = Plan(TABLE, (), head.protocol, head.protocol)
    monkeypatch.setattr(table.opened.log, "read_files", lambda names: pytest.fail("read"))
    assert locked_out(table.opened, nothing, head, POLICY) == ()
    assert with_lockouts(nothing, (), (), fleet(POLICY)) == (nothing, ())
