"""Comparing the values of columns in two versions of a table, in one pass over each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.delta.column import Column, quote
from airflow_delta_provider.domain.delta.data_type import sql_name
from airflow_delta_provider.domain.plan.widen_types import Widening
from airflow_delta_provider.jobs.delta_session import DeltaSession, OpenTable

_MEASURES = ("minimum", "maximum", "number of nulls", "values by file")
#: A prime below 2**31: a sum of remainders holds four thousand million rows.
_MODULUS = 2147483647


def differing_columns(
    session: DeltaSession, table: OpenTable, widenings: Sequence[Widening], version: int
) -> Iterator[tuple[Column, list[str]]]:
    """Yield the columns whose values in ``version`` are not those of the version before, with what differs.

    Both sides are read as the wider type. Minimum, maximum and number of nulls are compared, and a
    sum over a hash of file and value of every row.
    """
    columns = ", ".join(
        expression for index, widening in enumerate(widenings) for expression in _measures(index, widening)
    )
    with session.reading_history():
        before, after = (
            session.sql(f"SELECT {columns} FROM {table.name.sql} VERSION AS OF {v}")[0] for v in (version - 1, version)
        )
    for index, widening in enumerate(widenings):
        names = [f"{measure} {index}" for measure in _MEASURES]
        differing = [measure for measure, name in zip(_MEASURES, names) if before[name] != after[name]]
        if differing:
            yield widening.column, differing


def _measures(index: int, widening: Widening) -> Iterator[str]:
    leaf, in_collection = _leaf(widening.column)
    new_type = sql_name(widening.new)
    if in_collection:
        leaf = f"CAST({leaf} AS array<{new_type}>)"
        low, high = f"min(array_min({leaf}))", f"max(array_max({leaf}))"
        nulls = f"sum(coalesce(size(filter({leaf}, x -> x IS NULL)), 0))"
    else:
        leaf = f"CAST({leaf} AS {new_type})"
        low, high, nulls = f"min({leaf})", f"max({leaf})", f"count_if({leaf} IS NULL)"
    row = f"xxhash64(_metadata.file_path, {leaf})"
    expressions = (f"CAST({low} AS string)", f"CAST({high} AS string)", nulls, f"sum({row} % {_MODULUS})")
    for measure, expression in zip(_MEASURES, expressions):
        yield f"{expression} AS {quote(f'{measure} {index}')}"


def _leaf(column: Column) -> tuple[str, bool]:
    """Return SQL for the values of a column, and whether it is an array of them for each row."""
    expression, in_collection = "", False
    for part, kind in zip(column.parts, column.kinds):
        if not expression:
            expression = quote(part)
        elif kind == "field":
            expression = (
                f"transform({expression}, x -> x.{quote(part)})" if in_collection else f"{expression}.{quote(part)}"
            )
        elif not in_collection:
            expression = {"element": "{}", "key": "map_keys({})", "value": "map_values({})"}[kind].format(expression)
            in_collection = True
        else:
            present = f"filter({expression}, x -> x IS NOT NULL)"
            inner = {"element": "x", "key": "map_keys(x)", "value": "map_values(x)"}[kind]
            expression = f"flatten(transform({present}, x -> {inner}))"
    return expression, in_collection
