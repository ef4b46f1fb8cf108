"""The answer of people who were asked to approve migration plans, and its checks by the tasks that follow."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_delta_provider.exceptions import DeltaNotApprovedError

#: Possible answers of the people who were asked.
APPROVE = "Approve"
REJECT = "Reject"


def to_approve(plans: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plans that somebody must approve, by table: they have steps, and no policy exempts them."""
    return {table: plan for table, plan in plans.items() if plan["steps"] and plan.get("approval", True)}


def digest_of_all(plans: Mapping[str, Any]) -> str:
    """Return the digest of plans that are approved together: of the single plan, or of all of them."""
    digests = [plan["digest"] for _, plan in sorted(plans.items())]
    return str(digests[0]) if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()


def check_not_rejected(answer: Any) -> None:
    """Skip a task if its migration was rejected.

    Airflow does so by itself, but not in mapped task groups (apache/airflow#67265).

    :param answer: the value pushed by the task that asked; None if it did not ask
    :raises AirflowSkipException: if somebody said no
    """
    if isinstance(answer, Mapping) and answer.get("chosen_options") == [REJECT]:
        name = (answer.get("responded_by_user") or {}).get("name") or "Somebody"
        raise AirflowSkipException(f"{name} rejected the migration: nothing is applied")


def approver(answer: Any, plans: Mapping[str, Any], assigned: Collection[str] = ()) -> str | None:
    """Return the person who approved the plans; None if nobody has to.

    :param answer: the value pushed by the task that asked; None if it did not ask
    :param plans: plans to be applied, by table
    :param assigned: ids of the people who may approve; empty if everybody who can answer may approve
    :raises DeltaNotApprovedError: if these plans are not approved
    """
    asked = to_approve(plans)
    if not asked:
        return None
    tables = ", ".join(asked)
    if not isinstance(answer, Mapping):
        raise DeltaNotApprovedError(f"Nobody approved the migration of {tables}: nothing is applied.")
    responder = answer.get("responded_by_user") or {}
    name, identity = responder.get("name"), responder.get("id")
    if answer.get("chosen_options") != [APPROVE]:
        raise DeltaNotApprovedError(f"{name or 'Nobody'} rejected the migration of {tables}: nothing is applied.")
    if not identity:
        raise DeltaNotApprovedError(f"The approval of the migration of {tables} names nobody who gave it.")
    if assigned and identity not in assigned:
        raise DeltaNotApprovedError(f"{name} ({identity}) may not approve the migration of {tables}.")
    if answer.get("digest") != digest_of_all(asked):
        raise DeltaNotApprovedError(
            f"{name} approved another plan for {tables}: its digest is {answer.get('digest')}, but the digest of this "
            f"plan is {digest_of_all(asked)}. Clear the task that asks for approval, so that this plan is shown."
        )
    return str(identity) if name in (None, identity) else f"{name} ({identity})"
