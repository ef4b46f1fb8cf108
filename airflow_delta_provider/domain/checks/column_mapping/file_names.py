"""The column names in an ``add`` action: partition values (AC08, CM14) and statistics (CM15).

Other checks find wrong names in the data files themselves (CM18). Jobs that change columns report CM19.

PROTOCOL.md, Add File and Remove File, and Writer Requirements for Column Mapping.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.column_mapping.family import FAMILY, READERS, WRITE_AGAIN
from airflow_delta_provider.domain.checks.metadata.changes import PARTITIONING_CHANGED
from airflow_delta_provider.domain.checks.metadata.clustering import NO_STATISTICS
from airflow_delta_provider.domain.checks.metadata.state import FIELD_MISSING
from airflow_delta_provider.domain.checks.remedy import Restore
from airflow_delta_provider.domain.checks.rule import Scope, causes
from airflow_delta_provider.domain.delta.column_statistics import read_statistics
from airflow_delta_provider.domain.delta.data_type import StructType
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import MappedField, MappedSchema
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MAX_COLUMN_ID, MappingMode
from airflow_delta_provider.domain.report.finding import Finding

_BOUNDS = ("minValues", "maxValues", "nullCount")


_commit = FAMILY.of(Scope.COMMIT, remedy=WRITE_AGAIN)

PARTITION_VALUES = _commit.error(
    14,
    "partition values not by physical name",
    effect="The partition columns read NULL for the rows of the file, and filters miss them.",
    follows_from=causes(FIELD_MISSING, PARTITIONING_CHANGED, "CM09", later=True),
    about_live_files=True,
)
STATISTICS = _commit.error(
    15,
    "statistics not by physical name",
    effect="Readers find no statistics for the column and cannot skip the file; if another column has or had that "
    "name as its physical name, they skip rows that should be read.",
    leads_to=(NO_STATISTICS,),
)


@dataclass
class _Level:
    """The fields of one struct.

    :param below: nested structs by physical name; None for a field that is not a struct
    :param foreign: columns by logical name, if no column of the struct has that name in data files
    """

    below: dict[str, _Level | None] = field(default_factory=dict)
    foreign: dict[str, MappedField] = field(default_factory=dict)

    @cached_property
    def flat(self) -> frozenset[str]:
        """Physical names of the columns that are not structs."""
        return frozenset(name for name, below in self.below.items() if below is None)


@dataclass(frozen=True)
class _FileNames:
    """The names that can describe a mapped table's files.

    :param partitions: logical names of the partition columns by physical name; None if unknown
    :param has_foreign: whether any logical name is foreign to the files
    :param gone: number of ids that no column has any more: an upper limit for dropped columns
    """

    partitions: Mapping[str, str] | None
    top: _Level
    has_foreign: bool
    gone: int


@on_demand(PARTITION_VALUES, STATISTICS)
def check_added_file(add: Mapping[str, Any], metadata: Metadata, *, current: bool = False) -> Iterator[Finding]:
    """Yield findings about the names in an ``add`` action.

    Statistics may lack columns. Statistics of an older file that is added again may have columns that were dropped
    since, and their physical names may equal present logical names. So a logical name in statistics is a fault only if
    there are more such names than columns can have been dropped.

    :param add: the body of the action, as in the log
    :param metadata: the table's metadata after the commit
    :param current: whether the file is known to be written under this schema, so that it has no statistics of dropped
        columns
    """
    properties = metadata.properties
    if not properties.is_mapped:
        return
    try:
        names = _file_names(
            metadata.schema_string,
            tuple(map(str, metadata.partition_columns)),
            properties.mapping_mode,
            properties.max_column_id,
        )
    except BrokenLogError:
        return
    if names is not None:
        yield from _partition_values(add, names)
        yield from _statistics(add, names, current)


def _partition_values(add: Mapping[str, Any], names: _FileNames) -> Iterator[Finding]:
    values = add.get("partitionValues") or {}
    if names.partitions is None or not isinstance(values, dict) or values.keys() == names.partitions.keys():
        return
    missing = sorted(names.partitions.keys() - values.keys())
    extra = sorted(values.keys() - names.partitions.keys())
    column = names.partitions[missing[0]] if missing else str(extra[0])
    yield PARTITION_VALUES.found(
        "The physical names of the partition columns are {expected}, but partitionValues of {path} "
        + (
            "has {found}: {column} reads NULL for its rows."
            if extra
            else "lacks them: {column} reads NULL for its rows."
        ),
        path=_path(add),
        column=column,
        expected=sorted(names.partitions) or "none",
        found=[str(name) for name in extra],
    )


def _statistics(add: Mapping[str, Any], names: _FileNames, current: bool) -> Iterator[Finding]:
    text = add.get("stats")
    if not names.has_foreign or not isinstance(text, str):
        return
    try:
        stats = read_statistics(text)
    except ValueError:
        return
    used: dict[tuple[str, ...], MappedField] = {}
    for bound in _BOUNDS if isinstance(stats, dict) else ():
        _collect(names.top, stats.get(bound), used)
    if not used or not (current or len(used) > names.gone):
        return
    first = next(iter(used.values()))
    yield STATISTICS.found(
        "The statistics of {path} name {columns:column by its logical name|columns by their logical names}, for "
        "example {column}, which has the physical name {name!r}.",
        path=_path(add),
        column=first.column,
        columns=len(used),
        name=first.name,
    )


def _collect(level: _Level, values: Any, used: dict[tuple[str, ...], MappedField]) -> None:
    if not isinstance(values, dict) or values.keys() <= level.flat:
        return
    for name, value in values.items():
        if name in level.below:
            below = level.below[name]
            if below is not None:
                _collect(below, value, used)
        elif name in level.foreign and level.foreign[name].name not in values:
            used[level.foreign[name].column.parts] = level.foreign[name]


@lru_cache(maxsize=64)
def _file_names(
    schema_string: str, partition_columns: tuple[str, ...], mode: MappingMode, max_column_id: int | None
) -> _FileNames | None:
    """Return the names; None if the table is not mapped. Cached, since a commit adds many files."""
    configuration = {COLUMN_MAPPING_MODE: mode.value, MAX_COLUMN_ID: str(max_column_id)}
    schema = MappedSchema.of(Metadata("", schema_string, configuration=configuration))
    if not schema.is_mapped:
        return None
    top = _Level()
    levels: dict[tuple[str, ...], _Level] = {(): top}
    for mapped in schema.fields:
        level = levels.get(mapped.column.parts[:-1])
        if level is None or mapped.name is None:
            continue  # below an array or a map, which have no statistics
        below = _Level() if isinstance(mapped.column.data_type, StructType) else None
        level.below[mapped.name] = below
        if below is not None:
            levels[mapped.column.parts] = below
    physical = {parts: {name.lower() for name in level.below} for parts, level in levels.items()}
    for mapped in schema.fields:
        above, name = mapped.column.parts[:-1], mapped.column.field.name
        if above in levels and mapped.name is not None and name.lower() not in physical[above]:
            levels[above].foreign[name] = mapped
    has_foreign = any(level.foreign for level in levels.values())
    return _FileNames(_partitions(schema, partition_columns), top, has_foreign, schema.gone)


def _partitions(schema: MappedSchema, partition_columns: tuple[str, ...]) -> dict[str, str] | None:
    columns = {f.column.field.name.lower(): f for f in schema.fields if len(f.column.parts) == 1}
    found: dict[str, str] = {}
    for name in partition_columns:
        mapped = columns.get(name.lower())
        if mapped is None or mapped.name is None:
            return None
        found[mapped.name] = str(mapped.column)
    return found


def _path(add: Mapping[str, Any]) -> str | None:
    path = add.get("path")
    return path if isinstance(path, str) else None


NOT_FOUND_IN_FILE = FAMILY.of(Scope.DATA).error(
    18,
    "data file lacks the ids or names that readers find columns by",
    effect="Readers refuse the file, or read NULL or another column's values from it.",
    remedy=Restore(", and write its rows again with an engine that supports column mapping", of_file=True),
    source=READERS,
    follows_from=causes("CM09", "CM11", "CM12", "CM16", "CM13", "CM01", later=True, earlier=True),
)


NOT_AS_ASKED = FAMILY.of(Scope.OUTCOME).error(
    19,
    "columns not as requested",
    effect="Queries that use the new names fail, or read columns that were to be dropped.",
    remedy="Check the table's history for another writer, then run the job again.",
)
