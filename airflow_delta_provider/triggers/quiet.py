"""The trigger behind :class:`~airflow_delta_provider.sensors.quiet.DeltaQuietSensor`."""

from __future__ import annotations

from airflow_delta_provider.triggers.table_trigger import TableTrigger
from airflow_delta_provider.watch.delta.quiet_watch import QuietWatch


class DeltaQuietTrigger(TableTrigger):
    """Waits until nobody has committed to a table for some time, reading the table's log without Spark.

    :param table: path or URI of the table
    :param seconds: how long nobody may have committed

    For the other arguments see :class:`~airflow_delta_provider.triggers.table_trigger.TableTrigger`.
    """

    def __init__(
        self,
        table: str,
        seconds: float,
        deadline: float,
        storage_conn_id: str | None = None,
        poke_interval: float = 60.0,
    ) -> None:
        super().__init__(table, deadline, storage_conn_id, poke_interval)
        self.seconds = seconds

    def watch(self) -> QuietWatch:
        """Return what looks at the table's log."""
        return QuietWatch(self.table, self.seconds, self.storage_conn_id)
