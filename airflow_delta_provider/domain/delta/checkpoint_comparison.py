"""Differences between a checkpoint and the commits that it replaces. PROTOCOL.md, Checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import cached_property
from itertools import repeat
from math import isclose
from typing import Any

from airflow_delta_provider.domain.delta.live_file import FileKey
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.parsed_fields import (
    PARSED_COUNT,
    PARTITION_VALUES,
    STATISTICS,
    narrower_bounds,
    parsed_differences,
)
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.snapshot import (
    FILE_FIELDS,
    ActionBatch,
    Snapshot,
    agree,
    digests_of,
    file_key,
    file_keys,
    has_statistics,
)
from airflow_delta_provider.domain.formats.json_values import parse_json

_FIELD_KEYS = frozenset({"name", "type", "nullable", "metadata"})
_TYPE_KEYS: Mapping[str, frozenset[str]] = {
    "struct": frozenset({"type", "fields"}),
    "array": frozenset({"type", "elementType", "containsNull"}),
    "map": frozenset({"type", "keyType", "valueType", "valueContainsNull"}),
}


def metadata_differences(ours: Metadata, theirs: Metadata) -> list[str]:
    """Return the names of the fields that differ between two metaData actions.

    Schemas are compared as JSON, ignoring blanks, the order of keys, and keys that PROTOCOL.md does not define.
    """
    fields = (
        ("id", ours.id == theirs.id),
        ("name", (ours.name or None) == (theirs.name or None)),
        ("description", (ours.description or None) == (theirs.description or None)),
        ("format", (ours.format_provider, ours.format_options) == (theirs.format_provider, theirs.format_options)),
        ("schemaString", same_schema(ours.schema_string, theirs.schema_string)),
        ("partitionColumns", ours.partition_columns == theirs.partition_columns),
        ("configuration", ours.configuration == theirs.configuration),
        ("createdTime", None in (ours.created_time, theirs.created_time) or ours.created_time == theirs.created_time),
    )
    return [field for field, same in fields if not same]


def same_schema(one: str, other: str) -> bool:
    """Return True if two schema strings are equal as JSON."""
    if one == other:
        return True
    try:
        return bool(_known_part(parse_json(one)) == _known_part(parse_json(other)))
    except ValueError:
        return False


def _known_part(wire: Any) -> Any:
    """Return a type or a field of a schema, reduced to keys that PROTOCOL.md defines."""
    if not isinstance(wire, dict):
        return wire
    kind = wire.get("type")
    known = _TYPE_KEYS.get(kind, _FIELD_KEYS) if isinstance(kind, str) else _FIELD_KEYS
    if "name" in wire:
        known = _FIELD_KEYS
    return {
        key: [_known_part(field) for field in value]
        if key == "fields" and isinstance(value, list)
        else value
        if key == "metadata"
        else _known_part(value)
        for key, value in wire.items()
        if key in known and not (key == "metadata" and not value)
    }


#: Property with the time that transactions are kept; they are kept forever if it is not set.
TRANSACTION_RETENTION = "delta.setTransactionRetentionDuration"
_AS_JSON, _AS_STRUCT = "delta.checkpoint.writeStatsAsJson", "delta.checkpoint.writeStatsAsStruct"
#: Limits: differing files that are compared in detail, and files whose parsed fields are compared.
_MOST, MOST_PARSED = 10_000, 2_000
_FIELDS = (*FILE_FIELDS, "deletionVector")
#: Function that returns, by key, the last ``add`` action of each file in the commits.
Originals = Callable[[frozenset[FileKey]], Mapping[FileKey, Mapping[str, Any]]]


class SnapshotComparison:
    """Compares the actions of a checkpoint, each passed once.

    :param expected: sum of the commits
    :param begun_late: True if older commits are unknown, so there may be more tombstones and transactions
    :param looks_up: True if statistics that the checkpoint has only in parsed form are compared with the commits
    """

    def __init__(self, expected: Snapshot, *, begun_late: bool = False, looks_up: bool = True) -> None:
        self._expected = expected
        self._begun_late = begun_late
        self._looks_up = looks_up
        self._found = Snapshot()
        self._only_here: list[str] = []
        self._unlike: dict[FileKey, Mapping[str, Any]] = {}
        self._parsed = 0
        self._misparsed: dict[FileKey, list[str]] = {}
        self._without_text: dict[FileKey, Mapping[str, Any]] = {}
        self._undescribed: list[str] = []

    @cached_property
    def _metadata(self) -> Metadata | None:
        return None if self._expected.metadata is None else Metadata.from_json(self._expected.metadata)

    @property
    def domains(self) -> Mapping[str, str]:
        """The domain metadata in the checkpoint."""
        return self._found.domains

    @property
    def expected_domains(self) -> Mapping[str, str]:
        """The domain metadata in the commits."""
        return self._expected.domains

    def take(self, batch: ActionBatch) -> None:
        """Read actions of the checkpoint.

        :raises KeyError: if one lacks a field that its kind requires; TypeError, ValueError and AttributeError likewise
        """
        if batch.kind != "add":
            for body in batch.bodies():
                self._found.take_action(batch.kind, body)
            return
        keys = file_keys(batch)
        expected = list(map(self._expected.files.get, zip(keys[0], keys[1] or repeat(""))))
        found = digests_of(batch)
        if expected == found and not any(batch.column(field) for field in (STATISTICS, PARTITION_VALUES)):
            stats = batch.column("stats")
            if stats is not None and None not in stats and "" not in stats:
                return
        for index, (digest, own) in enumerate(zip(expected, found)):
            self._take_add(batch.body(index), digest, own)

    def _take_add(self, add: Mapping[str, Any], digest: int | None, own: int) -> None:
        """Compare an ``add`` action.

        :param digest: digest of the file in the commits; None if it is not live
        :param own: digest of the action
        """
        key = file_key(add)
        if digest is None:
            self._only_here.append(key[0])
            return
        is_described = add.get("stats") not in (None, "") or add.get(STATISTICS) or add.get(PARSED_COUNT) is not None
        if not is_described and has_statistics(digest):
            self._undescribed.append(key[0])
        if not agree(digest, own) and len(self._unlike) < _MOST:
            self._unlike[key] = add
        if add.get(STATISTICS) or add.get(PARTITION_VALUES):
            self._take_parsed(key, add)

    def _take_parsed(self, key: FileKey, add: Mapping[str, Any]) -> None:
        self._parsed += 1
        if self._metadata is None or self._parsed > MOST_PARSED:
            return
        stats = add.get("stats")
        if wrong := parsed_differences(add, self._metadata, stats):
            self._misparsed[key] = wrong
        elif stats is None and add.get(STATISTICS) and self._looks_up:
            self._without_text[key] = add

    @property
    def without_statistics(self) -> list[str]:
        """Paths of the files that have statistics in the commits, and none in the checkpoint.

        It is empty if the properties of the table turn off both forms of statistics.
        """
        properties = (self._expected.metadata or {}).get("configuration") or {}
        is_meant = properties.get(_AS_JSON) == "false" and properties.get(_AS_STRUCT) != "true"
        return [] if is_meant else self._undescribed

    def differences(
        self, files: Container[FileKey], originals: Originals, retained_since: Callable[[], float]
    ) -> Iterator[str]:
        """Yield the differences, for people.

        :param files: keys of all files that the checkpoint adds or removes
        :param retained_since: function that returns the time, in milliseconds since 1970, after which tombstones must
            be kept
        """
        yield from self._of_head()
        yield from transaction_differences(self._expected, self._found.transactions, more_allowed=self._begun_late)
        yield from _of_each("domainMetadata", self._shared_domains, self.domains, more_allowed=False)
        yield from self.of_files(files, originals)
        yield from self._of_tombstones(retained_since)

    def of_files(self, files: Container[FileKey], originals: Originals) -> Iterator[str]:
        """Yield the differences of live files. The parameters are as in :meth:`differences`."""
        removed = self._found.tombstones
        only_there = [key[0] for key in self._expected.files if key not in files or key in removed]
        yield from _named(self._only_here, "live file", "only in it")
        yield from _named(only_there, "live file", "missing in it")
        unlike = [(key[0], fields) for key, fields in self._truly_unlike(originals) if fields]
        for path, fields in unlike[:1]:
            more = f" and of {len(unlike) - 1} more" if len(unlike) > 1 else ""
            yield f"{', '.join(fields)} of the live file {path}{more}"

    def _of_head(self) -> Iterator[str]:
        ours, theirs = self._found.protocol, self._expected.protocol
        if ours is not None and theirs is not None:
            one, other = Protocol.from_json(ours), Protocol.from_json(theirs)
            if one != other:
                yield f"the protocol is {one} in it and {other} in the commits"
        if self._found.metadata is not None and self._expected.metadata is not None:
            fields = metadata_differences(*map(Metadata.from_json, (self._found.metadata, self._expected.metadata)))
            if fields:
                yield f"{', '.join(fields)} of the metadata"

    @property
    def _shared_domains(self) -> Mapping[str, str]:
        return {name: text for name, text in self._expected.domains.items() if name in self.domains}

    def _truly_unlike(self, originals: Originals) -> Iterator[tuple[FileKey, list[str]]]:
        if not (self._unlike or self._misparsed or self._without_text):
            return
        wanted = frozenset((*self._unlike, *self._without_text))
        logged = originals(wanted) if wanted else {}
        yield from self._misparsed.items()
        for key, add in self._without_text.items():
            if self._metadata is not None and key in logged:
                yield key, parsed_differences(add, self._metadata, logged[key].get("stats"))
        for key, add in self._unlike.items():
            if key not in logged:
                yield key, ["some fields"]
                continue
            fields = file_differences(logged[key], add)
            if self._metadata is not None and "stats" not in fields:
                fields += narrower_bounds(logged[key].get("stats"), add.get("stats"), self._metadata)
            if not fields:  # engines may write statistics in another form, and carry them on
                self._expected.note_add(key, add)
            yield key, fields

    def _of_tombstones(self, retained_since: Callable[[], float]) -> Iterator[str]:
        expected, found = self._expected.tombstones, self._found.tombstones
        if not self._begun_late:
            yield from _named([key[0] for key in found if key not in expected], "tombstone", "only in it")
        lost = [(key[0], at) for key, at in expected.items() if key not in found and at]
        since = retained_since() if lost else 0
        yield from _named([path for path, at in lost if at > since], "tombstone", "missing in it")
        other = [key[0] for key, at in found.items() if None not in (at, expected.get(key)) and expected[key] != at]
        yield from _named(other, "tombstone", "of another time in it")


def transaction_differences(
    expected: Snapshot, found: Mapping[str, Mapping[str, Any]], *, more_allowed: bool
) -> Iterator[str]:
    """Yield the differences of ``txn`` actions, for people.

    :param found: actions by application
    :param more_allowed: True if there may be others than the expected ones
    """
    ours = {name: txn.get("version") for name, txn in found.items()}
    theirs = {name: txn.get("version") for name, txn in expected.transactions.items()}
    if TRANSACTION_RETENTION in ((expected.metadata or {}).get("configuration") or {}):
        theirs = {name: version for name, version in theirs.items() if name in ours}  # others may have expired
    yield from _of_each("txn", theirs, ours, more_allowed=more_allowed)


def file_differences(logged: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields that differ between two ``add`` actions of a file."""
    found = [field for field in _FIELDS if _unless_empty(logged.get(field)) != _unless_empty(other.get(field))]
    for field, empty in (("partitionValues", None), ("tags", "")):
        ours, theirs = (
            {name: value or empty for name, value in (add.get(field) or {}).items()} for add in (logged, other)
        )
        if ours != theirs:
            found.append(field)
    stats = logged.get("stats"), other.get("stats")
    if all(stats) and not statistics_agree(*map(str, stats)):
        found.append("stats")
    return found


def _unless_empty(value: Any) -> Any:
    """Return a value, or None for an empty text or object, which engines write for none; 0 is a value."""
    return None if value in ("", {}) else value


def _of_each(kind: str, expected: Mapping[str, Any], found: Mapping[str, Any], *, more_allowed: bool) -> Iterator[str]:
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            yield f"the {kind} of {name} is missing in it"
        elif name not in expected:
            if not more_allowed:
                yield f"the {kind} of {name} is only in it"
        elif found[name] != expected[name]:
            yield f"the {kind} of {name} is {found[name]} in it and {expected[name]} in the commits"


def _named(paths: Sequence[str], what: str, where: str) -> Iterator[str]:
    if paths:
        count = f"{len(paths)} {what}s are" if len(paths) > 1 else f"1 {what} is"
        yield f"{count} {where}, {'the first ' if len(paths) > 1 else ''}{paths[0]}"


_LEAVES = ("minValues", "maxValues", "nullCount")
#: Statistics that are whole numbers in any form; a bound of a float may be rounded.
_COUNTS = ("numRecords", "nullCount")


def statistics_agree(one: str, other: str) -> bool:
    """Return True if two JSON strings of statistics agree in the values that both have.

    An engine may leave out columns, and format numbers and times differently.
    """
    if one == other:
        return True
    try:
        ours, theirs = parse_json(one), parse_json(other)
    except ValueError:
        return False
    if not (isinstance(ours, Mapping) and isinstance(theirs, Mapping)):
        return False
    return all(
        _agree(ours[key], theirs[key], exact=key in _COUNTS)
        for key in ("numRecords", *_LEAVES)
        if key in ours and key in theirs
    )


def _agree(one: Any, other: Any, *, exact: bool) -> bool:
    if one == other or one is None or other is None:
        return True
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return all(_agree(one[key], other[key], exact=exact) for key in one if key in other)
    if isinstance(one, str) and isinstance(other, str):
        ours, theirs = _time(one), _time(other)
        if ours is None or theirs is None:
            return False
        return abs(ours - theirs) < 0.001
    if exact or (type(one) is int and type(other) is int):
        return False
    try:
        return isclose(float(one), float(other), rel_tol=1e-6)
    except (TypeError, ValueError):
        return False


def _time(text: str) -> float | None:
    """Return a time in seconds since 1970, UTC if it has no zone; None if it is invalid."""
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()
