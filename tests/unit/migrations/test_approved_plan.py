"""What is approved is what is done: nothing else, and nothing twice."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from airflow_delta_provider.domain.migrations.plan import (
    ApprovedPlan,
    MigrationPlan,
    PlanFileError,
    check_approved,
    checksum_of,
    not_approved,
)
from tests.unit.migrations.declared import after, col, planned
from tests.unit.migrations.test_planner import by_name

DECLARED: dict[str, Any] = {"constraints": {"c": "id > 0"}, "properties": {"team": "a"}, "drop": (("name",),)}


def plan(state: Any = None, **known: Any) -> MigrationPlan:
    found = planned(by_name() if state is None else state, col("id", comment="x"), **(DECLARED | known)).plan
    assert found is not None
    return found


def approved(**edits: Any) -> ApprovedPlan:
    return ApprovedPlan.from_json(json.loads(json.dumps({**plan().to_json(), **edits})))


def codes(approved_plan: ApprovedPlan, now: MigrationPlan, moved: str | None = None) -> list[str]:
    return [finding.code for finding in check_approved(approved_plan, now, moved=moved)]


def test_the_plan_of_today_and_what_is_left_of_it() -> None:
    assert len(plan().steps) == 5
    assert codes(approved(), plan()) == []
    for done in range(1, 6):
        partly = replace(plan(), steps=plan().steps[:done])
        assert codes(approved(), plan(after(partly))) == []


def test_another_plan() -> None:
    assert codes(approved(), plan(), moved="version 7 changed its metadata") == ["RQ64"]
    assert codes(approved(), plan(constraints={"c": "id > 1"})) == ["RQ64"]
    state = by_name()
    other = replace(state, metadata=replace(state.metadata, id="another"))
    assert codes(approved(), plan(other)) == ["RQ63"]


@pytest.mark.parametrize("key", ["spec", "table_id", "base", "digest", "diff", "steps", "checksum"])
def test_a_plan_that_was_edited(key: str) -> None:
    wire = plan().to_json()
    harmless = [{**step, "sql": "SELECT 1"} for step in wire["steps"]]
    edited = {"spec": {**wire["spec"], "drop": []}, "steps": harmless}.get(key, "x")
    assert codes(approved(**{key: edited}), plan()) == ["RQ64"]


@pytest.mark.parametrize("key", ["explanation", "sql", "diff"])
def test_a_plan_that_says_something_else_than_it_does_whatever_its_checksum(key: str) -> None:
    wire = json.loads(json.dumps(plan().to_json()))
    if key == "diff":
        wire["diff"] = ["+ nothing"]
    else:
        wire["steps"][0][key] = "add a comment (1 commit)"
    wire["checksum"] = checksum_of(wire)
    found = ApprovedPlan.from_json(wire)
    assert found.is_intact
    assert codes(found, plan()) == ["RQ64"]


def test_a_plan_whose_costs_changed_while_it_waited() -> None:
    wire = json.loads(json.dumps(plan().to_json()).replace("(1 commit)", "(about 7 commits)"))
    wire["checksum"] = checksum_of(wire)
    assert codes(ApprovedPlan.from_json(wire), plan()) == []


def test_a_plan_that_nobody_was_asked_about_needs_what_the_policy_says_now() -> None:
    assert [f.code for f in not_approved(replace(plan(), approval=("There are warnings.",)))] == ["RQ78"]
    assert list(not_approved(replace(plan(), approval=()))) == []


@pytest.mark.parametrize("wire", [None, [], {}, {"steps": 1}, {"steps": [{"sql": "x"}]}])
def test_what_is_no_plan(wire: Any) -> None:
    with pytest.raises(PlanFileError):
        ApprovedPlan.from_json(wire)
