"""Descriptions of commits' changes to a table's protocol and columns, for a timeline of its versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.delta.commit import Action, Commit, read_actions
from airflow_delta_provider.domain.delta.data_type import ArrayType, Column, MapType, StructType, all_columns, sql_name
from airflow_delta_provider.domain.delta.features.columns import can_widen
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import (
    ID,
    Metadata,
    column_changes,
    field_metadata,
    is_id,
)
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_features import feature_states
from airflow_delta_provider.domain.delta.table_state import TableState, Transition

#: Limits: newest events of a table, names in an event, characters in its text.
_MAX_EVENTS, _MAX_NAMES, _MAX_TEXT = 200, 4, 240
#: Maximum number of columns in a report.
_MAX_COLUMNS = 1000
#: Kinds of actions that events are derived from.
_LOOKED_AT = ("commitInfo", "protocol", "metaData")


class HistoryEventKind(str, Enum):
    """The subject of an event."""

    CREATED = "created"
    PROTOCOL = "protocol"
    ADDED = "added"
    WIDENED = "widened"
    RENAMED = "renamed"
    DROPPED = "dropped"
    CHANGED = "changed"


@dataclass(frozen=True)
class HistoryEvent:
    """One change that a commit made.

    :param text: description with the names of features or columns
    :param operation: operation that the commit names
    :param writer: name and version of the engine, if known
    :param timestamp: time of the commit, ISO 8601, UTC
    """

    version: int
    kind: HistoryEventKind
    text: str
    operation: str | None = None
    writer: str | None = None
    timestamp: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, without unknown values."""
        wire = {**asdict(self), "kind": self.kind.value}
        return {key: value for key, value in wire.items() if value is not None}

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> HistoryEvent:
        """Read the JSON form. Keys of later versions are ignored.

        :raises ValueError: if it is damaged; KeyError, TypeError and AttributeError likewise
        """
        known = {name: wire[name] for name in cls.__dataclass_fields__ if name in wire}
        return cls(**{**known, "version": int(wire["version"]), "kind": HistoryEventKind(wire["kind"])})


@dataclass(frozen=True)
class HistoryEvents:
    """The newest events of a table, oldest first.

    :param omitted: number of older events that were dropped
    """

    events: tuple[HistoryEvent, ...] = ()
    omitted: int = 0

    def and_then(self, events: Iterable[HistoryEvent]) -> HistoryEvents:
        """Add later events."""
        found = (*self.events, *events)
        return HistoryEvents(found[-_MAX_EVENTS:], self.omitted + max(0, len(found) - _MAX_EVENTS))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"events": [event.to_json() for event in self.events], "omitted": self.omitted}

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> HistoryEvents:
        """Read the JSON form.

        :raises ValueError: if it is damaged; KeyError, TypeError and AttributeError likewise
        """
        return cls(tuple(map(HistoryEvent.from_json, wire["events"])), int(wire["omitted"]))


def history_of(state: TableState, events: HistoryEvents) -> dict[str, Any]:
    """Return the state of a table and the events that led to it, for the report."""
    protocol = state.protocol
    try:
        fields = state.metadata.schema.fields[:_MAX_COLUMNS]
        columns: dict[str, str] | None = {field.name: sql_name(field.data_type) for field in fields}
    except BrokenLogError:
        columns = None
    return {
        "protocol": protocol.to_json(),
        "features": feature_states(protocol, state.metadata),
        "columns": columns,
        **events.to_json(),
    }


def events_after(state: TableState, commits: Iterable[tuple[int, Iterable[Action]]]) -> HistoryEvents:
    """Return the events of commits. Changes of files are ignored.

    :param state: state of the table before the first commit
    :param commits: commits with their versions, oldest first, without a gap
    :raises BrokenLogError: if an action is malformed
    """
    events = HistoryEvents()
    for version, actions in commits:
        commit = Commit.of(version, read_actions(actions, _LOOKED_AT, where=f" of version {version}"))
        [protocol], [metadata] = (state.protocol, *commit.protocols)[-1:], (state.metadata, *commit.metadata)[-1:]
        after = replace(state, version=version, protocol=protocol, metadata=metadata)
        events = events.and_then(events_of(Transition(state, commit, after, {})))
        state = after
    return events


def first_event(commit: Commit, state: TableState) -> HistoryEvent:
    """Return the event of the commit that gave a table its protocol and metadata."""
    return _event(commit, HistoryEventKind.CREATED, f"creates the table: {_protocol(state.protocol)}")


def events_of(transition: Transition) -> Iterator[HistoryEvent]:
    """Yield the changes of a commit to protocol and columns."""
    commit, before, after = transition.commit, transition.before, transition.after
    if commit.metadata and before.metadata.id != after.metadata.id:
        yield _event(commit, HistoryEventKind.CREATED, "replaces the table: it has another id")
    if commit.protocols and before.protocol != after.protocol:
        yield _event(commit, HistoryEventKind.PROTOCOL, _protocol_change(before.protocol, after.protocol))
    if commit.metadata and before.metadata.schema_string != after.metadata.schema_string:
        try:
            changes = list(_column_changes(before.metadata, after.metadata))
        except BrokenLogError:
            changes = [(HistoryEventKind.CHANGED, "changes the schema, and one of the two cannot be read")]
        for kind in HistoryEventKind:
            if texts := [text for each, text in changes if each is kind]:
                more = len(texts) - _MAX_NAMES
                shown = texts[:_MAX_NAMES] + ([f"{more} more"] if more > 0 else [])
                yield _event(commit, kind, "; ".join(shown))


def _event(commit: Commit, kind: HistoryEventKind, text: str) -> HistoryEvent:
    made = commit.provenance
    text = text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
    return HistoryEvent(commit.version, kind, text, made["operation"], made["writer"], made["timestamp"])


def _protocol(protocol: Protocol) -> str:
    return f"reader version {protocol.min_reader_version}, writer version {protocol.min_writer_version}"


def _protocol_change(before: Protocol, after: Protocol) -> str:
    texts = []
    for verb, features in (("adds", after.features - before.features), ("drops", before.features - after.features)):
        if features:
            texts.append(f"{verb} {', '.join(sorted(features))}")
    versions = (before.min_reader_version, before.min_writer_version) != (
        after.min_reader_version,
        after.min_writer_version,
    )
    if versions or not texts:
        texts.append(_protocol(after))
    return "; ".join(texts)


def _column_changes(before: Metadata, after: Metadata) -> Iterator[tuple[HistoryEventKind, str]]:
    old, new = before.mapped_schema, after.mapped_schema
    for change in column_changes(old, new):
        kind = HistoryEventKind.DROPPED if change.now is None else HistoryEventKind.RENAMED
        yield kind, change.text
    by_id = old.is_mapped and new.is_mapped
    were, are = _places(before, by_id=by_id), _places(after, by_id=by_id)
    added: list[tuple[str, ...]] = []
    for key, column in are.items():
        was = were.get(key)
        if was is None:
            if column.kinds[-1] == "field" and not any(column.parts[: len(parts)] == parts for parts in added):
                added.append(column.parts)
                yield HistoryEventKind.ADDED, f"adds {column} {sql_name(column.data_type)}"
        elif not _is_nested(was) and not _is_nested(column) and was.data_type != column.data_type:
            kind = HistoryEventKind.WIDENED if can_widen(was.data_type, column.data_type) else HistoryEventKind.CHANGED
            verb = "widens" if kind is HistoryEventKind.WIDENED else "changes"
            yield kind, f"{verb} {column} from {sql_name(was.data_type)} to {sql_name(column.data_type)}"


def _places(metadata: Metadata, *, by_id: bool) -> dict[Any, Column]:
    """Return the places of a schema, keyed by column id and path within the column, or by full path."""
    places: dict[Any, Column] = {}
    for column in all_columns(metadata.schema):
        number = field_metadata(column.field).get(ID)
        places[(number, column.field_path) if by_id and is_id(number) else column.parts] = column
    return places


def _is_nested(column: Column) -> bool:
    return isinstance(column.data_type, (StructType, ArrayType, MapType))
