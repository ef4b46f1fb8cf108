"""Rows of data files with their ids and sequence numbers, read by Spark's own Parquet reader.

Apache Paimon, Row Tracking: values in the file take precedence. If they are null, the id is the file's first row id
plus the position, and the sequence number is the file's highest one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.engine.sql_identifier import quote
from airflow_delta_provider.domain.paimon.changed_rows import Occurrence
from airflow_delta_provider.domain.paimon.data_type import DataType
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.table_history import ROW_ID, SEQUENCE_NUMBER
from airflow_delta_provider.domain.paimon.table_schema import TableSchema
from airflow_delta_provider.jobs.paimon.table_files import TableFiles
from airflow_delta_provider.jobs.spark.row_ids.row_reader import IS_DELETED, words_of
from airflow_delta_provider.jobs.spark.session.shipped_rows import ship
from airflow_delta_provider.jobs.spark.session.table_session import SparkTableSession
from airflow_delta_provider.jobs.spark.storage.hadoop_storage import literal

_LOOKUP = (
    "path: string, occurrences: array<struct<step: int, after: boolean, deleted: array<bigint>, file: int, "
    "base: bigint, rows: bigint, low: bigint, high: bigint, provided: array<boolean>>>"
)
#: Spark's metadata column for the file of a row; a table column of that name hides it.
_FILE_METADATA = "_metadata"
#: Types with a simple equivalent in Spark.
_SIMPLE = {
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "INT": "INT",
    "BIGINT": "BIGINT",
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "CHAR": "STRING",
    "VARCHAR": "STRING",
    "BINARY": "BINARY",
    "VARBINARY": "BINARY",
    "DATE": "DATE",
}
#: Timestamps, up to microseconds: Spark has no finer ones.
_TIMESTAMPS = {"TIMESTAMP": "TIMESTAMP_NTZ", "TIMESTAMP_LTZ": "TIMESTAMP"}
_MOST_FRACTION = 6
#: Integer types, in ascending order: each fits into the next without a change of values.
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")


@dataclass(frozen=True)
class UserColumn:
    """A column of the newest schema that can be compared across all schemas.

    :param names: its name in each schema that has it
    :param types: its Spark type in each of these schemas
    :param type: its Spark type in the newest schema
    """

    name: str
    names: Mapping[int, str]
    types: Mapping[int, str]
    type: str
    nested: bool


def comparable_columns(schemas: Mapping[int, TableSchema]) -> tuple[list[UserColumn], list[str]]:
    """Return the columns that can be compared, matched by field id, and the names of the others."""
    columns: list[UserColumn] = []
    others: list[str] = []
    ambiguous = {number: _ambiguous(schema) for number, schema in schemas.items()}
    for field in schemas[max(schemas)].fields:
        found = {number: known for number, schema in schemas.items() for known in schema.fields if known.id == field.id}
        types = {number: spark_type(known.type) for number, known in found.items()}
        newest = spark_type(field.type)
        if any(known.name.lower() in ambiguous[number] for number, known in found.items()):
            others.append(field.name)
            continue
        if newest is None or not all(kind is not None and _goes_into(kind, newest) for kind in types.values()):
            others.append(field.name)
            continue
        names = {number: known.name for number, known in found.items()}
        known_types = {number: kind for number, kind in types.items() if kind is not None}
        columns.append(UserColumn(field.name, names, known_types, newest, bool(field.type.parts)))
    return columns, others


def _ambiguous(schema: TableSchema) -> set[str]:
    """Return names, in lower case, that Spark, which ignores case, matches to more than one column."""
    counts = Counter([ROW_ID.lower(), SEQUENCE_NUMBER.lower(), _FILE_METADATA])
    counts.update(field.name.lower() for field in schema.fields)
    return {name for name, count in counts.items() if count > 1}


def spark_type(data_type: DataType) -> str | None:
    """Return a type in Spark's SQL; None if Spark does not read it from Parquet, or cannot compare it."""
    root, arguments = data_type.root, data_type.arguments
    if root in _SIMPLE:
        return _SIMPLE[root]
    if root == "DECIMAL":
        return f"DECIMAL({arguments[0]},{arguments[1]})"
    if root in _TIMESTAMPS:
        return _TIMESTAMPS[root] if arguments[0] <= _MOST_FRACTION else None
    if root == "ROW":
        parts = [(part.name, spark_type(part.type)) for part in data_type.parts]
        fields = ", ".join(f"{quote(name)}: {kind}" for name, kind in parts)
        return None if any(kind is None for _, kind in parts) else f"STRUCT<{fields}>"
    if root == "ARRAY":
        element = spark_type(data_type.parts[0].type)
        return None if element is None else f"ARRAY<{element}>"
    return None  # maps are unordered, so two writers may write the same one differently


def _goes_into(kind: str, newest: str) -> bool:
    if kind == newest or (kind, newest) == ("FLOAT", "DOUBLE"):
        return True
    return kind in _INTEGERS and newest in _INTEGERS and _INTEGERS.index(kind) < _INTEGERS.index(newest)


class RowFrame:
    """Reads rows of one table's files.

    :param schemas: schemas by id
    :param evolution: True if the columns of a row may lie in several files
    """

    def __init__(
        self, session: SparkTableSession, files: TableFiles, schemas: Mapping[int, TableSchema], *, evolution: bool
    ) -> None:
        self._session = session
        self._files = files
        self._schemas = schemas
        self._evolution = evolution

    def rows(self, occurrences: Sequence[Occurrence], columns: Sequence[UserColumn]) -> DataFrame:
        """Return the rows of files for each of the files' occurrences.

        Columns: ``step`` and ``after``, as in :class:`Occurrence`; ``id`` and ``seq``; ``fits``, which is true if a
        sequence number in the file is within the manifest's bounds; ``file``, an index into :func:`files_of`;
        ``position`` in it, physical, from 0; and each of ``columns`` as ``c0``, ``c1``…
        """
        files = files_of(occurrences)
        read = self._read(files, columns)
        lookup = ship(self._session.spark, self._lookup(files, occurrences, columns), _LOOKUP)
        # A file missing in the lookup must not go unnoticed, so it raises an error in a column that all readers need.
        known = "CASE WHEN step IS NULL THEN raise_error(concat('unknown file ', path)) ELSE coalesce(own_id, {}) END"
        fresh = "CASE WHEN position < rows THEN base + position END"
        values = [f"c{index}" for index in range(len(columns))]
        rows = (
            read.join(sql.broadcast(lookup), "path", "left")
            .selectExpr("*", "inline_outer(occurrences)")
            .where(f"NOT ({IS_DELETED})")
            .selectExpr(
                "step",
                "after",
                f"{known.format(fresh)} AS id",
                "coalesce(own_seq, high) AS seq",
                "own_seq IS NULL OR own_seq BETWEEN low AND high AS fits",
                "file",
                "position",
                *(["high", "provided"] if self._evolution else []),
                *values,
            )
        )
        return self._merged(rows, values) if self._evolution else rows

    def _merged(self, rows: DataFrame, values: Sequence[str]) -> DataFrame:
        """Return each row once, with each column from the newest file that has it."""
        newest = [
            f"max_by({value}, CASE WHEN provided[{index}] THEN struct(high, file) END) AS {value}"
            for index, value in enumerate(values)
        ]
        aggregates = ["max(seq) AS seq", "min(fits) AS fits", "min(file) AS file", "min(position) AS position", *newest]
        return rows.groupBy("step", "after", "id").agg(*map(sql.expr, aggregates))

    def _lookup(
        self, files: Sequence[DataFile], occurrences: Sequence[Occurrence], columns: Sequence[UserColumn]
    ) -> list[dict[str, Any]]:
        """Return the data that the rows of each file need, under every name that Spark may give the file.

        One file may have several entries in manifests, for example with new row ids.
        """
        indexes = {file: index for index, file in enumerate(files)}
        found: dict[str, tuple[str, list[dict[str, Any]]]] = {}
        for one in occurrences:
            file = one.file
            fields = self._schemas[file.schema_id].fields
            written = set(file.write_cols) if file.write_cols is not None else {field.name for field in fields}
            known = {
                "step": one.step,
                "after": one.after,
                "deleted": words_of(one.without) if one.without else None,
                "file": indexes[file],
                "base": file.first_row_id,
                "rows": file.row_count,
                "low": file.min_sequence,
                "high": file.max_sequence,
                "provided": [column.names.get(file.schema_id) in written for column in columns],
            }
            uri = self._uri(file)
            for path in self._session.storage.spellings(uri):
                other, entries = found.setdefault(path, (uri, []))
                if other != uri:
                    raise RuntimeError(f"{path} may stand for two files, {file.name} is one of them")
                entries.append(known)
        return [{"path": path, "occurrences": entries} for path, (_, entries) in found.items()]

    def _read(self, files: Sequence[DataFile], columns: Sequence[UserColumn]) -> DataFrame:
        by_schema: dict[int, list[str]] = defaultdict(list)
        for uri, file in {self._uri(file): file for file in files}.items():
            by_schema[file.schema_id].append(uri)
        parts = (self._of_schema(number, paths, columns) for number, paths in sorted(by_schema.items()))
        return reduce(DataFrame.union, parts)

    def _of_schema(self, number: int, paths: Sequence[str], columns: Sequence[UserColumn]) -> DataFrame:
        there = [column for column in columns if number in column.names]
        fields = [f"{quote(column.names[number])} {column.types[number]}" for column in there]
        schema = ", ".join([*fields, f"{ROW_ID} BIGINT", f"{SEQUENCE_NUMBER} BIGINT"])
        values = [
            f"CAST({quote(column.names[number]) if number in column.names else 'NULL'} AS {column.type}) AS c{index}"
            for index, column in enumerate(columns)
        ]
        read = self._session.spark.read.schema(schema).parquet(*literal(paths))
        own = [f"{ROW_ID} AS own_id", f"{SEQUENCE_NUMBER} AS own_seq"]
        return read.selectExpr(*values, *own, "_metadata.file_path AS path", "_metadata.row_index AS position")

    def _uri(self, file: DataFile) -> str:
        return self._files.uri(self._files.row_file(file))


def files_of(occurrences: Sequence[Occurrence]) -> list[DataFile]:
    """Return the files of rows, each once."""
    return list(dict.fromkeys(one.file for one in occurrences))


def content_of(columns: Sequence[UserColumn]) -> str:
    """Return an expression that is equal for equal values of ``columns`` with nulls at the same places."""
    parts = [
        part
        for index, column in enumerate(columns)
        for part in (f"to_json(struct(c{index}))" if column.nested else f"c{index}", f"c{index} IS NULL")
    ]
    return f"xxhash64({', '.join(parts)})" if parts else "0L"
