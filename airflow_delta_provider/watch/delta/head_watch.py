"""Base of the watches of a table's head: they share one reader and refuse catalog-managed tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

from airflow_delta_provider.domain.delta.features.registry import CATALOG_MANAGED
from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.watch.delta.head_reader import HeadReader
from airflow_delta_provider.watch.delta.object_storage_log import ObjectStorageLog
from airflow_delta_provider.watch.errors import CatalogManagedTableError
from airflow_delta_provider.watch.table_watch import TableWatch


class HeadWatch(TableWatch):
    """Looks at the newest protocol and metadata of a table; watches of one table share each look.

    :param table: path or URI of the table
    :param storage_conn_id: Airflow connection of the store, or None
    """

    subject: ClassVar[str] = "the log"

    def __init__(self, table: str, storage_conn_id: str | None = None) -> None:
        super().__init__(table, storage_conn_id)
        self._log_key = self._log().key

    @abstractmethod
    def _judge_head(self, head: TableHead) -> dict[str, Any] | None:
        """Return the value to push if the wait is over, else None."""

    def _absent(self) -> None:
        """Note that there is no table."""

    def _key(self) -> Hashable:
        return HeadReader, self._log_key

    def _reader(self) -> Callable[[], TableHead | None]:
        return HeadReader(self._log()).read

    def _log(self) -> ObjectStorageLog:
        return ObjectStorageLog(self._table, self._conn_id)

    def _judge(self, head: TableHead | None) -> dict[str, Any] | None:
        if head is None:
            self._say(f"There is no Delta table at {self._table} yet (no commit in _delta_log); waiting for it.")
            self._absent()
            return None
        refuse_catalog_managed(self._table, head)
        return self._judge_head(head)


def refuse_catalog_managed(table: str, head: TableHead) -> None:
    """Refuse a table if its directory may lack commits.

    :raises CatalogManagedTableError: if a catalog manages the table
    """
    managed = sorted(head.protocol.features.intersection(CATALOG_MANAGED))
    if managed:
        raise CatalogManagedTableError(
            f"{table} is managed by a catalog ({managed[0]}, version {head.version}): its newest commits may not be "
            "in its directory, so the directory does not show the current table. Ask the catalog."
        )
