"""What applying a migration may be asked for: a spec or a plan, a plan in each form that a report has it in."""

from __future__ import annotations

import json

import pytest

from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions, Plans

PLAN = {"digest": "d", "table": "/t", "table_id": "i", "version": 1, "base": "b", "spec": {}, "steps": []}
OTHER = {**PLAN, "table": "/other"}


@pytest.mark.parametrize(
    "value",
    [
        PLAN,
        [PLAN],
        {"/t": PLAN},
        {"table": "/t", "verdict": "PASS", "plan": PLAN},
        {"kind": "plan-migration", "tables": [{"table": "/t", "plan": PLAN}, {"table": "/u", "plan": None}]},
        json.dumps(PLAN),
        json.dumps([PLAN]),
    ],
)
def test_plan_is_found_in_each_form_that_holds_one(value: object) -> None:
    assert Plans().rendered("plan", value) == (PLAN,)


@pytest.mark.parametrize("value", [{"digest": "d"}, ["x"], {"/t": {"digest": "d"}}, [1], {}])
def test_what_is_not_a_plan_is_refused(value: object) -> None:
    with pytest.raises(RequestError, match="not the plan of a migration"):
        Plans().checked("plan", value)


def test_each_table_has_its_plan() -> None:
    options = ApplyMigrationOptions(plan=(PLAN, OTHER))
    assert options.plan_of("/other") == OTHER
    assert options.declared_tables == ("/t", "/other")
    with pytest.raises(RequestError, match="nothing for '/third'"):
        JobRequest(("/t", "/third"), options)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "A report has no plan for a table that was refused"),
        ({"plan": (PLAN,), "spec": ({"comment": "x"},)}, "Pass either plan or spec, not both"),
    ],
)
def test_either_a_plan_or_a_spec_is_needed(known: dict[str, object], said: str) -> None:
    with pytest.raises(RequestError, match=said):
        JobRequest(("/t",), ApplyMigrationOptions(**known))  # type: ignore[arg-type]  # of any type


def test_there_is_no_plan_where_a_spec_is_applied() -> None:
    options = ApplyMigrationOptions(spec=({"comment": "x"},))
    assert options.plan_of("/t") is None
    assert options.spec_of("/t").comment == "x"
