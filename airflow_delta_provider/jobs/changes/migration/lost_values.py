"""Values that a step would lose or forbid: for casts, their number and examples; and NULL values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from airflow_delta_provider.domain.changes.step import Cast, Parts
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.delta.column import all_columns, lowered, path_text
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.casting import is_lost
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.changes.column_values import leaf_values, rows_of
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession

_EXAMPLES = 5


def find_lost(rows: DataFrame, state: TableState, casts: Sequence[Cast]) -> tuple[Finding, ...]:
    """Return a refusal for each cast that would lose values of ``rows``. All rows are read once.

    :param rows: rows of the state
    """
    losses = [_Loss.of(state, cast) for cast in casts if not cast.null_on_loss]
    if not losses:
        return ()
    (counts,) = rows.selectExpr(*(loss.count for loss in losses)).collect()
    return tuple(
        requests.VALUES_LOST.found(
            "{lost} of {column} would be lost as {new}, among them {examples}.",
            column=path_text(loss.cast.parts),
            lost=f"{lost:,} value{'s' * (lost != 1)}",
            new=loss.cast.new,
            examples=[row[0] for row in rows.selectExpr(f"{loss.values}").limit(_EXAMPLES).collect()],
        )
        for loss, lost in zip(losses, counts)
        if lost
    )


@dataclass(frozen=True)
class _Loss:
    """SQL for the values that a cast loses.

    :param count: aggregate: number of values
    :param values: generator: each value, as a string
    """

    cast: Cast
    count: str
    values: str

    @classmethod
    def of(cls, state: TableState, cast: Cast) -> _Loss:
        column = next(each for each in all_columns(state.metadata.schema) if lowered(each.parts) == lowered(cast.parts))
        values, in_collection = leaf_values(column.parts, column.kinds)
        listed = values if in_collection else f"array({values})"
        lost = is_lost("x", column.data_type, parse_sql_type(cast.new), cast.new)
        found = f"filter({listed}, x -> {lost})"
        return cls(
            cast,
            f"coalesce(sum(greatest(size({found}), 0)), 0)",
            f"explode(transform({found}, x -> CAST(x AS string)))",
        )


def find_nulls(
    session: SparkDeltaSession, table: OpenTable, state: TableState, columns: Sequence[tuple[Parts, Parts | None]]
) -> tuple[Finding, ...]:
    """Return a refusal for each column that has NULL in rows of a version. All of its rows are read once.

    A nested field is also NULL if its struct is NULL.

    :param columns: path of each column, and its path in the version; None if the version does not have it
    """
    tests = [_is_null(state, earlier) for _, earlier in columns]
    measures = [
        measure
        for test in tests
        for measure in (f"count_if({test})", f"min(CASE WHEN {test} THEN _metadata.file_path END)")
    ]
    (found,) = rows_of(session, table.location, state.version).selectExpr("count(*)", *measures).collect()
    return tuple(
        requests.NULLS_FOUND.found(
            "{column} is NULL in {nulls:row} of {rows} of version {version}, for example in {path}.",
            column=path_text(parts),
            version=state.version,
            nulls=found[2 * index + 1],
            rows=found[0],
            path=found[2 * index + 2],
        )
        for index, (parts, _) in enumerate(columns)
        if found[2 * index + 1]
    )


def _is_null(state: TableState, parts: Parts | None) -> str:
    """Return SQL that is true if a row has NULL in a column."""
    if parts is None:
        return "true"
    column = next(each for each in all_columns(state.metadata.schema) if lowered(each.parts) == lowered(parts))
    values, in_collection = leaf_values(column.parts, column.kinds)
    return f"exists({values}, x -> x IS NULL)" if in_collection else f"{values} IS NULL"
