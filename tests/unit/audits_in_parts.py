"""Audits that go on from what earlier ones remembered, beside audits of the whole history."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

from pyarrow import ArrowException

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.past import find_version_range
from airflow_delta_provider.domain.audit.saved_state import AuditState
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.report.report import Finding, Severity, TableReport, Verdict
from airflow_delta_provider.jobs.audit.range_audit import RangeAudit
from airflow_delta_provider.jobs.process import TimeBudget, Timings, silent
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from tests.unit.checkpoint_builder import as_json, as_parquet, classic_name, reconciled, uuid_name, v2_metadata
from tests.unit.local_table import open_log
from tests.unit.log_builder import Actions, Table

#: When each file of the log was written, in milliseconds since 1970: in the days of the histories.
WRITTEN = 1_790_000_100_000
#: What has to be the same of a finding.
Seen = tuple[Any, ...]


class Kept(LocalStorage):
    """A log in memory."""

    def __init__(self, commits: Sequence[Actions]) -> None:
        super().__init__()
        self.files = {commit_name(version): content_of(actions) for version, actions in enumerate(commits)}

    def list_names(self, directory: str) -> list[str]:
        return sorted(self.files)

    def read(self, path: str) -> bytes:
        try:
            return self.files[path.rsplit("/", 1)[-1]]
        except KeyError:
            raise MissingFileError(path) from None

    def size(self, path: str) -> int:
        return len(self.read(path))

    def written_at(self, path: str) -> datetime:
        return datetime.fromtimestamp(WRITTEN / 1000, timezone.utc)

    def checkpoint(self, table: Table, version: int) -> str:
        """Write a checkpoint, and return its name."""
        name, actions = classic_name(version), reconciled(table.commits[: version + 1])
        try:
            self.files[name] = as_parquet(actions)
        except (ArrowException, TypeError):  # damaged so that only JSON can hold it
            name = uuid_name(version)
            self.files[name] = as_json([v2_metadata(version), *actions])
        return name

    def clean_up(self, table: Table, first: int) -> Kept:
        """Keep the commits from a version on, and a checkpoint of that."""
        self.checkpoint(table, first)
        for version in range(first):
            del self.files[commit_name(version)]
        return self


def content_of(actions: Actions) -> bytes:
    return "".join(f"{json.dumps(action)}\n" for action in actions).encode()


def audit_of(storage: Kept, memory: AuditState | None = None) -> tuple[HistoryAudit, RangeAudit]:
    """Audit a log, from where an earlier audit ended."""
    log = open_log(storage, "file:/t")
    names = log.list_names()
    last = max(int(name[:20]) for name in names if name[:20].isdecimal())
    run = RangeAudit(log, names, "t", Timings(), silent, TimeBudget(None))
    return run.run(find_version_range(names, last)) if memory is None else run.go_on(memory, last), run


def told(storage: Kept, memory: AuditState | None = None) -> tuple[list[Finding], AuditState, RangeAudit]:
    """Audit a log; return the findings, what is remembered, and how they came about."""
    audit, run = audit_of(storage, memory)
    findings = audit.findings()
    kept = AuditState.of(audit.state(), audit.commit_info, findings, "log", run.facts(audit))
    return findings, AuditState.from_json(json.loads(json.dumps(kept.to_json()))), run


def audited_in_parts(commits: Sequence[Actions], *ends: int) -> list[Finding]:
    """Audit a history several times while it grows: up to each of ``ends``, then up to its end."""
    memory: AuditState | None = None
    found: list[Finding] = []
    for end in (*ends, len(commits) - 1):
        found, memory, _ = told(Kept(commits[: end + 1]), memory)
    return found


def verdict(findings: Sequence[Finding]) -> Verdict:
    return TableReport.of_findings("t", *findings, version=0).verdict


def seen(findings: Iterable[Finding], since: int) -> set[Seen]:
    """What findings say of what stands, or was healed after a version."""
    return {_seen(f) for f in findings if f.healed_version is None or f.healed_version > since}


def _seen(finding: Finding) -> Seen:
    what = finding.code, finding.severity, finding.is_open, finding.healed_version
    if finding.healed_version is not None and finding.severity is Severity.WARNING:
        return what  # all of a rule are told as one, from the first on, though that may be healed for long
    return (*what, finding.version, finding.fingerprint)


def differences(whole: Callable[[int], Sequence[Finding]], commits: Sequence[Actions], *ends: int) -> list[Any]:
    """Audit a history up to each of ``ends``, one going on from the other; return what is not as in audits of all."""
    memory: AuditState | None = None
    wrong: list[Any] = []
    before = -1
    for end in ends:
        found, memory, _ = told(Kept(commits[: end + 1]), memory)
        ours, theirs = seen(found, before), seen(whole(end), before)
        if ours != theirs or verdict(found) is not verdict(whole(end)):
            wrong.append((ends, end, {"only in parts": ours - theirs, "only as a whole": theirs - ours}))
        before = end
    return wrong


def whole_audits(commits: Sequence[Actions]) -> Callable[[int], Sequence[Finding]]:
    """Return what gives the findings of an audit of all commits up to a version."""
    known: dict[int, Sequence[Finding]] = {}

    def whole(end: int) -> Sequence[Finding]:
        if end not in known:
            known[end] = told(Kept(commits[: end + 1]))[0]
        return known[end]

    return whole
