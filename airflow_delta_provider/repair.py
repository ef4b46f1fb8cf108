"""Repairs as a task group: plan, approve, apply, verify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import task_group

from airflow_delta_provider.operators.apply_repair import DeltaApplyRepairOperator
from airflow_delta_provider.operators.approve_migration import DeltaApproveMigrationOperator
from airflow_delta_provider.operators.arguments import EngineName, Names, RepairLevel, Text
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.operators.plan_repair import DeltaPlanRepairOperator

#: Rule of a task after one that may be skipped: it runs if there is a plan, and no task before it failed.
_AFTER_APPROVAL = "none_failed_min_one_success"


@task_group(tooltip="Plan, approve, apply and verify a repair")
def delta_repair(
    *,
    table: Text,
    level: RepairLevel = "footers",
    permit: Names = (),
    allow_protocol_upgrade: bool = False,
    assigned_users: Sequence[Mapping[str, str]] | None = None,
    approval_timeout: timedelta | None = None,
    fail_on_reject: bool = False,
    approval: Mapping[str, Any] | None = None,
    engine: EngineName = "python",
    job: Mapping[str, Any] | None = None,
) -> None:
    """Repair a damaged Delta table: plan, ask for approval, apply the approved plan, audit again.

    If there is nothing to do, nobody is asked and no job is submitted. After a rejection the remaining tasks are
    skipped; if nobody answers in time, the group fails. In neither case is anything changed.

    :param table: the table
    :param level: level of the audits that find the damage and prove the repair: ``"footers"`` or ``"log"``
    :param permit: fingerprints of findings whose repair may lose information
    :param allow_protocol_upgrade: permission for changes of the protocol that lock out older engines
    :param assigned_users: people who may approve, each with ``id`` and ``name``; default: everybody who may answer in
        Airflow
    :param approval_timeout: time limit for an answer; by default there is none
    :param fail_on_reject: True if a rejection fails the run; by default tasks are skipped
    :param approval: further arguments of the task that asks, such as ``notifiers`` and ``subject``
    :param engine: engine that plans and verifies: ``"python"`` needs no JVM, ``"spark"`` resolves catalog names
    :param job: arguments of the tasks that plan, apply and verify: ``conn_id``, ``storage_conn_id``, ``pool``, …
    """
    shared: dict[str, Any] = dict(job or {})
    plan = DeltaPlanRepairOperator(task_id="plan", table=table, level=level, permit=permit, engine=engine, **shared)
    approve = DeltaApproveMigrationOperator(
        task_id="approve",
        plans=plan.output["plans"],
        granted=["allow_protocol_upgrade"] if allow_protocol_upgrade else [],
        assigned_users=None if assigned_users is None else [dict(user) for user in assigned_users],
        fail_on_reject=fail_on_reject,
        response_timeout=approval_timeout,
        **{"subject": "Apply the repair?", **(approval or {})},
    )
    apply = DeltaApplyRepairOperator(
        task_id="apply",
        table=table,
        plan=plan.output["plans"],
        approval=approve.output,
        approvers=[user["id"] for user in assigned_users or ()],
        allow_protocol_upgrade=allow_protocol_upgrade,
        trigger_rule=_AFTER_APPROVAL,
        **shared,
    )
    verify = DeltaAuditProtocolOperator(task_id="verify", table=table, level=level, engine=engine, **shared)
    apply >> verify
