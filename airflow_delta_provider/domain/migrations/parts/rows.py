"""Changes that read or rewrite rows: other types and partitions, NOT NULL, constraints."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.changes.widen_types import Widening, check_dependents, check_widening
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.delta.column import Column, all_columns, lowered, path_text
from airflow_delta_provider.domain.delta.data_type import ArrayType, MapType, StructType, sql_name
from airflow_delta_provider.domain.delta.expression import is_no_condition, unknown_names
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.type_widening import can_widen
from airflow_delta_provider.domain.migrations.casting import depends_on_zone
from airflow_delta_provider.domain.migrations.difference.table import is_partitioned_otherwise, new_constraints
from airflow_delta_provider.domain.migrations.draft import MigrationDraft
from airflow_delta_provider.domain.report.finding import Finding

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
