"""Watch for a new snapshot of a Paimon table."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ClassVar

from airflow_delta_provider.domain.paimon.layout import SNAPSHOT_DIRECTORY
from airflow_delta_provider.watch.metadata_folder import MetadataFolder
from airflow_delta_provider.watch.paimon.snapshot_reader import Newest, SnapshotReader
from airflow_delta_provider.watch.table_watch import TableWatch


class SnapshotWatch(TableWatch):
    """Looks at a table until it has an unknown snapshot.

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

    def _reader(self) -> Callable[[], Newest]:
        return SnapshotReader(self._log(), self._since, self._since_uuid).read

    def _log(self) -> MetadataFolder:
        return MetadataFolder(self._table, self._conn_id, SNAPSHOT_DIRECTORY)

    def _judge(self, read: Newest) -> dict[str, Any] | None:
        if self._since is None:
            self._since, self._since_uuid = read.snapshot, read.uuid
        self._say(f"{self._table} is at snapshot {read.snapshot or 'none'}; wanted: one after {self._since or 'none'}.")
        if not read.snapshot or (read.known and read.snapshot <= self._since):
            return None
        since = self._since if read.known and self._since else None
        return {"table": self._table, "snapshot": read.snapshot, "uuid": read.uuid, "since_snapshot": since}
