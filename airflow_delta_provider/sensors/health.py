"""A sensor that waits until a table passes an audit, without Spark and without a worker."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from airflow.providers.common.compat.sdk import Context
from typing_extensions import Unpack

from airflow_delta_provider.access import Access
from airflow_delta_provider.domain.request.audit import AuditOptions
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.arguments import SensorArguments, Text, is_literal
from airflow_delta_provider.sensors.table_sensor import TableSensor, refusing
from airflow_delta_provider.triggers.health import DeltaHealthTrigger

OnViolation = Literal["fail", "wait"]
FailOn = Literal["error", "warning"]
OnUndetermined = Literal["wait", "fail", "pass"]


class DeltaProtocolHealthSensor(TableSensor):
    """Waits until the newest version of a Delta table passes an audit: the gate before what reads it.

    Audits the table's log at level ``log``, in a thread of the triggerer or worker, without Spark and without a JVM.
    The first audit checks the whole history, in a second or so per thousand commits; a poll of an unchanged table asks
    for two files, and a later audit checks only new commits. By default the task is deferred while it waits. A table
    that does not exist yet is waited for.

    Pushes ``{"table": ..., "version": ..., "verdict": ..., "codes": [...]}``, the codes of what is open, warnings
    included. The version is the newest when the audit began.

    For the other arguments, and what reads the table, see
    :class:`~airflow_delta_provider.sensors.table_sensor.TableSensor`.

    :param on_violation: what a table leads to that breaks a rule: ``"fail"``, naming the findings, or ``"wait"`` for a
        version that fixes it
    :param on_undetermined: what a table leads to of which something cannot be decided, such as what commits did that
        were cleaned up: ``"wait"``, ``"fail"`` or ``"pass"``
    :param fail_on: lowest severity that counts as a violation: ``"error"`` or ``"warning"``
    :param waivers: accepted findings, a list of entries as for ``DeltaAuditProtocolOperator``
    :param state_path: directory for incremental state, one small file per table, so that each run checks only
        commits that are new since the last one; shared with audits. Without it, each run checks the whole history, and
        in mode ``reschedule`` each poll. (templated)
    :raises DeltaRequestError: for a catalog name, a wrong argument, a location that is not allowed
    """

    template_fields: Sequence[str] = ("table", "state_path", "storage_conn_id")
    trigger_type = DeltaHealthTrigger

    def __init__(
        self,
        *,
        table: Text,
        on_violation: OnViolation = "fail",
        on_undetermined: OnUndetermined = "wait",
        fail_on: FailOn = "error",
        waivers: Sequence[Mapping[str, Any]] = (),
        state_path: Text | None = None,
        **kwargs: Unpack[SensorArguments],
    ) -> None:
        super().__init__(table=table, **kwargs)
        self.on_violation = on_violation
        self.on_undetermined = on_undetermined
        self.fail_on = fail_on
        self.waivers = waivers
        self.state_path = cast("str | None", state_path)  # as soon as Airflow has rendered it
        self._check_literals()

    def execute(self, context: Context) -> Any:
        """Look once, and wait in the triggerer if that was not enough; leave no temporary folder."""
        from airflow_delta_provider.watch.delta.auditor import remove_folders  # a worker has it, a DAG file need not

        try:
            return super().execute(context)
        finally:
            remove_folders()

    def check_access(self, access: Access) -> None:
        """Check the table, and the folder where audits remember."""
        super().check_access(access)
        if self.state_path:
            access.check_path("state_path", self.state_path, tables=[self.table], used_here=True)

    def trigger_arguments(self) -> dict[str, Any]:
        """Return what is waited for."""
        options = self._options()
        return {
            "on_violation": self.on_violation,
            "on_undetermined": self.on_undetermined,
            "fail_on": options.fail_on,
            "waivers": json.dumps(options.waivers),
            "state_path": options.state_path,
        }

    def timeout_message(self) -> str:
        """Return what did not happen."""
        return f"No newest version of {self.table} passed an audit within {self.timeout:g} seconds."

    def _options(self) -> AuditOptions:
        return AuditOptions(fail_on=self.fail_on, waivers=tuple(self.waivers), state_path=self.state_path or None)

    def _check_literals(self) -> None:
        """Refuse what is wrong regardless of how templates are rendered.

        :raises DeltaRequestError: with the remedy
        """
        for argument, given, possible in (
            ("on_violation", self.on_violation, ("fail", "wait")),
            ("on_undetermined", self.on_undetermined, ("wait", "fail", "pass")),
        ):
            if given not in possible:
                raise DeltaRequestError(f"{argument} is {given!r}. It is {' or '.join(map(repr, possible))}.")
        if is_literal(self.state_path):
            with refusing():
                self._options()
