"""Watches of a table's head: for a version, features, types of columns, a condition, and quiet."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

from airflow_delta_provider.domain.delta.commit import time_of
from airflow_delta_provider.domain.delta.features.registry import CATALOG_MANAGED
from airflow_delta_provider.domain.delta.head_condition import (
    FeatureCondition,
    HeadCondition,
    TypeCondition,
    TypeConditionError,
)
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_head import NOTHING, TABLE, HeadMark, TableHead
from airflow_delta_provider.watch.head_reader import HeadReader, ObjectStorageLog
from airflow_delta_provider.watch.metadata_folder import CatalogManagedTableError, DeltaWatchImpossibleError
from airflow_delta_provider.watch.table_watch import TableWatch


class HeadWatch(TableWatch):
    """Polls the newest protocol and metadata of a table; watches of one table share each poll.

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

    def _evaluate(self, head: TableHead | None) -> dict[str, Any] | None:
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


class ChangeWatch(HeadWatch):
    """Polls a table until it has a new version and meets a condition.

    :param table: path or URI of the table
    :param since: known state; the first poll sets it if it is None and ``from_first_look``
    :param from_first_look: True if only changes after the first poll count
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
        """The mark that polls compare with, as JSON."""
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


class FeatureWatch(HeadWatch):
    """Polls a table until its features are in a state.

    :param table: path or URI of the table
    :param condition: condition to wait for
    :param storage_conn_id: Airflow connection of the store, or None
    """

    def __init__(self, table: str, condition: FeatureCondition, storage_conn_id: str | None = None) -> None:
        super().__init__(table, storage_conn_id)
        self._condition = condition

    def _judge_head(self, head: TableHead) -> dict[str, Any] | None:
        states = self._condition.states(head)
        features = {name: state.value for name, state in states.items()}
        listed = ", ".join(f"{name} {state}" for name, state in features.items())
        self._say(f"{self._table} at version {head.version}: {listed}; wanted: {self._condition.state.value}.")
        if not self._condition.holds(states):
            return None
        return {"table": self._table, "version": head.version, "features": features}


class TypeWatch(HeadWatch):
    """Polls a table until its columns have at least the wanted types.

    :param table: path or URI of the table
    :param condition: condition to wait for
    :param storage_conn_id: Airflow connection of the store, or None
    """

    def __init__(self, table: str, condition: TypeCondition, storage_conn_id: str | None = None) -> None:
        super().__init__(table, storage_conn_id)
        self._condition = condition

    def _judge_head(self, head: TableHead) -> dict[str, Any] | None:
        try:
            states = self._condition.states(head)
        except (TypeConditionError, BrokenLogError) as error:
            raise DeltaWatchImpossibleError(f"{self._table} at version {head.version}: {error}") from error
        missing = [message for _, message in states.values() if message is not None]
        self._say(f"{self._table} at version {head.version}: {' '.join(missing) or 'all columns have their types.'}")
        if missing:
            return None
        return {
            "table": self._table,
            "version": head.version,
            "types": {path: name for path, (name, _) in states.items()},
        }


class QuietWatch(HeadWatch):
    """Polls a table until nobody has committed for some time.

    Clocks differ and jump. So a commit is never considered older than the last poll that saw another version, nor older
    than earlier commits. If its time lies in the future, its age counts from the first poll that saw it. Time is
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
        self._polled: float | None = None
        self._another: float | None = None

    def _judge_head(self, head: TableHead) -> dict[str, Any] | None:
        now = time.monotonic()
        if (head.version, head.metadata.id) != self._seen:
            self._another = None if self._seen is None else self._polled
            self._seen, self._since = (head.version, head.metadata.id), now
        self._polled = now
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
