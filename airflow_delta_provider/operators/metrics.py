"""Metrics of checks, through Airflow's ``Stats``: OpenTelemetry, StatsD or Datadog, as Airflow is configured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

from airflow.providers.common.compat.sdk import Stats

from airflow_delta_provider.domain.report.report import Finding, JobReport, Severity, TableReport, Verdict

#: Counter of open findings; tags: ``kind``, ``code``, ``severity``.
FINDINGS = "delta_provider.findings"
#: Gauge of open findings by ``severity``.
OPEN = "delta_provider.open_findings"
#: Gauge of the seconds since the commit of the oldest open finding, by ``severity``; 0 if there is none.
OLDEST = "delta_provider.oldest_open_finding"
#: Gauge of tables by ``verdict``.
TABLES = "delta_provider.tables"
#: Gauge of the largest number of commits of a table that its audit has not checked.
BEHIND = "delta_provider.commits_behind"


def count_findings(report: JobReport) -> None:
    """Count the open findings, by code and severity.

    A backend without tags (plain StatsD) gets only their number.
    """
    found = Counter((finding.code, finding.severity.value) for finding in _open(report.tables))
    for (code, severity), count in found.items():
        Stats.incr(FINDINGS, count, tags={"kind": report.kind, "code": code, "severity": severity})


def gauge_tables(report: JobReport, instance: Any) -> None:
    """Set the gauges for the state of the tables that a task checked.

    Each gauge also has the tags ``kind``, ``dag_id`` and ``task_id``, and ``map_index`` for a mapped task: tasks do not
    overwrite each other. All severities and verdicts are set, also if there are none.

    :param instance: the task instance
    """
    common = {"kind": report.kind, "dag_id": instance.dag_id, "task_id": instance.task_id}
    if (index := getattr(instance, "map_index", -1)) is not None and index >= 0:
        common["map_index"] = str(index)
    standing = list(_open(report.tables))
    now = datetime.now(timezone.utc)
    for severity in Severity:
        found = [finding for finding in standing if finding.severity is severity]
        tags = {**common, "severity": severity.value}
        Stats.gauge(OPEN, len(found), tags=tags)
        ages = [age for age in (_age(finding, now) for finding in found) if age is not None]
        Stats.gauge(OLDEST, max(ages, default=0), tags=tags)
    verdicts = Counter(table.verdict for table in report.tables)
    for verdict in Verdict:
        Stats.gauge(TABLES, verdicts[verdict], tags={**common, "verdict": verdict.value})
    Stats.gauge(BEHIND, max(map(_behind, report.tables), default=0), tags=common)


def _open(tables: Iterable[TableReport]) -> Iterable[Finding]:
    return (finding for table in tables for finding in table.findings if finding.is_open)


def _age(finding: Finding, now: datetime) -> int | None:
    """Return the seconds since the commit of a finding; None if its time is unknown."""
    try:
        since = datetime.fromisoformat((finding.timestamp or "").replace("Z", "+00:00"))
        return max(int((now - since).total_seconds()), 0)
    except (TypeError, ValueError):  # a writer may put any string into its commit
        return None


def _behind(table: TableReport) -> int:
    newest = (table.evidence or {}).get("newest_version")
    return 0 if newest is None or table.version is None else newest - table.version
