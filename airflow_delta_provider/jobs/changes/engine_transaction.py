"""A transaction of the engine: the version that it reads, and one commit of actions made here."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, takewhile
from posixpath import basename
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import StructType

from airflow_delta_provider.domain.changes.provider_commit import check_commit, lines_of
from airflow_delta_provider.domain.changes.steps import RewriteTable, Step
from airflow_delta_provider.domain.checks.data_files.files import rewritten_otherwise
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.metadata import Metadata, file_schema, physical_name
from airflow_delta_provider.domain.delta.sql_type import render_sql_type
from airflow_delta_provider.domain.delta.table_state import CommitBase, TableState
from airflow_delta_provider.domain.migrations.casting import recast
from airflow_delta_provider.domain.migrations.difference import forbidden_nulls
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.text import quote
from airflow_delta_provider.jobs.changes.commit import CommitRefusedError, TableMovedError
from airflow_delta_provider.jobs.changes.values import find_lost, find_nulls, row_sums, rows_of
from airflow_delta_provider.jobs.delta.kept_log import KeptLog
from airflow_delta_provider.jobs.delta.session import OpenTable
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.hadoop_storage import literal
from airflow_delta_provider.jobs.spark.session import configured, ship

_DELTA = "org.apache.spark.sql.delta"


@dataclass(frozen=True)
class WrittenFile:
    """A data file that a transaction has written.

    :param action: Java's ``AddFile``
    :param path: path, as in the log
    :param partition_values: values by physical name, as in the log
    """

    action: Any
    path: str
    partition_values: Mapping[str, str | None]

    @classmethod
    def of(cls, action: Any) -> WrittenFile:
        add = json.loads(action.json())["add"]
        return cls(action, add["path"], add["partitionValues"])


class EngineTransaction:
    """A transaction that starts on the newest version.

    The engine rebases its commit over commits that only add or remove files. If another commit changed metadata or
    protocol in the meantime, it fails with ``DELTA_METADATA_CHANGED`` or ``DELTA_PROTOCOL_CHANGED``.
    """

    def __init__(self, session: SparkDeltaSession, location: str) -> None:
        self._jvm: Any = session.spark._jvm
        path = self._jvm.org.apache.hadoop.fs.Path(location)
        log = self._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session.spark._jsparkSession, path)
        self._transaction = log.startTransaction()

    def bar_new_files(self) -> None:
        """Let the commit fail with ``DELTA_CONCURRENT_APPEND`` if another commit adds files in the meantime."""
        self._transaction.readWholeTable()

    @property
    def version(self) -> int:
        """The version that the transaction reads."""
        return int(self._transaction.snapshot().version())

    @property
    def metadata(self) -> dict[str, Any]:
        """The metaData action of that version; after an update, the action that the commit will write."""
        wire: dict[str, Any] = json.loads(self._transaction.metadata().json())["metaData"]
        return wire

    @property
    def protocol(self) -> dict[str, Any]:
        """The protocol action of that version; after an update, the action that the commit will write."""
        wire: dict[str, Any] = json.loads(self._transaction.protocol().json())["protocol"]
        return wire

    def update_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Set the metaData action that the commit will write. May be called once.

        The engine assigns ids and physical names to new columns. It also adds the features to the protocol that
        properties and types need.

        :raises Py4JJavaError: if the engine refuses a property or the schema
        """
        before = self.metadata.get("configuration", {})
        after: Mapping[str, str] = metadata.get("configuration", {})
        same = {name: value for name, value in after.items() if before.get(name) == value}
        new = {name: value for name, value in after.items() if name not in same}
        configuration = {**same, **self._validated(new)}
        self._transaction.updateMetadata(
            self._action({"metaData": {**metadata, "configuration": configuration}}), False
        )

    def commit_metadata(self) -> int:
        """Commit the updated metadata; return the version.

        The operation is one of the engine's own: ``UPDATE SCHEMA`` if the schema changes, else ``SET TBLPROPERTIES``
        or ``UNSET TBLPROPERTIES``.
        """
        old, new = self._transaction.snapshot().metadata(), self._transaction.metadata()
        was, now = (json.loads(each.json())["metaData"] for each in (old, new))
        before, after = (each.get("configuration", {}) for each in (was, now))
        changed = {name: value for name, value in after.items() if before.get(name) != value}
        if was.get("description") != now.get("description"):
            changed["comment"] = now.get("description") or ""
        removed = sorted(before.keys() - after.keys())
        if was["schemaString"] != now["schemaString"]:
            operation = self._operation("UpdateSchema", old.schema(), new.schema())
        elif removed and not changed:
            operation = self._operation("UnsetTableProperties", self._sequence(removed), True)
        else:
            operation = self._operation("SetTableProperties", self._jvm.PythonUtils.toScalaMap(changed))
        return self._commit([], operation)

    def write(self, rows: DataFrame) -> list[WrittenFile]:
        """Write rows into new files, which no reader sees until they are committed.

        The engine checks constraints and NOT NULL. It does not cast: the rows need the types of the updated schema.

        :raises Py4JJavaError: if the engine refuses a row
        """
        return [WrittenFile.of(action) for action in _each(self._transaction.writeFiles(rows._jdf))]

    def replace_all(self, files: Iterable[WrittenFile]) -> int:
        """Replace all files of the version that the transaction reads, and commit the updated metadata.

        The commit fails with ``DELTA_CONCURRENT_APPEND`` or a similar error if another commit adds or removes files
        in the meantime.

        :raises Py4JJavaError: if another writer was faster
        """
        self.bar_new_files()
        removed = [file.remove() for file in _each(self._transaction.filterFiles())]
        return self._commit([*(file.action for file in files), *removed], self._overwriting())

    def remove_column_mapping(self, actions: Sequence[Mapping[str, Any]]) -> int:
        """Commit ``actions`` as the operation ``REMOVE COLUMN MAPPING``; return the version."""
        nothing = getattr(getattr(self._jvm, "scala.None$"), "MODULE$")
        return self._commit(list(map(self._action, actions)), self._operation("RemoveColumnMapping", nothing))

    def _validated(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return properties as SET TBLPROPERTIES would set them, in Delta's own spelling."""
        known = getattr(getattr(self._jvm, f"{_DELTA}.DeltaConfigs$"), "MODULE$")
        pairs = known.validateConfigurations(self._jvm.PythonUtils.toScalaMap(dict(properties)))
        return {pair._1(): pair._2() for pair in _each(pairs)}

    def _overwriting(self) -> Any:
        """Return the operation ``WRITE`` in mode Overwrite. Its number of further parameters depends on the release."""
        write = getattr(getattr(self._jvm, f"{_DELTA}.DeltaOperations$Write$"), "MODULE$")
        methods = {method.getName() for method in write.getClass().getMethods()}
        defaults = takewhile(methods.__contains__, (f"apply$default${number}" for number in count(2)))
        arguments = [getattr(write, name)() for name in defaults]
        return self._operation("Write", self._jvm.org.apache.spark.sql.SaveMode.Overwrite, *arguments)

    def _commit(self, actions: Sequence[Any], operation: Any) -> int:
        return int(self._transaction.commit(self._sequence(actions), operation))

    def _action(self, wire: Mapping[str, Any]) -> Any:
        return getattr(self._jvm, f"{_DELTA}.actions.Action").fromJson(json.dumps(wire))

    def _operation(self, name: str, *arguments: Any) -> Any:
        return getattr(self._jvm, f"{_DELTA}.DeltaOperations${name}")(*arguments)

    def _sequence(self, values: Sequence[Any]) -> Any:
        return self._jvm.PythonUtils.toSeq(list(values))


def _each(values: Any) -> Iterator[Any]:
    """Yield the items of a Scala collection."""
    iterator = values.iterator()
    while iterator.hasNext():
        yield iterator.next()


def commit_metadata(session: SparkDeltaSession, table: OpenTable, since: TableState, step: Step) -> int | None:
    """Commit a step's changes of the metadata; return the version, or None if it changes nothing.

    Other writers may add and remove files in the meantime. If the step forbids NULL, they must not add any.

    :param since: state of the table after which other writers may only add and remove files
    :raises TableMovedError: if another writer changed protocol or metadata since
    :raises CommitRefusedError: if the commit would break a rule, or a column that shall forbid NULL contains it
    :raises Py4JJavaError: if the engine refuses the change, or another writer was faster
    """
    transaction = EngineTransaction(session, table.location)
    base = base_of(transaction, table, since)
    old = (transaction.protocol, transaction.metadata)
    if forbidden := list(forbidden_nulls(step)):
        transaction.bar_new_files()
        if found := find_nulls(session, table, base.state, forbidden):
            raise CommitRefusedError(*found)
    transaction.update_metadata(step.edited(transaction.metadata))
    if (transaction.protocol, transaction.metadata) == old:
        return None
    intended = _intended_actions(transaction, base, old)
    if broken := check_commit(table.name.text, base, lines_of(intended), KeptLog(table.log)):
        raise CommitRefusedError(*broken)
    return transaction.commit_metadata()


def base_of(transaction: EngineTransaction, table: OpenTable, since: TableState) -> CommitBase:
    """Return the version that a transaction reads.

    :raises TableMovedError: if its protocol or metadata differ from ``since``
    """
    base = table.log.read_commit_base(transaction.version)
    if (base.state.protocol, base.state.metadata) != (since.protocol, since.metadata):
        raise TableMovedError(
            f"Protocol or metadata of {table.name.text} in version {transaction.version} differ from version "
            f"{since.version}, on which this was planned. This step was not done."
        )
    return base


def _intended_actions(
    transaction: EngineTransaction, base: CommitBase, old: tuple[dict[str, Any], dict[str, Any]]
) -> list[Action]:
    """Return the actions of the commit, with the required fields of ``commitInfo``, which the engine writes itself."""
    now = int(time.time() * 1000)
    previous = base.previous.info.get("inCommitTimestamp") if base.previous is not None else None
    timestamp = max(now, previous + 1) if isinstance(previous, int) else now
    info = {
        "inCommitTimestamp": timestamp,
        "timestamp": timestamp,
        "operation": "UPDATE SCHEMA",
        "operationParameters": {},
        "engineInfo": "Delta-Lake",
        "txnId": str(uuid.uuid4()),
    }
    protocol, metadata = transaction.protocol, transaction.metadata
    actions: list[Action] = [{"commitInfo": info}]
    if protocol != old[0]:
        actions.append({"protocol": protocol})
    if metadata != old[1]:
        actions.append({"metaData": metadata})
    return actions


#: Rows are grouped by partition before they are written, so that not every task writes a file for each partition.
_FEW_FILES = {"spark.databricks.delta.optimizeWrite.enabled": "true"}
_TIME_ZONE = "spark.sql.session.timeZone"


@contextmanager
def in_zone_of(session: SparkDeltaSession, step: RewriteTable) -> Iterator[None]:
    """Set the time zone of a step for expressions. Spark reads the zone when it resolves an expression, not later."""
    with configured(session.spark, {_TIME_ZONE: step.time_zone} if step.time_zone else {}):
        yield


def rewrite_table(session: SparkDeltaSession, table: OpenTable, since: TableState, step: RewriteTable) -> int:
    """Rewrite all rows of the newest version, after a check that the casts lose no values.

    Everything else stays as it is: names, ids, comments, defaults, constraints, properties. The engine checks the
    constraints, NOT NULL and generated columns for the new values. The new files are compared with the rows before
    they are committed, so a run that dies never leaves unchecked rows.

    :param since: state of the table after which other writers may only add and remove files
    :returns: the version of the commit
    :raises TableMovedError: if another writer changed protocol or metadata since
    :raises CommitRefusedError: if values would be lost, or the files do not contain the expected rows
    :raises Py4JJavaError: if the engine refuses the change, or another writer committed in the meantime
    """
    transaction = EngineTransaction(session, table.location)
    transaction.bar_new_files()
    state = base_of(transaction, table, since).state
    with in_zone_of(session, step):
        rows = rows_of(session, table.location, state.version)
        if lost := find_lost(rows, state, step.casts):
            raise CommitRefusedError(*lost)
        types = {field.name: field.data_type for field in state.metadata.schema.fields}
        rows = rows.selectExpr(*recast(types, step.casts))
    transaction.update_metadata(step.edited(transaction.metadata))
    with configured(session.spark, _FEW_FILES):
        files = transaction.write(rows)
    written = Metadata.from_json(transaction.metadata)
    if differing := tuple(_differing(session, table, rows, written, files)):
        raise CommitRefusedError(*differing)
    return transaction.replace_all(files)


def _differing(
    session: SparkDeltaSession, table: OpenTable, rows: DataFrame, metadata: Metadata, files: Sequence[WrittenFile]
) -> Iterator[Finding]:
    """Yield differences between the rows of uncommitted files and the rows that should have been written."""
    expected = row_sums(rows)
    found = 0, dict.fromkeys(expected[1], 0)
    if files:
        with session.reading_files():
            found = row_sums(written_rows(session, table.location, metadata, files))
    yield from rewritten_otherwise(table.name.text, expected, found)


_FILE, _PARTITION = "file of the row", "partition value "


def written_rows(
    session: SparkDeltaSession, location: str, metadata: Metadata, files: Sequence[WrittenFile]
) -> DataFrame:
    """Return the rows with the columns of the table, as readers will see them once the files are committed.

    The session must be :meth:`reading files <SparkDeltaSession.reading_files>` as long as the rows are read.

    :param metadata: metadata that will be committed with the files
    :param files: at least one file
    """
    mode, partitions = metadata.properties.mapping_mode, metadata.partition_columns
    fields = metadata.schema.fields
    inside = frozenset(field.name for field in fields if field.name not in partitions)
    schema: StructType = StructType.fromJson(file_schema(metadata, inside))
    paths = session.data_files(location).uris(file.path for file in files)
    rows: DataFrame = session.spark.read.schema(schema).parquet(*literal(paths))
    stored = {field.name: physical_name(field, mode) for field in fields}
    if partitions:
        known = [{"f": basename(f.path), **_numbered(f, [stored[name] for name in partitions])} for f in files]
        columns = ", ".join(f"p{index}: string" for index in range(len(partitions)))
        values = ship(session.spark, known, f"f: string, {columns}")
        named = [sql.col(f"p{index}").alias(f"{_PARTITION}{stored[name]}") for index, name in enumerate(partitions)]
        rows = rows.select("*", sql.col("_metadata.file_name").alias(_FILE))
        rows = rows.join(sql.broadcast(values.select(sql.col("f").alias(_FILE), *named)), _FILE)
        stored |= {name: f"{_PARTITION}{stored[name]}" for name in partitions}
    return rows.selectExpr(
        *(f"CAST({quote(stored[f.name])} AS {render_sql_type(f.data_type)}) AS {quote(f.name)}" for f in fields)
    )


def _numbered(file: WrittenFile, names: Sequence[str]) -> dict[str, str | None]:
    return {f"p{index}": file.partition_values[name] for index, name in enumerate(names)}
