"""Events of a table: descriptions of its commits, delivered at least once and without a gap.

Each event names the versions that it covers and the position after it. The sender of events stores that position and
continues from there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.delta.commit import provenance_of
from airflow_delta_provider.domain.delta.head_changes import head_changes
from airflow_delta_provider.domain.delta.head_mark import NOTHING, HeadMark
from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.domain.digest import short_digest


class EventKind(str, Enum):
    """The subject of an event."""

    COMMIT = "commit"
    """Any commit; one event for all that were made between two polls."""
    SCHEMA = "schema"
    """A commit that changes schema or partitioning; one event for each."""
    PROTOCOL = "protocol"
    """A commit that changes the protocol; one event for each."""
    VIOLATION = "violation"
    """Commits that break a rule; one event for all that were made between two polls."""


@dataclass(frozen=True)
class Position:
    """The known state of a table.

    :param mark: mark of the last reported version; ``NOTHING`` if there was no table
    :param commit: digest of that version's ``commitInfo``; None if it has none, or was not read
    """

    mark: HeadMark
    commit: str | None = None

    @classmethod
    def of(cls, head: TableHead) -> Position:
        """Return the position after a version."""
        return cls(HeadMark.of(head), _commit(head))

    @property
    def version(self) -> int:
        """The last reported version; -1 if there is none."""
        return self.mark.version

    def fits(self, head: TableHead) -> bool:
        """Return True if the table is still the known one, based on its state at the known version."""
        commits = self.commit, _commit(head)
        return (None in commits or commits[0] == commits[1]) and not HeadMark.of(head).changed_since(self.mark)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**self.mark.to_json(), "commit": self.commit}

    @classmethod
    def from_json(cls, wire: Any) -> Position:
        """Read the JSON form.

        :raises ValueError: if it is not one
        """
        return cls(HeadMark.from_json(wire), wire.get("commit"))


@dataclass(frozen=True)
class Progress:
    """The versions read since a position.

    :param heads: heads after each commit since the position, oldest first, preceded by the head at the position if it
        is known
    :param recreated: True if it is another table than at the position: created again, or replaced
    :param gap: True if commits since the position were cleaned up before they were read
    """

    heads: Sequence[TableHead]
    recreated: bool = False
    gap: bool = False

    @property
    def newest(self) -> TableHead:
        return self.heads[-1]

    def until(self, version: int) -> Progress:
        """Return the part that ends with a version; everything if it is missing or the part is broken."""
        heads = [head for head in self.heads if head.version <= version]
        if self.recreated or self.gap or not heads or heads[-1].version != version:
            return self
        return Progress(heads)


@dataclass(frozen=True)
class TableEvent:
    """An event.

    :param payload: JSON; its ``key`` stays the same however often the event is sent
    :param position: known state after the event
    """

    payload: Mapping[str, Any]
    position: Position


def events_since(
    kind: EventKind, table: str, position: Position, progress: Progress, before: TableHead | None = None
) -> Iterator[TableEvent]:
    """Yield the events of the versions read, except violations, which need an audit.

    :param before: head at the position, if it is known although its files no longer exist
    """
    heads = list(progress.heads)
    if heads[0].version == position.version and not progress.recreated and not progress.gap:
        before = heads.pop(0)
    elif progress.recreated or position.mark == NOTHING:
        before = None
    broken = progress.recreated or progress.gap
    if kind is EventKind.COMMIT:
        if heads:
            yield _event(kind, table, position, before, heads[-1], progress, commits=len(heads))
        return
    for head in heads:
        changed = _changed(kind, position.mark, before, head)
        if changed or position.mark == NOTHING or (broken and progress.recreated):
            event = _event(kind, table, position, before, head, progress if broken else Progress(heads))
            yield event
            position = event.position
        before, broken = head, False


def violation_event(
    table: str, position: Position, progress: Progress, found: Sequence[Mapping[str, Any]]
) -> TableEvent:
    """Return the event of commits that broke rules.

    :param found: findings as JSON
    """
    event = _event(EventKind.VIOLATION, table, position, None, progress.newest, progress)
    first = found[0]
    commit = {key: first.get(key) for key in ("operation", "engine", "user", "timestamp")}
    listed = [{key: one.get(key) for key in ("code", "version", "message")} for one in found]
    payload = {**event.payload, **commit, "codes": sorted({one["code"] for one in found}), "findings": listed}
    for key in ("protocol", "schema", "properties"):
        payload.pop(key)
    return TableEvent(payload, event.position)


def _changed(kind: EventKind, known: HeadMark, before: TableHead | None, head: TableHead) -> bool:
    if before is not None and before.protocol is head.protocol and before.metadata is head.metadata:
        return False  # most commits
    since = known if before is None else HeadMark.of(before)
    return kind.value in HeadMark.of(head).changed_since(since)


def _event(
    kind: EventKind,
    table: str,
    position: Position,
    before: TableHead | None,
    head: TableHead,
    progress: Progress,
    **more: Any,
) -> TableEvent:
    payload = {
        "key": f"{kind.value}:{head.metadata.id}:{position.version}:{head.version}",
        "on": kind.value,
        "table": table,
        "table_id": head.metadata.id,
        "previous_table_id": position.mark.table_id,
        "from_version": None if position.version < 0 else position.version,
        "to_version": head.version,
        "recreated": progress.recreated,
        "gap": progress.gap,
        **{key: provenance_of(head.info)[key] for key in ("timestamp", "operation", "engine", "user")},
        **head_changes(before, head, known=before is not None or not progress.gap or progress.recreated),
        "codes": [],
        **more,
    }
    return TableEvent(payload, Position.of(head))


def _commit(head: TableHead) -> str | None:
    return short_digest(json.dumps(head.info, sort_keys=True, default=str)) if head.info else None
