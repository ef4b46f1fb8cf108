"""Looking at one Paimon table for a new snapshot, as often as it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_delta_provider.domain.paimon.format_error import PaimonFormatError
from airflow_delta_provider.domain.paimon.layout import SNAPSHOT_DIRECTORY, snapshot_ids, snapshot_path
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.storage.object_storage_log import ObjectStorageLog
from airflow_delta_provider.storage.table_watch import TableWatch


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


@dataclass(frozen=True)
class _Seen:
    """The newest snapshot, and whether the one that was known is there still, as far as that can be told."""

    newest: int
    uuid: str | None
    known: bool


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
        self._storage = ObjectStorageLog(table, storage_conn_id, directory=SNAPSHOT_DIRECTORY)
        self.since = since
        self.since_uuid = since_uuid

    def _read(self) -> _Seen:
        try:
            ids = snapshot_ids(self._storage.stamps())
        except FileNotFoundError:
            ids = []
        newest = ids[-1] if ids else 0
        # Whoever knows an id alone cannot tell another snapshot of that id.
        alone = self.since_uuid is None
        if not newest or (newest == self.since and alone):
            return _Seen(newest, None, known=not self.since or newest == self.since)
        uuid = self._uuid(newest)
        if not self.since or (alone and newest > self.since):
            return _Seen(newest, uuid, known=True)
        if newest <= self.since:
            return _Seen(newest, uuid, known=newest == self.since and uuid == self.since_uuid)
        return _Seen(newest, uuid, known=self._is_there_still())

    def _is_there_still(self) -> bool:
        """Whether the known snapshot is what it was: after a rollback there may be another of its id."""
        try:
            return self._uuid(self.since or 0) == self.since_uuid
        except FileNotFoundError:
            return False

    def _uuid(self, snapshot_id: int) -> str | None:
        name = snapshot_path(snapshot_id).rpartition("/")[2]
        try:
            return Snapshot.from_json(self._storage.read(name)).uuid
        except PaimonFormatError as error:
            raise ValueError(f"{name}: {error}") from error

    def _nothing(self) -> SnapshotObservation:
        return SnapshotObservation()

    def _judge(self, read: _Seen) -> SnapshotObservation:
        if self.since is None:
            self.since, self.since_uuid = read.newest, read.uuid
        self._say(f"{self._table} is at snapshot {read.newest or 'none'}; wanted: one after {self.since or 'none'}.")
        holds = bool(read.newest) and (read.newest > self.since or not read.known)
        return SnapshotObservation(holds, read.newest, read.uuid, self.since if read.known and self.since else None)
