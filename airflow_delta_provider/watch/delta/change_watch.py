"""Watch for a version of a table, or for a condition on its protocol and metadata."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.delta.head_condition import HeadCondition
from airflow_delta_provider.domain.delta.head_mark import NOTHING, TABLE, HeadMark
from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.watch.delta.head_watch import HeadWatch


class ChangeWatch(HeadWatch):
    """Looks at a table until it has a new version and meets a condition.

    :param table: path or URI of the table
    :param since: known state; the first look sets it if it is None and ``from_first_look``
    :param from_first_look: True if only changes after the first look count
    :param at_least: version that ends the wait, whatever is known
    :param condition: condition to meet; with it, a new version is needed only if the condition demands one
    :param storage_conn_id: Airflow connection of the store, or None
    """

    def __init__(
        self,
        table: str,
        *,
        since: HeadMark | None = None,
        from_first_look: bool = False,
        at_least: int | None = None,
        condition: HeadCondition | None = None,
        storage_conn_id: str | None = None,
    ) -> None:
        super().__init__(table, storage_conn_id)
        self._since = since
        self._from_first_look = from_first_look
        self._at_least = at_least
        self._condition = condition

    @property
    def known(self) -> dict[str, Any] | None:
        """The mark that looks compare with, as JSON."""
        return None if self._since is None else self._since.to_json()

    def _absent(self) -> None:
        if self._since is None and self._from_first_look:
            self._since = NOTHING

    def _judge_head(self, head: TableHead) -> dict[str, Any] | None:
        mark = HeadMark.of(head)
        if self._since is None and self._from_first_look:
            self._since = mark
        since = self._since
        if since is not None and TABLE in mark.changed_since(since):
            self._say(
                f"{self._table} is another table than at version {since.version}: its id is {mark.table_id} now, "
                f"and was {since.table_id}."
            )
        if self._condition is None:
            return self._news(mark) if self._is_new(mark) else None
        wanting = self._condition.open_clauses(head, mark, since)
        missing = f"; waiting for {' and '.join(wanting)}" if wanting else f": {self._condition}"
        self._say(f"{self._table} is at version {mark.version}{missing}.")
        return None if wanting else self._news(mark)

    def _news(self, mark: HeadMark) -> dict[str, Any]:
        since = self._since if self._since is not None and self._since.version >= 0 else None
        return {
            "table": self._table,
            **mark.to_json(),
            "since_version": None if since is None else since.version,
            "changed": [] if since is None else mark.changed_since(since),
        }

    def _is_new(self, mark: HeadMark) -> bool:
        since = self._since
        if self._at_least is not None:
            wanted, new = f"{self._at_least} or later", mark.version >= self._at_least
        elif since is None:
            wanted, new = "any", True
        else:
            wanted = f"one after {since.version}" if since.version >= 0 else "any"
            new = mark.version > since.version or TABLE in mark.changed_since(since)
        self._say(f"{self._table} is at version {mark.version}; wanted: {wanted}.")
        return new
