"""The kind ``audit``: one table's history, judged by every rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from airflow_delta_provider.domain.audit.beside import (
    check_checkpoint,
    check_pointer,
    damaged_checkpoint,
    damaged_commit,
)
from airflow_delta_provider.domain.audit.checksums import check_checksum
from airflow_delta_provider.domain.audit.history import HistoryAudit, LogMemory
from airflow_delta_provider.domain.audit.span import Span, find_span
from airflow_delta_provider.domain.audit.waivers import Waivers
from airflow_delta_provider.domain.delta.checksum import checksum_name
from airflow_delta_provider.domain.delta.commit import Commit, parse_commit
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    checkpoint_versions,
    commit_name,
    commit_versions,
    select_segment,
)
from airflow_delta_provider.domain.delta.table_state import Replay, TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Severity, Verdict
from airflow_delta_provider.domain.request.arguments import time_or_none
from airflow_delta_provider.domain.request.audit import AuditOptions
from airflow_delta_provider.domain.row_tracking.stability_rules import no_such_version
from airflow_delta_provider.domain.rules import requests
from airflow_delta_provider.jobs.delta_session import OpenTable
from airflow_delta_provider.jobs.progress import Progress
from airflow_delta_provider.jobs.table_log import TableLog
from airflow_delta_provider.jobs.timings import Timings

_POINTER = "_last_checkpoint"
#: Commits between two lines of progress.
_STEP = 5000


class KeptLog(LogMemory):
    """What the log of a table still tells of the time before the commits that are judged."""

    def __init__(self, log: TableLog) -> None:
        self._log = log

    def state_at(self, version: int) -> TableState | None:
        """Return a state with its files, None where the log no longer has it."""
        try:
            return self._log.read_state(with_files=True, version=version)
        except (BrokenLogError, FileNotFoundError):
            return None

    def added_before(self, version: int, paths: Sequence[str]) -> frozenset[str]:
        """Return those of ``paths`` that a commit before ``version`` added or removed."""
        return frozenset(self._log.added_before(version, paths))

    def commit_that_added(self, file: LiveFile) -> Commit | None:
        """Return the oldest kept commit that added a file with the row ids that it has, None if none is kept."""
        try:
            return self._log.commit_that_added(file)
        except BrokenLogError:
            return None


class ProtocolAudit:
    """Audits one table."""

    def __init__(self, table: OpenTable, options: AuditOptions, progress: Progress) -> None:
        self._name = table.name.text
        self._log = table.log
        self._options = options
        self._progress = progress
        self._timings = Timings()

    def run(self) -> TableReport:
        """Judge the history up to the newest version that was complete when this began."""
        try:
            with self._timings.phase("list"):
                names = self._log.list_names()
                last = self._last(names)
                if isinstance(last, Finding):
                    return TableReport.refused(self._name, last)
                span = find_span(names, last, self._options.since_version)
        except BrokenLogError as error:
            return TableReport.refused(self._name, requests.broken_log(self._name, error))
        with self._timings.phase("commits"):
            audit, judged = self._judge(span, names)
        findings = [*audit.findings()]
        return self._report(findings, span, audit.version, judged)

    def _last(self, names: Sequence[str]) -> int | Finding:
        """Return the version up to which to judge, or why there is none."""
        options = self._options
        newest = max([*commit_versions(names), *checkpoint_versions(names)])
        for asked in (options.version, options.since_version):
            if asked is not None and asked > newest:
                return no_such_version(asked, newest)
        if options.timestamp is not None:
            return self._version_at(options.timestamp, names)
        return newest if options.version is None else options.version

    def _judge(self, span: Span, names: Sequence[str]) -> tuple[HistoryAudit, int]:
        """Judge the commits of ``span``; return the audit, and how many it judged."""
        audit = self._begin(span)
        for finding in (*span.findings, *self._pointer(names)):
            audit.note(finding)
        present = set(names)
        checkpoints = [v for v in checkpoint_versions(names) if span.first <= v <= span.last]
        versions = [v for v in range(span.first, span.last + 1) if commit_name(v) in present]
        judged = 0
        files = self._log.read_files([name for v in versions for name in _files_of(v, present)])
        for version in versions:
            content = next(files)
            checksum = next(files) if checksum_name(version) in present else None
            if version <= audit.version:
                continue  # behind a damaged commit, up to the checkpoint that it went on from
            try:
                audit.take(version, parse_commit(commit_name(version), content))
            except BrokenLogError as error:
                audit.note(damaged_commit(version, error))
                if not self._resume(audit, version, names, span.last):
                    break
                continue
            judged += 1
            if checksum is not None:
                for finding in check_checksum(version, checksum, audit):
                    audit.note(finding)
            if checkpoints and version == checkpoints[-1]:
                for finding in self._compare_checkpoint(audit, names, version):
                    audit.note(finding)
            if judged % _STEP == 0:
                self._progress(f"{self._name}: {judged} of {len(versions)} commits judged")
        return audit, judged

    def _begin(self, span: Span) -> HistoryAudit:
        if span.base is None:
            return HistoryAudit(Replay(with_files=True), log=KeptLog(self._log))
        replay = self._log.replay(span.base)
        base = replay.state(span.base.version)
        since = self._options.since_version
        return HistoryAudit(replay, base, KeptLog(self._log), known=since is not None and since == base.version)

    def _resume(self, audit: HistoryAudit, damaged: int, names: Sequence[str], last: int) -> bool:
        """Go on from the next checkpoint behind a damaged commit; return whether there is one."""
        for version in (v for v in checkpoint_versions(names) if damaged <= v <= last):
            segment = select_segment([name for name in names if name[:20] == f"{version:020d}"], version)
            try:
                replay = self._log.replay(segment)
                audit.resume(replay, replay.state(version))
            except BrokenLogError as error:
                audit.note(damaged_checkpoint(version, error))
                continue
            return True
        return False

    def _compare_checkpoint(self, audit: HistoryAudit, names: Sequence[str], version: int) -> Iterator[Finding]:
        """Yield how the newest checkpoint differs from the commits that it stands for."""
        segment = select_segment([name for name in names if name[:20] == f"{version:020d}"], version)
        try:
            state = audit.state()
            with self._timings.phase("checkpoint"):
                checkpointed = self._log.replay(replace(segment, commits=()), like=state).state(version)
        except BrokenLogError as error:
            yield damaged_checkpoint(version, error)
            return
        yield from check_checkpoint(checkpointed, state, segment.checkpoint_files[0])

    def _pointer(self, names: Sequence[str]) -> Iterator[Finding]:
        if _POINTER in names:
            yield from check_pointer(self._log.read_file(_POINTER), checkpoint_versions(names))

    def _version_at(self, text: str, names: Sequence[str]) -> int | Finding:
        """Return the newest version that is not later than a time, or that there is none."""
        time = time_or_none("timestamp", text)
        versions = commit_versions(names)
        low, high = 0, len(versions)
        while low < high:
            middle = (low + high) // 2
            commit = Commit.from_actions(versions[middle], self._log.read_commit(commit_name(versions[middle])))
            made = time_or_none("timestamp", commit.provenance["timestamp"])
            if made is not None and time is not None and made <= time:
                low = middle + 1
            else:
                high = middle
        if low:
            return versions[low - 1]
        return requests.NO_SUCH_VERSION.finding(
            f"No version that the log still has is as old as {text}. The oldest commit is that of version "
            f"{versions[0] if versions else None}. Give a later time, or a version."
        )

    def _report(self, findings: list[Finding], span: Span, version: int, judged: int) -> TableReport:
        options = self._options
        wanted = [f for f in findings if not options.rules or f.code in options.rules]
        waived = Waivers.parse(options.waivers).apply(wanted, self._name, datetime.now(timezone.utc).date())
        evidence: dict[str, Any] = {
            "level": options.level,
            "first_version": span.first if judged else None,
            "commits": judged,
        }
        report = TableReport.judged(self._name, *waived, version=version, evidence=evidence, timings=self._timings)
        if options.fail_on == "warning" and any(f.stands and f.severity is Severity.WARNING for f in waived):
            return replace(report, verdict=Verdict.VIOLATED)
        return report


def _files_of(version: int, present: set[str]) -> list[str]:
    names = [commit_name(version), checksum_name(version)]
    return [name for name in names if name in present]
