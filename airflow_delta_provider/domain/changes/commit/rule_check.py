"""Checks of an intended commit by every rule of the audit, on the version that it follows."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.past_log import PastLog
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.delta.commit import parse_commit
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.report.finding import Finding


def check_commit(table: str, base: CommitBase, lines: Sequence[str], log: PastLog) -> tuple[Finding, ...]:
    """Return a refusal for each rule that a commit would break.

    Problems of earlier versions do not count.

    :param lines: lines of the commit file, as they would be written
    :raises BrokenLogError: if they are not a commit
    """
    audit = HistoryAudit(Replay.of(base.state), base.state, log, known=True, previous=base.previous)
    return _refusals(audit, base.state.version + 1, lines, f"The commit to {table}")


def check_first_commit(lines: Sequence[str]) -> tuple[Finding, ...]:
    """Return a refusal for each rule that the first commit of a table would break."""
    return _refusals(HistoryAudit(Replay(with_files=True)), 0, lines, "The table")


def _refusals(audit: HistoryAudit, version: int, lines: Sequence[str], what: str) -> tuple[Finding, ...]:
    audit.take(version, parse_commit(commit_name(version), "\n".join(lines).encode()))
    return tuple(
        requests.WOULD_BREAK_RULES.found(
            "{what} would break the rule {subject}: {said}",
            column=finding.column,
            subject=finding.code,
            what=what,
            said=Prose(finding.evidence or finding.message),
        )
        for finding in audit.findings()
        if finding.healed_version is None
    )
