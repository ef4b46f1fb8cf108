"""Confirmation that a report was received: pushed, and sent by the task's notifiers if it has any.

An audit with a ``state_path`` counts a finding as known once a later request carries the receipt of a report with that
finding. Until then the receipt is kept in an XCom of its own. If Airflow has a task state, the receipt is also kept
there, since a retry and clearing delete the XComs of a task run. If a receipt is lost, findings are sent twice.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException, Context

from airflow_delta_provider.domain.report.confirmation import Receipts
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.version_compat import task_state

log = logging.getLogger(__name__)

#: Name of the delivery in the context, for the callbacks of the task.
NAME = "delta_delivery"
#: Key of the XCom, and of the task state.
KEY = "delta_received"
#: Most receipts that are kept.
MAX_RECEIPTS = 50
#: Keys for kinds of runs whose logical dates have no common order. A pull with prior dates returns the XCom of the
#: latest date, and the database decides if runs without a date come first or last.
_KEYS = (KEY, f"{KEY}_manually", f"{KEY}_undated")
_RETRY = "on_retry_callback"


def new_receipt() -> str:
    """Return the receipt of a new submission."""
    return uuid.uuid4().hex


def received(context: Context) -> Receipts:
    """Return the receipts that earlier runs and tries of the task confirmed."""
    found: dict[str, Mapping[str, Any] | None] = {}
    for pull in _pulls(context):
        try:
            found |= {str(receipt): tables for receipt, tables in pull() or ()}
        except Exception:
            log.exception("The receipts of reports could not be read; findings may be sent twice")
    return found


class Delivery:
    """A report that is being delivered.

    :param report: report of this run, including the tables that earlier tries finished
    :param earlier: receipts that were confirmed before
    """

    def __init__(self, context: Context, report: JobReport, earlier: Receipts) -> None:
        self.report = report
        self._context = context
        self._earlier = earlier
        self._expected: set[str] = set()

    def pushed(self, task: Any, outcome: BaseException | None) -> None:
        """Note that the report was pushed.

        If Airflow will call no notifier, the report counts as received.

        :param outcome: error that ends the task; None if it succeeds
        """
        kind = self._callback(outcome)
        self._expected = {notifier.recipients for notifier in notifiers_of(task, kind)}
        if self._expected:
            self._context[NAME] = self  # type: ignore[literal-required]  # a key of ours
        elif kind != _RETRY:  # the next try reports these tables again
            self.confirm()

    def reached(self, recipients: str, only: Mapping[str, Sequence[str]] | None = None) -> None:
        """Record that a notifier has reached its recipients. Once all have, the report is received.

        :param recipients: attribute of :class:`~airflow_delta_provider.notifications.violation.DeltaViolationNotifier`
        :param only: identities of the findings that it had, by table, if it did not have all
        """
        if recipients in self._expected:
            self._expected.remove(recipients)
            if not self._expected:
                self.confirm(only)

    def confirm(self, only: Mapping[str, Sequence[str] | None] | None = None) -> None:
        """Keep the receipts of the report for the next run.

        :param only: identities of the findings that arrived, by table, None for all findings of a table; None if the
            whole report arrived
        """
        receipts = dict.fromkeys(table.receipt for table in self.report.tables if table.receipt)
        if not receipts:
            return
        kept = [*({**self._earlier, **dict.fromkeys(receipts, only)}).items()][-MAX_RECEIPTS:]
        wire = [[receipt, tables] for receipt, tables in kept]
        instance: Any = self._context["ti"]
        store: Any = task_state(self._context)
        keeps: tuple[Callable[[], object], ...] = (
            lambda: instance.xcom_push(key=_key_of(self._context), value=wire),
            lambda: store.set(KEY, wire) if store is not None else None,
        )
        for keep in keeps:
            try:
                keep()
            except Exception:
                log.exception("The receipt of the report could not be saved; its findings may be sent again")

    def _callback(self, outcome: BaseException | None) -> str:
        """Return the kind of callback that Airflow calls for an outcome."""
        if outcome is None:
            return "on_success_callback"
        if isinstance(outcome, AirflowSkipException):
            return "on_skipped_callback"
        instance: Any = self._context["ti"]
        last = isinstance(outcome, AirflowFailException) or instance.try_number > (instance.max_tries or 0)
        return "on_failure_callback" if last else _RETRY


def notifiers_of(task: Any, kind: str) -> Iterator[Any]:
    """Yield the callbacks that are notifiers with a confirmation of delivery."""
    callbacks = getattr(task, kind, None) or ()
    for callback in callbacks if isinstance(callbacks, Sequence) else (callbacks,):
        if isinstance(getattr(callback, "recipients", None), str):
            yield callback


def _pulls(context: Context) -> Iterator[Callable[[], Any]]:
    instance: Any = context["ti"]
    for key in _KEYS:
        yield partial(_pull, instance, key)
    store: Any = task_state(context)
    if store is not None:
        yield lambda: store.get(KEY)


def _pull(instance: Any, key: str) -> Any:
    return instance.xcom_pull(key=key, map_indexes=instance.map_index, include_prior_dates=True)


def _key_of(context: Context) -> str:
    """Return the key of a run's receipts."""
    run: Any = context.get("dag_run")
    if getattr(run, "logical_date", None) is None:
        return f"{KEY}_undated"
    return KEY if str(getattr(run, "run_type", "")) in ("scheduled", "backfill") else f"{KEY}_manually"
