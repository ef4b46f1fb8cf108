"""A Spark session for tables of any format: its statements, its storage, its catalogs."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import Row, SparkSession

from airflow_delta_provider.domain.formats.avro.codecs import Codec
from airflow_delta_provider.jobs.process.submitter import Submitter
from airflow_delta_provider.jobs.spark.session.catalogs import SparkCatalogs
from airflow_delta_provider.jobs.spark.session.engine_errors import understand
from airflow_delta_provider.jobs.spark.session.spark_session import jvm_runs
from airflow_delta_provider.jobs.spark.session.sql_settings import SqlSettings, configured
from airflow_delta_provider.jobs.spark.storage.block_codecs import codecs_of_jvm
from airflow_delta_provider.jobs.spark.storage.hadoop_storage import HadoopStorage
from airflow_delta_provider.jobs.storage.engine_error import EngineError
from airflow_delta_provider.jobs.tables.table_session import TableSession

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
