"""A Spark session of a job, for tables of any format: its statements, its storage, what it may reach."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from pyspark.sql import Row, SparkSession

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.table_name import TableName, TableNameError
from airflow_delta_provider.jobs.session.spark_settings import configured
from airflow_delta_provider.jobs.session.sql_settings import SqlSettings
from airflow_delta_provider.jobs.session.submitter import Submitter
from airflow_delta_provider.jobs.storage.hadoop_storage import HadoopStorage
from airflow_delta_provider.jobs.tables.reach import Reach

_ADAPTIVE = "spark.sql.adaptive.enabled"
_FIELD_ID_READ = "spark.sql.parquet.fieldId.read.enabled"
_FIELD_ID_MISSING = "spark.sql.parquet.fieldId.read.ignoreMissing"
#: Heading of the part of DESCRIBE TABLE EXTENDED that is not about columns.
_DETAILS = "# Detailed Table Information"


class TableError(Exception):
    """A table that cannot be opened; carries the refusal that says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def parse_table_name(text: str) -> TableName:
    """Return what a request calls a table.

    :raises TableError: if it is not a name
    """
    try:
        return TableName.parse(text)
    except TableNameError as error:
        raise TableError(requests.NO_SUCH_TABLE.found("{error}", error=Prose(error))) from error


class TableSession:
    """Runs SQL, reads files, and finds out what a catalog knows of a table.

    :param submitter: the process that waits for the job, by default one that is always there
    """

    def __init__(self, spark: SparkSession, submitter: Submitter | None = None) -> None:
        self.spark = spark
        self.submitter = submitter or Submitter()
        self.storage = HadoopStorage(spark)
        self.reach = Reach(self.storage)
        self._sql_settings = SqlSettings(spark)
        # PySpark prints a JSON document with the whole stack for each error that is caught here.
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)

    def check_reach(self, name: TableName, location: str) -> None:
        """Check that the job may reach a table that was found, and use the paths that its request names.

        :raises TableError: if it must not
        """
        if refusal := self.reach.refusal(name, location):
            raise TableError(refusal)

    def is_here(self, text: str) -> bool:
        """Whether the name of a table is that of a place on this machine.

        :raises TableNameError: if it is not a name
        """
        location = TableName.parse(text).location
        return location is not None and self.storage.is_local(self.storage.qualify(location))

    def reading_sql(self) -> AbstractContextManager[None]:
        """Make SQL independent of the session's settings: all SQL of a job runs within this."""
        return self._sql_settings.held()

    def sql(self, statement: str) -> list[Row]:
        """Run a statement and return its rows."""
        with self.reading_sql():
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
