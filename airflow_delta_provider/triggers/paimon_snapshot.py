"""The trigger behind :class:`~airflow_delta_provider.sensors.paimon_row_tracking.PaimonRowTrackingSensor`."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_delta_provider.triggers.table_trigger import TableTrigger
from airflow_delta_provider.watch.paimon import SnapshotWatch


@dataclass(kw_only=True, eq=False, repr=False)
class PaimonSnapshotTrigger(TableTrigger):
    """Waits until the newest snapshot of a Paimon table changes, without Spark.

    :param table: path or URI of the table
    :param since_snapshot: id of the last known snapshot; 0 for none, None for the newest at the first poll
    :param since_uuid: its uuid, which distinguishes it from another snapshot with the same id; None if unknown

    For the other arguments see :class:`~airflow_delta_provider.triggers.table_trigger.TableTrigger`.
    """

    since_snapshot: int | None
    since_uuid: str | None = None

    def watch(self) -> SnapshotWatch:
        """Return the watch of the table's snapshots."""
        return SnapshotWatch(self.table, self.since_snapshot, self.since_uuid, self.storage_conn_id)
