"""Asset events of the tables that a job changed, or found to have changed for the better or the worse."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from typing import Any

from airflow.providers.common.compat.sdk import AssetAlias, Context

from airflow_delta_provider.assets import table_asset
from airflow_delta_provider.domain.report.finding import Finding, Status
from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.request.table_name import TableNameError

#: Codes that the extra of an event lists.
MAX_CODES = 20


def add_asset_events(context: Context, outlets: Iterable[Any], report: JobReport, log: logging.Logger) -> None:
    """Add an event to every ``AssetAlias`` among ``outlets`` for each table that was violated, resolved or changed.

    Airflow emits them when the task succeeds, and drops them when it fails.
    """
    aliases = [outlet for outlet in outlets if isinstance(outlet, AssetAlias)]
    if not aliases:
        return
    for table in filter(_is_news, report.tables):
        try:
            asset = table_asset(table.table)
        except (TableNameError, ValueError) as error:
            log.warning("No asset event for %s: %s", table.table, error)
            continue
        for alias in aliases:
            context["outlet_events"][alias].add(asset, extra=extra_of(report.kind, table))


def extra_of(kind: str, table: TableReport) -> dict[str, Any]:
    """Return what an event says: bounded, and nothing but JSON."""
    standing = [finding for finding in table.findings if finding.is_open]
    return {
        "kind": kind,
        "verdict": table.verdict.value,
        "version": table.version,
        "changed": table.changed,
        "codes": _codes(standing),
        "resolved": _codes(filter(_is_resolved, table.findings)),
    }


def _is_news(table: TableReport) -> bool:
    return table.changed or table.verdict is Verdict.VIOLATED or any(map(_is_resolved, table.findings))


def _is_resolved(finding: Finding) -> bool:
    return finding.status is Status.RESOLVED


def _codes(findings: Iterable[Finding]) -> list[str]:
    """Return the codes, the most frequent first."""
    return [code for code, _ in Counter(finding.code for finding in findings).most_common(MAX_CODES)]
