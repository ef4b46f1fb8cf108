"""Operator that asks people to approve migration plans."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from inspect import signature
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowSkipException, Context
from airflow.providers.standard.exceptions import HITLRejectException, HITLTimeoutError
from airflow.providers.standard.operators.hitl import ApprovalOperator, HITLOperator
from airflow.sdk import Param
from airflow.sdk.definitions.param import ParamsDict

from airflow_delta_provider.domain.rendering.markdown import escape, render_plan
from airflow_delta_provider.exceptions import DeltaNotApprovedError
from airflow_delta_provider.links.report import page_of_task
from airflow_delta_provider.version_compat import answer_within

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


_ASKED = "asked_digest"
#: Most characters that are shown to people; Airflow's databases hold somewhat more.
_MAX_BODY = 60_000


class DeltaApproveMigrationOperator(ApprovalOperator):
    """Ask people whether migration plans may be applied, with the plans as Markdown.

    The task is skipped if nobody has to be asked: there is nothing to do, or the policy requires no approval. A
    rejection skips the tasks that follow in the same task group, whatever their trigger rules; tasks after the group
    follow their own trigger rules. If nobody answers in time, the task fails and is not retried.

    Pushes the answer with ``digest``, the digest of the plan that was shown.
    :class:`~airflow_delta_provider.operators.apply_migration.DeltaApplyMigrationOperator` checks it.

    :param plans: the XCom ``plans`` of
        :class:`~airflow_delta_provider.operators.plan_migration.DeltaPlanMigrationOperator`. (templated)
    :param granted: permissions of the task that applies the plans, such as ``allow_rewrite``. If a plan needs another
        permission, nobody is asked and the task fails. None leaves the check to the task that applies the plans.
    :param subject: the question; by default it names the tables. (templated)
    :param response_timeout: time limit for an answer; by default there is none
    :param kwargs: arguments of ``ApprovalOperator``, such as ``assigned_users``, ``fail_on_reject`` and ``notifiers``;
        not ``body`` and ``defaults``
    """

    template_fields: Collection[str] = ("subject", "plans")
    ui_color = "#d8ecff"

    def __init__(
        self,
        *,
        plans: Any,
        granted: Collection[str] | None = None,
        subject: str = "",
        response_timeout: timedelta | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.pop("params", None)  # the DAG's params
        for own in ("body", "defaults", "ignore_downstream_trigger_rules"):
            if own in kwargs:
                raise TypeError(f"{type(self).__name__} takes no {own}.")
        if response_timeout is not None:
            kwargs |= answer_within(response_timeout, signature(HITLOperator.__init__).parameters)
        super().__init__(subject=subject, ignore_downstream_trigger_rules=True, **kwargs)
        self.plans = plans
        self.granted = None if granted is None else frozenset(granted)

    if TYPE_CHECKING:

        @property
        def output(self) -> Any:
            """An ``XComArg``, typed as Any: Airflow's type is not accepted by typed tasks, and has no index by key."""

    def execute(self, context: Context) -> Any:
        """Ask for approval, and defer until the answer."""
        asked = to_approve(self.plans)
        if not asked:
            changes = any(plan["steps"] for plan in self.plans.values())
            raise AirflowSkipException("The policy allows it without approval" if changes else "Nothing to do")
        self._check_granted(asked)
        self.subject = self.subject or f"Apply the migration of {', '.join(asked)}?"
        self.body = _body(asked.values(), self._pages(context["ti"]))
        digest = digest_of_all(asked)
        about = "Digest of the plan that is approved. Do not change it."
        self.params = ParamsDict({"digest": Param(digest, type="string", const=digest, description=about)})
        context["ti"].xcom_push(key=_ASKED, value=digest)
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Return the answer with the digest of the plans that were shown.

        :raises DeltaNotApprovedError: after a timeout; after a rejection, with ``fail_on_reject``; or if the answer is
            about another plan
        """
        instance: Any = context["ti"]
        digest = instance.xcom_pull(task_ids=instance.task_id, key=_ASKED, map_indexes=instance.map_index)
        tables = ", ".join(to_approve(self.plans))
        try:
            answer = super().execute_complete(context, event)
        except HITLTimeoutError:
            message = f"Nobody answered in time whether the migration of {tables} may be applied: nothing is applied."
            raise DeltaNotApprovedError(message) from None
        except HITLRejectException:
            by = _name(event.get("responded_by_user"))
            raise DeltaNotApprovedError(f"{by} rejected the migration of {tables}: nothing is applied.") from None
        answered_digest = (answer.get("params_input") or {}).get("digest", digest)
        if answered_digest != digest:
            raise DeltaNotApprovedError(
                f"The answer is about the plan {answered_digest}, but the plan shown was {digest}."
            )
        if answer["chosen_options"] == [self.REJECT]:
            by = _name(answer.get("responded_by_user"))
            self.log.warning("%s rejected the migration of %s: nothing is applied", by, tables)
        return {**answer, "digest": digest}

    def skip(self, ti: Any, tasks: Iterable[Any]) -> None:
        """Skip the given tasks that are in this task's group."""
        group = self.task_group
        inside = set(group.iter_tasks()) if group is not None and not group.is_root else None
        super().skip(ti, [task for task in tasks if inside is None or task in inside])

    def _pages(self, instance: Any) -> str:
        """Return links to the pages of the planning tasks, as Markdown."""
        dag = self.get_dag()
        upstream = () if dag is None else (dag.get_task(task_id) for task_id in sorted(self.upstream_task_ids))
        planned = (task.task_id for task in upstream if hasattr(task, "kept_report"))
        pages = {task_id: page_of_task(instance, task_id) for task_id in planned}
        links = [f"[{escape(task_id)}](<{page}>)" for task_id, page in pages.items() if page]
        return f"The plan on the page of its task: {', '.join(links)}" if links else ""

    def _check_granted(self, asked: Mapping[str, Any]) -> None:
        missing = sorted({name for plan in asked.values() for name in plan["permissions"]} - (self.granted or set()))
        if missing and self.granted is not None:
            raise DeltaNotApprovedError(
                f"The migration of {', '.join(asked)} needs {' and '.join(missing)}, which the DAG does not set."
            )


def _body(plans: Iterable[Mapping[str, Any]], pages: str) -> str:
    text = "\n\n".join(filter(None, (pages, *map(render_plan, plans))))
    return (
        text
        if len(text) <= _MAX_BODY
        else f"{text[:_MAX_BODY]}\n\n… and more; the task that planned has the whole plan."
    )


def _name(user: Mapping[str, Any] | None) -> str:
    return str((user or {}).get("name") or "Nobody")
