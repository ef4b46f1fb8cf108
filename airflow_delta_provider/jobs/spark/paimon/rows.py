"""Rows of data files with their ids and sequence numbers, read by Spark's own Parquet reader.

Apache Paimon, Row Tracking: values in the file take precedence. If they are null, the id is the file's first row id
plus the position, and the sequence number is the file's highest one.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import (
    FileIds,
    MaterializedTypeError,
    RowFile,
    file_ids,
)
from airflow_delta_provider.domain.formats.parquet.footer import EncryptedFooterError, Footer, FooterError
from airflow_delta_provider.domain.paimon.changed_rows import Occurrence
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.row_rules import FileFault, differs, unread, unreadable
from airflow_delta_provider.domain.paimon.schema import DataType, PaimonFormatError, TableSchema
from airflow_delta_provider.domain.paimon.table_history import ROW_ID, SEQUENCE_NUMBER, carries_ids
from airflow_delta_provider.domain.text import quote
from airflow_delta_provider.jobs.paimon.table import TableFiles
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.spark.hadoop_storage import literal
from airflow_delta_provider.jobs.spark.row_tracking.row_reader import IS_DELETED, words_of
from airflow_delta_provider.jobs.spark.session import ship
from airflow_delta_provider.jobs.spark.table_session import SparkTableSession
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError

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


_PARQUET, _AVRO = "parquet", "avro"


@dataclass
class FileSurvey:
    """The footers of some files.

    :param ids: row ids according to each file's footer
    :param files: the same files, in the form that readers of ids use
    :param broken: files whose rows must not be read
    :param vanished: True if files are missing that are not in the newest snapshot
    """

    ids: dict[FileKey, FileIds] = dataclasses.field(default_factory=dict)
    files: dict[FileKey, RowFile] = dataclasses.field(default_factory=dict)
    broken: set[FileKey] = dataclasses.field(default_factory=set)
    faults: list[FileFault] = dataclasses.field(default_factory=list)
    vanished: bool = False

    def extend(self, more: FileSurvey) -> None:
        """Add the results of another survey, of other files."""
        self.ids |= more.ids
        self.files |= more.files
        self.broken |= more.broken
        self.faults += more.faults
        self.vanished |= more.vanished


def survey(files: Collection[DataFile], data: TableFiles, is_live: Callable[[DataFile], bool]) -> FileSurvey:
    """Read the footers of ``files``, each once.

    :param is_live: returns True if the newest snapshot has a file; other files may be deleted in the meantime
    """
    result = FileSurvey()
    ordered = list({file.key: file for file in files}.values())
    for file, found in data.read_each(lambda file: _read_ids(file, data), ordered):
        if found is None:
            result.vanished |= not is_live(file)
            result.faults.append(unreadable(file, "there is no such file") if is_live(file) else _vanished(file))
            result.broken.add(file.key)
            continue
        ids, faults = found
        result.faults += faults
        if ids is None:
            result.broken.add(file.key)
        else:
            result.ids[file.key] = ids
            result.files[file.key] = data.row_file(file)
    return result


def _read_ids(file: DataFile, data: TableFiles) -> tuple[FileIds | None, list[FileFault]] | None:
    """Return the row ids of a footer and the faults of a file; None if there is no such file.

    The ids are None if the rows cannot be read. If the storage fails temporarily, the check fails and is retried.
    """
    if file.format != _PARQUET:
        remedy = (
            "Write the table's files as Parquet: nothing reads row ids of Avro files." if file.format == _AVRO else None
        )
        return None, [unread(file, f"its format is {file.format or 'unknown'}, not Parquet", remedy)]
    try:
        footer = data.footer(data.row_file(file))
        ids = file_ids(footer, ROW_ID)
    except MissingFileError:
        return None
    except UnreadFileError as error:
        return None, [unread(file, error.problem, error.meaning.remedy)]
    except EncryptedFooterError as error:
        return None, [unread(file, str(error))]
    except FooterError as error:
        return None, [unreadable(file, str(error))]
    except MaterializedTypeError as error:
        return None, [differs(file, f"its column {ROW_ID} should hold 64-bit integers, but {error}")]
    except PaimonFormatError as error:
        return None, [unread(file, str(error))]
    except (OSError, Py4JError) as error:
        understood = understand(error)
        if understood.retryable:
            raise
        return None, [unread(file, understood.message.rstrip("."), remedy="")]
    if ids.rows != file.row_count:
        return ids, [differs(file, f"it has {ids.rows:,} rows, the manifest says {file.row_count:,}")]
    lacks_ids = carries_ids(file) and footer.leaf((ROW_ID,)) is None
    return None if lacks_ids else ids, list(_other_columns(file, footer))


def _other_columns(file: DataFile, footer: Footer) -> Iterator[FileFault]:
    for column in (ROW_ID, SEQUENCE_NUMBER):
        named, held = column in (file.write_cols or ()), footer.leaf((column,)) is not None
        if named and not held:
            yield differs(file, f"it lacks the column {column} that the manifest names")
        elif held and not named:
            yield differs(file, f"it has a column {column} that the manifest does not name")


def _vanished(file: DataFile) -> FileFault:
    return unread(
        file,
        "it is missing, as files of expired snapshots are",
        "If a snapshot that is kept needs it, that snapshot can no longer be read.",
    )
