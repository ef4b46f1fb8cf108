"""A repair as a group of tasks: what is planned, who is asked, and when a job is submitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_delta_provider.exceptions import DeltaNotApprovedError
from airflow_delta_provider.operators.apply_repair import DeltaApplyRepairOperator
from airflow_delta_provider.operators.plan_repair import DeltaPlanRepairOperator
from airflow_delta_provider.repair import delta_repair
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit
from tests.airflow.test_migration import answer, tasks_of
from tests.airflow.test_operators import Run
from tests.unit.audit.test_audit_history import damaged
from tests.unit.damages import FIRST
from tests.unit.local_table import OnDisk

__all__ = ["spark_submit"]


def plans_of(path: Path, code: str) -> dict[str, Any]:
    table, _ = damaged(FIRST[code])
    OnDisk(path / code, table)
    run = Run()
    operator = DeltaPlanRepairOperator(task_id="plan", engine="python", table=str(path / code), level="log")
    operator.execute(run.context)
    return dict(run.pushed["plans"])


def test_a_plan_goes_from_task_to_task(tmp_path: Path) -> None:
    plans = plans_of(tmp_path, "CM07")
    (plan,) = plans.values()
    assert [step["heals"] for step in plan["steps"]] == [["CM07 maxColumnId below a column's id (version 4): extra"]]
    apply = DeltaApplyRepairOperator(task_id="apply", plan=plans, table=plan["table"])
    assert apply.request(Run().context).options.plan == (plan,)


def test_a_plan_that_nobody_approved_is_not_applied(tmp_path: Path) -> None:
    plans = plans_of(tmp_path, "CM07")
    other = {"x": {**next(iter(plans.values())), "digest": "0" * 64}}
    apply = DeltaApplyRepairOperator(task_id="apply", plan=plans, approval=answer(other))
    with pytest.raises(DeltaNotApprovedError, match="approved another plan"):
        apply.request(Run().context)


def test_no_job_is_submitted_if_there_is_nothing_to_repair(tmp_path: Path, spark_submit: FakeSparkSubmit) -> None:
    table = FIRST["CM07"].before()
    OnDisk(tmp_path / "sound", table)
    run = Run()
    plan = DeltaPlanRepairOperator(task_id="plan", engine="python", table=str(tmp_path / "sound"), level="log")
    plan.execute(run.context)
    DeltaApplyRepairOperator(task_id="apply", plan=run.pushed["plans"]).execute(Run().context)
    assert spark_submit.calls == []


def test_the_group_applies_after_the_approval_and_audits_again() -> None:
    with DAG("repair", schedule=None) as dag:
        delta_repair(table="/lake/orders")
    assert tasks_of(dag) == {
        "delta_repair.plan": set(),
        "delta_repair.approve": {"delta_repair.plan"},
        "delta_repair.apply": {"delta_repair.approve", "delta_repair.plan"},
        "delta_repair.verify": {"delta_repair.apply"},
    }
