"""Decides the clauses of engines' conditions for a Delta table: ``domain/engine/conditions.py``.

Protocol and metadata decide most of them, or exclude them. ``file_survey.py`` decides the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import singledispatch
from itertools import pairwise
from typing import NamedTuple

from airflow_delta_provider.domain.delta.data_type import DataType, StructField, lowered, path_text
from airflow_delta_provider.domain.delta.features.columns import TypeChange, recorded_changes
from airflow_delta_provider.domain.delta.features.log import DELETION_VECTORS
from airflow_delta_provider.domain.delta.metadata import Metadata, field_metadata, physical_name
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.engine.conditions import (
    AbsolutePaths,
    Bounds,
    Checkpoints,
    CheckpointVectors,
    Clause,
    ClauseState,
    Decision,
    DroppedColumns,
    Features,
    InexactDecimals,
    MappingModes,
    Microseconds,
    MissingBounds,
    NullPartitions,
    OldTypes,
    OwnNames,
    PartialCounts,
    Partitions,
    PathPartitions,
    Place,
    Properties,
    ProtocolVersions,
    Renamed,
    RoundedBounds,
    ShortDecimals,
    Traits,
    TypeChanges,
    Types,
    Values,
    Vectors,
)
from airflow_delta_provider.domain.text import listed

_NO, _YES = Decision(ClauseState.NO), Decision(ClauseState.YES)
_NOT_READ = Decision(ClauseState.UNKNOWN, "the log's entries for files were not read")
_VECTORS, _OWN_PROPERTIES = DELETION_VECTORS.name, "delta."
_ENABLED_VECTORS = (str(DELETION_VECTORS.enabling_property).lower(), DELETION_VECTORS.enabled_values[0])

#: Begin of the physical names that engines generate for columns of a table that has column mapping already.
_GENERATED = "col-"
#: Names from the top-level column down.
Parts = tuple[str, ...]
#: A column: its name for people, and its type.
Named = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class TableTraits:
    """The traits of a table, or of a table after a change.

    :param versions: the protocol's reader and writer version
    :param features: table features
    :param mode: mode of column mapping
    :param renamed: columns whose physical names differ from their names, with their places
    :param unrenamed: top-level columns that have names from before the column mapping in data files
    :param has_dropped: True if columns with ids were dropped
    :param partitions: partition columns
    :param columns: all other columns and fields
    :param changes: type changes; the column is empty for planned ones
    :param configuration: Delta's own properties, with values in lower case
    :param files: decisions about files
    :param earlier: traits before the change: it does not change values
    """

    versions: tuple[int, int]
    features: frozenset[str]
    mode: str
    renamed: tuple[tuple[str, Place], ...]
    unrenamed: tuple[str, ...]
    has_dropped: bool
    partitions: tuple[Named, ...]
    columns: tuple[Named, ...]
    changes: tuple[tuple[str, str, str], ...]
    configuration: tuple[tuple[str, str], ...]
    files: Mapping[Clause, Decision] = field(default_factory=dict, compare=False)
    earlier: Traits | None = field(default=None, compare=False)

    def decide(self, clause: Clause, /) -> Decision:
        """Return the decision about a clause."""
        decided = _by_metadata(clause, self)
        if decided is not None:
            return decided
        return self.files.get(clause, _NOT_READ) if self.earlier is None else self.earlier.decide(clause)

    @property
    def writes_vectors(self) -> bool:
        """Return True if writers may add deletion vectors."""
        return _VECTORS in self.features and _ENABLED_VECTORS in self.configuration

    def with_files(self, decisions: Mapping[Clause, Decision], /) -> TableTraits:
        """Return the traits with decisions about files."""
        return replace(self, files={**self.files, **decisions})

    def following(self, earlier: Traits, /) -> TableTraits:
        """Return the traits after a change that keeps all values of a table."""
        return replace(self, earlier=earlier)


class FutureVectors(NamedTuple):
    """The traits of any table whose protocol has these features, once it has deletion vectors if it may."""

    features: frozenset[str]

    def decide(self, clause: Clause, /) -> Decision:
        """Return that the clause on vectors holds, and no other one."""
        return _YES if isinstance(clause, Vectors) and _VECTORS in self.features else _NO

    def with_files(self, decisions: Mapping[Clause, Decision], /) -> FutureVectors:
        """Return the same traits: they are about no files."""
        del decisions
        return self

    def following(self, earlier: Traits, /) -> FutureVectors:
        """Return the same traits: they are about no table."""
        del earlier
        return self


def traits_of(
    protocol: Protocol, metadata: Metadata, planned: Iterable[TypeChange] = (), renamed: Iterable[Parts] = ()
) -> TableTraits:
    """Return the traits that protocol and metadata show.

    :param planned: planned type changes
    :param renamed: paths of columns that a plan renames or adds, so that their physical names will differ
    :raises ValueError: if the record of type changes is malformed
    :raises BrokenLogError: if the schema is damaged
    """
    mode, of_partitions = metadata.properties.mapping_mode, {name.lower() for name in metadata.partition_columns}
    fields = metadata.schema.fields
    every = metadata.columns
    changes = [
        (str(column), change)
        for column in every
        if not column.field_path
        for change in recorded_changes(field_metadata(column.field))
    ]

    def is_partition(name: str) -> bool:
        return name.lower() in of_partitions

    def keeps_name(field: StructField) -> bool:
        is_old = mode is not MappingMode.NONE and not physical_name(field, mode).startswith(_GENERATED)
        return is_old and not is_partition(field.name)

    return TableTraits(
        versions=(protocol.min_reader_version, protocol.min_writer_version),
        features=protocol.features,
        mode=mode.value,
        renamed=() if mode is MappingMode.NONE else tuple(_renamed(metadata, {lowered(each) for each in renamed})),
        unrenamed=tuple(each.name for each in fields if keeps_name(each)),
        has_dropped=mode is not MappingMode.NONE
        and (metadata.properties.max_column_id or 0) > sum(each.kinds[-1] == "field" for each in every),
        partitions=tuple((each.name, family_of(each.data_type)) for each in fields if is_partition(each.name)),
        columns=tuple(
            (str(column), family_of(column.data_type)) for column in every if not is_partition(column.parts[0])
        ),
        changes=tuple(
            (name, *families_of(change)) for name, change in (*changes, *(("", change) for change in planned))
        ),
        configuration=tuple(sorted(_properties(metadata))),
    )


def _properties(metadata: Metadata) -> Iterator[tuple[str, str]]:
    for name, value in metadata.configuration.items():
        if name.lower().startswith(_OWN_PROPERTIES):
            yield name.lower(), value.lower()


def _renamed(metadata: Metadata, planned: set[Parts]) -> Iterator[tuple[str, Place]]:
    """Yield columns in data files whose physical names differ, once per place.

    :param planned: columns whose names will differ, in lower case
    """
    mode, of_partitions = metadata.properties.mapping_mode, {name.lower() for name in metadata.partition_columns}
    neighbors = pairwise(metadata.schema.fields)
    before_partitions = {one.name for one, other in neighbors if other.name.lower() in of_partitions}
    left = set(planned)
    for column in metadata.columns:
        parts = lowered(column.parts)
        left.discard(parts)
        if column.kinds[-1] != "field":
            continue
        is_renamed = physical_name(column.field, mode) != column.parts[-1] or parts in planned
        if column.parts[0].lower() in of_partitions:
            if is_renamed:
                yield str(column), Place.PARTITION
            continue
        if not is_renamed:
            continue
        yield str(column), Place.ANY
        if len(column.parts) > 1:
            yield str(column), Place.FIELD
        if set(column.kinds) != {"field"}:
            yield str(column), Place.ELEMENT_FIELD
        if len(column.parts) == 1 and column.parts[0] in before_partitions:
            yield str(column), Place.BEFORE_PARTITION
    yield from ((path_text(parts), Place.ANY) for parts in sorted(left))


def families_of(change: TypeChange) -> tuple[str, str]:
    """Return the types of a change without parameters; for decimals of one scale, nothing but the range changes."""
    old, new = _short(change.from_type), _short(change.to_type)
    if old == new == "decimal" and _scale(change.from_type) == _scale(change.to_type):
        return old, "decimal of the same scale"
    return old, new


def _scale(decimal: str) -> str:
    return decimal.rstrip(")").rpartition(",")[2].strip()


def family_of(data_type: DataType) -> str:
    return _short(str(data_type))


def _short(name: str) -> str:
    """Return the name of a type without its parameters or parts."""
    return name.partition("(")[0].partition("<")[0].partition("{")[0].strip()


@singledispatch
def _by_metadata(clause: Clause, traits: TableTraits) -> Decision | None:
    """Return the decision about a clause; None if files decide it."""
    raise TypeError(f"no decision about {clause!r} for {traits!r}")


@_by_metadata.register
def _(clause: Features, traits: TableTraits) -> Decision:
    if not traits.features.issuperset(clause.names):
        return _NO
    return Decision(ClauseState.YES, f"the table has {' and '.join(clause.names)}")


@_by_metadata.register
def _(clause: ProtocolVersions, traits: TableTraits) -> Decision:
    if traits.versions != (clause.reader, clause.writer):
        return _NO
    return Decision(
        ClauseState.YES, f"the protocol has reader version {clause.reader} and writer version {clause.writer}"
    )


@_by_metadata.register
def _(clause: Properties, traits: TableTraits) -> Decision:
    known, texts = dict(traits.configuration), []
    for name, wanted in clause.values:
        value = known.get(name.lower())
        if value not in wanted:
            return _NO
        texts.append(f"{name} is {'not set' if value is None else value}")
    return Decision(ClauseState.YES, " and ".join(texts))


@_by_metadata.register
def _(clause: MappingModes, traits: TableTraits) -> Decision:
    return (
        Decision(ClauseState.YES, f"column mapping has the mode {traits.mode}") if traits.mode in clause.modes else _NO
    )


@_by_metadata.register
def _(clause: Renamed, traits: TableTraits) -> Decision:
    found = [name for name, place in traits.renamed if place is clause.place]
    if not found:
        return _NO
    where = f" and stands {clause.place.value}" if clause.place is Place.BEFORE_PARTITION else ""
    return Decision(ClauseState.YES, f"{_columns(found)} another name in data files{where if len(found) == 1 else ''}")


def _columns(names: Collection[str]) -> str:
    return f"column {listed(names)} has" if len(names) == 1 else f"columns {listed(names)} have"


@_by_metadata.register
def _(clause: OwnNames, traits: TableTraits) -> Decision:
    del clause
    if not traits.unrenamed:
        return _NO
    return Decision(
        ClauseState.YES, f"column {traits.unrenamed[0]} has a name from before column mapping in data files"
    )


@_by_metadata.register
def _(clause: DroppedColumns, traits: TableTraits) -> Decision:
    del clause
    return Decision(ClauseState.YES, "columns were dropped, which files may still have") if traits.has_dropped else _NO


@_by_metadata.register
def _(clause: Partitions, traits: TableTraits) -> Decision:
    found = [name for name, kind in traits.partitions if not clause.types or kind in clause.types]
    if not found:
        return _NO
    of = f" of type {' or '.join(clause.types)}" if clause.types else ""
    return Decision(
        ClauseState.YES,
        f"{', '.join(found)} {'are partition columns' if len(found) > 1 else 'is a partition column'}{of}",
    )


@_by_metadata.register
def _(clause: Types, traits: TableTraits) -> Decision:
    found = [(name, kind) for name, kind in traits.columns if kind in clause.types]
    if not found:
        return _NO
    name, kind = found[0]
    return Decision(ClauseState.YES, f"column {name} has the type {kind}")


@_by_metadata.register
def _(clause: TypeChanges, traits: TableTraits) -> Decision:
    of_partitions = {name for name, _ in traits.partitions}
    for name, old, new in traits.changes:
        if (old, new) in clause.changes and name not in of_partitions:
            column = f"column {name} was" if name else "a column is"
            return Decision(ClauseState.YES, f"{column} widened from {old} to {new}")
    return _NO


@_by_metadata.register
def _(clause: OldTypes, traits: TableTraits) -> Decision | None:
    found = [change for change in traits.changes if change[1:] in clause.changes]
    for name, old, new in found:
        if not name:  # planned, so that all files have the old type
            return Decision(ClauseState.YES, f"a column is widened from {old} to {new}")
    return None if found else _NO


@_by_metadata.register(Vectors)
@_by_metadata.register(CheckpointVectors)
def _(clause: Clause, traits: TableTraits) -> Decision | None:
    del clause
    if _VECTORS not in traits.features:
        return _NO
    earlier = traits.earlier
    if traits.writes_vectors and isinstance(earlier, TableTraits) and not earlier.writes_vectors:
        return Decision(ClauseState.YES, "the change lets writers add deletion vectors")
    return None


@_by_metadata.register(AbsolutePaths)
@_by_metadata.register(Checkpoints)
def _(clause: Clause, traits: TableTraits) -> None:
    del clause, traits


@_by_metadata.register
def _(clause: Values, traits: TableTraits) -> Decision | None:
    columns = traits.partitions if clause.partitions else traits.columns
    return None if any(kind in clause.types for _, kind in columns) else _NO


@_by_metadata.register
def _(clause: Bounds, traits: TableTraits) -> Decision | None:
    has_floats = any(kind in ("float", "double") for _, kind in traits.columns)
    return None if has_floats or clause.text.casefold() != "nan" else _NO


@_by_metadata.register(InexactDecimals)
@_by_metadata.register(RoundedBounds)
def _(clause: Clause, traits: TableTraits) -> Decision | None:
    del clause
    return None if any(kind == "decimal" for _, kind in traits.columns) else _NO


@_by_metadata.register
def _(clause: Microseconds, traits: TableTraits) -> Decision | None:
    return None if any(kind in clause.types for _, kind in (*traits.partitions, *traits.columns)) else _NO


@_by_metadata.register(MissingBounds)
@_by_metadata.register(PartialCounts)
def _(clause: Clause, traits: TableTraits) -> Decision | None:
    del clause
    return None if traits.columns else _NO


@_by_metadata.register(NullPartitions)
@_by_metadata.register(PathPartitions)
def _(clause: Clause, traits: TableTraits) -> Decision | None:
    del clause
    return None if traits.partitions else _NO


@_by_metadata.register
def _(clause: ShortDecimals, traits: TableTraits) -> Decision | None:
    del clause
    return None if any(kind == "decimal" for _, kind in traits.partitions) else _NO


def open_clauses(clauses: Iterable[Clause], traits: TableTraits) -> list[Clause]:
    """Return the clauses about files that the metadata of a table does not exclude."""
    return [clause for clause in dict.fromkeys(clauses) if clause.needs_files and _by_metadata(clause, traits) is None]
