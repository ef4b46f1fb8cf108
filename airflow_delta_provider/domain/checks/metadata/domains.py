"""Metadata domains that Delta defines: MD28 to MD30, and MD33. PROTOCOL.md, Domain Metadata and Clustered Table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from airflow_delta_provider.domain.checks.check import on_change, on_file, on_state, on_tracked, on_transition
from airflow_delta_provider.domain.checks.metadata import CLUSTERED, FAMILY, MOST_TEXT
from airflow_delta_provider.domain.checks.rule import Details, Healing, Need, RepairMethod, Scope
from airflow_delta_provider.domain.delta.column_statistics import indexed_columns, read_statistics
from airflow_delta_provider.domain.delta.data_type import VARIANT, ArrayType, MapType, lowered, path_text
from airflow_delta_provider.domain.delta.features.log import (
    CLUSTERING,
    CLUSTERING_DOMAIN,
    ROW_TRACKING,
    clustering_columns,
    clustering_of,
    field_called,
    fields_by_name,
    fields_by_path,
    is_clustering,
)
from airflow_delta_provider.domain.delta.features.log import CLUSTERING as CLUSTERING_FEATURE
from airflow_delta_provider.domain.delta.features.log import DOMAIN as ROW_TRACKING_DOMAIN
from airflow_delta_provider.domain.delta.metadata import MappedSchema, Metadata, PhysicalPath
from airflow_delta_provider.domain.delta.protocol import has_feature, lacks_a_list
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MappingMode
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.report.report import Finding, Severity

CLUSTERED_AND_PARTITIONED = FAMILY.of(Scope.STATE, CLUSTERED).error(
    14,
    "clustered and partitioned",
    name="table-clustered-and-partitioned",
    effect="Engines refuse the table, or no longer cluster it.",
    remedy="Write the table again with CREATE OR REPLACE TABLE, with one of the two: ALTER TABLE … CLUSTER BY refuses "
    "a partitioned table.",
    shows="domainMetadata",
)


@on_state(CLUSTERED_AND_PARTITIONED)
def _clustered_and_partitioned(state: TableState) -> Iterator[Finding]:
    if not state.metadata.partition_columns:
        return
    columns = clustering_columns(state.domains.get(CLUSTERING_DOMAIN))
    says_none = CLUSTERING_DOMAIN in state.domains  # CLUSTER BY NONE leaves an empty domain
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
    name="clustering-column-loses-statistics",
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
    if (
        CLUSTERING_DOMAIN not in before.domains
        or CLUSTERING_DOMAIN not in after.domains
        or before.metadata == after.metadata
    ):
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
    name="file-without-clustering-statistics",
    effect="Engines cannot cluster the file, and queries by the column cannot skip it.",
    remedy="Let the table keep statistics of its clustering columns (delta.dataSkippingStatsColumns). Then write the "
    "file again, for example with OPTIMIZE.",
    shows="add",
    repairs=(RepairMethod.STATISTICS,),
)
_STATISTICS = ("minValues", "maxValues", "nullCount")


@on_file(NO_STATISTICS, reads=("add.path", "add.stats", "files", "metaData", "domainMetadata"))
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
    name="older-files-without-clustering-statistics",
    effect="Queries by the column cannot skip these files until they are rewritten.",
    remedy="Write the files again with statistics of the column, for example with OPTIMIZE … FULL; let the table keep "
    "statistics of a column before it is clustered by it.",
    healing=Healing(_is_clustered_by),
    needs=(Need.STATE, Need.FILES, Need.LOG),
    shows="domainMetadata",
    repairs=(RepairMethod.STATISTICS,),
)


@on_tracked(NEW_WITHOUT_STATISTICS, reads=("add.path", "add.stats", "files", "metaData", "domainMetadata"))
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
    configuration, metadata = state.domains.get(CLUSTERING_DOMAIN), state.metadata
    if configuration is None or metadata.readable_columns is None:
        return ()
    return _paths(metadata.schema_string, metadata.properties.mapping_mode, configuration)


@lru_cache(maxsize=64)
def _paths(schema_string: str, mode: MappingMode, configuration: str) -> tuple[PhysicalPath, ...]:
    """Return the paths. Cached, since most commits change neither the schema nor the columns."""
    schema = Metadata("", schema_string, configuration={COLUMN_MAPPING_MODE: mode.value}).mapped_schema
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


_FEATURES = {CLUSTERING_DOMAIN: CLUSTERING, ROW_TRACKING_DOMAIN: ROW_TRACKING}
_state = FAMILY.of(Scope.STATE, CLUSTERED)


def _is_still_without(later: Transition, finding: Finding, _: Details) -> bool:
    domain = finding.subject or ""
    return domain in later.after.domains and not _has_feature_of(domain, later.after)


DOMAIN_OF_MISSING_FEATURE = FAMILY.of(Scope.COMMIT).error(
    28,
    "metadata domain of a feature that the table lacks",
    name="domain-of-missing-feature",
    effect="Writers that do not know the domain leave it as it is while they change the table, so it becomes wrong.",
    remedy="Add the feature to the protocol, or remove the domain with the engine that owns it.",
    source="PROTOCOL.md, Writer Requirements for Domain Metadata",
    healing=Healing(_is_still_without),
    shows="domainMetadata",
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_transition(DOMAIN_OF_MISSING_FEATURE, reads=("domainMetadata", "protocol"))
def _without_feature(transition: Transition) -> Iterator[Finding]:
    after = transition.after
    for domain in dict.fromkeys(domain.domain for domain in transition.commit.domains if not domain.removed):
        if domain in _FEATURES and not _has_feature_of(domain, after) and not lacks_a_list(after.protocol):
            yield DOMAIN_OF_MISSING_FEATURE.found(
                "The commit sets the metadata domain {subject}, but the protocol ({protocol}) does not have {feature}.",
                subject=domain,
                protocol=str(after.protocol),
                feature=_FEATURES[domain].name,
            )


def _has_feature_of(domain: str, state: TableState) -> bool:
    feature = _FEATURES[domain]
    return state.protocol.supports(feature) or has_feature(state.protocol.features, feature.name)


BROKEN_CLUSTERING = _state.error(
    29,
    "invalid clustering columns",
    name="invalid-clustering-columns",
    effect="Engines fail to cluster the table, or no longer do so.",
    remedy="Set the columns again: ALTER TABLE … CLUSTER BY (…).",
    shows="domainMetadata",
)


@on_state(BROKEN_CLUSTERING)
def _clustering(state: TableState) -> Iterator[Finding]:
    configuration = state.domains.get(CLUSTERING_DOMAIN)
    if configuration is None:
        return
    if not is_clustering(configuration):
        yield BROKEN_CLUSTERING.found(
            "The configuration of {subject} has no list of clusteringColumns: {configuration}.",
            subject=CLUSTERING_DOMAIN,
            configuration=configuration[:MOST_TEXT],
        )
    elif state.metadata.readable_columns is not None:
        yield from _columns(configuration, state.metadata.mapped_schema)


def _columns(configuration: str, schema: MappedSchema) -> Iterator[Finding]:
    fields = fields_by_path(schema) if schema.is_mapped else fields_by_name(schema)
    found = [field for parts in clustering_columns(configuration) if (field := field_called(parts, fields))]
    for column, times in Counter(field.column for field in found).items():
        if times > 1:
            yield BROKEN_CLUSTERING.found(
                "The table is clustered by {column} {times} times.", column=column, times=times
            )
        if column.data_type == VARIANT or isinstance(column.data_type, (ArrayType, MapType)):
            yield BROKEN_CLUSTERING.found(
                "The table is clustered by {column}, whose type {type} has no order.",
                column=column,
                type=str(column.data_type),
            )


def _is_still_missing(later: Transition, _: Finding, __: Details) -> bool:
    if later.replaces_all and later.commit.metadata:
        return False
    return CLUSTERING_DOMAIN not in later.after.domains and later.after.protocol.supports(CLUSTERING)


CLUSTERING_LOST = FAMILY.of(Scope.PAIR, CLUSTERED).error(
    30,
    "clustering columns removed from a clustered table",
    name="clustering-columns-removed",
    effect="Engines no longer know how the table is clustered.",
    remedy="Set the columns again: ALTER TABLE … CLUSTER BY (…); to end clustering, CLUSTER BY NONE.",
    healing=Healing(_is_still_missing),
    needs=(Need.STATE, Need.VERSIONS),
    shows="domainMetadata",
)


@on_transition(CLUSTERING_LOST, reads=("domainMetadata", "files", "metaData", "protocol"))
def _removed(transition: Transition) -> Iterator[Finding]:
    commit = transition.commit
    if not any(domain.removed and domain.domain == CLUSTERING_DOMAIN for domain in commit.domains):
        return
    if transition.restores or (transition.replaces_all and commit.metadata):
        return
    if CLUSTERING_DOMAIN in transition.before.domains and transition.after.protocol.supports(CLUSTERING):
        yield CLUSTERING_LOST.found(
            "The commit removes {subject}, but the protocol still has clustering.", subject=CLUSTERING_DOMAIN
        )


def _stays_open(_: Transition, __: Finding, ___: Details) -> bool:
    """Return True: the finding is about the commit itself, which no later commit changes."""
    return True


def _are_alike(one: str, other: str) -> bool:
    """Return True if two configurations are equal as JSON: Delta Spark reformats the configurations of its domains."""
    try:
        return one == other or bool(parse_json(one) == parse_json(other))
    except ValueError:
        return False


OTHER_IMAGE = FAMILY.of(Scope.PAIR).warning(
    33,
    "domain removed with another configuration than it had",
    name="domain-removed-with-other-configuration",
    effect="Readers are unaffected; programs that follow the log do not see the removed configuration.",
    remedy="Update the engine that wrote the commit.",
    source="PROTOCOL.md, Domain Metadata",
    healing=Healing(_stays_open),
    needs=(Need.STATE,),
    shows="domainMetadata",
)


@on_transition(OTHER_IMAGE, reads=("domainMetadata",))
def _other_image(transition: Transition) -> Iterator[Finding]:
    for domain in transition.commit.domains:
        was = transition.before.domains.get(domain.domain) if domain.removed else None
        if was is not None and not _are_alike(was, domain.configuration):
            yield OTHER_IMAGE.found(
                "The commit removes {subject} as {configuration!r}, but it was {was!r}.",
                subject=domain.domain,
                configuration=domain.configuration[:MOST_TEXT],
                was=was[:MOST_TEXT],
            )
