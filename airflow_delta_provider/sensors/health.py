"""A sensor that waits until a table passes an audit, without Spark and without a worker."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from airflow.providers.common.compat.sdk import Context
from typing_extensions import Unpack

from airflow_delta_provider.configuration import Access
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.arguments import SensorArguments, Text, is_literal
from airflow_delta_provider.sensors.table_sensor import TableSensor, refusing
from airflow_delta_provider.triggers.health import DeltaHealthTrigger

OnViolation = Literal["fail", "wait"]
FailOn = Literal["error", "warning"]
OnUndetermined = Literal["wait", "fail", "pass"]


class DeltaProtocolHealthSensor(TableSensor):
    """Waits until the newest version of a Delta table passes an audit: a gate before the table's readers.

    Audits the table's log at level ``log``, in a thread of the triggerer or worker, without Spark and without a JVM.
    The first audit checks the whole history, in about a second per thousand commits. A poll of an unchanged table
    requests two files, and a later audit checks only new commits. By default the task is deferred while it waits. The
    sensor also waits for a table that does not exist yet.

    Pushes ``{"table": ..., "version": ..., "verdict": ..., "codes": [...]}``, with the codes of open findings,
    including warnings. The version is the newest one at the start of the audit.

    For the other arguments, and for the packages that each store needs, see
    :class:`~airflow_delta_provider.sensors.table_sensor.TableSensor`.

    :param on_violation: outcome if a table breaks a rule: ``"fail"``, naming the findings, or ``"wait"`` for a version
        that fixes it
    :param on_undetermined: outcome if a table could not be fully checked, for instance because commits were cleaned up:
        ``"wait"``, ``"fail"`` or ``"pass"``
    :param fail_on: lowest severity that counts as a violation: ``"error"`` or ``"warning"``
    :param waivers: accepted findings, a list of entries as for ``DeltaAuditProtocolOperator``
    :param state_path: directory for incremental state, one small file per table and shared with audits. Each run then
        checks only the commits since the last one. Without it, each run checks the whole history, and in mode
        ``reschedule`` each poll does. (templated)
    :raises DeltaRequestError: for a catalog name, a wrong argument, or a location that is not allowed
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
        """Look once, and defer if the table does not pass yet. Remove temporary folders."""
        from airflow_delta_provider.watch.health import remove_folders  # a worker has it, a DAG file need not

        try:
            return super().execute(context)
        finally:
            remove_folders()

    def check_access(self, access: Access) -> None:
        """Check access to the table and to the folder for incremental state."""
        super().check_access(access)
        if self.state_path:
            access.check_path("state_path", self.state_path, tables=[self.table], used_here=True)

    def trigger_arguments(self) -> dict[str, Any]:
        """Return the trigger's arguments."""
        options = self._options()
        return {
            "on_violation": self.on_violation,
            "on_undetermined": self.on_undetermined,
            "fail_on": options.fail_on,
            "waivers": json.dumps(options.waivers),
            "state_path": options.state_path,
        }

    def timeout_message(self) -> str:
        """Return the message for a timeout."""
        return f"No newest version of {self.table} passed an audit within {self.timeout:g} seconds."

    def _options(self) -> AuditOptions:
        return AuditOptions(fail_on=self.fail_on, waivers=tuple(self.waivers), state_path=self.state_path or None)

    def _check_literals(self) -> None:
        """Refuse wrong arguments that need no rendering.

        :raises DeltaRequestError: if one is wrong; the message has the remedy
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
