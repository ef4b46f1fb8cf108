"""Findings under their causes: one cause is reported once, with its consequences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from airflow_delta_provider.domain.report.finding import Finding


def by_cause(findings: Iterable[Finding]) -> list[tuple[Finding, tuple[Finding, ...]]]:
    """Return the findings in their order, each with those that only follow from it, which are left out otherwise.

    One whose cause is not among them is listed by itself.
    """
    findings = tuple(findings)
    known = {finding.fingerprint for finding in findings} - {None}
    causes = {f.fingerprint for f in findings if f.caused_by not in known or f.caused_by == f.fingerprint} - {None}
    roots: list[Finding] = []
    follows: defaultdict[str | None, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.caused_by in causes and finding.caused_by != finding.fingerprint:
            follows[finding.caused_by].append(finding)
        else:
            roots.append(finding)
    return [(root, tuple(follows[root.fingerprint])) for root in roots]
