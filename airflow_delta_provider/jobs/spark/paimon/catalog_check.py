"""Checks row tracking through the user's Paimon catalog: the same rules, on snapshots and rows as SQL shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.checks import paimon_rows as row_rules
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.paimon.changed_rows import Comparison
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.row_rules import keeps_identities, row_findings, with_rows
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.snapshot_rules import check_snapshots, has_column_files, has_row_ids
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.request.check_paimon_row_tracking import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.table_name import TableName
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.process.timings import Timings
from airflow_delta_provider.jobs.spark.paimon.catalog_source import CatalogSource, UnknownShapeError
from airflow_delta_provider.jobs.spark.paimon.compared_rows import ComparedRows
from airflow_delta_provider.jobs.spark.session.engine_errors import understand
from airflow_delta_provider.jobs.spark.session.table_session import SparkTableSession

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
                findings += check_snapshots(snapshots, files) if tracked else [_NOT_TRACKED]
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
        return TableReport.judged(
            self._name.text,
            *map(self._reported, findings),
            version=snapshots[-1].id if snapshots else None,
            evidence=self._evidence,
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
        reassigned = rules.is_reassigned(finding) or finding.code == row_rules.REASSIGNED.code
        severity = Severity.ERROR if reassigned and self._options.fail_on_reassigned else finding.severity
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
            comparisons.append(Comparison(number, after, before, evolution, ()))
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
