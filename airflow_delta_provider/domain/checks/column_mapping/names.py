"""The column names in an ``add`` action: partition values (AC08, CM14) and statistics (CM15).

Other checks find wrong names in the data files themselves (CM18). Jobs that change columns report CM19.

PROTOCOL.md, Add File and Remove File, and Writer Requirements for Column Mapping.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from airflow_delta_provider.domain.checks.check import on_demand, on_file
from airflow_delta_provider.domain.checks.column_mapping import FAMILY, PATH, READERS, WRITE_AGAIN
from airflow_delta_provider.domain.checks.rule import Details, Healing, Need, RepairMethod, Restore, Scope, StillOpen
from airflow_delta_provider.domain.delta.column_statistics import read_statistics
from airflow_delta_provider.domain.delta.data_type import StructType, lowered
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, is_absolute
from airflow_delta_provider.domain.delta.metadata import MappedField, MappedSchema, Metadata, PhysicalPath
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MAX_COLUMN_ID, MappingMode
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding

#: Returns the paths that columns ever had in files, in lower case; None if not all are known.
StoredPaths = Callable[[], "frozenset[PhysicalPath] | None"]


def _path_is_taken(later: Transition, finding: Finding, details: Details) -> bool:
    """Return True until no column has the physical path of the details."""
    path = None if details["path"] is None else tuple(details["path"])
    if path is None or not later.commit.metadata or later.commit.version <= (finding.version or 0):
        return True
    if later.keeps_no_file:
        return False
    schema = later.after.metadata.readable_mapped_schema
    return schema is None or (schema.is_mapped and path in schema.by_path)


_HEALING = Healing(_path_is_taken, needs_details=True)


def until_path_of_column_is_free(finding: Finding, state: TableState) -> StillOpen:
    """Return the check whether the column of a finding still has the physical path of a dropped column.

    :param state: a state whose column has that path
    """
    schema = state.metadata.readable_mapped_schema
    if schema is None:
        return StillOpen(lambda _: True, {"path": None})
    path = next((field.path for field in schema.fields if str(field.column) == finding.column), None)
    return _HEALING.by(finding, {"path": None if path is None else list(path)})


REUSED_PATH = FAMILY.of(Scope.HISTORY).error(
    16,
    "physical path of a dropped column used again",
    name="dropped-physical-path-reused",
    effect="Dropped values come back in the new column, or the table cannot be read if the types differ.",
    remedy="Drop the column, and add it again with an engine that supports column mapping, which gives it a new "
    "physical name.",
    source=PATH,
    healing=_HEALING,
    needs=(Need.STATE, Need.FILES, Need.VERSIONS, Need.COLUMN_IDS),
)


@on_demand(REUSED_PATH)
class PhysicalPaths:
    """Tracks the column ids that each physical path has had, over the commits of a table, oldest first.

    Paths that differ only in case count as one: Spark ignores case when it looks for columns in data files.

    The ids are dropped when every file is replaced and when the mapping is removed: ids start again after that, and no
    file is left that contains a forgotten path.
    """

    def __init__(self) -> None:
        self._ids: dict[PhysicalPath, set[int]] = {}
        self._begun = False

    def apply_commit(self, transition: Transition) -> Iterator[Finding]:
        """Record a commit. Yield findings about columns that it adds at the path of a dropped column."""
        schemas = self._schemas(transition)
        if schemas is None:
            return
        yield from self._reused(transition, *schemas)
        if transition.keeps_no_file or not schemas[1].is_mapped:
            self._ids.clear()
        self._learn(schemas[1])

    def check(self, transition: Transition) -> Iterator[Finding]:
        """Yield the findings of :meth:`apply_commit` without recording the commit."""
        schemas = self._schemas(transition)
        if schemas is not None:
            yield from self._reused(transition, *schemas)

    @property
    def column_ids(self) -> Mapping[PhysicalPath, frozenset[int]]:
        """The ids that each path has had, including the ids of the schema that was recorded last."""
        return {path: frozenset(ids) for path, ids in self._ids.items()}

    def restore_saved(self, column_ids: Mapping[PhysicalPath, frozenset[int]]) -> None:
        """Resume from the ids that an earlier audit saved."""
        self._ids = {}
        for path, ids in column_ids.items():
            self._ids.setdefault(lowered(path), set()).update(ids)
        self._begun = False

    def _schemas(self, transition: Transition) -> tuple[MappedSchema, MappedSchema] | None:
        """Return the mappings before and after a commit; None if it changes none, or one cannot be read."""
        before, after = transition.before.metadata, transition.after.metadata
        if self._begun and before == after:
            return None
        old, new = before.readable_mapped_schema, after.readable_mapped_schema
        if old is None or new is None:
            return None
        if not self._begun:
            self._learn(old)
            self._begun = True
        return old, new

    def _reused(self, transition: Transition, old: MappedSchema, new: MappedSchema) -> Iterator[Finding]:
        if transition.keeps_no_file or transition.restores or not (old.is_mapped and new.is_mapped):
            return
        present = {lowered(field.path) for field in old.fields if field.path is not None}
        reported: set[PhysicalPath] = set()
        for path, field in new.by_path.items():
            known = self._ids.get(lowered(path))
            if (
                lowered(path) in present
                or known is None
                or field.id is None
                or field.id in known
                or field.id in old.ids
            ):
                continue
            if any(path[:length] in reported for length in range(1, len(path))):
                continue
            reported.add(path)
            yield REUSED_PATH.found(
                "The commit adds {column} (id {id}), which data files store at {at}, the physical path of a column "
                "that was dropped before (id {dropped}).",
                column=field.column,
                id=field.id,
                at=".".join(path),
                dropped=sorted(known),
                made_by=transition.commit.provenance,
            )

    def _learn(self, schema: MappedSchema) -> None:
        if schema.is_mapped:
            for field in schema.fields:
                if field.path is not None and field.id is not None:
                    self._ids.setdefault(lowered(field.path), set()).add(field.id)


_BOUNDS = ("minValues", "maxValues", "nullCount")


_commit = FAMILY.of(Scope.COMMIT, remedy=WRITE_AGAIN)

PARTITION_VALUES = _commit.error(
    14,
    "partition values not by physical name",
    name="partition-values-not-by-physical-name",
    effect="The partition columns read NULL for the rows of the file, and filters miss them.",
    about_live_files=True,
    repairs=(RepairMethod.PARTITION_VALUES,),
)
STATISTICS = _commit.error(
    15,
    "statistics not by physical name",
    name="statistics-not-by-physical-name",
    effect="Readers find no statistics for the column and cannot skip the file; if another column has or had that "
    "name as its physical name, they skip rows that should be read.",
    repairs=(RepairMethod.STATISTICS,),
)


@dataclass
class _Level:
    """The fields of one struct.

    :param below: nested structs by physical name; None for a field that is not a struct
    :param foreign: columns by logical name, if no column of the struct has that name in data files
    """

    below: dict[str, _Level | None] = dataclasses.field(default_factory=dict)
    foreign: dict[str, MappedField] = dataclasses.field(default_factory=dict)

    @cached_property
    def flat(self) -> frozenset[str]:
        """Physical names of the columns that are not structs."""
        return frozenset(name for name, below in self.below.items() if below is None)


class _FileNames(NamedTuple):
    """The names that can describe a mapped table's files.

    :param partitions: logical names of the partition columns by physical name; None if unknown
    :param has_foreign: True if any logical name is foreign to the files
    :param dropped_count: number of ids that no column has any more: an upper limit for dropped columns
    """

    partitions: Mapping[str, str] | None
    top: _Level
    has_foreign: bool
    dropped_count: int


@on_file(
    PARTITION_VALUES,
    STATISTICS,
    reads=("add.path", "add.partitionValues", "add.stats", "commitInfo.operation", "files", "past", "metaData"),
)
def check_added_file(
    add: Mapping[str, Any], metadata: Metadata, stored_paths: StoredPaths, *, current: bool = False
) -> Iterator[Finding]:
    """Yield findings about the names in an ``add`` action.

    Statistics may lack columns. Statistics of an older file that is added again may have columns that were dropped
    since, and their physical names may equal present logical names. So a logical name in statistics is a fault only if
    no column ever had it in files, or if there are more such names than columns can have been dropped.

    :param add: the body of the action, as in the log
    :param metadata: the table's metadata after the commit
    :param stored_paths: returns the paths that columns ever had in files, in lower case; None if not all are known
    :param current: True if the file is known to be written under this schema, so that it has no statistics of dropped
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
        yield from _statistics(add, names, stored_paths, current=current)


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


def _statistics(
    add: Mapping[str, Any], names: _FileNames, stored_paths: StoredPaths, *, current: bool
) -> Iterator[Finding]:
    text = add.get("stats")
    if not names.has_foreign or not isinstance(text, str):
        return
    try:
        stats = read_statistics(text)
    except ValueError:
        return
    found: dict[tuple[str, ...], MappedField] = {}
    for bound in _BOUNDS if isinstance(stats, dict) else ():
        _collect(names.top, stats.get(bound), found)
    used = list(found.values())
    if not (current or len(used) > names.dropped_count):
        used = never_stored(used, stored_paths, _path(add))
    if not used:
        return
    first = used[0]
    yield STATISTICS.found(
        "The statistics of {path} name {columns:column by its logical name|columns by their logical names}, for "
        "example {column}, which has the physical name {name!r}.",
        path=_path(add),
        column=first.column,
        columns=len(used),
        name=first.name,
    )


def never_stored(used: Sequence[MappedField], stored_paths: StoredPaths, path: str | None) -> list[MappedField]:
    """Return the columns whose logical names, though in a file, no column ever had at that place in files.

    None of them if that is unknown, as for files from elsewhere.

    :param path: path of the file, as in the log
    """
    stored = stored_paths() if used and not is_absolute(path or "") else None
    if stored is None:
        return []
    logical = ((field, (*field.path[:-1], field.column.field.name)) for field in used if field.path is not None)
    return [field for field, place in logical if lowered(place) not in stored]


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
    schema = Metadata("", schema_string, configuration=configuration).mapped_schema
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
    return _FileNames(_partitions(schema, partition_columns), top, has_foreign, schema.dropped_count)


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
    name="data-file-does-not-match-mapping",
    effect="Readers refuse the file, or read NULL or another column's values from it.",
    remedy=Restore(", and write its rows again with an engine that supports column mapping", of_file=True),
    source=READERS,
)


NOT_AS_ASKED = FAMILY.of(Scope.OUTCOME).error(
    19,
    "columns not as requested",
    name="columns-not-changed-as-requested",
    effect="Queries that use the new names fail, or read columns that were to be dropped.",
    remedy="Check the table's history for another writer, then run the job again.",
)
