"""The parts of a migration: columns, metadata, features and rows, each with its steps.

Changes that the provider commits itself bypass the checks of ``ALTER TABLE``, so they are repeated here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from airflow_delta_provider.domain.changes import steps
from airflow_delta_provider.domain.changes.alter_columns.plan import alter
from airflow_delta_provider.domain.changes.drop_features import plan_drop
from airflow_delta_provider.domain.changes.enable_features import (
    check_enabling,
    check_iceberg,
    enabled_by,
    enabling_statements,
)
from airflow_delta_provider.domain.changes.plan import check_needed
from airflow_delta_provider.domain.changes.schema import map_by_name
from airflow_delta_provider.domain.changes.steps import Alteration
from airflow_delta_provider.domain.changes.widen_types import (
    Widening,
    check_dependents,
    check_widening,
    widen,
    widening_preparation,
)
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.column_statistics import has_bounds, indexed_columns, listed_columns
from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    Column,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    all_columns,
    lowered,
    parse_type,
    path_text,
    sql_name,
)
from airflow_delta_provider.domain.delta.expression import is_no_condition, unknown_names
from airflow_delta_provider.domain.delta.features.columns import ALLOW_COLUMN_DEFAULTS, CHECK_CONSTRAINTS, can_widen
from airflow_delta_provider.domain.delta.features.feature import FeatureAccess
from airflow_delta_provider.domain.delta.features.log import CLUSTERING, clustering_of
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_named
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import has_feature
from airflow_delta_provider.domain.delta.row_condition import unfit_call
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_properties import ROW_TRACKING_SUSPENDED, STATISTICS_COLUMNS
from airflow_delta_provider.domain.migrations.casting import depends_on_zone
from airflow_delta_provider.domain.migrations.difference import (
    is_clustered_otherwise,
    is_partitioned_otherwise,
    new_comment,
    new_constraints,
    new_properties,
    old_constraints,
    old_properties,
)
from airflow_delta_provider.domain.migrations.plan import MigrationDraft
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.request.change_options import DropFeatureOptions, EnableFeatureOptions
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import FeatureNames
from airflow_delta_provider.domain.text import SqlNameError

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


@dataclass(frozen=True, kw_only=True)
class _Declared(EnableFeatureOptions):
    """Features and properties that a spec declares; properties alone are allowed."""

    features: tuple[str, ...] = option(FeatureNames(), "declared features")


def enable_features(draft: MigrationDraft) -> None:
    """Enable declared features, and features that other changes need, in statements of the engine."""
    properties = new_properties(draft.state.metadata, draft.spec)
    enabling = {name: value for name, value in properties.items() if _enables(name, value)}
    declared = [feature_named(name).name for name in draft.spec.features]
    special = any(feature_named(name).access is FeatureAccess.SPECIAL for name in declared)
    options = _Declared(features=(*declared, *_needed_features(draft)), properties=enabling, allow_special=special)
    draft.refusals += check_enabling(replace(options, properties=properties), draft.state, draft.engine)
    if draft.refusals:
        return
    statements, supported = enabling_statements(options, draft.state)
    prepared, needed = widening_preparation(
        [parse_type(w.new) for w in draft.columns.widenings], draft.state, draft.engine
    )
    was_mapped = draft.state.metadata.properties.is_mapped
    draft.take(*_merged_properties([*statements, *prepared]))
    draft.support([*supported, *needed])
    draft.refusals += check_needed(draft.state.protocol.features, draft.engine)
    if draft.state.metadata.properties.is_mapped and not was_mapped:
        _map_columns(draft)


def _map_columns(draft: MigrationDraft) -> None:
    """Continue with a table whose columns are mapped, each to its own name."""
    metadata = draft.state.metadata
    schema, properties = map_by_name(metadata.schema_string)
    mapped = replace(metadata, schema_string=schema, configuration={**metadata.configuration, **properties})
    draft.state = replace(draft.state, metadata=Metadata.from_json(mapped.to_json()))


def _needed_features(draft: MigrationDraft) -> list[str]:
    """Return the features that the other changes need and the table does not have."""
    found = []
    if draft.columns.defaults:
        found.append(ALLOW_COLUMN_DEFAULTS)
    if new_constraints(draft.state.metadata, draft.spec):
        found.append(CHECK_CONSTRAINTS)
    types = [parse_sql_type(text) for text in _new_types(draft)]
    inside = [c.data_type for t in types for c in all_columns(StructType((StructField("c", t),)))]
    found += [
        feature
        for feature in FEATURES.values()
        if feature.column_type in inside and feature.access is not FeatureAccess.SPECIAL
    ]
    return [f.name for f in found if not has_feature(draft.state.protocol.features, f.name)]


def _new_types(draft: MigrationDraft) -> Iterator[str]:
    yield from (add.type for add in draft.columns.adds)
    yield from (cast.new for cast in draft.columns.casts)


def drop_features(draft: MigrationDraft) -> None:
    """Drop features, after all changes that may still need them."""
    names = tuple(feature_named(name).name for name in draft.spec.drop_features)
    if not names or not set(names) & draft.state.protocol.features:
        return
    draft.files()
    options = DropFeatureOptions(
        features=names, allow_protocol_upgrade=True, allow_rewrite=True, acknowledge_row_id_loss=True
    )
    now = datetime.now(timezone.utc)
    planned = plan_drop(draft.table, options, draft.state, draft.engine, draft.survey, now)
    draft.refusals += planned.refusals
    if planned.plan is not None:
        draft.take(*planned.plan.steps)
        draft.state = replace(draft.state, protocol=planned.plan.protocol_after)
        draft.notes += planned.plan.notes


def _enables(name: str, value: str) -> bool:
    return any(feature.is_enabling(value) for feature in enabled_by(name))


def _merged_properties(statements: Sequence[steps.SetProperties]) -> Iterator[steps.SetProperties]:
    """Yield statements that resume row tracking first, then all others merged into one."""
    resuming = [s for s in statements if dict(s.properties).get(ROW_TRACKING_SUSPENDED) == "false"]
    others = [s for s in statements if s not in resuming]
    yield from resuming
    if others:
        properties = {name: value for step in others for name, value in step.properties}
        enables = sorted({name for step in others for name in step.enables})
        commits = max(step.commits for step in others)
        yield steps.SetProperties(tuple(sorted(properties.items())), tuple(enables), commits=commits)


_REWRITE_INSTEAD = "Or set rewrite: true on the column, if its data may be rewritten."


def change_columns(draft: MigrationDraft) -> None:
    """Add columns, then rename, then make changes that use the new names.

    The order differs if drops or renames must free names first.
    """
    changes = draft.columns
    draft.take(*old_constraints(draft.state.metadata, draft.spec))
    if changes.drops_first:
        _drop(draft, tuple(place.old for place in changes.drops))
    added_first = not (changes.renames_first or changes.drops_first)
    added = tuple(add.column(renamed=not added_first) for add in changes.adds)
    if added_first:
        _add(draft, added)
    if changes.renames:
        renames = tuple(changes.renames)
        alter(draft, Alteration(renames=renames), [steps.RenameColumns(renames)])
    if not added_first:
        _add(draft, added)
    if draft.refusals:
        return
    widen(draft, _widenings(draft), _REWRITE_INSTEAD)
    for parent, members in changes.orders:
        names = tuple(name for name, goes in members if not (goes and changes.drops_first))
        draft.take(steps.OrderFields(parent, names))
    if changes.nullable:
        draft.take(steps.AllowNulls(tuple(changes.nullable)))
    if changes.comments:
        draft.take(steps.CommentColumns(tuple(changes.comments)))
    if changes.defaults:
        draft.take(steps.SetDefaults(tuple(changes.defaults)))
    if comment := new_comment(draft.state.metadata, draft.spec):
        draft.take(comment)


def _widenings(draft: MigrationDraft) -> list[Widening]:
    """Return the columns to widen, in their current state."""
    names = {lowered(w.parts): w for w in draft.columns.widenings}
    present = {lowered(column.parts): column for column in all_columns(draft.state.metadata.schema)}
    return [Widening(present[path], parse_type(w.new)) for path, w in names.items() if path in present]


def drop_columns(draft: MigrationDraft) -> None:
    """Drop columns after all other changes have succeeded, unless they had to be dropped first."""
    if not draft.columns.drops_first:
        _drop(draft, tuple(place.new for place in draft.columns.drops))


def _add(draft: MigrationDraft, columns: tuple[steps.NewColumn, ...]) -> None:
    if columns:
        alter(draft, Alteration(adds=columns), [steps.AddColumns(columns)])


def _drop(draft: MigrationDraft, columns: tuple[steps.Parts, ...]) -> None:
    if columns:
        alter(draft, Alteration(drops=columns), [steps.DropColumns(columns)])


def set_properties(draft: MigrationDraft) -> None:
    """Set the properties that enable no feature, and remove unwanted ones."""
    if properties := new_properties(draft.state.metadata, draft.spec):
        draft.take(steps.SetProperties(tuple(sorted(properties.items()))))
    if unset := old_properties(draft.state.metadata, draft.spec):
        draft.take(unset)


def cluster(draft: MigrationDraft) -> None:
    """Set other clustering columns, or none."""
    if not is_clustered_otherwise(draft.state, draft.spec):
        return
    columns = draft.spec.cluster_by or ()
    if columns and draft.state.metadata.partition_columns:
        evidence = "{table} is partitioned, so it cannot be clustered."
        draft.refusals.append(
            requests.NEEDS_REWRITE.found(
                evidence, remedy="Also declare partition_by: [] with rewrite: true.", table=draft.table.text
            )
        )
    known = {lowered(column.parts) for column in all_columns(draft.state.metadata.schema)}
    for path in columns:
        if lowered(path) not in known:
            evidence = "There is no column {column} that the table can be clustered by."
            draft.refusals.append(requests.UNKNOWN_COLUMN.found(evidence, column=path_text(path)))
    draft.take(steps.ClusterBy(tuple(columns)))
    if columns:
        draft.support([CLUSTERING.name])


_APPEND_ONLY = "Set delta.appendOnly to false first, or declare what the table has."


def rewrite(draft: MigrationDraft) -> None:
    """Rewrite the table for types that widening cannot reach, and for other partition columns."""
    partitions = draft.spec.partition_by if is_partitioned_otherwise(draft.state.metadata, draft.spec) else None
    if not draft.columns.casts and partitions is None:
        return
    if partitions is not None and not draft.spec.rewrite:
        draft.refusals.append(
            requests.NEEDS_REWRITE.found(
                "{table} is partitioned by {now} and should be by {wanted}.",
                table=draft.table.text,
                now=list(draft.before.metadata.partition_columns) or "nothing",
                wanted=list(partitions) or "nothing",
            )
        )
    present = {lowered(column.parts): column for column in all_columns(draft.state.metadata.schema)}
    for cast in draft.columns.casts:
        draft.refusals += _check_cast(draft, present[lowered(cast.parts)], cast)
    for name in partitions or ():
        column = present.get(lowered((name,)))
        if column is None or isinstance(column.data_type, (StructType, ArrayType, MapType)):
            evidence = "There is no column {column} that the table can be partitioned by."
            draft.refusals.append(requests.UNKNOWN_COLUMN.found(evidence, column=name))
    if draft.state.metadata.properties.append_only:
        evidence = "{table} is append-only, so its data cannot be rewritten."
        draft.refusals.append(requests.NEEDS_REWRITE.found(evidence, table=draft.table.text, remedy=_APPEND_ONLY))
    if not draft.refusals:
        files = draft.files()
        size = sum(file.size for file in files)
        casts = tuple(draft.columns.casts)
        zone = draft.spec.time_zone if any(_needs_zone(cast) for cast in casts) else None
        draft.take(steps.RewriteTable(casts, partitions, zone, files=len(files), size=size))


def _needs_zone(cast: steps.Cast) -> bool:
    return depends_on_zone(parse_sql_type(cast.old), parse_sql_type(cast.new))


def _check_cast(draft: MigrationDraft, column: Column, cast: steps.Cast) -> Iterator[Finding]:
    new = parse_sql_type(cast.new)
    if can_widen(column.data_type, new):
        yield from check_widening(Widening(column, new), draft.state)
        return
    yield from check_dependents(column, draft.state.metadata)
    if _needs_zone(cast) and draft.spec.time_zone is None:
        yield requests.NEEDS_TIME_ZONE.found(
            "{column} is {type} and should be {asked}: the moment of a date and time depends on the time zone.",
            column=column,
            type=cast.old,
            asked=cast.new,
        )
    if set(column.kinds) != {"field"}:
        yield requests.ILLEGAL_TYPE_CHANGE.found(
            "{column} is {type}, in an array or a map: its values are not rewritten.",
            remedy="Declare a column of another name, fill it, and drop this one later.",
            column=column,
            type=sql_name(column.data_type),
        )


def forbid_nulls(draft: MigrationDraft) -> None:
    """Set columns NOT NULL; when the step is executed, the rows are checked first."""
    required = draft.columns.required
    if not required:
        return
    present = {lowered(column.parts): column for column in all_columns(draft.state.metadata.schema)}
    inside = [path for path in required if set(present[lowered(path)].kinds) != {"field"}]
    draft.refusals += [
        requests.NOT_ENFORCED.found("{column} cannot be NOT NULL: it is in an array or a map.", column=path_text(path))
        for path in inside
    ]
    places = [(*add.parent.new, add.name) for add in draft.columns.adds]
    added = {path: place for path in required for place in places if path[: len(place)] == place and path not in inside}
    if added and draft.files():
        for path, place in added.items():
            which = "it" if path == place else "{place}"
            draft.refusals.append(
                requests.UNSUPPORTED_COLUMN.found(
                    f"{{column}} cannot be added NOT NULL: {which} is NULL in the rows that are there.",
                    remedy="Declare it nullable, fill it, and then declare it nullable: false.",
                    column=path_text(path),
                    place=path_text(place),
                )
            )
    draft.take(steps.ForbidNulls(tuple(required)))


def add_constraints(draft: MigrationDraft) -> None:
    """Add CHECK constraints; the engine checks the rows."""
    columns = list(all_columns(draft.state.metadata.schema))
    constraints = new_constraints(draft.state.metadata, draft.spec)
    for constraint in constraints:
        unknown = unknown_names(constraint.expression, columns)
        if unknown.names and unknown.certain:
            draft.refusals.append(
                requests.UNKNOWN_COLUMN.found(
                    "The CHECK constraint {constraint} ({expression}{place}) names {names}, but there is no such "
                    "column.",
                    subject=constraint.name,
                    constraint=constraint.name,
                    expression=constraint.expression,
                    names=list(unknown.names),
                    place=_place(draft, constraint.name),
                )
            )
        elif is_no_condition(constraint.expression, columns):
            draft.refusals.append(
                requests.UNUSABLE_EXPRESSION.found(
                    "The CHECK constraint {constraint} ({expression}{place}) is neither true nor false.",
                    subject=constraint.name,
                    constraint=constraint.name,
                    expression=constraint.expression,
                    place=_place(draft, constraint.name),
                )
            )
    draft.take(*constraints)


def _place(draft: MigrationDraft, constraint: str) -> Prose:
    """Return a constraint's place in a file, for mid-sentence use; empty if unknown."""
    place = draft.spec.places.get(f"constraints.{constraint}")
    return Prose(f"; {place}" if place else "")
