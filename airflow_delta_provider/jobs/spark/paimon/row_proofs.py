"""Proofs about rows of Paimon tables by Spark and by Paimon's connector."""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from airflow_delta_provider.domain.paimon.table_history import TableHistory
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.check_paimon_row_tracking import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.table_name import TableName
from airflow_delta_provider.jobs.paimon.row_proofs import RowOptions, RowResult
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.spark.paimon.catalog_check import PaimonCatalogCheck
from airflow_delta_provider.jobs.spark.paimon.row_level import RowLevel
from airflow_delta_provider.jobs.spark.session.catalogs import NotInCatalogError
from airflow_delta_provider.jobs.spark.session.table_session import SparkTableSession


class SparkRowProofs:
    """Reads rows with Spark; see :class:`~airflow_delta_provider.jobs.paimon.row_proofs.RowProofs`."""

    def __init__(self, session: SparkTableSession) -> None:
        self._session = session

    def check_rows(
        self, name: str, location: str, history: TableHistory, options: RowOptions, progress: Progress
    ) -> RowResult:
        return RowLevel(self._session, name, location, history, options, progress).check()

    def check_by_catalog(
        self, name: TableName, options: PaimonCheckRowTrackingOptions, progress: Progress
    ) -> TableReport:
        self._check_reach(name)
        return PaimonCatalogCheck(self._session, name, options, progress).run()

    def _check_reach(self, name: TableName) -> None:
        """Check the location of a table, if the catalog shows it."""
        session = self._session
        if session.reach.is_bounded:
            try:
                location = session.catalogs.entry(name).location
            except (NotInCatalogError, PySparkException, Py4JError):  # the check reports this error
                return
            if location:
                session.check_reach(name, session.storage.qualify(location))
