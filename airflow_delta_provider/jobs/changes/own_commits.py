"""Checking the commits of a run by every rule of the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_delta_provider.domain.audit.version_range import find_version_range
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.log_files import earliest_version, newest_version
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.audit.judging import Judging
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.process.progress import silent
from airflow_delta_provider.jobs.process.time_budget import TimeBudget
from airflow_delta_provider.jobs.process.timings import Timings


def audited(table: OpenTable, before: TableState, commits: Mapping[int, list[Action]]) -> Iterator[Finding]:
    """Yield the rules of the log that commits of this run broke; nothing if their history was truncated."""
    names = table.log.list_names()
    first = earliest_version(names)
    if not commits or first is None or first > before.version:
        return
    wanted = find_version_range(names, newest_version(names), before.version)
    audit = Judging(table.log, names, table.name.text, Timings(), silent, TimeBudget(None)).judge(wanted, known=True)
    yield from (finding for finding in audit.findings() if finding.version in commits and finding.is_open)
