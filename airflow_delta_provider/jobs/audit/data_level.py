"""The levels of an audit beyond the log: footers of data files, and ids of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

from airflow_delta_provider.domain.audit.file_findings import ConditionOrigins, condition_origins
from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.violation import shown_action
from airflow_delta_provider.domain.checks.data_files.files import (
    DELETION_VECTOR,
    MISSING,
    broken_condition,
    not_evaluated,
    unreadable_vector,
)
from airflow_delta_provider.domain.checks.data_files.schema import FileSchemas
from airflow_delta_provider.domain.checks.data_files.statistics import FileStatistics
from airflow_delta_provider.domain.checks.log.history import out_of_time_reading, why_undecidable
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import RowCount
from airflow_delta_provider.domain.checks.row_tracking.moved_rows import (
    FOREIGN_COMMIT_VERSION,
    FOREIGN_ROW_ID,
    Rewrites,
)
from airflow_delta_provider.domain.delta.deletion_vector import BrokenDeletionVectorError
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name, earliest_version, select_segment
from airflow_delta_provider.domain.delta.row_condition import RowCondition, row_conditions
from airflow_delta_provider.domain.delta.row_tracking import RowTracking
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.answers import HiddenRows, Statistics
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.text import counted
from airflow_delta_provider.jobs.audit.hidden_rows import hidden_rows, queries_of
from airflow_delta_provider.jobs.audit.range_audit import LogLevel, RangeAudit
from airflow_delta_provider.jobs.delta.kept_log import KeptLog, last_adds_after
from airflow_delta_provider.jobs.delta.session import DeltaFiles, DeltaSession, OpenTable
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import OutOfTimeError, Progress, TimeBudget, Timings
from airflow_delta_provider.jobs.row_tracking.check import LiveIds, live_rows
from airflow_delta_provider.jobs.row_tracking.row_proofs import (
    ConditionProof,
    FooterSurvey,
    PartitionValues,
    RowProofs,
    survey_with_statistics,
    unread,
)
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError


class RowConditions:
    """Checks the rows of one version of a table.

    :param log: log of the table
    """

    def __init__(self, log: TableLog, state: TableState) -> None:
        self._log = log
        self._state = state
        self.conditions: Sequence[RowCondition] = tuple(row_conditions(state.metadata, state.protocol))
        """Conditions on rows."""

    def check(self, proofs: RowProofs, data: DeltaFiles, files: Sequence[LiveFile]) -> Iterator[Finding]:
        """Yield the files with rows that do not satisfy a condition, and conditions that cannot be decided.

        :param files: readable files
        """
        proof = proofs.conditions(data, files, self._state.metadata, self.conditions, self._partition_values)
        if not (proof.broken or proof.problems):
            return
        origins = self._origins(proof)
        for broken in proof.broken:
            since = origins.newer(broken.condition, broken.path)
            yield self._placed(broken_condition(broken, since))
        for condition, problem in proof.problems:
            found = not_evaluated(condition, problem)
            yield self._placed(replace(found, version=origins.conditions.get(condition.holder)))

    def _placed(self, finding: Finding) -> Finding:
        """Return a finding with the commit of its version.

        Without a version, the commit that added its file is blamed later.
        """
        if finding.version is None:
            return finding
        log = KeptLog(self._log)
        commit, actions = log.commit_at(finding.version), log.actions_at(finding.version)
        return (
            finding if commit is None else replace(finding, action=shown_action(finding, actions), **commit.provenance)
        )

    def _origins(self, proof: ConditionProof) -> ConditionOrigins:
        try:
            base, commits = self._log.commits_from_start(self._state.version)
            first, before = (0, None) if base is None else (base.version + 1, base.metadata)
            return condition_origins(commits, first, before, {broken.path for broken in proof.broken})
        except (BrokenLogError, MissingFileError):
            return ConditionOrigins({}, {})

    def _partition_values(self) -> PartitionValues:
        """Return the partition values of the live files, by path, as logged."""
        names, version = self._log.list_names(), self._state.version
        base = None if commit_name(0) in names else select_segment(names, earliest_version(names))
        adds = last_adds_after(self._log, base, version, (self._state.files or {}).keys())
        return {path: add.get("partitionValues") or {} for (path, _), add in adds.items()}


#: Findings that VACUUM causes for files of older versions.
_DELETED_BY_VACUUM = frozenset({MISSING.code, DELETION_VECTOR.code})
_MOVED = frozenset({FOREIGN_ROW_ID.code, FOREIGN_COMMIT_VERSION.code})


class DataLevel(LogLevel):
    """Checks the files of one table after its commits.

    :param proofs: reads rows; None at level ``footers``
    :param show_hidden_rows: True to count the rows that queries lose
    """

    reads = True

    def __init__(
        self,
        session: DeltaSession,
        table: OpenTable,
        proofs: RowProofs | None,
        budget: TimeBudget,
        timings: Timings,
        progress: Progress,
        *,
        show_hidden_rows: bool = False,
    ) -> None:
        super().__init__(table, budget, timings, progress)
        self._show_hidden_rows = show_hidden_rows
        self._session = session
        self._proofs = proofs
        self._rewrites: Rewrites | None = None

    def range_audit(self, *, shortcuts: bool) -> RangeAudit:
        self._rewrites = None if self._proofs is None else Rewrites()
        return RangeAudit(
            self._table.log,
            self._table.log_names,
            self._name,
            self._timings,
            self._progress,
            self._budget,
            with_files=True,
            follow=None if self._rewrites is None else self._rewrites.add,
            shortcuts=shortcuts,
        )

    def check_data(self, audit: HistoryAudit, *, newest: bool) -> dict[str, Any]:
        """Check the live files, and add the findings to ``audit``; return the evidence.

        :param newest: True if the last version checked is the newest of the table; otherwise files may be missing
        :raises BrokenLogError: if the log cannot be read
        """
        if not audit.is_readable:
            return {}
        state = audit.state()
        if any(why_undecidable(state)):
            return {}
        files = list(state.live_files)
        tracking = state.row_tracking
        column = tracking.row_id_column if tracking.relied_upon else None
        data = self._session.data_files(self._table.location)
        stored_paths = cache(lambda: KeptLog(self._table.log).stored_paths(state.version))
        schemas = FileSchemas(state.metadata, state.protocol, stored_paths)
        with self._timings.phase("footers"):
            self._progress(f"{self._name}: reading the footers of {counted(len(files), 'file')}")
            has_vectors = any(file.deletion_vector is not None for file in files)
            surveyed = survey_with_statistics(
                data,
                self._table.log.live_statistics(state),
                column,
                schemas,
                FileStatistics(state.metadata, has_vectors=has_vectors),
                self._budget,
                rows_follow=self._proofs is not None,
            )
        found = surveyed.findings
        evidence: dict[str, Any] = {
            "files": len(files),
            "rows": live_rows(files, surveyed),
            "statistics": {
                "compared": surveyed.statistics.compared,
                "not_compared": surveyed.statistics.left_out,
            },
        }
        ids = LiveIds(data, files, surveyed, tracking)
        read = (
            "the footers of all files"
            if surveyed.is_complete
            else f"the footers of {counted(len(surveyed.ids), 'file')}"
        )
        self.given_up = not surveyed.is_complete
        try:
            if tracking.relied_upon and not self.given_up:
                with self._limit():
                    found += ids.check(self._proofs, self._name, self._timings, self._progress)
                evidence |= ids.evidence
                read += " and the row ids in them"
            if self._proofs is not None and not self.given_up:
                if not tracking.relied_upon:  # reading the ids also reads the vectors
                    with self._timings.phase("vectors"):
                        found += check_vectors(data, files, surveyed.rows_of, self._budget)
                self._check_bounds(self._proofs, state, data, surveyed)
                evidence["statistics"]["compared"] = surveyed.statistics.compared
                read += self._check_conditions(self._proofs, state, data, files, surveyed)
            if self._show_hidden_rows and not self.given_up:
                evidence["hidden_rows"] = self._hidden_rows(state.version, found)
        except OutOfTimeError:
            self.given_up = True
        with self._timings.phase("trace"):
            seen = (f for f in found if newest or f.code not in _DELETED_BY_VACUUM)
            audit.add_file_findings(seen, surveyed.rows_of, whole=not self.given_up)
        if self._proofs is not None and tracking.relied_upon and not self.given_up:
            try:
                with self._timings.phase("stability"), self._limit():
                    for finding in self._moved(self._proofs, data, files, surveyed, tracking, evidence):
                        audit.note(finding)
            except OutOfTimeError:
                self.given_up = True
        if self.given_up:
            audit.note(out_of_time_reading(state.version, read, len(files), self._budget.seconds))
        if (repair := surveyed.statistics.repairs.to_answer()) is not None:
            evidence["statistics"]["repair"] = repair
        return evidence | {"statistics": Statistics(**evidence["statistics"])}

    def _hidden_rows(self, version: int, found: Sequence[Finding]) -> tuple[HiddenRows, ...]:
        queries = queries_of(found)
        if queries:
            self._progress(f"{self._name}: counting the rows of {counted(len(queries), 'predicate')}")
        with self._timings.phase("hidden"), self._limit():
            return tuple(hidden_rows(queries, self._table, version, self._proofs))

    def _check_bounds(self, proofs: RowProofs, state: TableState, data: DeltaFiles, surveyed: FooterSurvey) -> None:
        """Compare statistics with rows for the columns that footers do not decide."""
        columns = surveyed.undecided
        if not columns:
            return
        self._progress(f"{self._name}: comparing statistics of {counted(len(columns), 'column')} with rows")
        with self._timings.phase("bounds"), self._limit():
            for column, live_rows, nulls, row_min, row_max in proofs.bounds(data, state.metadata, columns):
                findings = column.compare(live_rows, nulls, row_min, row_max)
                rows = surveyed.rows_of(column.file) or 0
                surveyed.statistics.add_repair(
                    column, findings or (), rows, nulls=nulls, row_min=row_min, row_max=row_max
                )
                if findings is not None:
                    surveyed.findings += findings
                    surveyed.statistics.count_decided(column)

    def _check_conditions(
        self, proofs: RowProofs, state: TableState, data: DeltaFiles, files: Sequence[LiveFile], surveyed: FooterSurvey
    ) -> str:
        """Note problems with the rows themselves; return a phrase about the data that was read."""
        rows = RowConditions(self._table.log, state)
        if not rows.conditions:
            return ""
        conditions = counted(len(rows.conditions), "condition")
        self._progress(f"{self._name}: checking {conditions} on the rows of {counted(len(files), 'file')}")
        with self._timings.phase("conditions"), self._limit():
            surveyed.findings += rows.check(proofs, data, [file for file in files if file.path in surveyed.ids])
        return " and the columns with conditions on rows"

    def _limit(self) -> AbstractContextManager[None]:
        return nullcontext() if self._proofs is None else self._proofs.limited(self._budget)

    def _moved(
        self,
        proofs: RowProofs,
        data: DeltaFiles,
        files: Collection[LiveFile],
        surveyed: FooterSurvey,
        tracking: RowTracking,
        evidence: dict[str, Any],
    ) -> Iterator[Finding]:
        """Yield findings about the ids of rows that commits moved, as far as their files still exist."""
        commits = [] if self._rewrites is None else self._rewrites.leading_to(file.path for file in files)
        evidence["commits_compared"] = len(commits)
        if commits:
            self._progress(f"{self._name}: comparing the rows that {len(commits)} commits moved")
        found = proofs.moved_rows(data, surveyed.ids, tracking.row_id_column, self._budget.each(commits))
        yield from (finding for finding in found if finding.code in _MOVED)


def check_vectors(
    data: DeltaFiles, files: Collection[LiveFile], rows_of: RowCount, budget: TimeBudget
) -> Iterator[Finding]:
    """Yield the files whose deletion vectors cannot be read.

    :param rows_of: returns the number of rows of a file
    :raises OutOfTimeError: if no time is left
    """
    deleting = [file for file in files if file.deletion_vector is not None]
    for file, problem in budget.each(data.read_each(lambda file: _problem(data, file, rows_of), deleting)):
        if isinstance(problem, UnreadFileError):
            yield unread(file.path, problem, vector=True)
        elif problem is not None:
            yield unreadable_vector(file.path, problem)


def _problem(data: DeltaFiles, file: LiveFile, rows_of: RowCount) -> str | Exception | None:
    try:
        data.deleted(file, rows_of(file))
    except MissingFileError:
        return "its file is missing"
    except (BrokenDeletionVectorError, UnreadFileError) as error:
        return error
    return None
