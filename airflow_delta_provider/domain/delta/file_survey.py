"""Decides clauses of engines' conditions that need the log's entries for files, and sometimes footers.

Only the clauses that ``engine_conditions.py`` leaves open are decided here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any
from urllib.parse import unquote

from airflow_delta_provider.domain.delta.column_statistics import (
    are_rounded,
    columns_of,
    is_sound,
    read_statistics,
    walk,
)
from airflow_delta_provider.domain.delta.data_type import (
    DataType,
    DecimalType,
    PrimitiveType,
    StructField,
    all_columns,
    path_text,
)
from airflow_delta_provider.domain.delta.engine_conditions import families_of, family_of
from airflow_delta_provider.domain.delta.features.columns import recorded_changes
from airflow_delta_provider.domain.delta.log_files import LogSegment, is_absolute, is_multi_part
from airflow_delta_provider.domain.delta.metadata import Metadata, field_metadata, physical_name, physical_parts
from airflow_delta_provider.domain.delta.partition_value import NULL_IN_PATHS, parse_moment
from airflow_delta_provider.domain.engine.conditions import (
    AbsolutePaths,
    Bounds,
    Checkpoints,
    CheckpointVectors,
    Clause,
    ClauseState,
    Decision,
    InexactDecimals,
    Microseconds,
    MissingBounds,
    NullPartitions,
    OldTypes,
    PartialCounts,
    PathPartitions,
    RoundedBounds,
    ShortDecimals,
    Values,
    Vectors,
)

_NO = Decision(ClauseState.NO)
_LISTS_VECTORS = Decision(ClauseState.YES, "the newest checkpoint lists files with deletion vectors")
_MOMENTS = frozenset({"date", "timestamp", "timestamp_ntz"})
#: Types whose columns no engine expects to have bounds.
_WITHOUT_BOUNDS = frozenset({"binary", "variant", "void"})
#: Number of files whose footers are read for one clause, and of files that are kept for it.
_MOST_FOOTERS, _MOST_KEPT = 20, 1_000

#: A file: its path and its size in bytes.
FilePlace = tuple[str, int]
#: Follows the physical type of a leaf column that has times in milliseconds.
MILLIS = "milliseconds"
#: Physical types of a file's leaf columns, by their paths in the file; decimals as in ``INT64 decimal(12, 1)``.
StoredTypes = Mapping[tuple[str, ...], str]
#: Returns these types, or the reason why they are unknown.
ReadTypes = Callable[[FilePlace], StoredTypes | str]


class FileSurvey:
    """Decides clauses from the entries of live files.

    :param clauses: clauses to decide
    :param segment: files of the log that make up the version
    :param rounds: returns True if an engine that rounds the bounds of decimals wrote to the table
    """

    def __init__(
        self,
        metadata: Metadata,
        clauses: Iterable[Clause],
        segment: LogSegment,
        rounds: Callable[[], bool] = lambda: False,
    ) -> None:
        self._segment = segment
        kinds: Mapping[type[Clause], Callable[[Any, Metadata], Any]] = {
            **_CASES,
            RoundedBounds: partial(_HasRoundedBound, rounds=rounds),
        }
        self._cases = {clause: kinds[type(clause)](clause, metadata) for clause in clauses if type(clause) in kinds}
        self._others = [clause for clause in clauses if isinstance(clause, Checkpoints)]
        self._of_listed = [clause for clause in clauses if isinstance(clause, CheckpointVectors)]
        self._lists_vectors = False

    def note_listed(self, add: Mapping[str, Any]) -> None:
        """Take an ``add`` action of the newest checkpoint into account, also if its file is no longer live."""
        self._lists_vectors = self._lists_vectors or bool(add.get("deletionVector"))

    def note(self, add: Mapping[str, Any]) -> None:
        """Take the ``add`` action of a live file into account."""
        for case in self._cases.values():
            case.note(add)

    def decisions(self, read_types: ReadTypes) -> dict[Clause, Decision]:
        """Return the decisions about all clauses.

        :param read_types: reads the types of a file's columns; called for few files
        """
        found: dict[Clause, Decision] = {clause: case.decide(read_types) for clause, case in self._cases.items()}
        found |= dict.fromkeys(self._of_listed, _LISTS_VECTORS if self._lists_vectors else _NO)
        return found | {clause: _of_checkpoint(clause, self._segment) for clause in self._others}


def _of_checkpoint(clause: Checkpoints, segment: LogSegment) -> Decision:
    files = segment.checkpoint_files
    if not files:
        return _NO
    if not clause.kinds:
        return Decision(ClauseState.YES, "the log has a checkpoint")
    own_name = len(files[0].split(".")) > 3  # VERSION.checkpoint.UUID.parquet
    kind = "multi-part" if is_multi_part(files[0]) else "v2" if own_name else "classic"
    return Decision(ClauseState.YES, f"the newest checkpoint is a {kind} one") if kind in clause.kinds else _NO


class _HasVectors:
    def __init__(self, clause: Vectors, metadata: Metadata) -> None:
        del clause, metadata
        self._paths: set[str] = set()
        self._more = False

    def note(self, add: Mapping[str, Any]) -> None:
        if add.get("deletionVector"):
            self._more = self._more or len(self._paths) >= _MOST_KEPT
            if not self._more:
                self._paths.add(str(add["path"]))

    def decide(self, read_types: ReadTypes) -> Decision:
        del read_types
        count = len(self._paths)
        if not count:
            return _NO
        text = "1 live file has a deletion vector" if count == 1 else f"{count} live files have deletion vectors"
        return Decision(ClauseState.YES, f"more than {text}" if self._more else text)


@dataclass(frozen=True)
class _Reading:
    """A column whose values are compared.

    :param name: name for people
    :param parts: names in data files; the name in ``partitionValues`` for a partition column
    :param has_bounds: True if the log's statistics can have bounds for it
    :param kind: its type, without parameters
    """

    name: str
    parts: tuple[str, ...]
    has_bounds: bool
    kind: str


class _InRange:
    """Compares values with a range."""

    def __init__(self, clause: Values, metadata: Metadata) -> None:
        self._clause = clause
        self._columns = list(_readings(clause, metadata))
        self._far: list[tuple[FilePlace, _Reading, str]] = []
        self._unknown: list[tuple[FilePlace, _Reading]] = []
        self._dropped = False

    def note(self, add: Mapping[str, Any]) -> None:
        place = (str(add["path"]), int(add.get("size") or 0))
        if self._clause.partitions:
            values = _partition_values(add)
            for column in self._columns:
                if values is None:
                    self._keep_unknown(place, column)
                elif text := values.get(column.parts[0]):
                    self._compare(place, column, [text])
            return
        stats = _statistics(add)
        loose = bool(add.get("deletionVector")) and stats.get("tightBounds") is not True
        rows = stats.get("numRecords")
        if rows == 0:
            return
        for column in self._columns:
            if column.has_bounds:
                count, low, high = (
                    _at(stats.get(key), column.parts) for key in ("nullCount", "minValues", "maxValues")
                )
                if rows is not None and count == rows:
                    continue
                if low is not None and high is not None and not (loose and self._is_far(column, [low, high])):
                    self._compare(place, column, [low, high])
                    continue
            self._keep_unknown(place, column)

    def _compare(self, place: FilePlace, column: _Reading, texts: list[Any]) -> None:
        far = self._is_far(column, texts)
        if far is None:
            self._keep_unknown(place, column)
        elif far:
            self._dropped = self._dropped or len(self._far) >= _MOST_KEPT
            if not self._dropped:
                self._far.append((place, column, far))

    def _is_far(self, column: _Reading, texts: list[Any]) -> str | None:
        """Return the text of a value outside the range, empty if there is none; None if a value cannot be read."""
        try:
            least, greatest = (_value(column.kind, end) for end in (self._clause.least, self._clause.greatest))
            return next((str(text) for text in texts if not least <= _value(column.kind, text) <= greatest), "")
        except (ValueError, InvalidOperation):
            return None

    def _keep_unknown(self, place: FilePlace, column: _Reading) -> None:
        if len(self._unknown) < _MOST_KEPT:
            self._unknown.append((place, column))

    def decide(self, read_types: ReadTypes) -> Decision:
        stored = self._clause.stored_as
        unread = ""
        for number, (place, column, text) in enumerate(self._far):
            reaches = f"{_noun(self._clause, column)} reaches {_shown(text)}"
            if not stored:
                return Decision(ClauseState.YES, reaches)
            if number >= _MOST_FOOTERS:
                return Decision(
                    ClauseState.UNKNOWN, f"{reaches}, and not all of these files were read to see the type {stored}"
                )
            is_stored, why = self._is_stored(place, column, read_types)
            if is_stored:
                return Decision(ClauseState.YES, f"{reaches} in files that store it as {stored}")
            unread = unread or (f"{reaches}, and {why}" if is_stored is None else "")
        if unread:
            return Decision(ClauseState.UNKNOWN, unread)
        for number, (place, column) in enumerate(() if self._clause.known else self._unknown):
            missing = f"the values of {_noun(self._clause, column)} are not known from statistics"
            if not stored:
                return Decision(ClauseState.UNKNOWN, missing)
            if number >= _MOST_FOOTERS:
                return Decision(ClauseState.UNKNOWN, missing)
            is_stored, why = self._is_stored(place, column, read_types)
            if is_stored is not False:
                also = f"files store it as {stored}" if is_stored else why
                return Decision(ClauseState.UNKNOWN, f"{missing}, and {also}")
        return _NO

    def _is_stored(self, place: FilePlace, column: _Reading, read_types: ReadTypes) -> tuple[bool | None, str]:
        """Return True if a file stores a column in the wanted type; None, with the reason, if that is unknown."""
        types = read_types(place)
        if isinstance(types, str):
            return None, types
        below = [kind for path, kind in types.items() if _is_in(path, column)]
        return self._clause.stored_as in below, ""


def _readings(clause: Values, metadata: Metadata) -> Iterator[_Reading]:
    mode, of_partitions = metadata.properties.mapping_mode, {name.lower() for name in metadata.partition_columns}
    for column in all_columns(metadata.schema):
        kind = family_of(column.data_type)
        if kind not in clause.types or (column.parts[0].lower() in of_partitions) is not clause.partitions:
            continue
        nested = next((place for place, step in enumerate(column.kinds) if step != "field"), len(column.parts))
        parts = physical_parts(column, metadata.schema, mode)[:nested]
        yield _Reading(path_text(column.parts), parts, nested == len(column.parts), kind)


def _noun(clause: Values, column: _Reading) -> str:
    return f"{'partition column' if clause.partitions else 'column'} {column.name}"


def _shown(text: str) -> str:
    return text.removesuffix("Z").replace("T", " ").partition(".")[0].removesuffix(" 00:00:00")


def _value(kind: str, text: Any) -> Any:
    """Return a value that can be compared.

    :raises ValueError: if it is not a value of its type; InvalidOperation likewise
    """
    if kind in _MOMENTS:
        if not isinstance(text, str):
            raise ValueError
        return parse_moment(text)
    return Decimal(str(text))


def _statistics(add: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the statistics of a file, from JSON or from the parsed form of a checkpoint; empty if it has none."""
    text = add.get("stats")
    if isinstance(text, str):
        try:
            found = read_statistics(text)
            return found if isinstance(found, Mapping) else {}
        except ValueError:
            return {}
    parsed = add.get("stats_parsed")
    return parsed if isinstance(parsed, Mapping) else {}


def _partition_values(add: Mapping[str, Any]) -> Mapping[str, Any] | None:
    values = add.get("partitionValues")
    return values if isinstance(values, Mapping) else None


def _at(values: Any, parts: tuple[str, ...]) -> Any:
    for part in parts:
        values = values.get(part) if isinstance(values, Mapping) else None
    return values


class _HasBound:
    """Looks for a bound with a text, such as ``NaN``."""

    def __init__(self, clause: Bounds, metadata: Metadata) -> None:
        mode = metadata.properties.mapping_mode
        self._text = clause.text
        self._names = {
            physical_parts(column, metadata.schema, mode): str(column) for column in all_columns(metadata.schema)
        }
        self._found = ""

    def note(self, add: Mapping[str, Any]) -> None:
        text = add.get("stats")
        if self._found or (isinstance(text, str) and self._text not in text):
            return
        stats = _statistics(add)
        for key in ("minValues", "maxValues"):
            for parts, value in _leaves(stats.get(key), ()):
                of_float = isinstance(value, (str, float)) and str(value).casefold() == self._text.casefold()
                if of_float and parts in self._names:
                    self._found = self._names[parts]

    def decide(self, read_types: ReadTypes) -> Decision:
        del read_types
        if not self._found:
            return _NO
        return Decision(ClauseState.YES, f"the statistics of column {self._found} have the bound {self._text}")


def _leaves(values: Any, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in values.items() if isinstance(values, Mapping) else ():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name), value


def _number_bounds(add: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the JSON statistics of a file, with decimals as written; empty if readers have a typed form of them."""
    text = add.get("stats")
    if not isinstance(text, str) or add.get("stats_parsed") is not None:
        return {}
    try:
        found = read_statistics(text, exact=True)
    except ValueError:
        return {}
    return found if isinstance(found, Mapping) else {}


def _data_columns(metadata: Metadata, *kinds: type[DataType]) -> dict[str, str]:
    """Return the names of top-level columns of some kinds of types by physical name, without partition columns."""
    mode, of_partitions = metadata.properties.mapping_mode, {name.lower() for name in metadata.partition_columns}
    return {
        physical_name(each, mode): each.name
        for each in metadata.schema.fields
        if isinstance(each.data_type, kinds) and each.name.lower() not in of_partitions
    }


class _HasInexactDecimal:
    """Looks for bounds that a floating-point number makes narrower."""

    def __init__(self, clause: InexactDecimals, metadata: Metadata) -> None:
        del clause
        self._columns = _data_columns(metadata, DecimalType)
        self._found = _NO

    def note(self, add: Mapping[str, Any]) -> None:
        if self._found.met is ClauseState.YES:
            return
        stats = _number_bounds(add)
        loose = bool(add.get("deletionVector")) and stats.get("tightBounds") is not True
        for key, is_narrower in (("minValues", Decimal.__gt__), ("maxValues", Decimal.__lt__)):
            for name, column in self._columns.items():
                bound = _at(stats.get(key), (name,))
                if isinstance(bound, Decimal) and is_narrower(Decimal(repr(float(bound))), bound):
                    why = f"the bound {bound} of column {column} has more digits than a floating-point number"
                    self._found = Decision(ClauseState.UNKNOWN if loose else ClauseState.YES, why)

    def decide(self, read_types: ReadTypes) -> Decision:
        del read_types
        return self._found


class _HasRoundedBound:
    """Looks for bounds of a decimal that lost digits; the log does not show whether values are outside them."""

    def __init__(self, clause: RoundedBounds, metadata: Metadata, *, rounds: Callable[[], bool]) -> None:
        del clause
        columns = columns_of(metadata)
        self._columns = columns if columns is not None and columns.need_exact else None
        self._rounds = rounds
        self._found: dict[bool, str] = {}

    def note(self, add: Mapping[str, Any]) -> None:
        text = add.get("stats")
        if self._columns is None or True in self._found or not isinstance(text, str):
            return
        try:
            stats = read_statistics(text, exact=True)
        except ValueError:
            return
        if not isinstance(stats, Mapping) or is_sound(stats, self._columns):
            return
        for kind, least, most, _ in walk(stats, self._columns):
            if (sure := are_rounded(kind, least, most)) is not None:
                self._found.setdefault(
                    sure,
                    f"the bounds of column {kind.name} in the log, {least} and {most}, lack some of its digits; only "
                    "an audit at level footers shows whether values are outside them",
                )

    def decide(self, read_types: ReadTypes) -> Decision:
        del read_types
        why = self._found.get(True) or (self._found.get(False) if self._found and self._rounds() else None)
        return Decision(ClauseState.UNKNOWN, why) if why else _NO


_BELOW_MILLISECOND = re.compile(r"\.\d{3}0*[1-9]")


class _HasMicroseconds:
    """Looks for timestamps with digits below the millisecond, which statistics of many writers do not show."""

    def __init__(self, clause: Microseconds, metadata: Metadata) -> None:
        both = (Values(clause.types, "", "", partitions=each) for each in (True, False))
        self._partitions, self._columns = (list(_readings(each, metadata)) for each in both)
        self._found = _NO
        self._unknown: list[tuple[FilePlace, _Reading]] = []

    def note(self, add: Mapping[str, Any]) -> None:
        if self._found.met is ClauseState.YES:
            return
        values, stats = _partition_values(add) or {}, _statistics(add)
        for column in self._partitions:
            self._compare(f"partition column {column.name}", values.get(column.parts[0]))
        if (rows := stats.get("numRecords")) == 0:
            return
        for column in self._columns:
            if column.has_bounds:
                if rows is not None and _at(stats.get("nullCount"), column.parts) == rows:
                    continue
                for key in ("minValues", "maxValues"):
                    self._compare(f"column {column.name}", _at(stats.get(key), column.parts))
            if len(self._unknown) <= _MOST_FOOTERS:
                self._unknown.append(((str(add["path"]), int(add.get("size") or 0)), column))

    def _compare(self, column: str, text: Any) -> None:
        if isinstance(text, str) and _BELOW_MILLISECOND.search(text):
            self._found = Decision(ClauseState.YES, f"{column} has values such as {text}")

    def decide(self, read_types: ReadTypes) -> Decision:
        if self._found.met is ClauseState.YES:
            return self._found
        for number, (place, column) in enumerate(self._unknown):
            types = read_types(place) if number < _MOST_FOOTERS else ""
            below = [] if isinstance(types, str) else [kind for path, kind in types.items() if _is_in(path, column)]
            if not below or not all(kind.endswith(MILLIS) for kind in below):
                why = f"the log does not show whether values of column {column.name} have digits below the millisecond"
                return Decision(ClauseState.UNKNOWN, why)
        return _NO


def _is_in(path: tuple[str, ...], column: _Reading) -> bool:
    return path[: len(column.parts)] == column.parts


class _HasPartialCounts:
    """Looks for a top-level column whose nulls are counted in some files, and not in others that count nulls."""

    def __init__(self, clause: PartialCounts, metadata: Metadata) -> None:
        del clause
        self._columns = _data_columns(metadata, PrimitiveType, DecimalType)
        self._counted: set[str] = set()
        self._missing: set[str] = set()

    def note(self, add: Mapping[str, Any]) -> None:
        counts = _statistics(add).get("nullCount")
        if counts and isinstance(counts, Mapping):
            for name in self._columns:
                (self._missing if counts.get(name) is None else self._counted).add(name)

    def decide(self, read_types: ReadTypes) -> Decision:
        del read_types
        found = next((name for key, name in self._columns.items() if key in self._counted & self._missing), "")
        if not found:
            return _NO
        return Decision(
            ClauseState.YES, f"the nulls of column {found} are counted in the statistics of some files only"
        )


class _LacksBound:
    """Looks for a top-level column whose bounds a file leaves out, although it has bounds and values of the column."""

    def __init__(self, clause: MissingBounds, metadata: Metadata) -> None:
        del clause
        without = {each.name for each in metadata.schema.fields if family_of(each.data_type) in _WITHOUT_BOUNDS}
        columns = _data_columns(metadata, PrimitiveType, DecimalType)
        self._columns = {name: column for name, column in columns.items() if column not in without}
        self._found = _NO

    def note(self, add: Mapping[str, Any]) -> None:
        if self._found.met is ClauseState.YES:
            return
        stats = _statistics(add)
        counts, rows = stats.get("nullCount"), stats.get("numRecords")
        sides = [side for key in ("minValues", "maxValues") if isinstance(side := stats.get(key), Mapping)]
        for name, column in self._columns.items():
            has_values = rows is not None and _at(counts, (name,)) not in (None, rows)
            if has_values and any(side.get(name) is None for side in sides):
                self._found = Decision(
                    ClauseState.YES, f"the statistics of some files have no bounds of column {column}"
                )

    def decide(self, read_types: ReadTypes) -> Decision:
        del read_types
        return self._found


class _HasAbsolutePath:
    """Looks for a file that the log does not name relative to the table."""

    def __init__(self, clause: AbsolutePaths, metadata: Metadata) -> None:
        del clause, metadata
        self._found = _NO

    def note(self, add: Mapping[str, Any]) -> None:
        if is_absolute(str(add["path"])):
            self._found = Decision(ClauseState.YES, "the log has absolute paths of files, as in a shallow clone")

    def decide(self, read_types: ReadTypes) -> Decision:
        del read_types
        return self._found


class _HasPartitionValue:
    """Looks for a partition value of a kind."""

    def __init__(self, clause: Clause, metadata: Metadata) -> None:
        del clause
        mode, of_partitions = metadata.properties.mapping_mode, {name.lower() for name in metadata.partition_columns}
        self._columns = {
            physical_name(each, mode): each for each in metadata.schema.fields if each.name.lower() in of_partitions
        }
        self._found = _NO

    def note(self, add: Mapping[str, Any]) -> None:
        if self._found.met is ClauseState.YES:
            return
        values = _partition_values(add)
        if values is None:
            self._found = Decision(ClauseState.UNKNOWN, "the partition values of some files are not known")
            return
        for key, column in self._columns.items():
            if why := self._why(column, values.get(key) or None, add):
                self._found = Decision(ClauseState.YES, why)

    def _why(self, column: StructField, text: Any, add: Mapping[str, Any]) -> str:
        """Return why a value is of the kind; empty if it is not."""
        raise NotImplementedError

    def decide(self, read_types: ReadTypes) -> Decision:
        del read_types
        return self._found


class _HasShortDecimal(_HasPartitionValue):
    def _why(self, column: StructField, text: Any, add: Mapping[str, Any]) -> str:
        del add
        if not isinstance(column.data_type, DecimalType) or not isinstance(text, str):
            return ""
        scale = column.data_type.scale
        if len(text.partition(".")[2]) >= scale:
            return ""
        return f"partition column {column.name} has the value {text}, with fewer digits than its scale of {scale}"


class _HasNullPartition(_HasPartitionValue):
    def _why(self, column: StructField, text: Any, add: Mapping[str, Any]) -> str:
        del add
        return f"partition column {column.name} is NULL in some files" if text is None else ""


class _HasOtherPath(_HasPartitionValue):
    def __init__(self, clause: PathPartitions, metadata: Metadata) -> None:
        super().__init__(clause, metadata)
        self._in_files = clause.in_files
        self._without: list[tuple[FilePlace, StructField]] = []

    def _why(self, column: StructField, text: Any, add: Mapping[str, Any]) -> str:
        folders = [part.partition("=") for part in unquote(str(add["path"])).split("/")[:-1]]
        stated = {unquote(name): unquote(value) for name, equals, value in folders if equals}
        value = stated.get(column.name)
        if value is None:
            if len(self._without) <= _MOST_FOOTERS:
                self._without.append(((str(add["path"]), int(add.get("size") or 0)), column))
            return ""
        is_text = family_of(column.data_type) == "string"
        if (value == NULL_IN_PATHS) is (text is None) and (text is None or not is_text or value == text):
            return ""
        return f"the path of a file gives {value} for partition column {column.name}, and the log {text}"

    def decide(self, read_types: ReadTypes) -> Decision:
        for number, (place, column) in enumerate(self._without if self._found is _NO else ()):
            missing = f"the path of a file does not have partition column {column.name}"
            if self._in_files:
                return Decision(ClauseState.YES, missing)
            types = read_types(place) if number < _MOST_FOOTERS else "not all footers were read"
            if isinstance(types, str):
                return Decision(ClauseState.UNKNOWN, f"{missing}, and {types}")
            if (column.name,) not in types:
                return Decision(ClauseState.YES, f"{missing}, and the file does not have it either")
        return self._found


class _HasOldType:
    """Looks for a file that stores a widened column in another type than the table's, oldest files first."""

    def __init__(self, clause: OldTypes, metadata: Metadata) -> None:
        mode = metadata.properties.mapping_mode
        self._columns = []
        for column in all_columns(metadata.schema):
            path = ".".join(column.field_path) or None
            changes = [each for each in recorded_changes(field_metadata(column.field)) if each.field_path == path]
            if matching := [each for each in changes if families_of(each) in clause.changes]:
                parts = physical_parts(column, metadata.schema, mode)
                nested = next((place for place, step in enumerate(column.kinds) if step != "field"), len(parts))
                self._columns.append((column, parts[:nested], nested == len(parts), families_of(matching[0])))
        self._oldest: list[tuple[int, FilePlace]] = []
        self._count = 0

    def note(self, add: Mapping[str, Any]) -> None:
        self._count += 1
        place = (str(add["path"]), int(add.get("size") or 0))
        self._oldest.append((int(add.get("modificationTime") or 0), place))
        if len(self._oldest) > 2 * _MOST_FOOTERS:
            self._oldest = sorted(self._oldest)[:_MOST_FOOTERS]

    def decide(self, read_types: ReadTypes) -> Decision:
        found = Decision(ClauseState.NO)
        for column, parts, is_exact, (old, new) in self._columns:
            name, changed = str(column), f"was widened from {old} to {new}"
            for _, place in sorted(self._oldest)[:_MOST_FOOTERS]:
                types = read_types(place)
                if isinstance(types, str):
                    found = Decision(ClauseState.UNKNOWN, f"column {name} {changed}, and {types}")
                elif not is_exact:
                    found = Decision(
                        ClauseState.UNKNOWN, f"column {name} {changed}, and files were not compared with it"
                    )
                elif any(path == parts and not _is_stored_as(kind, column.data_type) for path, kind in types.items()):
                    return Decision(ClauseState.YES, f"column {name} {changed}, and file {place[0]} has the old type")
            if self._count > _MOST_FOOTERS and found.met is ClauseState.NO:
                read = f"only the {_MOST_FOOTERS} oldest files were read: they have the new type"
                found = Decision(ClauseState.UNKNOWN, f"column {name} {changed}, and {read}")
        return found


def _is_stored_as(stored: str, data_type: DataType) -> bool:
    """Return True if a file stores a column in the type that a table has now."""
    if isinstance(data_type, DecimalType):
        return stored.endswith(f", {data_type.scale})")
    wanted = {"double": "DOUBLE", "timestamp_ntz": "INT64", "long": "INT64"}.get(str(data_type))
    return wanted is None or stored == wanted


_CASES: Mapping[type[Clause], Callable[[Any, Metadata], Any]] = {
    Vectors: _HasVectors,
    Values: _InRange,
    Bounds: _HasBound,
    InexactDecimals: _HasInexactDecimal,
    Microseconds: _HasMicroseconds,
    OldTypes: _HasOldType,
    MissingBounds: _LacksBound,
    AbsolutePaths: _HasAbsolutePath,
    PathPartitions: _HasOtherPath,
    NullPartitions: _HasNullPartition,
    PartialCounts: _HasPartialCounts,
    ShortDecimals: _HasShortDecimal,
}
