"""Snapshots, files and rows of a table, read through the user's own Paimon catalog in Spark SQL.

A thin adapter to the values and frames that the rules use, for tables whose files cannot be read directly: other
formats than Parquet, REST and Hive catalogs, encrypted stores. It is written from the columns of Paimon's connector,
and tested on tables and views with the same columns, not with a live connector. Other shapes are refused.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sql
from pyspark.sql import types as spark_types

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.checks import paimon_rows as row_rules
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.formats.json_values import map_of
from airflow_delta_provider.domain.paimon.changed_rows import Comparison
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileSource
from airflow_delta_provider.domain.paimon.row_rules import keeps_identities, row_findings, with_rows
from airflow_delta_provider.domain.paimon.schema import KNOWN_VERSIONS, TableSchema, fields_of
from airflow_delta_provider.domain.paimon.snapshot import ManifestListFile, Snapshot
from airflow_delta_provider.domain.paimon.snapshot_rules import (
    check_snapshots,
    has_column_files,
    has_row_ids,
    may_renumber,
)
from airflow_delta_provider.domain.paimon.table_history import ROW_ID, SEQUENCE_NUMBER
from airflow_delta_provider.domain.report.answers import Evidence
from airflow_delta_provider.domain.report.report import Finding, Severity, TableReport
from airflow_delta_provider.domain.request.check_options import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.domain.text import quote
from airflow_delta_provider.jobs.process import Progress, Timings
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.spark.paimon.compared_rows import ComparedRows
from airflow_delta_provider.jobs.spark.paimon.rows import UserColumn, comparable_columns
from airflow_delta_provider.jobs.spark.table_session import SparkTableSession

_WHOLE = (spark_types.LongType, spark_types.IntegerType)
_TEXT = (spark_types.StringType,)
#: Required columns, and their types.
_SNAPSHOTS: Mapping[str, tuple[type, ...]] = {
    "snapshot_id": _WHOLE,
    "schema_id": _WHOLE,
    "commit_kind": _TEXT,
    "total_record_count": _WHOLE,
    "next_row_id": _WHOLE,
}
_FILES: Mapping[str, tuple[type, ...]] = {
    "record_count": _WHOLE,
    "min_sequence_number": _WHOLE,
    "max_sequence_number": _WHOLE,
    "schema_id": _WHOLE,
    "first_row_id": _WHOLE,
    "write_cols": (spark_types.ArrayType,),
}
_SCHEMAS: Mapping[str, tuple[type, ...]] = {"schema_id": _WHOLE, "fields": _TEXT}
_ROWS: Mapping[str, tuple[type, ...]] = {ROW_ID: (spark_types.LongType,), SEQUENCE_NUMBER: (spark_types.LongType,)}
#: One of these columns has a file's name, depending on the version of the connector.
_NAMES = ("file_name", "file_path")
_NO_LIST = ManifestListFile("", None)
#: Identifier of a commit if the catalog does not show it. For ``sys.merge_branch`` the identifier is 0.
_UNKNOWN = -1


class UnknownShapeError(Exception):
    """The catalog returned data of an unknown shape. The message describes it."""


class CatalogSource:
    """A table of the user's Paimon catalog.

    :param name: name as in SQL, of one to three parts
    :param separator: text between the table's name and the name of a system table; Paimon's own works only in its
        catalogs
    """

    def __init__(self, session: SparkTableSession, name: TableName, separator: str = "$") -> None:
        self._session = session
        self._name = name
        self._separator = separator

    def snapshots(self) -> list[Snapshot]:
        """Return the snapshots that are kept, in order.

        :raises UnknownShapeError: if they do not have the expected columns
        """
        frame = self._session.spark.sql(f"SELECT * FROM {self._system_table('snapshots')}")
        _check(frame, _SNAPSHOTS, "$snapshots")
        return [_snapshot(row) for row in frame.orderBy("snapshot_id").collect()]

    def files(self) -> list[DataFile]:
        """Return the live files of the newest snapshot.

        :raises UnknownShapeError: if they do not have the expected columns
        """
        frame = self._session.spark.sql(f"SELECT * FROM {self._system_table('files')}")
        _check(frame, _FILES, "$files")
        named = next((name for name in _NAMES if name in frame.columns), None)
        if named is None:
            raise UnknownShapeError(f"$files has none of the columns {', '.join(_NAMES)}")
        return [_file(row, named) for row in frame.collect()]

    def schemas(self, ids: Collection[int]) -> dict[int, TableSchema]:
        """Return schemas by id, with their columns and, if the catalog shows them, their options.

        :raises UnknownShapeError: if a schema is missing, or they do not have the expected columns
        """
        frame = self._schemas()
        found = {row["schema_id"]: _schema(row) for row in frame.where(sql.col("schema_id").isin([*ids])).collect()}
        if missing := set(ids) - found.keys():
            raise UnknownShapeError(f"$schemas has no schema {', '.join(map(str, sorted(missing)))}")
        return found

    def schemas_with_options(self) -> list[TableSchema] | None:
        """Return all schemas of the table; None if the catalog does not show their options.

        :raises UnknownShapeError: if they do not have the expected columns
        """
        frame = self._schemas()
        return [_schema(row) for row in frame.collect()] if "options" in frame.columns else None

    def columns(self, snapshots: Sequence[Snapshot]) -> tuple[list[UserColumn], list[str]]:
        """Return the table's own columns that can be compared across snapshots, and the names of the others.

        :raises UnknownShapeError: if columns cannot be matched between several schemas
        """
        ids = {snapshot.schema_id for snapshot in snapshots}
        if len(ids) > 1:
            return comparable_columns(self.schemas(ids))
        columns: list[UserColumn] = []
        others: list[str] = []
        newest = self._session.spark.sql(f"SELECT * FROM {self._name.sql} VERSION AS OF {snapshots[-1].id}")
        for field in newest.schema.fields:
            kind = field.dataType
            if field.name in _ROWS:
                continue
            if "map<" in kind.simpleString() or "variant" in kind.simpleString():
                others.append(field.name)
                continue
            nested = isinstance(kind, (spark_types.StructType, spark_types.ArrayType))
            names = dict.fromkeys(ids, field.name)
            columns.append(UserColumn(field.name, names, {}, kind.simpleString(), nested))
        return columns, others

    def rows(self, states: Sequence[tuple[int, bool, Snapshot]], columns: Sequence[UserColumn]) -> DataFrame:
        """Return the rows of snapshots, in the form of :meth:`RowFrame.rows`. Their places in files are unknown.

        :param states: number of the comparison, True for the rows after it, and the snapshot
        :raises UnknownShapeError: if the table lacks the columns of row tracking
        """
        return reduce(DataFrame.union, (self._rows_at(*state, columns) for state in states))

    def _rows_at(self, step: int, after: bool, snapshot: Snapshot, columns: Sequence[UserColumn]) -> DataFrame:
        selected = ", ".join(
            [
                f"{step} AS step",
                f"{str(after).lower()} AS after",
                f"{ROW_ID} AS id",
                f"{SEQUENCE_NUMBER} AS seq",
                "true AS fits",
                "0 AS file",
                "CAST(NULL AS BIGINT) AS position",
                *(f"{_value(column, snapshot)} AS c{index}" for index, column in enumerate(columns)),
            ]
        )
        # Both are selected by name: SELECT * leaves them out, and t$row_tracking declares them NOT NULL, which hides
        # nulls.
        frame = self._session.spark.sql(f"SELECT {selected} FROM {self._name.sql} VERSION AS OF {snapshot.id}")
        shape = frame.select(sql.col("id").alias(ROW_ID), sql.col("seq").alias(SEQUENCE_NUMBER))
        _check(shape, _ROWS, "the table")
        return frame

    def _schemas(self) -> DataFrame:
        frame = self._session.spark.sql(f"SELECT * FROM {self._system_table('schemas')}")
        _check(frame, _SCHEMAS, "$schemas")
        return frame

    def _system_table(self, what: str) -> str:
        """Return the name of one of this table's system tables, for SQL."""
        *parents, last = self._name.identifier or ()
        return ".".join(map(quote, (*parents, f"{last}{self._separator}{what}")))


def _value(column: UserColumn, snapshot: Snapshot) -> str:
    """Return an expression for a column in a snapshot."""
    name = column.names.get(snapshot.schema_id)
    if name is None:
        return f"CAST(NULL AS {column.type})"
    return f"CAST({quote(name)} AS {column.type})" if column.types else quote(name)


def _check(frame: DataFrame, columns: Mapping[str, tuple[type, ...]], what: str) -> None:
    types: dict[str, Any] = {field.name: field.dataType for field in frame.schema.fields}
    if missing := [name for name in columns if name not in types]:
        raise UnknownShapeError(f"{what} has no column {', '.join(missing)}")
    if wrong := [name for name, kinds in columns.items() if not isinstance(types[name], kinds)]:
        found = ", ".join(f"{name} of type {types[name].simpleString()}" for name in wrong)
        raise UnknownShapeError(f"{what} has {found}")


def _schema(row: Row) -> TableSchema:
    try:
        fields = fields_of({"fields": json.loads(row["fields"])})
        options = map_of({"options": json.loads(row.asDict().get("options") or "{}")}, "options")
    except (KeyError, ValueError) as error:
        raise UnknownShapeError(f"$schemas has a schema {row['schema_id']} that cannot be read: {error}") from error
    texts = {key: str(value) for key, value in options.items()}
    return TableSchema(KNOWN_VERSIONS[-1], row["schema_id"], fields, 0, (), (), texts, None, None)


def _snapshot(row: Row) -> Snapshot:
    known = row.asDict()
    time = known.get("commit_time")
    return Snapshot(
        version=3,
        uuid=None,
        id=known["snapshot_id"],
        schema_id=known["schema_id"],
        base=_NO_LIST,
        delta=_NO_LIST,
        changelog=None,
        index_manifest=None,
        commit_user=known.get("commit_user") or "",
        commit_identifier=known.get("commit_identifier", _UNKNOWN),
        commit_kind=known["commit_kind"],
        operation=known.get("operation"),
        time_millis=int(time.timestamp() * 1000) if hasattr(time, "timestamp") else -(1 << 62),
        total_record_count=known["total_record_count"],
        delta_record_count=known.get("delta_record_count"),
        changelog_record_count=None,
        next_row_id=known["next_row_id"],
        watermark=None,
        statistics=None,
        writer_version=known.get("writer_version"),
    )


def _file(row: Row, named: str) -> DataFile:
    columns = row["write_cols"]
    source = row.asDict().get("file_source")
    return DataFile(
        partition=b"",
        bucket=0,
        name=row[named].rsplit("/", 1)[-1],
        size=0,
        row_count=row["record_count"],
        min_sequence=row["min_sequence_number"],
        max_sequence=row["max_sequence_number"],
        schema_id=row["schema_id"],
        level=0,
        extra_files=(),
        created_millis=None,
        delete_row_count=None,
        embedded_index=None,
        source=FileSource.__members__.get(source or "", FileSource.UNKNOWN),
        external_path=None,
        first_row_id=row["first_row_id"],
        write_cols=None if columns is None else tuple(columns),
    )


#: Maximum number of commits compared one by one, since SQL reads whole snapshots. If there are more, only the first
#: and the newest snapshot are compared.
_MOST_COMMITS = 16
#: Number of tries to read snapshots and files if others commit in between.
_TRIES = 3
_NOT_TRACKED = rules.NOT_TRACKED.found("No snapshot has a nextRowId above 0, and no file has row ids.")


class PaimonCatalogCheck:
    """Checks row tracking of one table of a catalog.

    :param name: name of one to three parts
    """

    def __init__(
        self,
        session: SparkTableSession,
        name: TableName,
        options: PaimonCheckRowTrackingOptions,
        progress: Progress,
        source: CatalogSource | None = None,
    ) -> None:
        self._session = session
        self._name = name
        self._options = options
        self._progress = progress
        self._timings = Timings()
        self._notes: list[str] = []
        self._schemas: list[TableSchema] | None = None
        self._source = source or CatalogSource(session, name)
        self._evidence: dict[str, Any] = {"level": options.level, "source": "catalog", "notes": self._notes}

    def run(self) -> TableReport:
        snapshots: list[Snapshot] = []
        findings: list[Finding] = []
        try:
            with self._timings.phase("metadata"):
                listed, files = self._read()
                snapshots = self._chosen(listed)
                tracked = has_row_ids(listed, files)
                if any(snapshot.commit_kind == "COMPACT" for snapshot in snapshots):
                    self._schemas = self._source.schemas_with_options()
                findings += check_snapshots(snapshots, files, self._schemas) if tracked else [_NOT_TRACKED]
            self._evidence |= {"snapshots": len(snapshots), "files": len(files)}
            if self._options.level == "data" and snapshots and tracked:
                with self._timings.phase("rows"):
                    findings = self._with_rows(findings, snapshots, has_column_files(files))
        except UnknownShapeError as error:
            findings.append(
                row_rules.UNREAD.found(
                    "The catalog shows {name} in an unknown form: {error}.",
                    remedy="Check the table by its path (source 'native'), or use a Paimon connector of 1.4 or later.",
                    name=self._name.text,
                    error=str(error),
                )
            )
        except (PySparkException, Py4JError) as error:
            findings.append(
                row_rules.UNREAD.found(
                    "The catalog could not be queried for {name}: {error}.",
                    remedy="Configure the catalog that has the table, with Paimon's connector on Spark's classpath.",
                    name=self._name.text,
                    error=Prose(understand(error).message.rstrip(".")),
                )
            )
        return TableReport.of_findings(
            self._name.text,
            *map(self._reported, findings),
            version=snapshots[-1].id if snapshots else None,
            evidence=Evidence(**self._evidence).to_json(),
            timings=self._timings,
        )

    def _chosen(self, snapshots: list[Snapshot]) -> list[Snapshot]:
        since = self._options.since_snapshot
        if since is not None and all(snapshot.id != since for snapshot in snapshots):
            self._notes.append(f"snapshot {since}, to begin after, is not kept: all snapshots are checked")
            since = None
        return [snapshot for snapshot in snapshots if since is None or snapshot.id >= since]

    def _read(self) -> tuple[list[Snapshot], list[DataFile]]:
        """Return the snapshots, and the live files of the newest. Both are read again while others commit."""
        snapshots = self._source.snapshots()
        for _ in range(_TRIES):
            files, before = self._source.files(), snapshots
            snapshots = self._source.snapshots()
            if snapshots[-1:] == before[-1:]:
                break
        return snapshots, files

    def _reported(self, finding: Finding) -> Finding:
        """Return a finding with the requested severity, without names that the catalog did not show."""
        failing = Severity.ERROR if finding.code == row_rules.REASSIGNED.code else rules.severity_of_reassigned(finding)
        severity = failing if failing and self._options.fail_on_reassigned else finding.severity
        return replace(finding, user=finding.user or None, severity=severity)

    def _with_rows(self, findings: list[Finding], snapshots: Sequence[Snapshot], evolution: bool) -> list[Finding]:
        if len(snapshots) > _MOST_COMMITS + 1:
            self._notes.append(
                f"{len(snapshots) - 1} commits are compared as one: what is found may be of any of them, "
                f"after snapshot {snapshots[0].id}"
            )
            snapshots = [snapshots[0], snapshots[-1]]
        first = Comparison(0, snapshots[0], None, evolution, ())
        comparisons = [] if self._options.since_snapshot == snapshots[0].id else [first]
        states = [(0, True, snapshots[0])] if comparisons else []
        for number, (before, after) in enumerate(pairwise(snapshots), 1):
            if after.id - before.id > 1:  # several commits are not a compaction, even if the last one is
                after = replace(after, commit_kind="several", operation=f"the commits after snapshot {before.id}")
            renumbers = self._schemas is None or may_renumber(self._schemas, after)
            comparisons.append(Comparison(number, after, before, evolution, (), may_renumber=renumbers))
            states += [(number, False, before), (number, True, after)]
        if not comparisons:
            return findings
        columns, others = self._source.columns(snapshots)
        if others:
            self._evidence["columns_not_compared"] = others
        keys = [column for column in columns if column.name in self._options.key_columns]
        unknown = set(self._options.key_columns) - {column.name for column in keys}
        if unknown:
            findings.append(
                row_rules.KEYS_NOT_USABLE.found(
                    "There is no column {missing} that can be compared. Keys were not compared.",
                    missing=sorted(unknown),
                )
            )
            keys = []
        self._progress(f"{self._name.text}: comparing the rows of {len(snapshots)} snapshots")
        rows = self._source.rows(states, columns)
        outcomes = ComparedRows(self._session, rows, [self._name.text], comparisons, columns, keys).outcomes()
        found: list[Finding] = []
        keeping: set[int] = set()
        for comparison in comparisons:
            if outcome := outcomes.get(comparison.number):
                found += row_findings(comparison, outcome, Severity.WARNING)
                if keeps_identities(comparison, outcome):
                    keeping.add(comparison.snapshot.id)
        return with_rows(findings, found, keeping)
