"""Checks of Paimon tables without Spark, which level metadata does not need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.report.report import Finding, TableReport
from airflow_delta_provider.domain.request.check_options import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.paimon.check import PaimonRowTrackingCheck
from airflow_delta_provider.jobs.paimon.metadata_source import MetadataSource
from airflow_delta_provider.jobs.paimon.table import PaimonTable
from airflow_delta_provider.jobs.spark.paimon.row_level import SparkRowProofs
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from airflow_delta_provider.jobs.tables.session import TableSession
from tests.tables.paimon.archive import table_of
from tests.tables.paimon.editing import EditedTable
from tests.unit.paimon_tables import CODECS


class Storage(LocalStorage):
    """Local files, and what was read of them."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []

    def read(self, path: str) -> bytes:
        self.paths.append(path.rsplit("/", 1)[-1])
        return super().read(path)


def check(root: Path, storage: Storage | None = None, **options: Any) -> TableReport:
    reads: Any = storage or Storage()
    location = f"file:{root}"
    table = PaimonTable(TableName.parse(str(root)), location, MetadataSource(reads, location, CODECS, patience=0.0))
    session: Any = TableSession(reads)
    receipts = {name: options.pop(name) for name in ("receipt", "received") if name in options}
    asked = PaimonCheckRowTrackingOptions(**options)
    return PaimonRowTrackingCheck(
        session, table, asked, lambda _: None, **receipts, proofs=SparkRowProofs(session)
    ).run()


def told(findings: tuple[Finding, ...]) -> list[tuple[str, int | None, int | None]]:
    return sorted((f.code, f.version or 0, f.healed_version) for f in findings)


def copy(archive: Path, name: str, tmp_path: Path) -> EditedTable:
    return EditedTable(table_of(archive, name), tmp_path / "t")
