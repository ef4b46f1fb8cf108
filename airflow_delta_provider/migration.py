"""Migrations as task groups: plan, approve, wait for a quiet window, apply, verify."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import time, timedelta
from typing import Any, Literal

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import TaskGroup, task_group

from airflow_delta_provider.domain.request.migration_options import Specs as SpecsOption
from airflow_delta_provider.domain.spec.files import before, waves
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.apply_migration import DeltaApplyMigrationOperator
from airflow_delta_provider.operators.approve_migration import DeltaApproveMigrationOperator
from airflow_delta_provider.operators.arguments import (
    Document,
    EngineName,
    Names,
    Specs,
    Text,
    file_of,
    read_document,
)
from airflow_delta_provider.operators.check_drift import DeltaCheckDriftOperator
from airflow_delta_provider.operators.plan_migration import DeltaPlanMigrationOperator
from airflow_delta_provider.sensors.quiet_window import QuietWindowSensor

OnFailure = Literal["stop", "continue"]

#: Rule of a task after one that may be skipped: it runs if there is a plan, and no task before it failed.
_AFTER_APPROVAL = "none_failed_min_one_success"


@task_group(tooltip="Plan, approve, apply and verify a migration")
def delta_migration(
    *,
    spec: Specs,
    table: Text | None = None,
    policy: Document = None,
    fleet: Document = None,
    accept_unknown: Names = (),
    allow_protocol_upgrade: bool = False,
    allow_rewrite: bool = False,
    assigned_users: Sequence[Mapping[str, str]] | None = None,
    approval_timeout: timedelta | None = None,
    fail_on_reject: bool = False,
    approval: Mapping[str, Any] | None = None,
    quiet_window: tuple[time, time] | None = None,
    at_once: int | None = None,
    engine: EngineName = "python",
    job: Mapping[str, Any] | None = None,
) -> None:
    """Migrate Delta tables to their declared state: plan, ask for approval, apply the approved plan, verify.

    If there is nothing to do, nobody is asked, no job is submitted, and the group succeeds, so it can be scheduled.
    After a rejection its remaining tasks are skipped; if nobody answers in time, it fails. In neither case is anything
    changed. ``delta_migration.partial(spec=…).expand(table=[…])`` maps it; only ``table`` and ``spec`` can be mapped.
    ``delta_migration.override(group_id=…)(…)`` names it.

    :param spec: declared state of tables, as for
        :class:`~airflow_delta_provider.operators.plan_migration.DeltaPlanMigrationOperator`
    :param table: the table; by default all tables that the spec names, with one plan each and one approval for all
    :param policy: severities of the rules about plans, and the plans that need no approval
    :param fleet: engines that read and write the tables
    :param accept_unknown: engines of the fleet that do not block a change although no source says whether they support
        the result
    :param allow_protocol_upgrade: permission to add table features that lock out older readers and writers
    :param allow_rewrite: permission for steps that rewrite data files
    :param assigned_users: people who may approve, each with ``id`` and ``name``; default: everybody who may answer in
        Airflow
    :param approval_timeout: time limit for an answer; by default there is none
    :param fail_on_reject: True if a rejection fails the run; by default tasks are skipped
    :param approval: further arguments of the task that asks, such as ``notifiers`` and ``subject``
    :param quiet_window: start and end of the time when tables may be changed, times of day in the time zone of the DAG
    :param at_once: largest number of tables that a mapped group changes at the same time in a run
    :param engine: engine that plans and verifies: ``"python"`` needs no JVM, ``"spark"`` resolves catalog names
    :param job: arguments of the tasks that plan, apply and verify: ``conn_id``, ``storage_conn_id``, ``pool``, …
    """
    shared: dict[str, Any] = dict(job or {})
    judged_by: dict[str, Any] = {"policy": policy, "fleet": fleet}
    allowed: dict[str, Any] = {
        "allow_protocol_upgrade": allow_protocol_upgrade,
        "allow_rewrite": allow_rewrite,
        "accept_unknown": accept_unknown,
    }
    plan = DeltaPlanMigrationOperator(task_id="plan", spec=spec, table=table, engine=engine, **judged_by, **shared)
    approve = DeltaApproveMigrationOperator(
        task_id="approve",
        plans=plan.output["plans"],
        granted=[name for name, is_allowed in allowed.items() if is_allowed],
        assigned_users=None if assigned_users is None else [dict(user) for user in assigned_users],
        fail_on_reject=fail_on_reject,
        response_timeout=approval_timeout,
        **(approval or {}),
    )
    apply = DeltaApplyMigrationOperator(
        task_id="apply",
        plan=plan.output["plans"],
        approval=approve.output,
        approvers=[user["id"] for user in assigned_users or ()],
        trigger_rule=_AFTER_APPROVAL,
        max_active_tis_per_dagrun=at_once,
        **allowed,
        **judged_by,
        **shared,
    )
    if quiet_window is not None:
        start, end = quiet_window
        window = QuietWindowSensor(
            task_id="quiet_window",
            start=start,
            end=end,
            plans=plan.output["plans"],
            approval=approve.output,
            trigger_rule=_AFTER_APPROVAL,
        )
        approve >> window >> apply
    DeltaCheckDriftOperator(task_id="verify", spec=apply.output["specs"], engine=engine, **shared)


def delta_migrations(
    spec: str, *, at_once: int = 1, on_failure: OnFailure = "stop", group_id: str = "migrations", **arguments: Any
) -> TaskGroup:
    """Migrate all tables in a folder or file of specs, in order, with one :func:`delta_migration` each.

    Tables are migrated in waves: a wave begins when the previous one has finished. A table is in a later wave than the
    tables that its spec's ``after`` lists. The specs are read when the DAG is parsed, so a changed ``after`` changes
    the DAG.

    :param spec: a YAML or JSON file, or a folder of them, relative to the DAG's file; each spec names its table
    :param at_once: number of tables in a wave
    :param on_failure: ``"stop"``: no wave begins after a table failed or was rejected. ``"continue"``: only the tables
        that come after that table are left out. The run fails either way if a table failed
    :param group_id: id of the group around all
    :param arguments: arguments of :func:`delta_migration`, for all tables
    :return: the group; tasks after it run if all tables are in their declared state
    :raises DeltaRequestError: if the specs cannot be used
    """
    if on_failure not in ("stop", "continue"):
        raise DeltaRequestError(f"on_failure is {on_failure!r}; it has to be 'stop' or 'continue'.")
    with TaskGroup(group_id, tooltip=f"Migrate the tables of {spec}") as whole:
        done = EmptyOperator(task_id="done")
        waved = _waves(done, spec, at_once)
        migrations: dict[str | None, Any] = {}
        for number, wave in enumerate(waved, start=1):
            earlier = list(migrations.values())
            for declared in wave:
                named = delta_migration.override(group_id=_group_id(declared), group_display_name=declared.table or "")
                migrations[declared.table] = named(spec=spec, table=declared.table, **arguments)
            if earlier:
                rule = "all_success" if on_failure == "stop" else "all_done"
                gate = EmptyOperator(task_id=f"before_wave_{number}", trigger_rule=rule)
                earlier[-len(waved[number - 2]) :] >> gate
                gate >> [migrations[declared.table] for declared in wave]
            for declared in wave:
                for other in before(declared, [each for wave in waved for each in wave]):
                    migrations[other.table] >> migrations[declared.table]
        list(migrations.values()) >> done
    return whole


def _waves(task: EmptyOperator, spec: str, at_once: int) -> tuple[tuple[TableSpec, ...], ...]:
    """Return the specs of a file or folder in waves. The path is relative to the DAG of ``task``."""
    option = SpecsOption()
    if not option.names_file(spec):
        raise DeltaRequestError(f"spec is {spec!r}. Name a .yaml, .yml or .json file, or a folder with a / at the end.")
    specs: tuple[TableSpec, ...] = read_document("spec", file_of(task, "spec", spec, None, bounded=False), option)
    if any(each.table is None for each in specs):
        raise DeltaRequestError(f"spec: a spec in {spec} names no table, and each has to.")
    try:
        return waves(specs, at_once)
    except ValueError as error:
        raise DeltaRequestError(str(error)) from error


def _group_id(spec: TableSpec) -> str:
    """Return an id made from the table's name, for people to recognise."""
    last = re.split(r"[/.`]", (spec.table or "").rstrip("/`"))[-1]
    return re.sub(r"\W", "_", last, flags=re.ASCII) or "table"
