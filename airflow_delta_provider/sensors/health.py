"""A sensor that waits until a table passes an audit, by default without Spark and without a worker."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from airflow.providers.common.compat.sdk import Context, PokeReturnValue
from typing_extensions import Unpack

from airflow_delta_provider.configuration import Access
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.operators.arguments import (
    EngineName,
    FailOn,
    JobSensorArguments,
    Level,
    Text,
    is_literal,
)
from airflow_delta_provider.sensors.job_sensor import JobSensor, OnUndetermined, OnViolation
from airflow_delta_provider.sensors.table_sensor import TableSensor
from airflow_delta_provider.triggers.health import DeltaHealthTrigger
from airflow_delta_provider.triggers.table_change import DeltaChangeTrigger


class DeltaProtocolHealthSensor(JobSensor):
    """Waits until the newest version of a Delta table passes an audit: a gate before the table's readers.

    With ``engine="python"``, the default, audits the table's log in a thread of the triggerer or worker, without Spark
    and without a JVM. The first audit checks the whole history, in about a second per thousand commits. A poll of an
    unchanged table requests two files, and a later audit checks only new commits. By default the task is deferred while
    it waits. With ``engine="spark"``, each new version is audited by a job, and the task is deferred between the jobs.
    A newest version that the trigger cannot read then fails the task after five polls, before any job.
    The sensor also waits for a table that does not exist yet.

    Pushes ``{"table": ..., "version": ..., "verdict": ..., "codes": [...]}``, with the codes of open findings,
    including warnings. The version is the newest one at the start of the audit.

    For the other arguments, and for the packages that each store needs, see
    :class:`~airflow_delta_provider.sensors.table_sensor.TableSensor`; for the arguments of a submit see
    :class:`~airflow_delta_provider.sensors.job_sensor.JobSensor`.

    :param engine: ``"python"``, or ``"spark"`` to submit a job
    :param level: ``"log"`` applies the rules of the log; ``"footers"`` also reads the footers of data files; ``"data"``
        also reads rows, and needs ``engine="spark"``. (templated)
    :param on_violation: outcome if a table breaks a rule: ``"fail"``, naming the findings, or ``"wait"`` for a version
        that fixes it
    :param on_undetermined: outcome if a table could not be fully checked, for instance because commits were cleaned up:
        ``"wait"``, ``"fail"`` or ``"pass"``
    :param fail_on: lowest severity that counts as a violation: ``"error"`` or ``"warning"``
    :param waivers: accepted findings, a list of entries as for ``DeltaAuditProtocolOperator``
    :param state_path: directory for incremental state, one small file per table and shared with audits. Each run then
        checks only the commits since the last one. Without it, each run checks the whole history, and in mode
        ``reschedule`` each poll does. With ``engine="spark"``, the driver reads it, and each job without it checks the
        whole history. (templated)
    :raises DeltaRequestError: for a catalog name, a wrong argument, or a location that is not allowed
    """

    template_fields: Sequence[str] = (*JobSensor.template_fields, "state_path")

    def __init__(
        self,
        *,
        table: Text,
        engine: EngineName = "python",
        level: Level = "log",
        on_violation: OnViolation = "fail",
        on_undetermined: OnUndetermined = "wait",
        fail_on: FailOn = "error",
        waivers: Sequence[Mapping[str, Any]] = (),
        state_path: Text | None = None,
        **kwargs: Unpack[JobSensorArguments],
    ) -> None:
        super().__init__(
            table=table,
            engine=engine,
            level=level,
            on_violation=on_violation,
            on_undetermined=on_undetermined,
            **kwargs,
        )
        self.fail_on = cast("str", fail_on)
        self.waivers = waivers
        self.state_path = cast("str | None", state_path)  # as soon as Airflow has rendered it
        if engine == "python":
            self.trigger_type = DeltaHealthTrigger
        if is_literal([state_path, level]):
            self.check_options()

    def execute(self, context: Context) -> Any:
        """Poll once, and defer if the table does not pass yet. Remove temporary folders."""
        from airflow_delta_provider.watch.health import remove_folders  # a worker has it, a DAG file need not

        try:
            return super().execute(context)
        finally:
            remove_folders()

    def poke(self, context: Context) -> PokeReturnValue:
        """Poll once: audit the table here, or look for a new version and audit it by a job."""
        return TableSensor.poke(self, context) if self._audits_while_polling else super().poke(context)

    def execute_complete(
        self, context: Context, event: dict[str, Any] | None = None, deadline: float = 0.0, said: str = ""
    ) -> dict[str, Any]:
        """Return the result of the trigger's audit, or audit the version that the trigger found."""
        if self._audits_while_polling:
            return TableSensor.execute_complete(self, context, event)
        return super().execute_complete(context, event, deadline, said)

    def check_access(self, access: Access) -> None:
        """Check access to the table and to the folder for incremental state."""
        super().check_access(access)
        if self.state_path:
            access.check_path("state_path", self.state_path, tables=[self.table], used_here=self._audits_while_polling)

    def trigger_arguments(self) -> dict[str, Any]:
        """Return the trigger's arguments."""
        if not self._audits_while_polling:
            return super().trigger_arguments()
        options = self.options()
        return {
            "on_violation": self.on_violation,
            "on_undetermined": self.on_undetermined,
            "fail_on": options.fail_on,
            "waivers": json.dumps(options.waivers),
            "state_path": options.state_path,
            "level": options.level,
        }

    @property
    def check_name(self) -> str:
        """The check, for messages."""
        return "an audit"

    def options(self) -> AuditOptions:
        """Return the options of the audit."""
        return AuditOptions(
            level=self.level, fail_on=self.fail_on, waivers=tuple(self.waivers), state_path=self.state_path or None
        )

    @property
    def remembers(self) -> bool:
        """True if later polls need the version that was audited last."""
        return not self._audits_while_polling

    @property
    def _audits_while_polling(self) -> bool:
        return bool(self.trigger_type is not DeltaChangeTrigger)
