"""Obstacles to a migration in a table's rows, found before any of its steps is done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from pyspark.errors import AnalysisException, PySparkException

from airflow_delta_provider.domain.changes.step import AddConstraint, RewriteTable, Step, each_step, reads_rows
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.delta.data_type import PrimitiveType, StructField
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.row_condition import row_conditions
from airflow_delta_provider.domain.delta.sql_type import render_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.sql_identifier import quote
from airflow_delta_provider.domain.migrations.earlier_path import earlier_path, forbidden_nulls
from airflow_delta_provider.domain.migrations.edit import edited
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.changes.column_values import rows_of
from airflow_delta_provider.jobs.changes.migration.lost_values import find_lost, find_nulls
from airflow_delta_provider.jobs.changes.migration.rewrite import in_zone_of
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session.expressions import why_not_analyzed_fit, why_not_parsed_fit
from airflow_delta_provider.jobs.storage.engine_error import UnreadFileError


def find_obstacles(
    session: SparkDeltaSession, table: OpenTable, state: TableState, steps: Sequence[Step]
) -> Iterator[Finding]:
    """Yield the obstacles that would stop a step after earlier steps are already done.

    Obstacles are NULLs, values that a cast loses, rows that break a new constraint, and expressions that must not be
    evaluated. Each step checks again.

    :param state: state that the steps were planned on
    """
    if outside := find_file_outside(session, table, state, steps):
        yield outside
        return
    nulls = [column for index, step in enumerate(steps) for column in forbidden_nulls(step, steps[:index])]
    if nulls:
        yield from find_nulls(session, table, state, nulls)
    for index, step in enumerate(steps):
        if isinstance(step, RewriteTable):
            yield from _unfit(session, table, state)
            yield from _lost(session, table, state, step, steps[:index])
        elif isinstance(step, AddConstraint):
            yield from _breaking(session, table, state, step, steps[:index])


def find_file_outside(
    session: SparkDeltaSession,
    table: OpenTable,
    state: TableState,
    steps: Iterable[Step],
    *,
    compares_rows: bool = False,
) -> Finding | None:
    """Return a refusal if the engine would read a file that the job must not read: the engine itself does not check.

    :param state: state that the steps were planned on, with or without its files
    :param compares_rows: True if rows are read afterwards, whatever the steps are
    """
    if not (compares_rows or any(map(reads_rows, each_step(steps)))):
        return None
    if state.files is None:
        state = table.log.read_state(with_files=True, version=state.version)
    data = session.data_files(table.location)
    try:
        for file in state.live_files:
            data.check_places(file)
    except UnreadFileError as error:
        return error.meaning.finding("The engine would read this file.")
    return None


def _lost(
    session: SparkDeltaSession, table: OpenTable, state: TableState, step: RewriteTable, before: Sequence[Step]
) -> tuple[Finding, ...]:
    paths = ((cast, earlier_path(cast.parts, before)) for cast in step.casts)
    casts = [replace(cast, parts=path) for cast, path in paths if path is not None]
    with in_zone_of(session, step):
        return find_lost(rows_of(session, table.location, state.version), state, casts)


def _unfit(session: SparkDeltaSession, table: OpenTable, state: TableState) -> Iterator[Finding]:
    """Yield the table's conditions that the engine would evaluate on the rewritten rows, although it must not."""
    columns = [field.name for field in state.metadata.schema.fields]
    for condition in row_conditions(state.metadata, state.protocol):
        with suppress(PySparkException):  # the engine refuses invalid expressions itself
            if condition.expression and (why := why_not_parsed_fit(session.spark, condition.holds, columns)):
                yield requests.UNUSABLE_EXPRESSION.found(
                    "Rewriting {table} would evaluate {subject} ({expression}): {why}.",
                    table=table.name.text,
                    subject=condition.holder,
                    expression=condition.expression,
                    why=Prose(why),
                    remedy="Drop the constraint or replace the expression, then run the job again.",
                )


def _breaking(
    session: SparkDeltaSession, table: OpenTable, state: TableState, step: AddConstraint, before: Sequence[Step]
) -> Iterator[Finding]:
    """Yield a finding if rows break a constraint; nothing if this can be checked only after earlier steps."""
    rows = rows_of(session, table.location, state.version)
    after = _metadata_after(state, before)
    holds = f"coalesce({step.expression}\n, false)"
    try:
        why = why_not_parsed_fit(session.spark, holds, [field.name for field in after.schema.fields])
        if why is None:
            counts = rows.selectExpr(*_columns_after(state, after, before)).selectExpr(
                "count(*)", f"count_if(NOT {holds})"
            )
            why = why_not_analyzed_fit(counts)
        if why is not None:
            yield requests.UNUSABLE_EXPRESSION.found(
                "The CHECK constraint {constraint} ({expression}) is not evaluated: {why}.",
                subject=step.name,
                constraint=step.name,
                expression=step.expression,
                why=Prose(why),
            )
            return
        (found,) = counts.collect()
    except AnalysisException:
        return
    if found[1]:
        yield requests.ROWS_BREAK_CONSTRAINT.found(
            "The CHECK constraint {constraint} ({expression}) is not true for {breaking:row} of {rows}.",
            subject=step.name,
            constraint=step.name,
            expression=step.expression,
            breaking=found[1],
            rows=found[0],
        )


def _metadata_after(state: TableState, steps: Sequence[Step]) -> Metadata:
    wire = state.metadata.to_json()
    for step in steps:
        wire = edited(step, wire)
    return Metadata.from_json(wire)


def _columns_after(state: TableState, after: Metadata, steps: Sequence[Step]) -> Iterator[str]:
    """Yield SQL for a state's columns as they are after steps. Columns that one cast cannot produce are left out."""
    old = {lowered((field.name,)): field for field in state.metadata.schema.fields}
    for field in after.schema.fields:
        path = earlier_path((field.name,), steps)
        if value := _value(field, None if path is None else old[lowered(path)]):
            yield f"{value} AS {quote(field.name)}"


def _value(field: StructField, old: StructField | None) -> str | None:
    if old is not None and old.data_type == field.data_type:
        return quote(old.name)
    if old is not None and not isinstance(field.data_type, PrimitiveType):
        return None
    value = "NULL" if old is None else quote(old.name)
    return f"try_cast({value} AS {render_sql_type(field.data_type)})"
