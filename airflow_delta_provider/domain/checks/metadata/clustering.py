"""Clustering combined with partitions, and without statistics: MD14, MD32, MD34 and MD38.

PROTOCOL.md, Clustered Table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from airflow_delta_provider.domain.checks.check import on_change, on_demand, on_state
from airflow_delta_provider.domain.checks.healing import Details, Healing
from airflow_delta_provider.domain.checks.metadata.family import CLUSTERED, FAMILY
from airflow_delta_provider.domain.checks.row_tracking.live_files import UNKNOWN_ROW_COUNT
from airflow_delta_provider.domain.checks.rule import Need, Scope, causes
from airflow_delta_provider.domain.delta.clustering import (
    CLUSTERING,
    clustering_columns,
    clustering_of,
    field_called,
    fields_by_name,
    fields_by_path,
)
from airflow_delta_provider.domain.delta.column import lowered, path_text
from airflow_delta_provider.domain.delta.column_statistics import read_statistics
from airflow_delta_provider.domain.delta.features.data_files import CLUSTERING as CLUSTERING_FEATURE
from airflow_delta_provider.domain.delta.indexed_columns import indexed_columns
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema, PhysicalPath
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MappingMode
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

CLUSTERED_AND_PARTITIONED = FAMILY.of(Scope.STATE, CLUSTERED).error(
    14,
    "clustered and partitioned",
    effect="Engines refuse the table, or no longer cluster it.",
    remedy="Write the table again with CREATE OR REPLACE TABLE, with one of the two: ALTER TABLE … CLUSTER BY refuses "
    "a partitioned table.",
    shows="domainMetadata",
    follows_from=causes("MD05", "MD11", "MD28"),
)


@on_state(CLUSTERED_AND_PARTITIONED)
def _clustered_and_partitioned(state: TableState) -> Iterator[Finding]:
    if not state.metadata.partition_columns:
        return
    columns = clustering_columns(state.domains.get(CLUSTERING))
    says_none = CLUSTERING in state.domains  # CLUSTER BY NONE leaves an empty domain
    if columns or (state.protocol.supports(CLUSTERING_FEATURE) and not says_none):
        yield CLUSTERED_AND_PARTITIONED.found(
            "The table is partitioned by {partitioned} and clustered by {clustered}; only one of the two is allowed."
            if columns
            else "The table is partitioned by {partitioned}, but the protocol has clustering; only one is allowed.",
            # Delta Spark partitions a table that was clustered: it cannot remove the feature.
            severity=None if columns else Severity.WARNING,
            effect=None if columns else "Engines that rely on the feature treat the table as clustered.",
            partitioned=list(map(str, state.metadata.partition_columns)),
            clustered=[".".join(parts[0]) for parts in columns],
        )


STATISTICS_END = FAMILY.of(Scope.PAIR, CLUSTERED).warning(
    38,
    "clustering column that no longer has statistics",
    effect="From this commit on, Delta Spark writes files without statistics of the column, also by OPTIMIZE: they "
    "cannot be clustered, and queries by the column cannot skip them.",
    remedy="Name the clustering columns in delta.dataSkippingStatsColumns, or move them before the others. Then write "
    "the files since that commit again, for example with OPTIMIZE.",
    threads=("delta-io/delta#5828",),
    needs=(Need.STATE,),
    shows="metaData",
)


@on_change(STATISTICS_END)
def _statistics_end(transition: Transition) -> Iterator[Finding]:
    """Yield a finding about a clustering column if the table stops keeping its statistics.

    The commit moves it behind the columns with statistics, or leaves it out of their list.
    """
    before, after = transition.before, transition.after
    if CLUSTERING not in before.domains or CLUSTERING not in after.domains or before.metadata == after.metadata:
        return
    if before.metadata.readable_columns is None or after.metadata.readable_columns is None:
        return
    was, now = (clustering_of(state.metadata, state.domains) for state in (before, after))
    indexed = indexed_columns(after.metadata)
    there = {lowered(column.parts) for column in after.metadata.readable_columns}
    for old, new in zip(was, now) if len(was) == len(now) else ():
        if lowered(old) in indexed_columns(before.metadata) and lowered(new) in there - indexed.keys():
            yield STATISTICS_END.found(
                "{column} is a clustering column, and the commit lets the table keep statistics of other columns only.",
                column=path_text(new),
            )


NO_STATISTICS = FAMILY.of(Scope.COMMIT, CLUSTERED).error(
    32,
    "file without statistics of a clustering column",
    effect="Engines cannot cluster the file, and queries by the column cannot skip it.",
    remedy="Let the table keep statistics of its clustering columns (delta.dataSkippingStatsColumns). Then write the "
    "file again, for example with OPTIMIZE.",
    shows="add",
    follows_from=causes("MD38", later=True, same_file=True),
    leads_to=(UNKNOWN_ROW_COUNT,),
)
_STATISTICS = ("minValues", "maxValues", "nullCount")


@on_demand(NO_STATISTICS)
def check_clustering_statistics(add: Mapping[str, Any], paths: Iterable[PhysicalPath]) -> Iterator[Finding]:
    """Yield a finding if an ``add`` action has no statistics of a clustering column.

    :param paths: paths of the clustering columns in files: :func:`clustering_paths`
    """
    for column in _without_statistics(add, paths)[:1]:
        yield NO_STATISTICS.found(
            "The file {path} has no statistics for the clustering column {column}.",
            path=str(add.get("path")),
            column=column,
        )


def _is_clustered_by(later: Transition, finding: Finding, _: Details) -> bool:
    return any(".".join(path) == finding.column for path in clustering_paths(later.after))


NEW_WITHOUT_STATISTICS = FAMILY.of(Scope.PAIR, CLUSTERED).warning(
    34,
    "clustered by a column without statistics in older files",
    effect="Queries by the column cannot skip these files until they are rewritten.",
    remedy="Write the files again with statistics of the column, for example with OPTIMIZE … FULL; let the table keep "
    "statistics of a column before it is clustered by it.",
    healing=Healing(_is_clustered_by),
    needs=(Need.STATE, Need.FILES, Need.LOG),
    shows="domainMetadata",
)


@on_demand(NEW_WITHOUT_STATISTICS)
def check_newly_clustered(add: Mapping[str, Any], paths: Iterable[PhysicalPath]) -> Iterator[Finding]:
    """Yield findings about columns that a table is newly clustered by and that have no statistics in an older file.

    They are warnings: Delta Spark clusters tables by such columns.

    :param add: the ``add`` action of the file
    :param paths: paths of these columns in files
    """
    for column in _without_statistics(add, paths):
        yield NEW_WITHOUT_STATISTICS.found(
            "The commit clusters the table by {column}, but the file {path} has no statistics for it.",
            path=str(add.get("path")),
            column=column,
        )


def _without_statistics(add: Mapping[str, Any], paths: Iterable[PhysicalPath]) -> list[str]:
    stats = _statistics(add)
    return [".".join(path) for path in paths if not _is_described(path, stats)]


def clustering_paths(state: TableState) -> tuple[PhysicalPath, ...]:
    """Return the paths in files of the columns that a table is clustered by, as far as its schema has them."""
    configuration, metadata = state.domains.get(CLUSTERING), state.metadata
    if configuration is None or metadata.readable_columns is None:
        return ()
    return _paths(metadata.schema_string, metadata.properties.mapping_mode, configuration)


@lru_cache(maxsize=64)
def _paths(schema_string: str, mode: MappingMode, configuration: str) -> tuple[PhysicalPath, ...]:
    """Return the paths. Cached, since most commits change neither the schema nor the columns."""
    schema = MappedSchema.of(Metadata("", schema_string, configuration={COLUMN_MAPPING_MODE: mode.value}))
    fields = fields_by_path(schema) if schema.is_mapped else fields_by_name(schema)
    found = (field_called(parts, fields) for parts in clustering_columns(configuration))
    return tuple((field.path if schema.is_mapped else field.column.parts) or () for field in found if field)


def _statistics(add: Mapping[str, Any]) -> Mapping[str, Any]:
    stats = add.get("stats")
    try:
        parsed = read_statistics(stats) if isinstance(stats, str) else {}
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _is_described(path: PhysicalPath, stats: Mapping[str, Any]) -> bool:
    return stats.get("numRecords") == 0 or any(_at(path, stats.get(name)) for name in _STATISTICS)


def _at(path: PhysicalPath, values: Any) -> bool:
    for part in path:
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True
