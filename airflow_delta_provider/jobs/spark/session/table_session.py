"""A session of Spark, for tables of any format: its statements, its storage, its catalogs."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from pyspark.sql import Row, SparkSession

from airflow_delta_provider.domain.formats.avro.codecs import Codec
from airflow_delta_provider.domain.request.table_name import TableName
from airflow_delta_provider.jobs.process.submitter import Submitter
from airflow_delta_provider.jobs.spark.session.engine_errors import understand
from airflow_delta_provider.jobs.spark.session.spark_settings import configured
from airflow_delta_provider.jobs.spark.session.sql_settings import SqlSettings
from airflow_delta_provider.jobs.spark.storage.block_codecs import codecs_of_jvm
from airflow_delta_provider.jobs.spark.storage.hadoop_storage import HadoopStorage
from airflow_delta_provider.jobs.storage.engine_error import EngineError
from airflow_delta_provider.jobs.tables.table_session import TableSession

_ADAPTIVE = "spark.sql.adaptive.enabled"
_FIELD_ID_READ = "spark.sql.parquet.fieldId.read.enabled"
_FIELD_ID_MISSING = "spark.sql.parquet.fieldId.read.ignoreMissing"
#: Heading of the part of DESCRIBE TABLE EXTENDED that is not about columns.
_DETAILS = "# Detailed Table Information"


class SparkTableSession(TableSession):
    """Runs SQL, reads files with Spark's credentials, and finds out what a catalog knows of a table.

    :param submitter: the process that waits for the job, by default one that is always there
    """

    runs_sql = True
    tables_at_once = 4  # each has its copies of files, and rows, in this process and in the JVM
    storage: HadoopStorage

    def __init__(self, spark: SparkSession, submitter: Submitter | None = None) -> None:
        super().__init__(HadoopStorage(spark), submitter)
        self.spark = spark
        self._sql_settings = SqlSettings(spark)
        # PySpark prints a JSON document with the whole stack for each error that is caught here.
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)

    @property
    def versions(self) -> Mapping[str, str | None]:
        """The version of Spark."""
        return {"spark": self.spark.version, "delta": None}

    def understand(self, error: Exception) -> EngineError:
        """Return what an error of Spark or of the storage means."""
        return understand(error)

    def codecs(self) -> Mapping[str, Codec]:
        """Return what decompresses blocks of Avro files, by Avro's names."""
        return codecs_of_jvm(self.spark)

    def working(self) -> AbstractContextManager[None]:
        """Make SQL independent of the session's settings: all SQL of a job runs within this."""
        return self._sql_settings.held()

    def sql(self, statement: str) -> list[Row]:
        """Run a statement and return its rows."""
        with self.working():
            rows: list[Row] = self.spark.sql(statement).collect()
        return rows

    def details(self, name: TableName) -> dict[str, Any]:
        """Return what the catalog says of a table or view except its columns, such as ``Provider`` and ``Location``.

        :raises AnalysisException: if there is none
        """
        try:
            described = self.sql(f"DESCRIBE TABLE EXTENDED {name.sql}")
        except Exception:
            # It opens the table, which the engine may refuse; what is registered is known all the same.
            if registered := self._registered(name):
                return registered
            raise
        names = [row["col_name"] for row in described]  # columns first, and one may be called Provider
        details = described[names.index(_DETAILS) :] if _DETAILS in names else []
        return {row["col_name"]: row["data_type"] for row in details}

    @contextmanager
    def reading_files(self) -> Iterator[None]:
        """Read data files directly and at once.

        Fields are found by id where the schema gives one, as column mapping mode id needs it; and
        Spark does not stop between the stages to plan again, which takes longer than it saves here.
        """
        with configured(self.spark, {_FIELD_ID_READ: "true", _FIELD_ID_MISSING: "true", _ADAPTIVE: "false"}):
            yield

    def _registered(self, name: TableName) -> dict[str, Any]:
        """Return what Spark's own catalog has of a table; nothing where it has none, or the catalog is another."""
        state: Any = self.spark._jsparkSession.sessionState()
        try:
            entry = state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(name.sql))
            return {"Provider": entry.provider().get(), "Location": entry.location().toString()}
        except Exception:  # views have neither; for anything else the error of DESCRIBE is reported
            return {}
