"""A Spark session for tables of any format: its statements, its storage, its catalogs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession

from airflow_delta_provider.domain.engine.spark_library import DELTA_CATALOG, SESSION_CATALOG
from airflow_delta_provider.domain.formats.avro.file import Codec
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.domain.text import did_you_mean
from airflow_delta_provider.jobs.process import Submitter
from airflow_delta_provider.jobs.spark.block_codecs import codecs_of_jvm
from airflow_delta_provider.jobs.spark.engine_errors import condition_of, understand
from airflow_delta_provider.jobs.spark.hadoop_storage import HadoopStorage
from airflow_delta_provider.jobs.spark.session import SqlSettings, configured, jvm_runs
from airflow_delta_provider.jobs.storage.errors import EngineError
from airflow_delta_provider.jobs.tables.session import TableSession
from airflow_delta_provider.jobs.tables.table import CatalogEntry

#: Heading of the part of DESCRIBE TABLE EXTENDED that is not about columns.
_DETAILS = "# Detailed Table Information"
_SPARKS_OWN = "spark_catalog"
#: Values of the catalog setting if Spark's own catalog is in use, directly or through Delta's.
_BUILT_IN = frozenset({None, "builtin", DELTA_CATALOG})
_NO_SCHEMA = frozenset({"SCHEMA_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE", "CATALOG_NOT_FOUND"})
_NOT_FOUND = _NO_SCHEMA | {"TABLE_OR_VIEW_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE"}
#: Number of concurrent requests if each table needs one.
_AT_ONCE = 4
#: Number of similar names to suggest.
_NEAREST = 3


class NotInCatalogError(Exception):
    """A catalog has no such table or schema.

    :param hint: sentence with more information, after a space; empty if there is none
    """

    def __init__(self, hint: str) -> None:
        super().__init__(hint)
        self.hint = hint


class SparkCatalogs:
    """Looks up tables in the catalogs of a session.

    :param sql: runs a statement
    """

    def __init__(self, spark: SparkSession, sql: Callable[[str], list[Row]]) -> None:
        self._spark = spark
        self._sql = sql
        self._listed: dict[tuple[str, ...], CatalogEntry] = {}

    def forget(self) -> None:
        """Forget earlier listings. Each table is then looked up again."""
        self._listed.clear()

    def entry(self, name: TableName) -> CatalogEntry:
        """Return the entry for a name, from an earlier listing or else from the catalog.

        :raises NotInCatalogError: if there is none
        """
        parts = name.identifier or ()
        if (listed := self._listed.get(parts)) is not None:
            return listed
        try:
            own = self._in_sparks_own(parts)
            return self._described(name) if own is None else self._registered(own)
        except AnalysisException as error:
            if _condition(error) in _NOT_FOUND:
                raise NotInCatalogError(self._hint(parts)) from None
            raise

    def entries(self, schema: tuple[str, ...]) -> Iterator[tuple[str, CatalogEntry | None]]:
        """Yield the names of a schema's tables and views, each with its entry; None if the entry is unknown.

        :raises NotInCatalogError: if there is no such schema
        """
        try:
            own = self._in_sparks_own((*schema, ""))
            found = list(self._entries_one_by_one(schema) if own is None else self._entries_at_once(own[0]))
        except AnalysisException as error:
            if self._missing_catalog(schema) or _condition(error) in _NO_SCHEMA:
                raise NotInCatalogError(self._schema_hint(schema)) from None
            raise
        if not found and own is None and schema[-1] not in (siblings := self._sibling_schemas(schema)):
            raise NotInCatalogError(
                did_you_mean(schema[-1], siblings, most=_NEAREST)
            )  # a catalog may list nothing for a missing schema
        self._listed.update(((*schema, table), entry) for table, entry in found if entry is not None)
        yield from found

    def _in_sparks_own(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the name of a table within Spark's own catalog; None if it is in another catalog."""
        if self._spark.conf.get(SESSION_CATALOG, None) not in _BUILT_IN:
            return None
        if len(parts) == 3 and parts[0].casefold() == _SPARKS_OWN:
            return parts[1:]
        another = len(parts) > 1 and self._is_catalog(parts[0])
        if another or len(parts) > 2 or self._spark.catalog.currentCatalog() != _SPARKS_OWN:
            return None
        return parts

    def _registered(self, parts: tuple[str, ...]) -> CatalogEntry:
        state: Any = self._spark._jsparkSession.sessionState()
        identifier = state.sqlParser().parseTableIdentifier(TableName("", identifier=parts).sql)
        return _entry(state.catalog().getTempViewOrPermanentTableMetadata(identifier))

    def _entries_at_once(self, schema: str) -> Iterator[tuple[str, CatalogEntry]]:
        state: Any = self._spark._jsparkSession.sessionState()
        temporary_too = False
        found = state.catalog().getTablesByName(state.catalog().listTables(schema, "*", temporary_too)).iterator()
        while found.hasNext():
            table = found.next()
            yield table.identifier().table(), _entry(table)

    def _entries_one_by_one(self, schema: tuple[str, ...]) -> Iterator[tuple[str, CatalogEntry | None]]:
        tables = self._names_in(schema)

        def entry(table: str) -> CatalogEntry | None:
            try:
                return self._described(TableName("", identifier=(*schema, table)))
            except Exception:  # reported when the table is opened
                return None

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            yield from zip(tables, pool.map(entry, tables))

    def _described(self, name: TableName) -> CatalogEntry:
        described = self._sql(f"DESCRIBE TABLE EXTENDED {name.sql}")
        names = [row["col_name"] for row in described]  # columns come first, and one may be called Provider
        details = described[names.index(_DETAILS) :] if _DETAILS in names else []
        values: dict[str, str] = {row["col_name"]: row["data_type"] for row in details}
        kind = (values.get("Type") or "view").lower()
        return CatalogEntry((values.get("Provider") or "").lower(), values.get("Location") or None, kind)

    def _names_in(self, schema: tuple[str, ...]) -> list[str]:
        within = f" IN {TableName('', identifier=schema).sql}" if schema else ""
        return [row["tableName"] for row in self._sql(f"SHOW TABLES{within}") if not row["isTemporary"]]

    def _is_catalog(self, name: str) -> bool:
        """Return True if a catalog of that name is configured."""
        return name.casefold() == _SPARKS_OWN or self._spark.conf.get(f"spark.sql.catalog.{name}", None) is not None

    def _missing_catalog(self, schema: tuple[str, ...]) -> str | None:
        """Return the catalog name in a schema's name if no such catalog is configured; else None."""
        return schema[0] if len(schema) > 1 and not self._is_catalog(schema[0]) else None

    def _hint(self, parts: tuple[str, ...]) -> str:
        """Suggest tables with similar names."""
        schema, table = parts[:-1], parts[-1]
        try:
            names = self._names_in(schema)
        except AnalysisException:
            missing = "" if self._missing_catalog(schema) else f" There is no schema {'.'.join(schema)}."
            return missing + self._schema_hint(schema)
        return did_you_mean(table, names, most=_NEAREST)

    def _schema_hint(self, schema: tuple[str, ...]) -> str:
        """Suggest schemas with similar names, or name a missing catalog."""
        if missing := self._missing_catalog(schema):
            return f" There is no catalog {missing}: spark.sql.catalog.{missing} is not set."
        return did_you_mean(schema[-1], self._sibling_schemas(schema), most=_NEAREST) if schema else ""

    def _sibling_schemas(self, schema: tuple[str, ...]) -> list[str]:
        """Return the names of the schemas next to one; only its own name if the catalog does not list schemas."""
        within = f" IN {TableName('', identifier=schema[:-1]).sql}" if schema[1:] else ""
        try:
            return [row["namespace"] for row in self._sql(f"SHOW SCHEMAS{within}")]
        except AnalysisException:
            return [schema[-1]]


def _entry(table: Any) -> CatalogEntry:
    location = table.storage().locationUri()
    provider = table.provider()
    return CatalogEntry(
        provider.get().lower() if provider.isDefined() else "",
        unquote(location.get().toString()) if location.isDefined() else None,
        table.tableType().name().lower(),
    )


def _condition(error: AnalysisException) -> str:
    return (condition_of(error) or "").split(".")[0]


_ADAPTIVE = "spark.sql.adaptive.enabled"
_FIELD_ID_READ = "spark.sql.parquet.fieldId.read.enabled"
_FIELD_ID_MISSING = "spark.sql.parquet.fieldId.read.ignoreMissing"


class SparkTableSession(TableSession):
    """Runs SQL, reads files with Spark's credentials, and looks up tables in catalogs.

    :param submitter: the process that waits for the job; by default one that is always alive
    :param folder: base folder of relative local paths; by default the working directory
    """

    runs_sql = True
    tables_at_once = 4  # each has copies of files, and rows, in this process and in the JVM
    storage: HadoopStorage

    def __init__(self, spark: SparkSession, submitter: Submitter | None = None, folder: str = "") -> None:
        super().__init__(HadoopStorage(spark, folder), submitter)
        self.spark = spark
        self.catalogs = SparkCatalogs(spark, self.sql)
        self._sql_settings = SqlSettings(spark)
        # PySpark prints a JSON document with the whole stack for each error that is caught here.
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)

    @property
    def versions(self) -> Mapping[str, str | None]:
        return {"spark": self.spark.version, "delta": None}

    @property
    def has_ended(self) -> bool:
        return not jvm_runs()

    def understand(self, error: Exception) -> EngineError:
        return understand(error)

    def codecs(self) -> Mapping[str, Codec]:
        return codecs_of_jvm(self.spark)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Make SQL independent of the session's settings: all SQL of a job runs within this block.

        Listings of catalogs are kept until its end.
        """
        with self._sql_settings.held():
            try:
                yield
            finally:
                self.catalogs.forget()

    def sql(self, statement: str) -> list[Row]:
        with self._sql_settings.held():
            rows: list[Row] = self.spark.sql(statement).collect()
        return rows

    @contextmanager
    def reading_files(self) -> Iterator[None]:
        """Read data files directly and without replanning.

        Fields are found by id if the schema has one, as column mapping mode ``id`` requires. Spark does not stop
        between stages to plan again, which would take longer than it saves here.
        """
        with configured(self.spark, {_FIELD_ID_READ: "true", _FIELD_ID_MISSING: "true", _ADAPTIVE: "false"}):
            yield
