"""A session for Delta tables on Spark: its engine, its checkpoints, its labels."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import StructType

from airflow_delta_provider.domain.checks import faults, requests
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.commit import KINDS, Action
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, UnreadCheckpointError, is_uuid_named
from airflow_delta_provider.domain.delta.partial_files import AllFilesNeededError
from airflow_delta_provider.domain.delta.snapshot import ActionBatch, batches_of
from airflow_delta_provider.domain.engine.spark_library import (
    DELTA_CATALOG,
    OLDEST_DELTA,
    SESSION_CATALOG,
    Engine,
    version_of,
)
from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.delta.checkpoint_files import (
    FILES_ON_DRIVER,
    LEAST_BYTES,
    CheckpointColumns,
    CheckpointFiles,
    LargeCheckpoint,
)
from airflow_delta_provider.jobs.delta.session import DeltaSession, TableTasks
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Progress
from airflow_delta_provider.jobs.spark.engine_errors import condition_of, damage, understand
from airflow_delta_provider.jobs.spark.hadoop_storage import literal
from airflow_delta_provider.jobs.spark.large_checkpoint import SparkCheckpoint, action_as_json
from airflow_delta_provider.jobs.spark.session import configured
from airflow_delta_provider.jobs.spark.table_session import NotInCatalogError, SparkTableSession
from airflow_delta_provider.jobs.spark.table_tasks import table_tasks
from airflow_delta_provider.jobs.tables.session import TableError
from airflow_delta_provider.jobs.tables.table import SchemaListing
from airflow_delta_provider.jobs.tables.table_storage import TableStorage

#: Number of actions of a checkpoint file that the driver's heap holds at once.
_AT_ONCE = 50_000
#: Bytes of a checkpoint file, some 20,000 files of a table, up to which the driver's heap holds all of its actions.
_SMALL = 512 * 1024
#: Bytes up to which the reader of this package tries a file that Spark cannot read: it is slow.
_MOST_OTHERWISE = 16 * 1024 * 1024
#: Default of :data:`FILES_ON_DRIVER`.
_MOST_FILES = 2_000_000


class SparkCheckpointFiles(CheckpointFiles):
    """Reads checkpoint files with PyArrow if it is installed, in this process and in batches.

    Spark reads files that PyArrow cannot read, so the result does not depend on installed packages.
    """

    def __init__(self, spark: SparkSession, storage: TableStorage) -> None:
        super().__init__(storage)
        self._spark = spark

    def large(self, directory: str, names: Sequence[str]) -> LargeCheckpoint | None:
        """Return a checkpoint that Spark's tasks read, if it has more files than the driver should hold."""
        text = self._spark.conf.get(FILES_ON_DRIVER, None) or str(_MOST_FILES)
        if not text.isdecimal():
            raise AllFilesNeededError(f"{FILES_ON_DRIVER} is {text!r}, which is not a number of files")
        most = int(text)
        size = sum(self._storage.size(f"{directory}/{name}") for name in names)
        if size < most * LEAST_BYTES and not any(map(is_uuid_named, names)):
            return None
        checkpoint = SparkCheckpoint(self._spark, self._storage, directory, names)
        return checkpoint if checkpoint.number > most else None

    def _read_otherwise(
        self, path: str, wanted: CheckpointColumns, budget: Budget, refused: Sequence[str]
    ) -> Iterator[ActionBatch]:
        """Yield the actions of a file that PyArrow did not read, whatever its error."""
        name = path.rsplit("/", 1)[-1]
        before, yielded = budget.left, False
        try:
            for batch in batches_of(self._read_with_spark(path, wanted, budget)):
                yield batch
                yielded = True
        except (PySparkException, Py4JJavaError) as error:
            if (found := damage(error)) is not None:
                raise BrokenLogError(f"checkpoint file {name} is damaged: {found}") from error
            size = self._storage.size(path)  # fails if the file does not exist
            meaning = understand(error)
            is_of_columns = isinstance(error, AnalysisException)
            if yielded or meaning.rule is faults.STORAGE or (size > _MOST_OTHERWISE and not is_of_columns):
                raise
            budget.give_back_to(before)
            condition = condition_of(error) if is_of_columns else None
            refused = [*refused, f"Spark: {condition or meaning.evidence.rstrip('.')}"]
            try:
                yield from self._read_with_python(path, wanted, budget, refused)
            except UnreadCheckpointError:
                if is_of_columns:
                    raise
                raise error from None

    def _read_with_spark(self, path: str, wanted: CheckpointColumns, budget: Budget) -> Iterator[Action]:
        rows = self._spark.read.parquet(*literal([self._storage.permitted(path)]))
        columns = {}
        for column in rows.schema.fields:
            kind, names = column.name, wanted.fields.get(column.name)
            if (wanted.kinds is not None and kind not in wanted.kinds) or names == ():
                continue
            if not isinstance(column.dataType, StructType):
                if kind in KINDS:
                    raise BrokenLogError(f"the {kind} of checkpoint file {path.rsplit('/', 1)[-1]} is not a struct")
                continue
            columns[kind] = action_as_json(kind, column.dataType, names, apart=wanted.parsed)
        if not columns:
            return
        rows = rows.where(" OR ".join(f"{kind} IS NOT NULL" for kind in columns))
        if self._storage.size(path) > _SMALL:
            # The iterator takes a whole partition at a time, and Spark makes one of a row group of any size.
            parts = rows.count() // _AT_ONCE + 1
            rows = rows.withColumn("_row", sql.col("_metadata.row_index"))
            rows = rows.repartitionByRange(parts, "_row").sortWithinPartitions("_row")
        for row in rows.selectExpr(*columns.values()).toLocalIterator():
            texts = {kind: text for kind, text in row.asDict().items() if text is not None}
            budget.take(sum(map(len, texts.values())))
            # Decimals keep their digits, as in the other readers.
            yield {kind: json.loads(text, parse_float=Decimal) for kind, text in texts.items()}


#: Name of the format in catalogs.
_PROVIDER = "delta"
_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


class SparkDeltaSession(SparkTableSession, DeltaSession):
    """A Spark session that opens Delta tables, by location or by name."""

    def open_log(self, location: str) -> TableLog:
        """Return the log of the table at a location. Spark reads large checkpoints."""
        files = self.files_of(location)
        return TableLog(files, location, SparkCheckpointFiles(self.spark, files))

    def in_tasks(
        self, request: JobRequest, tables: Sequence[str], progress: Progress
    ) -> AbstractContextManager[TableTasks | None]:
        """Return the tasks that audit many tables; None if the driver audits all of them."""
        return table_tasks(self, request, tables, progress)

    @property
    def versions(self) -> Mapping[str, str | None]:
        return {**super().versions, "delta": self.delta_version}

    def tables_in(self, schema: tuple[str, ...]) -> SchemaListing:
        """Return a catalog's listing of a schema, with its Delta tables by name.

        :raises TableError: if there is no such schema
        """
        try:
            return SchemaListing.of(self.catalogs.entries(schema), _PROVIDER)
        except NotInCatalogError as error:
            raise TableError(
                requests.NO_SUCH_TABLE.found(
                    "There is no schema {schema} in the catalog.{hint}",
                    remedy="Check the name of the schema, and which catalogs the session has (conf).",
                    schema=".".join(schema),
                    hint=Prose(error.hint),
                )
            ) from None

    @cached_property
    def engine(self) -> Engine:
        """The engine of this session.

        :raises RuntimeError: if it has no Delta, or one that is too old; the message explains how to provide it
        """
        jvm: Any = self.spark._jvm
        try:
            delta = getattr(getattr(jvm.io.delta, "package$"), "MODULE$").VERSION()
            known = getattr(getattr(jvm.org.apache.spark.sql.delta, "TableFeature$"), "MODULE$")
            features = known.allSupportedFeaturesMap().keys().mkString(",")
        except TypeError:  # py4j finds no such class and takes the name for a package
            raise RuntimeError(
                "Delta Lake is not on Spark's classpath. Set delta_jars (on the command line --delta-jars) to "
                "'packages' or to a list of jars, or install the delta-spark jars of Spark "
                f"{self.spark.version} on the platform."
            ) from None
        if version_of(delta) < OLDEST_DELTA:
            oldest = ".".join(map(str, OLDEST_DELTA))
            raise RuntimeError(f"Delta {delta} is too old for this provider. Use Delta {oldest} or later.")
        return Engine(self.spark.version, delta, frozenset(features.split(",")))

    def require_delta(self) -> None:
        """Check that this session has Delta.

        :raises RuntimeError: see :attr:`engine`
        """
        assert self.engine

    @property
    def delta_version(self) -> str | None:
        """Version of Delta; None if the session has none. In that case, Spark's own catalog is restored.

        Sessions are configured for Delta, whose catalog would fail every query without its jars.
        """
        try:
            return self.engine.delta
        except RuntimeError:
            if self.spark.conf.get(SESSION_CATALOG, None) == DELTA_CATALOG:
                self.spark.conf.unset(SESSION_CATALOG)
            return None

    @contextmanager
    def labelled(self, labels: Mapping[str, Any]) -> Iterator[None]:
        """Write ``labels`` into the ``userMetadata`` of every commit made within the block.

        They are merged with the user's own metadata: keys of a JSON object are kept, and any other text is kept under
        ``user``.
        """
        merged = {**_as_object(self.spark.conf.get(_USER_METADATA, None)), **labels}
        # Spark also replaces ${env:…} and the like in values of settings. JSON allows $ to be escaped.
        text = json.dumps(merged, sort_keys=True).replace("$", r"\u0024")
        with configured(self.spark, {_USER_METADATA: text}):
            yield

    @property
    def user_metadata(self) -> str | None:
        """The ``userMetadata`` of a commit made now: the labels, and the user's own metadata."""
        text: str | None = self.spark.conf.get(_USER_METADATA, None)
        return text

    def locate(self, name: TableName) -> str:
        """Return a table's location in the catalog.

        :raises TableError: if it is not in the catalog, or is not a Delta table
        """
        try:
            entry = self.catalogs.entry(name)
        except NotInCatalogError as error:
            raise TableError(
                requests.NO_SUCH_TABLE.found(
                    "There is no table {table} in the catalog.{hint}",
                    table=name.text,
                    hint=Prose(error.hint + self._without_delta()),
                )
            ) from None
        if entry.provider != _PROVIDER or not entry.location:
            what = f"a {entry.noun}"
            raise TableError(
                requests.NOT_DELTA.found("{table} is {what}, not a Delta table.", table=name.text, what=what)
            )
        return self.storage.qualify(entry.location)

    def _without_delta(self) -> str:
        """Return a possible reason why a catalog lacks a table, for jobs that do not need Delta otherwise."""
        if self.delta_version is not None:
            return ""
        return " This Spark has no Delta Lake; if the catalog is Delta's, add its jars: delta_jars (--delta-jars)."


def _as_object(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = text
    return parsed if isinstance(parsed, dict) else {"user": parsed}
