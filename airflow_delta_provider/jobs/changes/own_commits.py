"""The commits of a task run to a table, including earlier tries that died before they could report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from airflow_delta_provider.domain.audit.version_range import find_version_range
from airflow_delta_provider.domain.delta.commit import Action, commit_info, provenance_of
from airflow_delta_provider.domain.delta.log_files import earliest_version, newest_version
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.value import time_or_none
from airflow_delta_provider.jobs.audit.judging import Judging, judged
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.delta.log.table_log import TableLog
from airflow_delta_provider.jobs.process.progress import silent
from airflow_delta_provider.jobs.process.time_budget import TimeBudget
from airflow_delta_provider.jobs.process.timings import Timings

#: Allowed difference between clocks.
_MARGIN = timedelta(hours=1)
#: Consecutive commits older than the run that end the search: a single one may have a wrong timestamp.
_OLDER = 100


def earlier_commits(log: TableLog, labels: Mapping[str, Any], retry_since: str | None) -> list[int]:
    """Return the versions that earlier tries committed, oldest first; none if this is the first try.

    :param labels: labels of the task run
    :param retry_since: start of the task run, ISO 8601; None for the first try

    A task that was cleared runs with its earlier labels. Its earlier commits also count: if its last try died, they
    were not reported. Damaged commits are skipped.
    """
    since = time_or_none("retry_since", retry_since)
    if since is None or not labels:
        return []
    found, older = [], 0
    for version, actions in log.newest_commits():
        if is_own(actions, labels):
            found.append(version)
        older = older + 1 if _made_before(actions, since - _MARGIN) else 0
        if older == _OLDER:
            break
    return sorted(found)


def plan_digest_of(actions: Iterable[Action]) -> str | None:
    """Return the digest of the plan that a commit of this provider belongs to; None for another commit."""
    try:
        written = json.loads(commit_info(actions).get("userMetadata") or "null")
    except ValueError:
        return None
    return written.get("plan_digest") if isinstance(written, dict) else None


def is_own(actions: Iterable[Action], labels: Mapping[str, Any]) -> bool:
    """Return True if a commit has all labels of this run. Another run may carry out the same plan."""
    try:
        written = json.loads(commit_info(actions).get("userMetadata") or "null")
    except ValueError:
        return False
    return isinstance(written, dict) and labels.items() <= written.items()


def _made_before(actions: Iterable[Action], time: datetime) -> bool:
    made = time_or_none("timestamp", provenance_of(commit_info(actions))["timestamp"])
    return made is not None and made < time


def audited(table: OpenTable, before: TableState, commits: Mapping[int, list[Action]]) -> Iterator[Finding]:
    """Yield the rules of the log that this run's commits broke; nothing if their history was truncated."""
    names = table.log.list_names()
    first = earliest_version(names)
    if not commits or first is None or first > before.version:
        return
    wanted = find_version_range(names, newest_version(names), before.version)
    made = partial(Judging, table.log, names, table.name.text, Timings(), silent, TimeBudget(None))
    _, audit = judged(made, lambda judging: judging.judge(wanted, known=True), silent)
    yield from (finding for finding in audit.findings() if finding.version in commits and finding.is_open)
