"""Rules of Delta Spark that decide if it accepts the plan, checked on the table after the plan.

Changes that the provider commits itself bypass the checks of ``ALTER TABLE``, so they are repeated here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.changes.enable_features import check_iceberg
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.delta.clustering import clustering_of
from airflow_delta_provider.domain.delta.column import all_columns, lowered, path_text
from airflow_delta_provider.domain.delta.data_type import DataType, DecimalType, StructType, sql_name
from airflow_delta_provider.domain.delta.evaluation import unfit_call
from airflow_delta_provider.domain.delta.indexed_columns import has_bounds, indexed_columns, listed_columns
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import STATISTICS_COLUMNS
from airflow_delta_provider.domain.engine.sql_identifier import SqlNameError
from airflow_delta_provider.domain.migrations.difference.table import is_clustered_otherwise, new_constraints
from airflow_delta_provider.domain.migrations.draft import MigrationDraft
from airflow_delta_provider.domain.report.finding import Finding

#: Maximum number of clustering columns (spark.databricks.delta.clusteredTable.numClusteringColumnsLimit).
_MOST_CLUSTERING = 4


def check_engine_rules(draft: MigrationDraft) -> None:
    """Refuse changes that Delta Spark would refuse, or would commit and then could not use."""
    draft.refusals += (
        *_statistics_columns(draft),
        *_clustering(draft),
        *_constraints(draft),
        *_defaults(draft),
        *check_iceberg(draft.before, draft.state),
    )


def _statistics_columns(draft: MigrationDraft) -> Iterator[Finding]:
    """Yield refusals if a change makes the list of columns with statistics wrong for the table."""
    before, after = draft.before.metadata, draft.state.metadata
    listed = after.properties.statistics_columns
    if not listed or (listed == before.properties.statistics_columns and before.schema == after.schema):
        return
    for why in _wrong_in(listed, after):
        yield requests.VALUE_NOT_ACCEPTED.found(
            "Delta Spark does not set {property} to {value!r}: {why}.",
            property=STATISTICS_COLUMNS,
            value=listed,
            why=Prose(why),
        )


def _wrong_in(listed: str, metadata: Metadata) -> Iterator[str]:
    try:
        names = listed_columns(listed)
    except SqlNameError:
        yield "it is not a list of columns separated by commas"
        return
    types = {lowered(column.parts): column.data_type for column in all_columns(metadata.schema)}
    partitions = {str(name).lower() for name in metadata.partition_columns}
    seen: set[steps.Parts] = set()
    for name in names:
        path, text = lowered(name), path_text(name)
        if path[0] in partitions and len(path) == 1:
            yield f"{text} is a partition column"
        elif path not in types:
            yield f"there is no column {text}"
        elif not (len(path) > 1 or isinstance(types[path], StructType) or has_bounds(types[path])):
            yield f"{text} is of the type {sql_name(types[path])}, which has no bounds"
        elif path in seen:
            yield f"it has {text} twice"
        seen.add(path)


def _clustering(draft: MigrationDraft) -> Iterator[Finding]:
    """Yield refusals for too many clustering columns, and for clustering columns without statistics."""
    newly = is_clustered_otherwise(draft.before, draft.spec)
    columns = draft.spec.cluster_by or () if newly else clustering_of(draft.state.metadata, draft.before.domains)
    if newly and len(columns) > _MOST_CLUSTERING:
        yield requests.NOT_CLUSTERABLE.found(
            "Delta Spark clusters a table by {most} columns at most, and {count} are declared.",
            remedy="Cluster by fewer columns.",
            most=_MOST_CLUSTERING,
            count=len(columns),
        )
    if not columns:
        return
    known, indexed = indexed_columns(draft.before.metadata), indexed_columns(draft.state.metadata)
    types = {lowered(column.parts): column.data_type for column in all_columns(draft.state.metadata.schema)}
    had = {lowered(column) for column in _clustered_before(draft) if lowered(column) in known}
    for column, before in zip(columns, _clustered_before(draft) if not newly else columns):
        path = lowered(column)
        if path in indexed or path not in types or not (newly or lowered(before) in had):
            continue
        unfit = not has_bounds(types[path])
        yield requests.NOT_CLUSTERABLE.found(
            "{column} is of the type {type}, which has no statistics to cluster by."
            if unfit
            else "{column} would be a clustering column without statistics: the table keeps statistics of others only.",
            column=path_text(column),
            type=sql_name(types[path]) if unfit else None,
        )


def _clustered_before(draft: MigrationDraft) -> list[steps.Parts]:
    return clustering_of(draft.before.metadata, draft.before.domains)


def _constraints(draft: MigrationDraft) -> Iterator[Finding]:
    """Yield CHECK constraints that Delta Spark would store but cannot evaluate when rows are written."""
    for constraint in new_constraints(draft.before.metadata, draft.spec):
        if why := unfit_call(constraint.expression):
            yield requests.UNUSABLE_EXPRESSION.found(
                "The CHECK constraint {subject} ({expression}) cannot be evaluated for a row: {why}.",
                effect="If it is added, every INSERT, UPDATE and MERGE fails from then on.",
                subject=constraint.name,
                expression=constraint.expression,
                why=Prose(why),
            )


_TEXT = re.compile(r"r?('(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\")(?:\s*('[^']*'|\"[^\"]*\"))*", re.DOTALL)
_NUMBER = re.compile(r"[+-]?\s*(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?:bd|[lsydf])?", re.IGNORECASE)
_BOOLEAN = re.compile(r"true|false", re.IGNORECASE)
_NUMERIC = frozenset("byte short integer long float double".split())
_MOMENTS = frozenset("date timestamp timestamp_ntz".split())


def _defaults(draft: MigrationDraft) -> Iterator[Finding]:
    """Yield defaults that cannot be evaluated or are literals of another type.

    With such a default, every INSERT that leaves the column out would fail.
    """
    types = {lowered(column.parts): column.data_type for column in all_columns(draft.state.metadata.schema)}
    for column in draft.columns.defaults:
        data_type = types.get(lowered(column.parts))
        if column.text and (why := unfit_call(column.text)):
            yield requests.UNUSABLE_EXPRESSION.found(
                "The default {expression} of {column} cannot be evaluated: {why}.",
                effect="Delta Spark refuses it, and writes that leave the column out would fail.",
                expression=column.text,
                column=path_text(column.parts),
                why=Prose(why),
            )
        elif data_type is not None and column.text and (of := _other_literal(column.text.strip(), data_type)):
            yield requests.UNUSABLE_EXPRESSION.found(
                "The default {expression} of {column} is {of}, and the column is of the type {type}.",
                effect="Delta Spark refuses it, and writes that leave the column out would fail.",
                expression=column.text,
                column=path_text(column.parts),
                of=of,
                type=sql_name(data_type),
            )


def _other_literal(expression: str, data_type: DataType) -> str | None:
    """Return the kind of a literal that cannot be a default of this type; None for all else."""
    is_number = isinstance(data_type, DecimalType) or str(data_type) in _NUMERIC
    if _TEXT.fullmatch(expression):
        return "a string" if is_number or str(data_type) in {*_MOMENTS, "boolean"} else None
    if _BOOLEAN.fullmatch(expression):
        return "a boolean" if is_number or str(data_type) in _MOMENTS else None
    if _NUMBER.fullmatch(expression):
        return "a number" if str(data_type) in {*_MOMENTS, "boolean"} else None
    return None
