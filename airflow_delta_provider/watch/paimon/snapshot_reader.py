"""Repeated reads of a Paimon table's newest snapshot, mostly without listing the snapshots."""

from __future__ import annotations

import time
from dataclasses import dataclass

from airflow_delta_provider.domain.paimon.format_error import PaimonFormatError
from airflow_delta_provider.domain.paimon.layout import snapshot_ids, snapshot_path
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.watch.metadata_folder import MetadataFolder
from airflow_delta_provider.watch.newest import newest_after


@dataclass(frozen=True)
class Newest:
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
        self._seen: tuple[Newest, str] | None = None

    def read(self) -> Newest:
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

    def _compared(self, newest: int) -> Newest:
        since = self._since
        # An id alone does not identify a snapshot: another snapshot may have the same id.
        alone = self._since_uuid is None
        if not newest or (newest == since and alone):
            return Newest(newest, None, known=not since or newest == since)
        uuid = self._uuid(newest)
        if not since or (alone and newest > since):
            return Newest(newest, uuid, known=True)
        if newest <= since:
            return Newest(newest, uuid, known=newest == since and uuid == self._since_uuid)
        return Newest(newest, uuid, known=self._is_there_still(since))

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
