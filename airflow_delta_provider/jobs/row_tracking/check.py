"""The kind ``check-row-tracking``: reads a table, runs the checks, and reports."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from airflow_delta_provider.domain.audit.file_findings import blamed
from airflow_delta_provider.domain.audit.violation import followable
from airflow_delta_provider.domain.checks.log.checkpoints import check_checkpoint
from airflow_delta_provider.domain.checks.log.history import why_undecidable
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.row_tracking.commits import check_commit
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import AssignedIds, in_order, trusted_mark
from airflow_delta_provider.domain.checks.row_tracking.keys import find_keys
from airflow_delta_provider.domain.checks.row_tracking.live_files import check_files, check_fresh_ids
from airflow_delta_provider.domain.checks.row_tracking.row_ids import impossible_bounds
from airflow_delta_provider.domain.checks.row_tracking.state import check_enabled, check_state
from airflow_delta_provider.domain.checks.rule import not_checked
from airflow_delta_provider.domain.delta.data_type import Column
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import earliest_version
from airflow_delta_provider.domain.delta.row_tracking import RowTracking
from airflow_delta_provider.domain.report.answers import Evidence
from airflow_delta_provider.domain.report.report import Finding, TableReport
from airflow_delta_provider.domain.request.check_options import CheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.text import counted
from airflow_delta_provider.jobs.delta.kept_log import KeptLog
from airflow_delta_provider.jobs.delta.session import DeltaFiles, DeltaSession, OpenTable
from airflow_delta_provider.jobs.delta.table_log import History
from airflow_delta_provider.jobs.process import Progress, Timings
from airflow_delta_provider.jobs.row_tracking.row_proofs import (
    CommitStep,
    ComparedHistory,
    FooterSurvey,
    RowProofs,
    read_compared_history,
    step_of,
    survey,
)


class LiveIds:
    """Checks the row ids of live files whose footers were read.

    :param files: files of a table whose row tracking is relied upon
    """

    def __init__(
        self, data: DeltaFiles, files: Collection[LiveFile], surveyed: FooterSurvey, tracking: RowTracking
    ) -> None:
        self._data = data
        self._files = files
        self._surveyed = surveyed
        self._tracking = tracking
        self._ids_read = 0
        self._holding = [f for f in files if f.path in surveyed.ids and not surveyed.ids[f.path].all_fresh]

    @property
    def evidence(self) -> dict[str, Any]:
        """The extent of the check."""
        return {
            "rows": live_rows(self._files, self._surveyed),
            "files_with_materialized_ids": len(self._holding),
            "materialized_ids_read": self._ids_read,
        }

    def check(self, proofs: RowProofs | None, name: str, timings: Timings, progress: Progress) -> list[Finding]:
        """Return problems with materialized ids.

        :param proofs: reads rows; None at level ``footers``
        :param name: name of the table, for messages
        """
        if proofs is None:
            return list(self._impossible_bounds())
        with timings.phase("ids"):
            if self._holding:
                progress(f"{name}: reading the row ids in {len(self._holding)} of them")
            proof = proofs.unique_ids(self._data, self._files, self._surveyed, self._tracking)
        self._ids_read = proof.ids_read
        return proof.findings

    def _impossible_bounds(self) -> Iterator[Finding]:
        """Yield findings for files whose statistics show impossible ids.

        Files with deleted rows are skipped: the deleted rows may have these ids.
        """
        mark = trusted_mark(in_order(self._files), self._surveyed.rows_of, self._tracking.high_water_mark)
        for file in self._files:
            ids = self._surveyed.ids.get(file.path)
            if ids is None or file.deletion_vector is not None or ids.minimum is None or ids.maximum is None:
                continue
            if ids.minimum < 0 or (mark is not None and ids.maximum > mark):
                yield impossible_bounds(file.path, ids.minimum, ids.maximum, mark)


def live_rows(files: Collection[LiveFile], surveyed: FooterSurvey) -> int:
    """Return the number of rows of files, without rows that deletion vectors delete."""
    deleted = sum(file.deleted_rows for file in files)
    return sum(surveyed.rows_of(file) or 0 for file in files) - deleted


def run(
    session: DeltaSession, text: str, request: JobRequest, progress: Progress, proofs: RowProofs | None = None
) -> TableReport:
    """Check row tracking of one table.

    :param proofs: reads rows, for level ``data``
    """
    options = request.options
    assert isinstance(options, CheckRowTrackingOptions)
    return RowTrackingCheck(session, session.open_table(text), options, progress, proofs).run()


class RowTrackingCheck:
    """Checks row tracking of one table."""

    def __init__(
        self,
        session: DeltaSession,
        table: OpenTable,
        options: CheckRowTrackingOptions,
        progress: Progress,
        proofs: RowProofs | None = None,
    ) -> None:
        self._session = session
        self._table = table
        self._options = options
        self._progress = progress
        self._proofs = proofs if options.needs_rows else None
        self._timings = Timings()

    def run(self) -> TableReport:
        """Check the newest version of the table.

        :raises BrokenLogError: if the log is damaged
        """
        name = self._table.name.text
        with self._timings.phase("read"):
            compared = read_compared_history(self._table.log, self._options.compare_to_version)
        state = compared.history.state
        known: dict[str, Any] = {"version": state.version, "timings": self._timings}
        if undecidable := list(why_undecidable(state)):
            return TableReport.of_findings(name, *undecidable, **known)
        keys, refusals = find_keys(self._options.key_columns, state.metadata)
        if refused := [*([compared.refusal] if compared.refusal else []), *refusals]:
            return TableReport.refused(name, *refused, **known)
        tracking = state.row_tracking
        files = state.live_files
        evidence: dict[str, Any] = {
            "level": self._options.level,
            "files": len(files),
            "row_id_high_water_mark": tracking.high_water_mark,
            "compare_to_version": self._options.compare_to_version,
            "not_checked": not_checked(self._options.level),
        }
        with self._timings.phase("rules"):
            log = KeptLog(self._table.log)
            assigned = AssignedIds(log.files_between)
            steps = [step_of(transition, log, assigned) for transition in compared.history.transitions]
            findings = [*([compared.lost] if compared.lost else []), *_check_log(compared.history, tracking, steps)]
        findings += self._check_ids(compared, steps, evidence, keys)
        with self._timings.phase("trace"):
            findings = self._traced(findings, files)
        findings = list(
            followable(
                findings,
                table=self._table.name.sql,
                oldest=earliest_version(self._table.log_names),
                newest=state.version,
                properties=state.metadata.configuration,
                now=datetime.now(timezone.utc),
            )
        )
        return TableReport.of_findings(name, *findings, evidence=Evidence(**evidence).to_json(), **known)

    def _check_ids(
        self, compared: ComparedHistory, steps: Sequence[CommitStep], evidence: dict[str, Any], keys: Sequence[Column]
    ) -> list[Finding]:
        """Check the ids of rows as far as the level requires. Files are read only if row ids may be relied upon."""
        state = compared.history.state
        tracking, files = state.row_tracking, state.live_files
        if self._options.level == "log" or not tracking.relied_upon:
            return list(check_fresh_ids(state, tracking, lambda file: file.num_records))
        name = self._table.name.text
        data = self._session.data_files(self._table.location)
        with self._timings.phase("footers"):
            self._progress(f"{name}: reading the footers of {counted(len(files), 'file')}")
            surveyed = survey(data, files, tracking.row_id_column)
            findings = [*surveyed.findings, *check_fresh_ids(state, tracking, surveyed.rows_of)]
        ids = LiveIds(data, files, surveyed, tracking)
        findings += ids.check(self._proofs, name, self._timings, self._progress)
        evidence |= ids.evidence
        since = self._options.compare_to_version
        if self._proofs is not None and since is not None and compared.comparable:
            with self._timings.phase("stability"):
                findings += self._proofs.changes_since(
                    since, self._table, steps, state, data, surveyed, keys, self._progress
                )
        return findings

    def _traced(self, findings: list[Finding], files: Collection[LiveFile]) -> list[Finding]:
        """Return the findings with the commits that added their files, if they do not name one themselves."""
        return [
            finding if addition is None else replace(finding, **addition.commit.provenance)
            for finding, addition in blamed(findings, files, KeptLog(self._table.log))
        ]


def _check_log(history: History, tracking: RowTracking, steps: list[CommitStep]) -> Iterator[Finding]:
    if history.replayed is not None:
        hint = "The remaining findings refer to the checkpoint's version of the table."
        for finding in check_checkpoint(history.state, history.replayed, history.segment):
            yield RULES[finding.code].worded(replace(finding, evidence=f"{finding.evidence} {hint}"))
    yield from check_enabled(tracking)
    yield from check_state(history.state, tracking)
    yield from check_files(history.state, tracking)
    for step in steps:
        yield from check_commit(step.transition, step.earlier)
