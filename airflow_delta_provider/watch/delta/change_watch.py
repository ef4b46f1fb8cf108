"""Looking at one table for a version, or for a condition on its protocol and metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.head_condition import HeadCondition
from airflow_delta_provider.domain.delta.head_mark import NOTHING, TABLE, HeadMark
from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.watch.delta.head_watch import HeadWatch


@dataclass(frozen=True)
class ChangeObservation:
    """What one look saw.

    :param mark: what was seen; None where there is no table yet, or it could not be read
    :param since: what it was compared with; None where there was nothing
    """

    holds: bool = False
    mark: HeadMark | None = None
    since: HeadMark | None = None

    def to_json(self, table: str) -> dict[str, Any]:
        """Return the wire form, which is also the sensor's XCom value."""
        assert self.mark is not None  # only what holds is sent
        since = self.since if self.since is not None and self.since.version >= 0 else None
        return {
            "table": table,
            **self.mark.to_json(),
            "since_version": None if since is None else since.version,
            "changed": [] if since is None else self.mark.changed_since(since),
        }


class ChangeWatch(HeadWatch[ChangeObservation]):
    """Looks at a table until it is at another version, and a condition holds.

    :param table: path or URI of the table
    :param since: what is known; the first look's, if it is None and ``from_first_look``
    :param from_first_look: whether only what comes after the first look counts
    :param at_least: a version that will do, whatever is known
    :param condition: what else has to hold; with it, no other version is needed unless the condition says so
    :param storage_conn_id: Airflow connection of the store, or None
    :param failures: how many looks before this one failed in a row
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
        failures: int = 0,
    ) -> None:
        super().__init__(table, storage_conn_id, failures=failures)
        self.since = since
        self._from_first_look = from_first_look
        self._at_least = at_least
        self._condition = condition

    def _nothing(self) -> ChangeObservation:
        return ChangeObservation()

    def _absent(self) -> None:
        if self.since is None and self._from_first_look:
            self.since = NOTHING

    def _judge_head(self, head: TableHead) -> ChangeObservation:
        mark = HeadMark.of(head)
        if self.since is None and self._from_first_look:
            self.since = mark
        since = self.since
        if since is not None and TABLE in mark.changed_since(since):
            self._say(
                f"{self._table} is another table than at version {since.version}: its id is {mark.table_id} now, "
                f"and was {since.table_id}."
            )
        if self._condition is None:
            return ChangeObservation(self._is_new(mark), mark, since)
        wanting = self._condition.open_clauses(head, mark, since)
        missing = f"; waiting for {' and '.join(wanting)}" if wanting else f": {self._condition}"
        self._say(f"{self._table} is at version {mark.version}{missing}.")
        return ChangeObservation(not wanting, mark, since)

    def _is_new(self, mark: HeadMark) -> bool:
        since = self.since
        if self._at_least is not None:
            wanted, new = f"{self._at_least} or later", mark.version >= self._at_least
        elif since is None:
            wanted, new = "any", True
        else:
            wanted = f"one after {since.version}" if since.version >= 0 else "any"
            new = mark.version > since.version or TABLE in mark.changed_since(since)
        self._say(f"{self._table} is at version {mark.version}; wanted: {wanted}.")
        return new
