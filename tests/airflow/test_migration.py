"""A migration as a group of tasks: who is asked, what an answer is worth, and how groups depend on each other."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, time, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException, TaskDeferred
from airflow.providers.standard.operators import hitl
from airflow.sdk import DAG
from airflow.sdk import exceptions as sdk_exceptions

from airflow_delta_provider.domain.migrations.plan import checksum_of
from airflow_delta_provider.domain.migrations.planner import QuietWindow
from airflow_delta_provider.exceptions import DeltaNotApprovedError, DeltaRequestError
from airflow_delta_provider.migration import delta_migration, delta_migrations
from airflow_delta_provider.operators.apply_migration import DeltaApplyMigrationOperator
from airflow_delta_provider.operators.approve_migration import DeltaApproveMigrationOperator, approver, digest_of_all
from airflow_delta_provider.operators.plan_migration import DeltaPlanMigrationOperator
from airflow_delta_provider.sensors.quiet_window import QuietWindowSensor
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit
from tests.airflow.test_operators import Run
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Table
from tests.unit.states import field

__all__ = ["spark_submit"]

#: How a task waits for people: before Airflow 3.3 in the triggerer.
WAITING = (TaskDeferred, getattr(sdk_exceptions, "TaskAwaitingInput", TaskDeferred))
COMMENTED = {"columns": [{"name": "id", "comment": "Order number"}]}
ANN = {"id": "7", "name": "ann"}


@pytest.fixture
def table(tmp_path: Path) -> str:
    OnDisk(tmp_path / "orders", Table(field("id", "long")).append())
    return str(tmp_path / "orders")


def plans_of(table: str, spec: Any = COMMENTED, **known: Any) -> dict[str, Any]:
    run = Run()
    DeltaPlanMigrationOperator(task_id="plan", engine="python", table=table, spec=spec, **known).execute(run.context)
    return dict(run.pushed["plans"])


def answer(plans: dict[str, Any], option: str = "Approve", by: Any = ANN, **known: Any) -> dict[str, Any]:
    said = {"chosen_options": [option], "params_input": {}, "responded_by_user": by, "digest": digest_of_all(plans)}
    return {**said, **known}


class Asked(Run):
    """A run whose task has been asked for by Airflow, and is answered in another process."""

    def __init__(self) -> None:
        super().__init__()
        self.context["ti"].id = "0"
        self.context["ti"].xcom_pull = lambda key, **_: self.pushed[key]
        self.context["task_instance"] = self.context["ti"]


def approve(plans: Any, **known: Any) -> DeltaApproveMigrationOperator:
    return DeltaApproveMigrationOperator(task_id="approve", plans=plans, **known)


@pytest.fixture
def details(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What Airflow keeps for those who answer."""
    kept: dict[str, Any] = {}
    monkeypatch.setattr(hitl, "upsert_hitl_detail", lambda **detail: kept.update(detail))
    return kept


def ask(operator: DeltaApproveMigrationOperator, run: Run) -> None:
    with pytest.raises(WAITING):
        operator.execute(run.context)


def event(option: str, **known: Any) -> dict[str, Any]:
    now = datetime.now(timezone.utc)
    return {"chosen_options": [option], "params_input": {}, "responded_at": now, "responded_by_user": ANN, **known}


def test_people_are_shown_the_plan_and_its_digest(table: str, details: dict[str, Any]) -> None:
    plans = plans_of(table)
    run = Asked()
    ask(approve(plans), run)
    assert details["subject"] == f"Apply the migration of {table}?"
    assert "COMMENT 'Order number'" in details["body"]
    assert plans[table]["digest"] in details["body"]
    assert details["params"]["digest"]["value"] == plans[table]["digest"]
    found = approve(plans).execute_complete(run.context, event("Approve"))
    assert approver(found, plans) == "ann (7)"


def test_people_are_shown_the_sql_and_a_link_to_the_page_of_the_plan(table: str, details: dict[str, Any]) -> None:
    plans = plans_of(table)
    with DAG("migrate", schedule=None):
        planned = DeltaPlanMigrationOperator(task_id="plan", engine="python", table=table, spec=COMMENTED)
        operator = approve(plans)
        planned >> operator
    run = Asked()
    vars(run.context["ti"]).update(
        dag_id="migrate", run_id="r+1", map_index=-1, log_url="https://airflow/dags/migrate/runs/r/tasks/approve"
    )
    ask(operator, run)
    assert "(<https://airflow/delta-provider/dags/migrate/runs/r%2B1/tasks/plan>)" in details["body"]
    assert "~~~~sql\nALTER TABLE" in details["body"]


def test_nobody_is_asked_where_there_is_nothing_to_do_or_the_policy_says_so(table: str) -> None:
    with pytest.raises(AirflowSkipException, match="Nothing to do"):
        approve(plans_of(table, {"columns": [{"name": "id"}]})).execute(Asked().context)
    policy = {"tables": [{"table": "*", "approve_without_asking": ["additive"]}]}
    unasked = plans_of(table, policy=policy)
    with pytest.raises(AirflowSkipException, match="policy allows it without approval"):
        approve(unasked).execute(Asked().context)
    assert approver(None, unasked) is None


def test_nobody_is_asked_about_a_plan_that_the_dag_does_not_allow(table: str) -> None:
    plans = plans_of(table, {"features": ["deletionVectors"]})
    with pytest.raises(DeltaNotApprovedError, match="needs allow_protocol_upgrade, which the DAG does not set"):
        approve(plans, granted=()).execute(Asked().context)


def test_a_plan_that_was_made_again_while_people_looked_at_another_is_not_approved(
    table: str, details: dict[str, Any]
) -> None:
    shown, other = plans_of(table), plans_of(table, {"comment": "Other"})
    run = Asked()
    ask(approve(shown), run)
    found = approve(other).execute_complete(run.context, event("Approve"))
    with pytest.raises(DeltaNotApprovedError, match="ann approved another plan"):
        approver(found, other)
    with pytest.raises(DeltaNotApprovedError, match="The answer is about the plan 12"):
        approve(shown).execute_complete(run.context, event("Approve", params_input={"digest": "12"}))


def test_a_timeout_and_a_rejection_that_fails_say_why_and_are_not_retried(table: str, details: dict[str, Any]) -> None:
    plans, run = plans_of(table), Asked()
    ask(approve(plans), run)
    with pytest.raises(DeltaNotApprovedError, match=r"Nobody answered in time .* nothing is applied"):
        approve(plans).execute_complete(run.context, {"error": "too late", "error_type": "timeout"})
    with pytest.raises(DeltaNotApprovedError, match=r"ann rejected the migration of .*: nothing is applied"):
        approve(plans, fail_on_reject=True).execute_complete(run.context, event("Reject"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, "Nobody approved"),
        ({"chosen_options": []}, "ann rejected"),
        ({"responded_by_user": None}, "names nobody"),
        ({"responded_by_user": {"id": "8", "name": "bob"}}, r"bob \(8\) may not approve"),
        ({"digest": "0"}, "approved another plan"),
        ({"digest": None}, "approved another plan"),
    ],
)
def test_plans_are_not_applied_unless_somebody_approved_these(
    table: str, change: Any, message: str, spark_submit: FakeSparkSubmit
) -> None:
    plans = plans_of(table)
    given = change if change is None else {**answer(plans), **change}
    apply = DeltaApplyMigrationOperator(task_id="t", plan=plans, approval="{{ approval }}", approvers=["7"])
    apply.approval = given
    with pytest.raises(DeltaNotApprovedError, match=message):
        apply.execute(Run().context)
    assert spark_submit.calls == []


def test_tasks_of_a_rejected_migration_skip_themselves(table: str, spark_submit: FakeSparkSubmit) -> None:
    plans = plans_of(table)
    no = answer(plans, "Reject")
    now = datetime.now(timezone.utc)
    apply = DeltaApplyMigrationOperator(task_id="t", plan=plans, approval="{{ approval }}")
    shut = QuietWindowSensor(
        task_id="w", start=(now + timedelta(hours=2)).time(), end=(now + timedelta(hours=3)).time(), plans=plans
    )
    for task in (apply, shut):
        task.approval = no
        with pytest.raises(AirflowSkipException, match="ann rejected the migration: nothing is applied"):
            task.execute(Run().context)
    assert spark_submit.calls == []


def test_the_approver_goes_into_the_request(table: str) -> None:
    plans = plans_of(table)
    apply = DeltaApplyMigrationOperator(task_id="t", plan=plans, approval="{{ approval }}", approvers=["7"])
    apply.approval = answer(plans)
    request = apply.request(Run().context)
    assert (request.tables, request.options.approved_by) == ((table,), "ann (7)")  # type: ignore[attr-defined]  # of this kind


def test_no_job_is_submitted_for_plans_without_steps(table: str, spark_submit: FakeSparkSubmit) -> None:
    apply = DeltaApplyMigrationOperator(task_id="t", plan=plans_of(table, {"columns": [{"name": "id"}]}), approval="x")
    apply.approval = None
    run = Run()
    assert apply.execute(run.context)["verdict"] == "PASS"
    assert spark_submit.calls == []
    assert run.pushed["specs"] == [{"table": table, "columns": [{"name": "id"}]}]


def test_plans_that_are_approved_together_have_one_digest(table: str, tmp_path: Path) -> None:
    OnDisk(tmp_path / "other", Table(field("id", "long")).append())
    plans = {**plans_of(table), **plans_of(str(tmp_path / "other"))}
    assert approver(answer(plans), plans) == "ann (7)"
    with pytest.raises(DeltaNotApprovedError, match="another plan"):
        approver(answer(plans_of(table)), plans)


def tasks_of(dag: Any) -> dict[str, set[str]]:
    return {task.task_id: set(task.upstream_task_ids) for task in dag.tasks}


def test_group_applies_what_was_planned_and_approved() -> None:
    with DAG("d", schedule=None, params={"of": "the DAG"}) as dag:
        before, after = QuietWindowSensor(task_id="a", start=time(1), end=time(2)), object()
        group = delta_migration(table="/t", spec=COMMENTED, quiet_window=(time(1), time(5)), assigned_users=[ANN])
        before >> group
    del after
    assert tasks_of(dag) == {
        "a": set(),
        "delta_migration.plan": {"a"},
        "delta_migration.approve": {"delta_migration.plan"},
        "delta_migration.quiet_window": {"delta_migration.plan", "delta_migration.approve"},
        # Directly after the task that asks, so that Airflow skips it after a rejection, mapped or not.
        "delta_migration.apply": {
            "delta_migration.plan",
            "delta_migration.approve",
            "delta_migration.quiet_window",
        },
        "delta_migration.verify": {"delta_migration.apply"},
    }


def test_a_rejection_skips_what_follows_in_the_group_and_nothing_after_it() -> None:
    with DAG("d", schedule=None) as dag:
        group = delta_migration(table="/t", spec=COMMENTED, quiet_window=(time(1), time(5)))
        group >> QuietWindowSensor(task_id="tell", start=time(1), end=time(2), trigger_rule="all_done")
    task: Any = dag.get_task("delta_migration.approve")
    skipped: list[str] = []
    instance = SimpleNamespace(map_index=3, xcom_push=lambda key, value: skipped.extend(value["skipped"]))
    task.skip(instance, task.get_flat_relatives(upstream=False))
    assert sorted(skipped) == [f"delta_migration.{name}" for name in ("apply", "quiet_window", "verify")]


def test_group_can_be_mapped_over_tables(tmp_path: Path) -> None:
    (tmp_path / "specs.yaml").write_text("tables: [{table: /t}, {table: /u}]")
    with DAG("d", schedule=None) as dag:
        delta_migration.partial(spec=f"{tmp_path}/specs.yaml", at_once=2).expand(table=["/t", "/u"])
    apply: Any = dag.get_task("delta_migration.apply")
    assert apply.max_active_tis_per_dagrun == 2
    assert apply.get_closest_mapped_task_group() is not None


SPECS = "tables: [{table: /l/c, after: [/l/a]}, {table: /l/a}, {table: /l/b}, {table: /l/d, after: [/l/c, /l/b]}]"


def many(tmp_path: Path, **known: Any) -> dict[str, set[str]]:
    (tmp_path / "specs.yaml").write_text(SPECS)
    with DAG("d", schedule=None) as dag:
        delta_migrations(f"{tmp_path}/specs.yaml", **known)
    found = tasks_of(dag)
    rules = {t.task_id: t.trigger_rule for t in dag.tasks}
    assert {rules[name] for name in found if "before_wave" in name} == {
        "all_done" if known.get("on_failure") == "continue" else "all_success"
    }
    return {
        name.removeprefix("migrations."): {up.removeprefix("migrations.") for up in ups} for name, ups in found.items()
    }


@pytest.mark.parametrize("on_failure", ["stop", "continue"])
def test_tables_are_migrated_in_waves_after_those_that_they_come_after(tmp_path: Path, on_failure: str) -> None:
    found = many(tmp_path, at_once=2, on_failure=on_failure)
    assert {name: ups for name, ups in found.items() if name.endswith(".plan") or "." not in name} == {
        "a.plan": set(),
        "b.plan": set(),
        "before_wave_2": {"a.verify", "b.verify"},
        "c.plan": {"before_wave_2", "a.verify"},
        "before_wave_3": {"c.verify"},
        "d.plan": {"before_wave_3", "c.verify", "b.verify"},
        "done": {f"{name}.verify" for name in "abcd"},
    }


def test_one_table_at_a_time_is_a_chain(tmp_path: Path) -> None:
    found = many(tmp_path)
    assert [found[f"before_wave_{number}"] for number in (2, 3, 4)] == [{"a.verify"}, {"c.verify"}, {"b.verify"}]


def test_no_table_at_a_time_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeltaRequestError, match="at_once is 0"):
        many(tmp_path, at_once=0)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"on_failure": "no"}, "on_failure is 'no'"),
        ({"spec": "specs"}, "spec is 'specs'. Name a .yaml"),
        ({"spec": "nowhere.yaml"}, "cannot be read"),
    ],
)
def test_many_migrations_that_make_no_sense_are_refused(known: dict[str, Any], message: str) -> None:
    with DAG("d", schedule=None), pytest.raises(DeltaRequestError, match=message):
        delta_migrations(**{"spec": "x.yaml", **known})


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("start", "end", "now", "opens"),
    [
        (time(1), time(5), "2026-03-01T03:00", "2026-03-01T03:00"),
        (time(1), time(5), "2026-03-01T05:00", "2026-03-02T01:00"),
        (time(22), time(2), "2026-03-01T01:59", "2026-03-01T01:59"),
        (time(22), time(2), "2026-03-01T02:00", "2026-03-01T22:00"),
        (time(22), time(2), "2026-03-01T23:00", "2026-03-01T23:00"),
        # The hour from two to three is left out on that day, and lasts two hours in October.
        (time(3), time(4), "2026-03-29T01:30", "2026-03-29T03:00"),
        (time(3), time(4), "2026-10-25T01:30", "2026-10-25T03:00"),
    ],
)
def test_window_opens(start: time, end: time, now: str, opens: str) -> None:
    def at(text: str) -> datetime:
        return datetime.fromisoformat(text).replace(tzinfo=BERLIN)

    assert QuietWindow(start, end).opens(at(now), BERLIN) == at(opens).astimezone(timezone.utc)


def test_sensor_waits_in_the_triggerer_and_looks_again() -> None:
    now = datetime.now(timezone.utc)
    later = (now + timedelta(hours=2)).time().replace(microsecond=0)
    with DAG("d", schedule=None):
        shut = QuietWindowSensor(task_id="a", start=later, end=(now + timedelta(hours=3)).time())
        unneeded = QuietWindowSensor(task_id="b", start=later, end=(now + timedelta(hours=3)).time(), plans={})
    unneeded.execute(Run().context)
    for look in (lambda: shut.execute(Run().context), lambda: shut.execute_complete(Run().context, None)):
        with pytest.raises(TaskDeferred) as deferred:
            look()
        moment = deferred.value.trigger.moment  # type: ignore[attr-defined]  # of this trigger
        assert timedelta(hours=1, minutes=58) < moment - now <= timedelta(hours=2)


def test_window_without_length_is_refused() -> None:
    with pytest.raises(ValueError, match="begins and ends at 01:00"):
        QuietWindow(time(1), time(1))


def test_plan_whose_approval_was_emptied_is_for_the_job_to_decide_about(table: str) -> None:
    plans = plans_of(table)
    forged = {name: {**plan, "approval": []} for name, plan in plans.items()}
    forged = {name: {**plan, "checksum": checksum_of(plan)} for name, plan in forged.items()}
    apply = DeltaApplyMigrationOperator(task_id="t", plan=forged, approval="{{ approval }}")
    apply.approval = None
    assert apply.request(Run().context).options.unasked == (table,)  # type: ignore[attr-defined]  # of this kind
    asked = DeltaApplyMigrationOperator(task_id="t", plan=plans, approval="{{ approval }}")
    asked.approval = answer(plans)
    assert asked.request(Run().context).options.unasked == ()  # type: ignore[attr-defined]  # of this kind


def test_plan_whose_steps_were_emptied_is_submitted_and_not_called_done(
    table: str, spark_submit: FakeSparkSubmit
) -> None:
    plans = {name: {**plan, "steps": []} for name, plan in plans_of(table).items()}
    apply = DeltaApplyMigrationOperator(task_id="t", plan=plans, approval="x")
    with suppress(Exception):
        apply.execute(Run().context)
    assert len(spark_submit.calls) == 1
