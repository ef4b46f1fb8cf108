"""Counters for Airflow's metrics."""

from __future__ import annotations

from collections import Counter

from airflow.providers.common.compat.sdk import Stats

from airflow_delta_provider.domain.report.job_report import JobReport

#: Name of the counter of findings that stand; tags: ``kind``, ``code``, ``severity``.
FINDINGS = "delta_provider.findings"


def count_findings(report: JobReport) -> None:
    """
    Count the findings that stand, by code and severity.

    A backend without tags (plain StatsD) gets their number only.
    """
    found = Counter(
        (finding.code, finding.severity.value)
        for table in report.tables
        for finding in table.findings
        if finding.is_open
    )
    for (code, severity), count in found.items():
        Stats.incr(FINDINGS, count, tags={"kind": report.kind, "code": code, "severity": severity})
