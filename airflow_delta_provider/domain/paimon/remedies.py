"""What to do about a violation, at the end of what is said of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from airflow_delta_provider.domain.checks import paimon_metadata as paimon
from airflow_delta_provider.domain.checks import paimon_rows
from airflow_delta_provider.domain.report.finding import Finding

#: What is said of these depends on why it could not be told, and so does what to do.
_SAID = frozenset((paimon_rows.UNREAD.code, paimon_rows.KEYS_NOT_USABLE.code))
_REMEDIES = {
    rule.code: rule.remedy for rule in (*paimon.FAMILY.rules, *paimon_rows.FAMILY.rules) if rule.code not in _SAID
}


def with_remedies(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with their rules' remedies, where these are not said yet."""
    return [_with_remedy(finding, _REMEDIES.get(finding.code, "")) for finding in findings]


def _with_remedy(finding: Finding, remedy: str) -> Finding:
    if remedy in finding.message:
        return finding
    return replace(finding, message=f"{finding.message} {remedy}")
