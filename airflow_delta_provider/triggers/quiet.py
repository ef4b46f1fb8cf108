"""The trigger behind :class:`~airflow_delta_provider.sensors.quiet.DeltaQuietSensor`."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_delta_provider.triggers.table_trigger import TableTrigger
from airflow_delta_provider.watch.head_watches import QuietWatch


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaQuietTrigger(TableTrigger):
    """Waits until nobody has committed to a table for some time, reading the table's log without Spark.

    :param table: path or URI of the table
    :param seconds: required time without a commit

    For the other arguments see :class:`~airflow_delta_provider.triggers.table_trigger.TableTrigger`.
    """

    seconds: float

    def watch(self) -> QuietWatch:
        """Return the watch of the table's log."""
        return QuietWatch(self.table, self.seconds, self.storage_conn_id)
