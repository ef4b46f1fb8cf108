"""Conditions under which a release of an engine misreads, miswrites or refuses a table whose features it supports.

A condition holds for a table if all its clauses do. Profiles state them as data; ``domain/delta/engine_conditions.py``
decides the clauses for a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol


class ClauseState(Enum):
    """The state of a clause for a table."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Decision:
    """The decision about one clause.

    :param why: sentence part for people, such as ``column valid_to reaches 9999-12-31``; for UNKNOWN, the missing
        information
    """

    met: ClauseState
    why: str = ""


class Behavior(Enum):
    """The behavior of a release if a condition holds; the values as written in profiles."""

    MISREADS = "misreads"
    MISWRITES = "miswrites"
    REFUSES_READING = "refuses_reading"
    REFUSES_WRITING = "refuses_writing"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Clause:
    """A part of a condition."""

    @property
    def needs_files(self) -> bool:
        """True if metadata can only exclude it: the log's entries for files decide it."""
        return False


class FileClause(Clause):
    """A clause that the log's entries for files decide."""

    @property
    def needs_files(self) -> bool:
        return True


@dataclass(frozen=True)
class Features(Clause):
    """The protocol has all these features."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class ProtocolVersions(Clause):
    """The protocol has these versions."""

    reader: int
    writer: int


@dataclass(frozen=True)
class Properties(Clause):
    """Each property has one of the values, compared without case; None stands for a property that is not set."""

    values: tuple[tuple[str, tuple[str | None, ...]], ...]


@dataclass(frozen=True)
class MappingModes(Clause):
    """The mode of column mapping is one of these."""

    modes: tuple[str, ...]


class Place(Enum):
    """The place of a column with another name in data files; the values as written in profiles."""

    ANY = "any"
    FIELD = "field"
    """It is a field of a struct."""
    ELEMENT_FIELD = "field in an array or map"
    """It is a field of a struct that is in an array or map."""
    PARTITION = "partition column"
    """It is a partition column. No other place is."""
    BEFORE_PARTITION = "before a partition column"
    """It is a top-level column, and the next one in the schema is a partition column."""


@dataclass(frozen=True)
class Renamed(Clause):
    """A column at this place has another physical name than its name."""

    place: Place = Place.ANY


@dataclass(frozen=True)
class OwnNames(Clause):
    """With column mapping, some top-level column has a physical name from before the mapping (no ``col-…``)."""


@dataclass(frozen=True)
class DroppedColumns(Clause):
    """With column mapping, more ids were assigned than columns have: some were dropped, and files may have them."""


@dataclass(frozen=True)
class Partitions(Clause):
    """The table has partition columns; if types are given, at least one of them has one of these types."""

    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Types(Clause):
    """Some column or field, apart from partition columns, has one of the types."""

    types: tuple[str, ...]


@dataclass(frozen=True)
class TypeChanges(Clause):
    """Some column, apart from partition columns, had one of the type changes.

    Types are written without parameters. ``decimal to decimal`` is a change of the scale, not only of the precision.
    """

    changes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class OldTypes(FileClause):
    """Some live file stores a column in the type that it had before one of the type changes."""

    changes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Vectors(FileClause):
    """Some live file has a deletion vector."""


@dataclass(frozen=True)
class CheckpointVectors(FileClause):
    """The newest checkpoint lists a file with a deletion vector, which may have been removed since."""


@dataclass(frozen=True)
class Checkpoints(FileClause):
    """The log has a checkpoint, of one of the kinds ``classic``, ``multi-part`` and ``v2`` if any is given."""

    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Values(FileClause):
    """Some value of a column of one of the types is outside a range.

    :param types: types of columns
    :param least: lower end of the range, written like a value in the log's statistics
    :param greatest: upper end of the range
    :param stored_as: physical type of the column in the Parquet file; empty for any
    :param partitions: True for partition columns, False for the others
    :param known: True to disregard values that the log does not show; otherwise they leave the clause undecided
    """

    types: tuple[str, ...]
    least: str
    greatest: str
    stored_as: str = ""
    partitions: bool = False
    known: bool = False


@dataclass(frozen=True)
class Bounds(FileClause):
    """The statistics of a live file have a bound with this text, such as ``NaN``."""

    text: str


@dataclass(frozen=True)
class InexactDecimals(FileClause):
    """JSON bounds of a top-level decimal exclude values of their file if they are read as floating-point numbers."""


@dataclass(frozen=True)
class RoundedBounds(FileClause):
    """Bounds of a decimal in the log have lost digits, so that they may exclude values of their file."""


@dataclass(frozen=True)
class Microseconds(FileClause):
    """Some value of a column of one of the types has digits below the millisecond."""

    types: tuple[str, ...]


@dataclass(frozen=True)
class PartialCounts(FileClause):
    """Some live files have a null count of a column, and others have null counts, but none of this column."""


@dataclass(frozen=True)
class MissingBounds(FileClause):
    """The bounds of some live file leave out a column with values, such as a boolean one of Delta Spark."""


@dataclass(frozen=True)
class AbsolutePaths(FileClause):
    """The log has an absolute path of some live file, as in a shallow clone."""


@dataclass(frozen=True)
class PathPartitions(FileClause):
    """The path of some live file does not have its partition values, as ``column=value``.

    :param in_files: False if the file does not have the column either, or the path has another value
    """

    in_files: bool


@dataclass(frozen=True)
class NullPartitions(FileClause):
    """A partition value of a live file is NULL."""


@dataclass(frozen=True)
class ShortDecimals(FileClause):
    """A partition value of a decimal has fewer digits after the point than the type's scale."""


class Traits(Protocol):
    """The traits of a table that clauses are about."""

    def decide(self, clause: Clause, /) -> Decision:
        """Return the decision about a clause."""

    def with_files(self, decisions: Mapping[Clause, Decision], /) -> Traits:
        """Return the traits with decisions about files."""

    def following(self, earlier: Traits, /) -> Traits:
        """Return the traits after a change that leaves the data alone: clauses about files stay decided."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A case in which a release behaves in a special way.

    :param clauses: clauses, all of which have to hold
    :param behavior: behavior of the engine if the condition holds
    :param effect: the same as a predicate for messages, such as ``returns NULL for renamed columns``
    :param remedy: a way to avoid it; empty if none is known
    :param source: source of the information
    :param date: date of the measurement, or of reading the source, ISO 8601
    """

    clauses: tuple[Clause, ...]
    behavior: Behavior
    effect: str
    remedy: str = ""
    source: str = ""
    date: str = ""

    def decide(self, traits: Traits | None) -> Decision:
        """Return whether it holds for a table, and why.

        :param traits: the table; None without its metadata: the condition then does not hold
        """
        if traits is None:
            return Decision(ClauseState.NO)
        found = [traits.decide(clause) for clause in self.clauses]
        for met in (ClauseState.NO, ClauseState.UNKNOWN):
            those = [decision.why for decision in found if decision.met is met]
            if those:
                return Decision(met, " and ".join(filter(None, those)))
        return Decision(ClauseState.YES, " and ".join(filter(None, (decision.why for decision in found))))


class ConditionError(ValueError):
    """A condition that cannot be read.

    :param where: keys that lead to the place of the error
    """

    def __init__(self, where: tuple[str, ...], what: str) -> None:
        super().__init__(what)
        self.where = where


def read_condition(given: Mapping[str, Any]) -> Condition:
    """Read a condition from plain values.

    :raises ConditionError: if it is invalid
    """
    behaviors = [behavior.value for behavior in Behavior]
    stated = given.get("outcome")
    if stated not in behaviors:
        raise ConditionError(("outcome",), f"it is {stated!r}; it has to be one of {', '.join(behaviors)}.")
    effect = given.get("effect")
    if not isinstance(effect, str) or not effect.strip():
        raise ConditionError(("effect",), "it has to name the effect, such as 'returns NULL for renamed columns'.")
    clauses = given.get("if")
    if not isinstance(clauses, Mapping) or not clauses:
        raise ConditionError(("if",), f"it has to be a mapping with any of {', '.join(_CLAUSES)}.")
    for name in clauses:
        if name not in _CLAUSES:
            raise ConditionError(("if",), f"it has the unknown key {name!r}. It may have {', '.join(_CLAUSES)}.")
    read = []
    for name, value in clauses.items():
        try:
            read.append(_CLAUSES[name](value))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ConditionError(("if", name), f"{value!r} is not valid: {_FORMS[name]}.") from error
    return Condition(
        clauses=tuple(read),
        behavior=Behavior(stated),
        effect=effect.strip(),
        remedy=str(given.get("remedy") or ""),
        source=str(given.get("source") or ""),
        date=str(given.get("date") or ""),
    )


def _strings(value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if (
        not isinstance(listed, (list, tuple))
        or not listed
        or not all(isinstance(each, str) and each for each in listed)
    ):
        raise ValueError
    return tuple(listed)


def _nothing(value: Any) -> None:
    if value is not True:
        raise ValueError


def _properties(value: Any) -> Properties:
    if not isinstance(value, Mapping) or not value:
        raise ValueError
    return Properties(tuple((str(name), tuple(_wanted(wanted))) for name, wanted in value.items()))


def _protocol(value: Any) -> ProtocolVersions:
    if set(value) != {"reader", "writer"} or not all(type(each) is int for each in value.values()):
        raise ValueError
    return ProtocolVersions(**value)


def _wanted(value: Any) -> Iterable[str | None]:
    for each in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(each, bool):
            yield str(each).lower()
        elif each is None or isinstance(each, (str, int)):
            yield None if each is None else str(each).lower()
        else:
            raise ValueError


def _changes(value: Any) -> tuple[tuple[str, str], ...]:
    pairs = [each.split(" to ") for each in _strings(value)]
    return tuple((old.strip(), new.strip()) for old, new in pairs)


def _values(value: Any, *, partitions: bool) -> Values:
    if set(value) - {"types", "least", "greatest", "stored_as", "known"} or not all(
        isinstance(value[key], str) for key in ("least", "greatest")
    ):
        raise ValueError
    stored, known = value.get("stored_as", ""), value.get("known", False)
    if not isinstance(stored, str) or not isinstance(known, bool):
        raise ValueError
    return Values(_strings(value["types"]), value["least"], value["greatest"], stored, partitions, known)


def _flagged(clause: Callable[[], Clause]) -> Callable[[Any], Clause]:
    def read(value: Any) -> Clause:
        _nothing(value)
        return clause()

    return read


_RANGE = "it needs types, least and greatest, such as {types: timestamp, least: 1677-09-22, greatest: 2262-04-11}"
#: How each key of ``if`` is read.
_CLAUSES: Mapping[str, Callable[[Any], Clause]] = {
    "features": lambda value: Features(_strings(value)),
    "protocol": _protocol,
    "properties": _properties,
    "mapping": lambda value: MappingModes(_strings(value)),
    "renamed": lambda value: Renamed(Place(value)),
    "own_names": _flagged(OwnNames),
    "dropped_columns": _flagged(DroppedColumns),
    "partitions": lambda value: Partitions() if value is True else Partitions(_strings(value)),
    "types": lambda value: Types(_strings(value)),
    "type_changes": lambda value: TypeChanges(_changes(value)),
    "old_types": lambda value: OldTypes(_changes(value)),
    "vectors": _flagged(Vectors),
    "checkpoint_vectors": _flagged(CheckpointVectors),
    "checkpoints": lambda value: Checkpoints() if value is True else Checkpoints(_strings(value)),
    "values": lambda value: _values(value, partitions=False),
    "partition_values": lambda value: _values(value, partitions=True),
    "bounds": lambda value: Bounds(*_strings(value)),
    "inexact_decimals": _flagged(InexactDecimals),
    "rounded_bounds": _flagged(RoundedBounds),
    "microseconds": lambda value: Microseconds(_strings(value)),
    "partial_null_counts": _flagged(PartialCounts),
    "missing_bounds": _flagged(MissingBounds),
    "absolute_paths": _flagged(AbsolutePaths),
    "paths_without_partitions": _flagged(lambda: PathPartitions(in_files=True)),
    "files_without_partitions": _flagged(lambda: PathPartitions(in_files=False)),
    "null_partition_values": _flagged(NullPartitions),
    "short_decimals": _flagged(ShortDecimals),
}
#: All keys of ``if``.
CLAUSE_NAMES = tuple(_CLAUSES)
#: The valid form of each, for messages.
_FORMS: Mapping[str, str] = {
    "features": "it has to be a list of table features",
    "protocol": "it needs both versions, such as {reader: 2, writer: 7}",
    "properties": "it has to map properties to their values; null stands for a property that is not set",
    "mapping": "it has to be none, name, id, or a list of them",
    "renamed": f"it has to be one of {', '.join(place.value for place in Place)}",
    "own_names": "it has to be true",
    "dropped_columns": "it has to be true",
    "partitions": "it has to be true, or a list of types",
    "types": "it has to be a list of types",
    "old_types": "it has to be a list of changes such as 'float to double'",
    "type_changes": "it has to be a list of changes such as 'float to double'",
    "vectors": "it has to be true",
    "checkpoint_vectors": "it has to be true",
    "checkpoints": "it has to be true, or a list of classic, multi-part and v2",
    "values": _RANGE,
    "partition_values": _RANGE,
    "bounds": "it has to be a string such as NaN",
    "inexact_decimals": "it has to be true",
    "rounded_bounds": "it has to be true",
    "microseconds": "it has to be a list of types",
    "partial_null_counts": "it has to be true",
    "missing_bounds": "it has to be true",
    "absolute_paths": "it has to be true",
    "paths_without_partitions": "it has to be true",
    "files_without_partitions": "it has to be true",
    "null_partition_values": "it has to be true",
    "short_decimals": "it has to be true",
}
