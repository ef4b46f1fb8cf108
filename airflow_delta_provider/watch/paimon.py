"""A watch of a Paimon table's newest snapshot, mostly without listing the snapshots."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_delta_provider.domain.paimon.layout import SNAPSHOT_DIRECTORY, snapshot_ids, snapshot_path
from airflow_delta_provider.domain.paimon.schema import PaimonFormatError
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.watch.metadata_folder import MetadataFolder, newest_after
from airflow_delta_provider.watch.table_watch import TableWatch


@dataclass(frozen=True)
class NewestSnapshot:
    """The newest snapshot.

    :param snapshot: its id; 0 if there is none
    :param uuid: its uuid; None if it has none, or was not read
    :param known: True if the known snapshot still exists, as far as can be told
    """

    snapshot: int
    uuid: str | None
    known: bool


class SnapshotReader:
    """Finds the newest snapshot; a poll of an unchanged table requests two files, however many snapshots there are.

    Paimon numbers snapshots without gaps, so a file for the next number means news. If the last seen snapshot is
    unchanged, the table was not rolled back. The snapshots are still listed now and then.

    :param storage: the table's directory of snapshots
    :param since: id of the last known snapshot; 0 for none, None for the newest one now
    :param since_uuid: its uuid; None if unknown
    :param listing_interval: seconds after which the directory is listed again
    """

    def __init__(
        self, storage: MetadataFolder, since: int | None, since_uuid: str | None, listing_interval: float = 600.0
    ) -> None:
        self._storage = storage
        self._since = since
        self._since_uuid = since_uuid
        self._listing_interval = listing_interval
        self._listed = 0.0
        self._seen: tuple[NewestSnapshot, str] | None = None

    def read(self) -> NewestSnapshot:
        """Return the newest snapshot.

        :raises ValueError: if a snapshot is damaged
        :raises Exception: errors of the filesystem
        """
        snapshot, stamp = self._newest()
        if self._seen is not None and (self._seen[0].snapshot, self._seen[1]) == (snapshot, stamp):
            return self._seen[0]
        self._seen = None
        newest = self._compared(snapshot)
        if stamp is not None:
            self._seen = newest, stamp
        return newest

    def _newest(self) -> tuple[int, str | None]:
        """Return the id of the newest snapshot and the state of its file; 0 and None if there is none."""
        if self._seen is not None and time.monotonic() - self._listed < self._listing_interval:
            seen, stamp = self._seen[0].snapshot, self._seen[1]
            if self._stamp(seen) == stamp:
                newest, newer = newest_after(seen, self._stamp)
                return newest, newer or stamp
        try:
            ids = snapshot_ids(self._storage.names())
        except FileNotFoundError:
            ids = []
        self._listed = time.monotonic()
        return (ids[-1], self._stamp(ids[-1])) if ids else (0, None)

    def _stamp(self, snapshot: int) -> str | None:
        return self._storage.stamp(_name(snapshot))

    def _compared(self, newest: int) -> NewestSnapshot:
        since = self._since
        # An id alone does not identify a snapshot: another snapshot may have the same id.
        alone = self._since_uuid is None
        if not newest or (newest == since and alone):
            return NewestSnapshot(newest, None, known=not since or newest == since)
        uuid = self._uuid(newest)
        if not since or (alone and newest > since):
            return NewestSnapshot(newest, uuid, known=True)
        if newest <= since:
            return NewestSnapshot(newest, uuid, known=newest == since and uuid == self._since_uuid)
        return NewestSnapshot(newest, uuid, known=self._is_there_still(since))

    def _is_there_still(self, since: int) -> bool:
        """Return True if the known snapshot is unchanged: after a rollback another one may have its id."""
        try:
            return self._uuid(since) == self._since_uuid
        except FileNotFoundError:
            return False

    def _uuid(self, snapshot: int) -> str | None:
        try:
            return Snapshot.from_json(self._storage.read(_name(snapshot))).uuid
        except PaimonFormatError as error:
            raise ValueError(f"{_name(snapshot)}: {error}") from error


def _name(snapshot: int) -> str:
    return snapshot_path(snapshot).rpartition("/")[2]


class SnapshotWatch(TableWatch):
    """Polls a table until it has an unknown snapshot.

    :param table: path or URI of the table
    :param since: id of the last known snapshot; 0 for none, None for the newest one now
    :param since_uuid: its uuid; None if unknown
    :param storage_conn_id: Airflow connection of the store, or None
    """

    subject: ClassVar[str] = "the snapshots"

    def __init__(
        self,
        table: str,
        since: int | None,
        since_uuid: str | None = None,
        storage_conn_id: str | None = None,
    ) -> None:
        super().__init__(table, storage_conn_id)
        self._log_key = self._log().key
        self._since = since
        self._since_uuid = since_uuid

    @property
    def known(self) -> list[Any] | None:
        """Id and uuid of the known snapshot."""
        return None if self._since is None else [self._since, self._since_uuid]

    def _key(self) -> Hashable:
        return SnapshotReader, self._log_key, self._since, self._since_uuid

    def _reader(self) -> Callable[[], NewestSnapshot]:
        return SnapshotReader(self._log(), self._since, self._since_uuid).read

    def _log(self) -> MetadataFolder:
        return MetadataFolder(self._table, self._conn_id, SNAPSHOT_DIRECTORY)

    def _evaluate(self, read: NewestSnapshot) -> dict[str, Any] | None:
        if self._since is None:
            self._since, self._since_uuid = read.snapshot, read.uuid
        self._say(f"{self._table} is at snapshot {read.snapshot or 'none'}; wanted: one after {self._since or 'none'}.")
        if not read.snapshot or (read.known and read.snapshot <= self._since):
            return None
        since = self._since if read.known and self._since else None
        return {"table": self._table, "snapshot": read.snapshot, "uuid": read.uuid, "since_snapshot": since}
