"""Proofs about the rows of a table: the port to the engine that reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from airflow_delta_provider.domain.paimon.table_history import TableHistory
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.request.check_paimon_row_tracking import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.table_name import TableName
from airflow_delta_provider.domain.row_ids.driver_limits import DriverLimits
from airflow_delta_provider.jobs.process.progress import Progress

#: Lowest and highest row id in a file, by the file's name.
Ranges = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class RowOptions:
    """The options of a check of rows.

    :param keys: columns that identify rows, by their names in the newest schema
    :param reassigned: severity of row ids that Paimon itself reassigned
    :param ranges: id ranges that an earlier check found; all other files are read
    :param limits: limits of comparisons in this process; beyond them, Spark compares
    :param on_vanished: called if files are missing that are not in the newest snapshot; may raise
    """

    keys: Sequence[str] = ()
    reassigned: Severity = Severity.WARNING
    ranges: Ranges = field(default_factory=dict)
    limits: DriverLimits = field(default_factory=DriverLimits)
    on_vanished: Callable[[], None] = lambda: None


@dataclass
class RowResult:
    """The result of the level of rows.

    :param ranges: lowest and highest id in live files, by file name, if known
    :param keeping: snapshots whose commits provably gave new ids only to new rows
    """

    findings: list[Finding] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    keeping: set[int] = field(default_factory=set)


class RowProofs(Protocol):
    """Reads rows, and proves facts that metadata cannot show."""

    def check_rows(
        self, name: str, location: str, history: TableHistory, options: RowOptions, progress: Progress
    ) -> RowResult:
        """Check the rows of a table by its files.

        :param name: name of the table, for messages
        :param location: location of the table, as a URI
        :raises PaimonFormatError: if an option of the newest schema has an invalid value
        """

    def check_by_catalog(
        self, name: TableName, options: PaimonCheckRowTrackingOptions, progress: Progress
    ) -> TableReport:
        """Check a table through its catalog.

        :raises TableError: if the job must not access it
        """
