"""The kind ``audit``: one table's history, checked by every rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.past import find_version_range
from airflow_delta_provider.domain.audit.saved_state import REPORTED_ONCE, AuditState
from airflow_delta_provider.domain.audit.violation import followable
from airflow_delta_provider.domain.audit.waivers import Ownership, Waivers
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.compatibility import SILENT_WRONG_RESULTS
from airflow_delta_provider.domain.checks.log.files import unread_file
from airflow_delta_provider.domain.checks.row_tracking.history import no_such_version
from airflow_delta_provider.domain.checks.rule import not_checked
from airflow_delta_provider.domain.delta.commit import commit_info, parse_commit
from airflow_delta_provider.domain.delta.history_events import HistoryEvents, history_of
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    commit_name,
    commit_versions,
    earliest_version,
    newest_version,
)
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.partial_files import AllFilesNeededError
from airflow_delta_provider.domain.delta.row_condition import row_conditions
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.answers import ABSENT, Evidence
from airflow_delta_provider.domain.report.confirmation import Receipts, ReportedFindings
from airflow_delta_provider.domain.report.report import Finding, Severity, TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions, fleet_of
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.option import time_or_none
from airflow_delta_provider.jobs.audit.range_audit import LogLevel, RangeAudit, run_audit
from airflow_delta_provider.jobs.delta.session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.delta.table_log import commit_times
from airflow_delta_provider.jobs.process import Progress, TimeBudget, Timings
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from airflow_delta_provider.jobs.storage.state_store import StateStore

if TYPE_CHECKING:
    from airflow_delta_provider.jobs.row_tracking.row_proofs import RowProofs


def run(
    session: DeltaSession, text: str, request: JobRequest, progress: Progress, proofs: RowProofs | None = None
) -> TableReport:
    """Audit one table.

    :param proofs: reads rows, for level ``data``
    """
    options = request.options
    assert isinstance(options, AuditOptions)
    table = session.open_table(text)
    return ProtocolAudit(session, table, options, progress, request.receipt, request.received, proofs).run()


class ProtocolAudit:
    """Audits one table.

    :param receipt: receipt of the request; the report carries it if it has to be confirmed
    :param received: confirmed receipts
    :param proofs: reads rows; None if no engine can
    """

    def __init__(
        self,
        session: DeltaSession,
        table: OpenTable,
        options: AuditOptions,
        progress: Progress,
        receipt: str | None = None,
        received: Receipts | None = None,
        proofs: RowProofs | None = None,
    ) -> None:
        self._session = session
        closed = session.files_of(table.location).closed_files("_delta_log", "_delta_log/_sidecars")
        if closed:  # files other than commits may be left out
            names = [name for name in table.log_names if f"_delta_log/{name}" not in closed or commit_versions([name])]
            table = replace(table, log_names=names)
        self._unread = [unread_file(path, error.problem, error.meaning.remedy) for path, error in closed.items()]
        self._table = table
        self._name = table.name.text
        self._log = table.log
        self._options = options
        self._progress = progress
        self._timings = Timings()
        budget = TimeBudget(options.seconds_per_table)
        proofs = proofs if options.needs_rows else None
        self._level = LogLevel(table, budget, self._timings, progress)
        if options.level != "log":
            # Imported late: most audits read only the log.
            from airflow_delta_provider.jobs.audit.data_level import DataLevel

            self._level = DataLevel(
                session,
                table,
                proofs,
                budget,
                self._timings,
                progress,
                show_hidden_rows=options.show_hidden_rows,
            )
        self._store = memory_store(session, options, progress)
        self._receipt = receipt
        self._received = received or {}
        self._stored: AuditState | None = None
        self._failed: Exception | None = None
        self._unsaved: Exception | None = None
        self._metadata: Metadata | None = None

    def run(self) -> TableReport:
        """Check the history up to the newest version that was complete at the start."""
        with self._session.room_for(len(self._table.log_names)):
            try:
                return self._run()
            except AllFilesNeededError as error:
                self._progress(f"{self._name}: the driver reads all files of the checkpoints: {error}")
            self._level.in_tasks = False
            return self._run()

    def _run(self) -> TableReport:
        names = self._table.log_names
        with self._timings.phase("list"):
            last = self._last(names)
        if isinstance(last, Finding):
            return TableReport.refused(self._name, last)
        memory = self._memory(last)
        reads_data = self._level.reads or self._unread
        if memory is not None and memory.version == last and memory.may_stand(names) and not reads_data:
            events = memory.facts.events if memory.facts else None
            known = history_of(memory.state, events or HistoryEvents())
            self._metadata = memory.state.metadata
            findings = self._with_misreads(memory.findings, memory.state)
            return self._report(findings, memory, replace(memory, findings=tuple(findings)), last, history=known)
        try:
            if self._level.reads:
                self._log.keep_commits(names, last)
            with self._timings.phase("commits"):
                run, audit = self._audit_commits(memory, names, last)
            for finding in self._unread:
                audit.note(finding)
            evidence: Mapping[str, Any] = {}
            if self._level.reads and audit.version == last:
                evidence = self._check_data(audit, newest=last == newest_version(names))
            findings = self._followable(audit, names)
            if audit.is_readable:
                findings = self._with_misreads(findings, audit.state())
        except BrokenLogError as error:
            return TableReport.refused(self._name, requests.broken_log(self._name, error))
        now = history = None
        if audit.is_readable:
            history = history_of(audit.state(), audit.events)
            self._metadata = audit.state().metadata
            if audit.version == last and not self._level.given_up and self._failed is None:
                now = self._state(run, audit, findings)
        return self._report(findings, memory, now, audit.version, run, evidence, history)

    def _check_data(self, audit: HistoryAudit, *, newest: bool) -> Mapping[str, Any]:
        """Read the files that the level needs. If that fails, the findings of the commits are still reported.

        :raises BrokenLogError: if the log cannot be read
        """
        try:
            return self._level.check_data(audit, newest=newest)
        except BrokenLogError:
            raise
        except Exception as failure:
            self._failed = failure
            return {}

    def _state(self, run: RangeAudit, audit: HistoryAudit, findings: Sequence[Finding]) -> AuditState | None:
        """Return the state that the next audit continues from; None if it cannot be collected."""
        try:
            facts = None if self._store is None else run.facts(audit)
            return AuditState.of(audit.state(), audit.commit_info, findings, self._options.level, facts)
        except AllFilesNeededError:
            raise
        except Exception as failure:
            self._unsaved = failure
            return None

    def _followable(self, audit: HistoryAudit, names: Sequence[str]) -> list[Finding]:
        """Return the findings of an audit, with remedies that can be followed on this table."""
        return list(
            followable(
                audit.findings(),
                table=self._table.name.sql,
                oldest=earliest_version(names),
                newest=newest_version(names),
                properties=audit.state().metadata.configuration if audit.is_readable else {},
                now=datetime.now(timezone.utc),
            )
        )

    def _audit_commits(
        self, memory: AuditState | None, names: Sequence[str], last: int
    ) -> tuple[RangeAudit, HistoryAudit]:
        """Continue from the end of the previous audit, or check the whole history if that is impossible.

        :raises BrokenLogError: if the log yields no state
        """
        since = self._options.since_version

        def start(run: RangeAudit) -> HistoryAudit:
            if memory is not None and (since is None or run.leads_on(memory, last)):
                return run.go_on(replace(memory, findings=tuple(_about_history(memory.findings))), last)
            wanted = find_version_range(names, last, since)
            return run.run(wanted, known=wanted.base is not None and wanted.base.version == since)

        return run_audit(self._level.range_audit, start, self._progress)

    def _last(self, names: Sequence[str]) -> int | Finding:
        """Return the last version to check, or a finding if there is none."""
        options = self._options
        newest = newest_version(names)
        for asked in (options.version, options.since_version):
            if asked is not None and asked > newest:
                return no_such_version(asked, newest)
        if options.timestamp is not None:
            return self._version_at(options.timestamp, names)
        return newest if options.version is None else options.version

    def _version_at(self, text: str, names: Sequence[str]) -> int | Finding:
        """Return the newest version that is not later than a time, or a finding if there is none."""
        time = time_or_none("timestamp", text)
        versions = commit_versions(names)
        found = None if time is None else self._last_until(time, versions)
        if found is not None:
            return found
        return requests.NO_SUCH_VERSION.found(
            "No version that the log still has is as old as {timestamp}; its oldest commit is version {oldest}.",
            remedy="Give a later time, or a version.",
            timestamp=text,
            oldest=versions[0] if versions else None,
        )

    def _last_until(self, time: datetime, versions: Sequence[int]) -> int | None:
        """Return the newest version that is not later than a time; None if all are later.

        Times increase, except at the first in-commit timestamp: earlier ones come from the clocks of writers.
        """
        found, ends_in_commit = None, any(made.is_in_commit for made in commit_times(self._log, versions[-1:]))
        for made in commit_times(self._log, versions):
            if made.time <= time:
                found = made.version
            elif made.is_in_commit or not ends_in_commit:
                break
        return found

    def _memory(self, last: int) -> AuditState | None:
        """Return the saved state of the previous audit, if it was of the same table and level."""
        memory = None if self._store is None else self._store.load(self._table.location)
        if memory is None or memory.level != self._options.level:
            return None
        self._stored = memory
        if memory.version > last:
            return None
        name = commit_name(memory.version)
        if name not in self._table.log_names:  # it was cleaned up; the table is identified by its id
            return memory if memory.version < last else None
        try:
            same = dict(commit_info(parse_commit(name, self._log.read_file(name)))) == dict(memory.commit_info)
        except (MissingFileError, BrokenLogError):
            return None
        return memory if same else None

    def _report(
        self,
        findings: list[Finding],
        before: AuditState | None,
        now: AuditState | None,
        version: int,
        run: RangeAudit | None = None,
        evidence: Mapping[str, Any] | None = None,
        history: Mapping[str, Any] | None = None,
    ) -> TableReport:
        """Return the report, and save the state.

        :param before: state that this audit continued from
        :param now: state that the next audit continues from; None if this audit was incomplete
        """
        options = self._options
        known = (
            ReportedFindings() if self._stored is None else self._stored.reported.received(self._received, self._name)
        )
        compared = known.compare(findings, before.findings if before else (), whole=now is not None, once=REPORTED_ONCE)
        ownership = next(filter(lambda entry: entry.fits(self._name), map(Ownership.parse, options.ownership)), None)
        found = self._naming_engines(compared.findings if self._store is not None else findings)
        weighed = found if ownership is None else ownership.weigh(found)
        wanted = [f for f in weighed if not options.rules or f.code in options.rules]
        waived = Waivers.parse(options.waivers).apply(wanted, self._name, datetime.now(timezone.utc).date())
        receipt = None
        if self._store is not None:
            waived = compared.with_status(waived)
            receipt = self._remember(now or before, compared.reported(waived, self._receipt))
        evidence = Evidence(
            level=options.level,
            first_version=run.first if run else None,
            commits=run.commits if run else 0,
            not_checked=tuple(not_checked(options.level, has_conditions=_has_conditions(now or before))),
            newest_version=newest if (newest := newest_version(self._table.log_names)) > version >= 0 else ABSENT,
            owner=ABSENT if ownership is None or ownership.owner is None else ownership.owner,
            **(run.checkpoints.left_out if run else {}),
            **(evidence or {}),
        ).to_json()
        seen: dict[str, Any] = {"version": version if version >= 0 else None, "timings": self._timings}
        seen["history"] = history
        report = TableReport.of_findings(self._name, *waived, evidence=evidence, receipt=receipt, **seen)
        if options.fail_on == "warning" and any(f.is_open and f.severity is Severity.WARNING for f in waived):
            report = replace(report, verdict=Verdict.VIOLATED)
        return self._with_failures(report)

    def _naming_engines(self, findings: Sequence[Finding]) -> list[Finding]:
        if not findings:
            return []
        # Imported late: most audits find nothing, and need no profiles of engines.
        from airflow_delta_provider.domain.audit.affected_engines import naming_engines

        fleet = None
        if self._options.fleet is not None:
            fleet = fleet_of(self._options.fleet, self._table.name, self._table.location)
        return list(naming_engines(findings, self._metadata, fleet))

    def _with_misreads(self, findings: Iterable[Finding], state: TableState) -> list[Finding]:
        """Return findings, with new ones about engines of the fleet that misread the table, as it is now."""
        kept = list(_about_history(findings))
        options = self._options
        if options.fleet is None or (options.rules and SILENT_WRONG_RESULTS.code not in options.rules):
            return kept
        # Imported late: most audits know no engines.
        from airflow_delta_provider.jobs.delta.engines import misreads_of

        fleet = fleet_of(options.fleet, self._table.name, self._table.location)
        files = self._session.data_files(self._table.location)
        with self._timings.phase("engines"):
            # An audit that resumed knows only the files that were added since.
            return [*kept, *misreads_of(self._log, files, replace(state, files=None), fleet)]

    def _with_failures(self, report: TableReport) -> TableReport:
        """Add errors that occurred after the commits were checked. They hide no finding."""
        understand = self._session.understand
        if self._unsaved is not None:
            report = replace(report, findings=(*report.findings, understand(self._unsaved).not_saved()))
        if self._failed is None:
            return report
        failed = understand(self._failed)
        found = (failed.finding(), *report.findings)
        return replace(report, verdict=failed.verdict, retryable=failed.retryable, findings=found)

    def _remember(self, memory: AuditState | None, reported: ReportedFindings) -> str | None:
        """Save the state for the next audit; return the receipt if it has to be confirmed."""
        if self._store is None or memory is None:
            return None
        memory = replace(memory, reported=reported)
        if memory != self._stored:
            try:
                self._store.save(self._table.location, memory)
            except Exception as failure:
                self._unsaved = failure
                return None
        return self._receipt if reported.waits_for(self._receipt) else None


def _about_history(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings without those about engines: each audit finds these again, for its fleet."""
    return (finding for finding in findings if finding.code != SILENT_WRONG_RESULTS.code)


def _has_conditions(memory: AuditState | None) -> bool:
    return memory is not None and any(row_conditions(memory.state.metadata, memory.state.protocol))


def memory_store(session: DeltaSession, options: AuditOptions, progress: Progress) -> StateStore[AuditState] | None:
    """Return the store for saved states; None without a state path.

    Each level has its own states, because other levels find other problems.
    """
    if options.state_path is None:
        return None
    variant = "" if options.level == "log" else options.level
    return StateStore(session.storage, options.state_path, progress, AuditState.from_json, variant)
