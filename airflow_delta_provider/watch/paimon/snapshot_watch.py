"""Looking at one Paimon table for a new snapshot, as often as it takes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_delta_provider.domain.paimon.layout import SNAPSHOT_DIRECTORY
from airflow_delta_provider.watch.metadata_folder import MetadataFolder
from airflow_delta_provider.watch.paimon.snapshot_reader import Newest, SnapshotReader
from airflow_delta_provider.watch.table_watch import TableWatch


@dataclass(frozen=True)
class SnapshotObservation:
    """What one look saw.

    :param holds: whether the newest snapshot is another than the one that is known
    :param snapshot: id of the newest snapshot; 0 where there is none, None where it could not be read
    :param uuid: of that snapshot; None where it has none, or was not read
    :param since: id of the known snapshot, which the new ones follow; None where they follow another
    """

    holds: bool = False
    snapshot: int | None = None
    uuid: str | None = None
    since: int | None = None

    def to_json(self, table: str) -> dict[str, Any]:
        """Return the wire form, which is also the sensor's XCom value."""
        return {"table": table, "snapshot": self.snapshot, "uuid": self.uuid, "since_snapshot": self.since}


class SnapshotWatch(TableWatch[SnapshotObservation]):
    """Looks at a table for a snapshot that is not known yet.

    :param table: path or URI of the table
    :param since: id of the snapshot that is known; 0 for none, None for the one that is the newest now
    :param since_uuid: its uuid; None where that is not known
    :param storage_conn_id: Airflow connection of the store, or None
    :param failures: how many looks before this one failed in a row
    """

    subject: ClassVar[str] = "the snapshots"

    def __init__(
        self,
        table: str,
        since: int | None,
        since_uuid: str | None = None,
        storage_conn_id: str | None = None,
        *,
        failures: int = 0,
    ) -> None:
        super().__init__(table, failures=failures)
        self._conn_id = storage_conn_id
        self._log_key = self._log().key
        self.since = since
        self.since_uuid = since_uuid

    def _key(self) -> Hashable:
        return SnapshotReader, self._log_key, self.since, self.since_uuid

    def _reader(self) -> Callable[[], Newest]:
        return SnapshotReader(self._log(), self.since, self.since_uuid).read

    def _log(self) -> MetadataFolder:
        return MetadataFolder(self._table, self._conn_id, SNAPSHOT_DIRECTORY)

    def _nothing(self) -> SnapshotObservation:
        return SnapshotObservation()

    def _judge(self, read: Newest) -> SnapshotObservation:
        if self.since is None:
            self.since, self.since_uuid = read.snapshot, read.uuid
        self._say(f"{self._table} is at snapshot {read.snapshot or 'none'}; wanted: one after {self.since or 'none'}.")
        holds = bool(read.snapshot) and (read.snapshot > self.since or not read.known)
        return SnapshotObservation(holds, read.snapshot, read.uuid, self.since if read.known and self.since else None)
