"""Watch for a table without commits for some time."""

from __future__ import annotations

import time
from typing import Any

from airflow_delta_provider.domain.delta.commit import time_of
from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.watch.delta.head_watch import HeadWatch


class QuietWatch(HeadWatch):
    """Looks at a table until nobody has committed for some time.

    Clocks differ and jump. So a commit is never considered older than the last look that saw another version, nor older
    than earlier commits. If its time lies in the future, its age counts from the first look that saw it. Time is
    measured with a clock that does not jump.

    :param table: path or URI of the table
    :param seconds: required time without a commit
    :param storage_conn_id: Airflow connection of the store, or None
    """

    def __init__(self, table: str, seconds: float, storage_conn_id: str | None = None) -> None:
        super().__init__(table, storage_conn_id)
        self._seconds = seconds
        self._epoch = time.time() - time.monotonic()
        self._seen: tuple[int, str] | None = None
        self._since = 0.0
        self._looked: float | None = None
        self._another: float | None = None

    def _judge_head(self, head: TableHead) -> dict[str, Any] | None:
        now = time.monotonic()
        if (head.version, head.metadata.id) != self._seen:
            self._another = None if self._seen is None else self._looked
            self._seen, self._since = (head.version, head.metadata.id), now
        self._looked = now
        committed = head.committed_at
        age = now + self._epoch - committed / 1000 if committed is not None else -1.0
        quiet = age if age >= 0 else now - self._since
        if self._another is not None:
            quiet = min(quiet, now - self._another)
        self._say(
            f"{self._table} is at version {head.version}, committed {time_of(committed) or 'at an unknown time'}; "
            f"wanted: none for {self._seconds:g} seconds."
        )
        if quiet < self._seconds:
            return None
        last = time_of(committed)
        return {"table": self._table, "version": head.version, "last_commit": last, "quiet_seconds": round(quiet, 1)}
