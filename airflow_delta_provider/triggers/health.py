"""The trigger behind :class:`~airflow_delta_provider.sensors.health.DeltaProtocolHealthSensor`."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_delta_provider.triggers.table_trigger import TableTrigger
from airflow_delta_provider.watch.health import Answer, AuditScope, Gate, HealthWatch


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaHealthTrigger(TableTrigger):
    """Waits until the newest version of a table passes an audit, which runs in a thread, without Spark.

    :param table: path or URI of the table
    :param on_violation: ``fail`` or ``wait``
    :param on_undetermined: ``wait``, ``fail`` or ``pass``
    :param fail_on: lowest severity that counts as a violation
    :param waivers: accepted findings, as JSON
    :param state_path: folder for incremental state, or None
    :param level: ``log`` or ``footers``

    For the other arguments see :class:`~airflow_delta_provider.triggers.table_trigger.TableTrigger`.
    """

    on_violation: str = "fail"
    on_undetermined: str = "wait"
    fail_on: str = "error"
    waivers: str = "[]"
    state_path: str | None = None
    level: str = "log"

    def watch(self) -> HealthWatch:
        """Return the watch that audits the table."""
        return HealthWatch(
            self.table,
            AuditScope(self.fail_on, self.waivers, self.state_path, self.level),
            Gate(Answer(self.on_violation), Answer(self.on_undetermined)),
            self.storage_conn_id,
        )
