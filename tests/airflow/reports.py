"""Findings and reports that a job would have made."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.report.report import Finding, JobReport, Severity, TableReport

NOW = "2026-01-02T03:04:05+00:00"
ORDERS, RETURNS = "/lake/orders", "/lake/returns"


def finding(code: str = "RT08", severity: Severity = Severity.ERROR, **known: Any) -> Finding:
    """A finding that says where it applies; ``known`` as in :class:`Finding`."""
    told = {
        "message": f"What {code} says. RESTORE the table.",
        "version": 7,
        "writer": "Delta Spark 4.4.0",
        "fingerprint": f"fingerprint of {code}",
        **known,
    }
    return Finding(code, severity, **told)


def report(*findings: Finding, table: str = ORDERS, others: tuple[TableReport, ...] = (), **known: Any) -> JobReport:
    """A report of one table that was looked at, and others."""
    judged = TableReport.of_findings(table, *findings, version=9, **known)
    return JobReport("check-row-tracking", NOW, NOW, (judged, *others), {})
