"""Row tracking of a table by the user's Paimon catalog: the same rules, over what SQL shows of snapshots and rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.checks import paimon_rows as row_rules
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.paimon.change_rules import check_files
from airflow_delta_provider.domain.paimon.changed_rows import Comparison
from airflow_delta_provider.domain.paimon.id_ranges import IdRanges
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.provenance import provenance
from airflow_delta_provider.domain.paimon.row_rules import row_findings
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.request.check_paimon_row_tracking import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.table_name import TableName
from airflow_delta_provider.jobs.paimon.catalog_source import CatalogSource, UnknownShapeError
from airflow_delta_provider.jobs.paimon.compared_rows import ComparedRows
from airflow_delta_provider.jobs.session.engine_errors import understand
from airflow_delta_provider.jobs.session.progress import Progress
from airflow_delta_provider.jobs.session.timings import Timings
from airflow_delta_provider.jobs.tables.table_session import TableSession

#: Commits that are compared one by one; of more, the newest snapshot with the first: SQL reads each of them whole.
_MOST_COMMITS = 16


class PaimonCatalogCheck:
    """Checks row tracking of one table of a catalog.

    :param name: of one to three parts
    """

    def __init__(
        self,
        session: TableSession,
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
        """Check the table."""
        snapshots: list[Snapshot] = []
        findings: list[Finding] = []
        try:
            with self._timings.phase("metadata"):
                snapshots = self._chosen(self._source.snapshots())
                files = self._source.files()
                findings += _judge_files(files, snapshots)
            self._evidence |= {"snapshots": len(snapshots), "files": len(files)}
            if self._options.level == "data" and snapshots:
                with self._timings.phase("rows"):
                    findings += self._judge_rows(snapshots, _with_column_files(files))
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
            *findings,
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

    def _judge_rows(self, snapshots: Sequence[Snapshot], evolution: bool) -> list[Finding]:
        if len(snapshots) > _MOST_COMMITS + 1:
            self._notes.append(
                f"{len(snapshots) - 1} commits are compared as one: what is found may be of any of them, "
                f"after snapshot {snapshots[0].id}"
            )
            snapshots = [snapshots[0], snapshots[-1]]
        first = Comparison(0, snapshots[0], None, evolution, ())
        comparisons = [] if self._options.since_snapshot == snapshots[0].id else [first]
        states = [(0, True, snapshots[0].id)] if comparisons else []
        for number, (before, after) in enumerate(pairwise(snapshots), 1):
            if after.id - before.id > 1:  # then it is no compaction, whatever the last commit was
                after = replace(after, commit_kind="several", operation=f"the commits after snapshot {before.id}")
            comparisons.append(Comparison(number, after, before, evolution, ()))
            states += [(number, False, before.id), (number, True, after.id)]
        if not comparisons:
            return []
        columns, others = self._source.columns()
        if others:
            self._evidence["columns_not_compared"] = others
        keys = [column for column in columns if column.name in self._options.key_columns]
        unknown = set(self._options.key_columns) - {column.name for column in keys}
        findings = []
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
        severity = Severity.ERROR if self._options.fail_on_reassigned else Severity.WARNING
        outcomes = ComparedRows(self._session, rows, [self._name.text], comparisons, columns, keys).outcomes()
        for comparison in comparisons:
            if outcome := outcomes.get(comparison.number):
                findings += row_findings(comparison, outcome, severity)
        return [_known(finding) for finding in findings]


def _judge_files(files: Sequence[DataFile], snapshots: Sequence[Snapshot]) -> Iterator[Finding]:
    """Yield what is wrong with the live files of the newest snapshot, as far as they show it."""
    if not snapshots:
        return
    newest = snapshots[-1]
    findings = [violation.finding for violation in check_files(files, newest)]
    ranges = IdRanges()
    for file in files:
        for other in ranges.clashes(file, equal_allowed=_with_column_files(files)):
            findings.append(
                rules.OVERLAPPING_ROW_IDS.found(
                    "{path} and {other} have the same row ids.", path=file.name, other=other.name
                )
            )
        ranges.add(file)
    for finding in findings:
        yield _known(replace(finding, **provenance(newest), at_or_before=True))


def _with_column_files(files: Sequence[DataFile]) -> bool:
    """Whether some files have columns of rows of others, which is data evolution."""
    return any(file.first_row_id is not None and file.write_cols is not None for file in files)


def _known(finding: Finding) -> Finding:
    """Return a finding without the names and times that the catalog did not tell."""
    return replace(finding, user=finding.user or None)
