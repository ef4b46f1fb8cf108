"""Events of a table: descriptions of its commits, delivered at least once and without a gap.

Each event names the versions that it covers and the position after it. The sender of events stores that position and
continues from there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.delta.commit import provenance_of
from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, MapType, StructType, sql_name
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import ChangeKind, MappedField, MappedSchema, column_changes
from airflow_delta_provider.domain.delta.table_head import NOTHING, HeadMark, Partition, TableHead
from airflow_delta_provider.domain.text import short_digest

#: Maximum number of listed columns and properties.
MOST_LISTED = 100
#: Maximum number of characters in a property's value, and in a type.
_MOST_CHARACTERS = 200


def head_changes(before: TableHead | None, after: TableHead, *, known: bool = True) -> dict[str, Any]:
    """Return the changes in ``protocol``, ``schema`` and ``properties``.

    :param before: earlier head; None if there was no table, or if it is unknown
    :param known: True if the earlier head is known; otherwise nothing is compared
    """
    if not known:
        before = after
    return {
        "protocol": {**_protocol(before, after), **({} if known else {"before": None})},
        "schema": {"compared": known, **_schema(before, after)},
        "properties": _properties({} if before is None else before.metadata.configuration, after),
    }


def _protocol(before: TableHead | None, after: TableHead) -> dict[str, Any]:
    had, has = frozenset[str]() if before is None else before.protocol.features, after.protocol.features
    return {
        "before": None if before is None else before.protocol.to_json(),
        "after": after.protocol.to_json(),
        "features_added": sorted(has - had),
        "features_removed": sorted(had - has),
    }


def _properties(was: Mapping[str, str], after: TableHead) -> dict[str, Any]:
    now = after.metadata.configuration
    put = {key: value[:_MOST_CHARACTERS] for key, value in now.items() if was.get(key) != value}
    return {
        "set": dict(list(put.items())[:MOST_LISTED]),
        "unset": sorted(was.keys() - now.keys())[:MOST_LISTED],
        "more": max(0, len(put) - MOST_LISTED),
    }


def _schema(before: TableHead | None, after: TableHead) -> dict[str, Any]:
    changes: list[dict[str, Any]] = []
    unreadable: dict[str, Any] = {}
    try:
        if before is not None:
            changes = list(_columns(before.metadata.mapped_schema, after.metadata.mapped_schema))
        else:
            changes = [_added(field) for field in after.metadata.mapped_schema.fields if len(field.column.parts) == 1]
    except (BrokenLogError, RecursionError):
        unreadable = {"compared": False}
    partitions = [None if head is None else list(head.metadata.partition_columns) for head in (before, after)]
    return {
        **unreadable,
        "columns": changes[:MOST_LISTED],
        "more": max(0, len(changes) - MOST_LISTED),
        "partitioned_by": {"before": partitions[0], "after": partitions[1]},
    }


def _columns(before: MappedSchema, after: MappedSchema) -> Iterator[dict[str, Any]]:
    """Yield changes of columns, matched by id if both schemas have ids, else by name."""
    for change in column_changes(before, after):
        if change.kind is ChangeKind.DROPPED:
            yield {"change": "dropped", "column": str(change.was.column), "type": _type(change.was)}
        elif change.now is not None:
            yield {"change": "renamed", "column": str(change.was.column), "to": str(change.now.column)}
    matched = _matching(before, after)
    new: list[tuple[str, ...]] = []
    for field in after.fields:
        parts = field.column.parts
        if any(parts[: len(above)] == above for above in new):
            continue
        was = matched(field)
        if was is None:
            new.append(parts)
            yield _added(field)
            continue
        if _shape(was.column.data_type) != _shape(field.column.data_type):
            yield {"change": "retyped", "column": str(field.column), "from": _type(was), "to": _type(field)}
        if was.column.field.nullable != field.column.field.nullable:
            yield {"change": "nullable" if field.column.field.nullable else "not null", "column": str(field.column)}
        if dict(was.column.field.metadata) != dict(field.column.field.metadata):
            keys = was.column.field.metadata.keys() | field.column.field.metadata.keys()
            changed = [k for k in keys if was.column.field.metadata.get(k) != field.column.field.metadata.get(k)]
            yield {"change": "metadata", "column": str(field.column), "keys": sorted(changed)}


def _matching(before: MappedSchema, after: MappedSchema) -> Callable[[MappedField], MappedField | None]:
    if before.is_mapped and after.is_mapped:
        return lambda field: None if field.id is None else before.by_id.get(field.id)
    by_name = {field.column.parts: field for field in before.fields}
    return lambda field: by_name.get(field.column.parts)


def _added(field: MappedField) -> dict[str, Any]:
    return {"change": "added", "column": str(field.column), "type": _type(field)}


def _type(field: MappedField) -> str:
    return sql_name(field.column.data_type)[:_MOST_CHARACTERS]


def _shape(data_type: DataType) -> str:
    """Return the type without the content of its structs, whose fields are compared separately."""
    if isinstance(data_type, StructType):
        return "struct"
    if isinstance(data_type, ArrayType):
        return f"array<{_shape(data_type.element)},{data_type.contains_null}>"
    if isinstance(data_type, MapType):
        return f"map<{_shape(data_type.key)},{_shape(data_type.value)},{data_type.value_contains_null}>"
    return str(data_type)


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
            partitions = None if broken else _partitions(heads)
            yield _event(kind, table, position, before, heads[-1], progress, commits=len(heads), partitions=partitions)
        return
    for head in heads:
        changed = _changed(kind, position.mark, before, head)
        if changed or position.mark == NOTHING or (broken and progress.recreated):
            event = _event(kind, table, position, before, head, progress if broken else Progress(heads))
            yield event
            position = event.position
        before, broken = head, False


def _partitions(heads: Sequence[TableHead]) -> dict[str, Any] | None:
    """Return the partitions whose rows commits changed; None if those of a commit are unknown."""
    found: set[Partition] = set()
    for head in heads:
        if head.partitions is None:
            return None
        found |= head.partitions
    listed = sorted(found, key=str)
    return {"changed": [dict(each) for each in listed[:MOST_LISTED]], "more": max(0, len(listed) - MOST_LISTED)}


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
