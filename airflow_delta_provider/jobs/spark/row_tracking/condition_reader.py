"""Finds rows of data files that do not satisfy conditions: one query counts them by file.

Files are read directly, with every column nullable. If the table's schema declares a column NOT NULL, Spark relies on
that and would not find nulls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sql
from pyspark.sql.types import StructType

from airflow_delta_provider.domain.checks.data_files.files import BrokenCondition
from airflow_delta_provider.domain.checks.data_files.statistics import UndecidedColumn
from airflow_delta_provider.domain.delta.data_type import sql_name
from airflow_delta_provider.domain.delta.deletion_vector import BrokenDeletionVectorError
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata, file_schema, physical_name
from airflow_delta_provider.domain.delta.row_condition import RowCondition
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.text import literal as text_literal
from airflow_delta_provider.domain.text import quote
from airflow_delta_provider.jobs.delta.session import DeltaFiles
from airflow_delta_provider.jobs.row_tracking.row_proofs import ConditionProof, PartitionValues
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.engine_errors import condition_of
from airflow_delta_provider.jobs.spark.hadoop_storage import literal
from airflow_delta_provider.jobs.spark.row_tracking.row_reader import IS_DELETED, words_of
from airflow_delta_provider.jobs.spark.session import ship, why_not_analyzed_fit, why_not_parsed_fit
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError

_LOOKUP = "key: string, file: int, deleted: array<bigint>, partition: map<string, string>"
#: Prefix of column names from files, to distinguish them from the lookup's columns.
_STORED = "stored: "
#: Bytes of files below which one task is faster than several tasks that exchange results.
_ONE_TASK = 32 * 1024 * 1024


class ConditionReader:
    """Reads the columns of one table that conditions need."""

    def __init__(self, session: SparkDeltaSession, data: DeltaFiles, metadata: Metadata) -> None:
        self._session = session
        self._data = data
        self._metadata = metadata
        self._columns = frozenset(field.name for field in metadata.schema.fields)

    def check(
        self,
        files: Sequence[LiveFile],
        conditions: Sequence[RowCondition],
        partition_values: Callable[[], PartitionValues],
    ) -> ConditionProof:
        proof = ConditionProof([], [])
        if not files:
            return proof
        with self._session.reading_files():
            fit = [condition for condition in conditions if self._is_fit(condition, proof)]
            named = frozenset[str]().union(*(condition.columns for condition in fit))
            rows = self._rows(files, named, partition_values)
            understood = [condition for condition in fit if self._is_understood(rows, condition, proof)]
            try:
                proof.broken += _broken(rows, files, understood)
            except (PySparkException, Py4JJavaError) as error:
                _raise_if_cancelled(error)
                for condition in understood:  # one failing condition fails the query: retry one by one
                    try:
                        proof.broken += _broken(rows, files, [condition])
                    except (PySparkException, Py4JJavaError) as error:
                        _raise_if_cancelled(error)
                        proof.problems.append((condition, f"it fails on a row ({_reason(error)})"))
        return proof

    def bounds(self, columns: Sequence[UndecidedColumn]) -> Iterator[tuple[UndecidedColumn, int, int, Any, Any]]:
        """Yield columns with the numbers of live rows and NULLs, and the least and the greatest value without NaN.

        A query reads many columns of all their files. If it fails, those of damaged files are left out.
        """
        by_names: dict[tuple[str, ...], list[UndecidedColumn]] = {}
        for column in columns:
            by_names.setdefault(column.names, []).append(column)
        left = iter([(path, alike) for names, alike in by_names.items() if (path := self._logical(names)) is not None])
        while batch := list(islice(left, _COLUMNS_AT_ONCE)):
            files = list({column.file.path: column.file for _, alike in batch for column in alike}.values())
            aggregates = ["count(1) AS rows"]
            for index, (path, alike) in enumerate(batch):
                aggregates += _aggregates(index, path, alike[0].type_name, any(column.is_bounded for column in alike))
            rows = self._aggregated(files, frozenset(path[0] for path, _ in batch), aggregates)
            found = {files[row["#file"]].path: row.asDict() for row in rows}
            for index, (_, alike) in enumerate(batch):
                for column in alike:
                    if (row := found.get(column.file.path)) is not None:
                        low, high = (_value(column.type_name, row.get(f"{end}{index}")) for end in _ENDS)
                        yield column, row["rows"], row["rows"] - row[f"count{index}"], low, high
                    elif column.file.live_rows == 0:
                        yield column, 0, 0, None, None

    def _aggregated(self, files: Sequence[LiveFile], named: frozenset[str], aggregates: Sequence[str]) -> list[Row]:
        """Return aggregates of the live rows by ``#file``, an index into ``files``."""
        with self._session.reading_files():
            for is_retry in (False, True):
                try:
                    rows = self._rows(files, named, dict, ignore_corrupt=is_retry)
                    found = rows.groupBy("#file").agg(*map(sql.expr, aggregates)).collect()
                    return [row for row in found if not is_retry or row["rows"] == files[row["#file"]].live_rows]
                except (PySparkException, Py4JJavaError) as error:
                    _raise_if_cancelled(error)
        return []

    def _logical(self, names: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the path of a column from its physical names; None if data files do not have it."""
        mode, path = self._metadata.properties.mapping_mode, list[str]()
        here: Any = self._metadata.schema
        for name in names:
            fields = getattr(here, "fields", ())  # those of a struct
            field = next((field for field in fields if physical_name(field, mode) == name), None)
            if field is None:
                return None
            path.append(field.name)
            here = field.data_type
        return None if path[0] in self._metadata.partition_columns else tuple(path)

    def _rows(
        self,
        files: Sequence[LiveFile],
        named: frozenset[str],
        partition_values: Callable[[], PartitionValues],
        *,
        ignore_corrupt: bool = False,
    ) -> DataFrame:
        """Return the rows with some columns, and ``#file``, an index into ``files``.

        Files whose deletion vectors cannot be read are left out.

        :param ignore_corrupt: True to leave out rows of damaged files
        """
        metadata = self._metadata
        mode, partition_by = metadata.properties.mapping_mode, frozenset(metadata.partition_columns)
        schema: Any = StructType.fromJson(file_schema(metadata, named - partition_by))
        values = partition_values() if named & partition_by else {}
        lookup = self._lookup(files, values)
        paths = [self._data.uri(files[index]) for index in dict.fromkeys(known["file"] for known in lookup)]
        reader = self._session.spark.read.schema(schema)
        if ignore_corrupt:
            reader = reader.option("ignoreCorruptFiles", True).option("ignoreMissingFiles", True)
        read = reader.parquet(*literal(paths))
        if sum(file.size for file in files) < _ONE_TASK:
            read = read.coalesce(1)
        logical: Any = StructType.fromJson(file_schema(Metadata("", metadata.schema_string), named))
        columns = []
        for field in metadata.schema.fields:
            name = physical_name(field, mode)
            if field.name in named & partition_by:
                value = f"nullif(`partition`[{text_literal(name)}], '')"
                columns.append(sql.expr(f"CAST({value} AS {sql_name(field.data_type)})").alias(field.name))
            elif field.name in named:
                value = sql.col(quote(f"{_STORED}{name}"))
                named_so = value if mode is MappingMode.NONE else value.cast(logical[field.name].dataType)
                columns.append(named_so.alias(field.name))
        renamed = [sql.col(quote(name)).alias(f"{_STORED}{name}") for name in read.columns]
        found = read.select(
            *renamed, sql.expr("_metadata.file_path AS key"), sql.expr("_metadata.row_index AS position")
        )
        shipped = sql.broadcast(ship(self._session.spark, lookup, _LOOKUP))
        known = "CASE WHEN file IS NULL THEN raise_error(concat('unknown file ', key)) ELSE file END"
        live = found.join(shipped, "key", "left").where(f"NOT ({IS_DELETED})")
        return live.select(*columns, sql.expr(known).alias("#file"))

    def _is_fit(self, condition: RowCondition, proof: ConditionProof) -> bool:
        """Return True if the text of a condition allows its evaluation; otherwise add the reason to ``proof``."""
        try:
            for expression in _expressions(condition):
                if problem := why_not_parsed_fit(self._session.spark, expression, self._columns):
                    proof.problems.append((condition, problem))
                    return False
        except PySparkException as error:
            proof.problems.append((condition, f"Spark does not understand it ({_reason(error)})"))
            return False
        return True

    @staticmethod
    def _is_understood(rows: DataFrame, condition: RowCondition, proof: ConditionProof) -> bool:
        """Return True if Spark can and may evaluate a condition; otherwise add the reason to ``proof``."""
        try:
            problem = why_not_analyzed_fit(rows.select(*map(sql.expr, _counts(0, condition))))
        except (PySparkException, Py4JJavaError) as error:
            problem = f"Spark does not understand it ({_reason(error)})"
        if problem is not None:
            proof.problems.append((condition, problem))
        return problem is None

    def _lookup(self, files: Sequence[LiveFile], values: PartitionValues) -> list[dict[str, Any]]:
        """Return the data needed for each file, under every name that Spark may give it."""
        found: list[dict[str, Any]] = []
        for index, file in enumerate(files):
            try:
                deleted = self._data.deleted(file, file.num_records)
            except (MissingFileError, BrokenDeletionVectorError, UnreadFileError):
                continue
            known: Mapping[str, Any] = {
                "file": index,
                "deleted": words_of(deleted) if deleted else None,
                "partition": dict(values.get(file.path, {})),
            }
            found += [{"key": key, **known} for key in self._session.storage.spellings(self._data.uri(file))]
        return found


def _broken(rows: DataFrame, files: Sequence[LiveFile], conditions: Sequence[RowCondition]) -> list[BrokenCondition]:
    if not conditions:
        return []
    counts = [sql.expr(count) for index, condition in enumerate(conditions) for count in _counts(index, condition)]
    counted = rows.groupBy("#file").agg(*counts)
    found = counted.where(" OR ".join(f"broken{index} > 0" for index in range(len(conditions)))).collect()
    return [
        BrokenCondition(
            condition,
            files[row["#file"]].path,
            row[f"surely{index}"] or row[f"broken{index}"],
            condition.depends is None or bool(row[f"surely{index}"]),
        )
        for row in sorted(found, key=lambda row: int(row["#file"]))
        for index, condition in enumerate(conditions)
        if row[f"broken{index}"]
    ]


def _counts(index: int, condition: RowCondition) -> tuple[str, str]:
    surely = condition.surely_broken or "false"
    return (
        f"count_if(NOT coalesce({condition.holds}, false)) AS broken{index}",
        f"count_if({surely}) AS surely{index}",
    )


def _expressions(condition: RowCondition) -> Iterator[str]:
    """Yield the SQL in a condition that comes from the metadata."""
    if condition.expression:
        yield condition.holds
    if condition.surely_broken is not None:
        yield condition.surely_broken


def _aggregates(index: int, path: Sequence[str], of: str, is_bounded: bool) -> Iterator[str]:
    """Yield the SQL for the number of a column's values, and for its bounds if they are compared."""
    value = ".".join(map(quote, path))
    number = f"CASE WHEN NOT isnan({value}) THEN {value} END" if of in ("float", "double") else value
    yield f"count({value}) AS count{index}"
    for end in _ENDS if is_bounded else ():
        yield f"{_COMPARED.get(of, '{}').format(f'{end}({number})')} AS {end}{index}"


#: SQL that makes Python values of a type comparable and exact.
_COMPARED = {
    "date": "unix_date({})",
    "timestamp": "unix_micros({})",
    "timestamp_ntz": "timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {})",
    "string": "CAST({} AS BINARY)",
}
_ENDS = ("min", "max")
#: Number of columns that a query reads at most.
_COLUMNS_AT_ONCE = 100


def _value(of: str, value: Any) -> Any:
    if value is None or not (of == "string" or of.startswith("timestamp")):
        return value
    return bytes(value) if of == "string" else value * 1000


def _raise_if_cancelled(error: Exception) -> None:
    """Raise an error that comes from cancelling the job at the end of its time."""
    if "cancelled" in str(error):
        raise error


def _reason(error: Exception) -> str:
    condition = condition_of(error) if isinstance(error, PySparkException) else None
    return condition or type(error).__name__
