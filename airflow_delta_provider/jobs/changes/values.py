"""Values of columns: comparison under an older and a newer schema of the table, and sums over all rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, Row
from pyspark.sql.types import StructType

from airflow_delta_provider.domain.changes.steps import Cast, Parts
from airflow_delta_provider.domain.changes.widen_types import Widening
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.delta.data_type import Column, all_columns, lowered, path_text, sql_name
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata, file_schema, physical_parts
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.casting import is_lost
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.text import quote
from airflow_delta_provider.jobs.delta.session import OpenTable
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.hadoop_storage import literal

_MEASURES = ("minimum", "maximum", "number of nulls")
_ROWS = "values by file"
#: A prime below 2**31: a sum of remainders does not overflow for four billion rows.
_MODULUS = 2147483647
#: Bytes of files below which one task is faster than several tasks that exchange results.
_ONE_TASK = 32 * 1024 * 1024


def differing_columns(
    session: SparkDeltaSession,
    location: str,
    files: Sequence[LiveFile],
    old: Metadata,
    new: Metadata,
    widenings: Sequence[Widening],
) -> Iterator[tuple[Column, list[str]]]:
    """Yield the columns whose values in ``files`` differ between both schemas, with the measures that differ.

    Both sides are compared as the wider type by minimum, maximum and number of nulls. In addition, a sum of hashes of
    file and values of every row covers all the columns together. Rows under deletion vectors are included. If only
    that sum differs, every column is yielded.

    Both sides are read at the same time: for small files, most of the work is planning, which keeps one core busy.
    The files are read directly, because opening two versions of the table takes several times as long. Partition
    columns are not compared: their values are strings in the log, which do not change.
    """
    compared = [w for w in widenings if w.column.parts[0] not in old.partition_columns]
    if not files or not compared:
        return

    def measured(metadata: Metadata) -> Row:
        return _measured(session, location, files, metadata, compared)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Spark session is not provided")  # only Spark Connect needs it here
        of_this_job = inheritable_thread_target(measured)  # keeps the caller's job group and pool
    with session.reading_files(), ThreadPoolExecutor() as threads:
        before, after = threads.map(of_this_job, (old, new))
    differing = {
        index: [measure for measure in _MEASURES if before[f"{measure} {index}"] != after[f"{measure} {index}"]]
        for index in range(len(compared))
    }
    rows = [_ROWS] if before[_ROWS] != after[_ROWS] else []
    nothing_else = not any(differing.values())
    for index, measures in differing.items():
        if measures or (rows and nothing_else):
            yield compared[index].column, measures + rows


def rows_of(session: SparkDeltaSession, location: str, version: int) -> DataFrame:
    rows: DataFrame = session.spark.read.format("delta").option("versionAsOf", version).load(location)
    return rows


def row_sums(rows: DataFrame) -> tuple[int, dict[str, int]]:
    """Read rows; return their number and, by column, a sum of hashes of its values."""
    hashes = [
        f"sum(xxhash64(to_json(named_struct('value', {quote(name)}, 'is null', {quote(name)} IS NULL))) % {_MODULUS})"
        for name in rows.columns
    ]
    (found,) = rows.selectExpr("count(*)", *hashes).collect()
    return found[0], {name: found[index] or 0 for index, name in enumerate(rows.columns, start=1)}


def _measured(
    session: SparkDeltaSession,
    location: str,
    files: Sequence[LiveFile],
    metadata: Metadata,
    widenings: Sequence[Widening],
) -> Row:
    """Return the measures of every column, read with the schema of ``metadata``."""
    mode = metadata.properties.mapping_mode
    columns = frozenset(widening.column.parts[0] for widening in widenings)
    schema: Any = StructType.fromJson(file_schema(metadata, columns))
    paths = session.data_files(location).uris(file.path for file in files)
    rows = session.spark.read.schema(schema).parquet(*literal(paths))
    if sum(file.size for file in files) < _ONE_TASK:
        rows = rows.coalesce(1)  # avoids a shuffle
    expressions: list[str] = []
    values: list[str] = []
    for index, widening in enumerate(widenings):
        value, in_collection = _value(widening, physical_parts(widening.column, metadata.schema, mode))
        expressions += _measures(index, value, in_collection=in_collection)
        values.append(value)
    hashed = f"xxhash64({', '.join(['_metadata.file_path', *values])})"
    (measured,) = rows.selectExpr(*expressions, f"sum({hashed} % {_MODULUS}) AS {quote(_ROWS)}").collect()
    return measured


def _value(widening: Widening, parts: tuple[str, ...]) -> tuple[str, bool]:
    """Return SQL for a row's value as the wider type, and True if it is an array of values."""
    leaf, in_collection = leaf_values(parts, widening.column.kinds)
    new_type = sql_name(widening.new)
    return f"CAST({leaf} AS {f'array<{new_type}>' if in_collection else new_type})", in_collection


def _measures(index: int, value: str, *, in_collection: bool) -> Iterator[str]:
    if in_collection:
        low, high = f"min(array_min({value}))", f"max(array_max({value}))"
        nulls = f"sum(coalesce(size(filter({value}, x -> x IS NULL)), 0))"
    else:
        low, high, nulls = f"min({value})", f"max({value})", f"count_if({value} IS NULL)"
    expressions = (f"CAST({low} AS string)", f"CAST({high} AS string)", nulls)
    for measure, expression in zip(_MEASURES, expressions):
        yield f"{expression} AS {quote(f'{measure} {index}')}"


def leaf_values(parts: tuple[str, ...], kinds: tuple[str, ...]) -> tuple[str, bool]:
    """Return SQL for the values of a column, and True if each row has an array of them."""
    expression, in_collection = "", False
    for part, kind in zip(parts, kinds):
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
