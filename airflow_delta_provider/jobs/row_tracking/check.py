"""The kind ``check-row-tracking``: reads a table, runs the checks, and reports."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from airflow_delta_provider.domain.audit.file_findings import blamed
from airflow_delta_provider.domain.audit.remedies import followable
from airflow_delta_provider.domain.checks.levels import not_checked
from airflow_delta_provider.domain.checks.log.catalog_managed import why_undecidable
from airflow_delta_provider.domain.checks.log.checkpoints import check_checkpoint
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.row_tracking.commits import check_commit
from airflow_delta_provider.domain.checks.row_tracking.keys import find_keys
from airflow_delta_provider.domain.checks.row_tracking.live_files import check_files, check_fresh_ids
from airflow_delta_provider.domain.checks.row_tracking.state import check_enabled, check_state
from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import earliest_version
from airflow_delta_provider.domain.delta.row_tracking import RowTracking
from airflow_delta_provider.domain.rendering.counts import counted
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.check_row_tracking import CheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.delta.log.kept_log import KeptLog
from airflow_delta_provider.jobs.delta.log.table_log import History
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.process.timings import Timings
from airflow_delta_provider.jobs.row_tracking.compared_history import (
    CommitStep,
    ComparedHistory,
    read_compared_history,
    step_of,
)
from airflow_delta_provider.jobs.row_tracking.footer_survey import survey
from airflow_delta_provider.jobs.row_tracking.live_ids import LiveIds
from airflow_delta_provider.jobs.row_tracking.row_proofs import RowProofs


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
            return TableReport.judged(name, *undecidable, **known)
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
            steps = [step_of(transition, self._table.log) for transition in compared.history.transitions]
            findings = [*([compared.lost] if compared.lost else []), *_check_log(compared.history, tracking, steps)]
        findings += self._check_ids(compared, steps, evidence, keys)
        with self._timings.phase("trace"):
            findings = self._traced(findings, files)
        findings = list(
            followable(
                findings,
                oldest=earliest_version(self._table.log_names),
                newest=state.version,
                properties=state.metadata.configuration,
                now=datetime.now(timezone.utc),
            )
        )
        return TableReport.judged(name, *findings, evidence=evidence, **known)

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
