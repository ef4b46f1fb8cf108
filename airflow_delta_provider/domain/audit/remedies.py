"""The remedies of an audit's findings, adapted to the audited table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.remedy import Place, Restore
from airflow_delta_provider.domain.delta.table_properties import DELETED_FILE_RETENTION
from airflow_delta_provider.domain.report.finding import Finding

_DEFAULT_RETENTION = "interval 1 week"
_INTERVAL = re.compile(r"(?:interval\s+)?(\d+)\s+(week|day|hour|minute|second)s?", re.IGNORECASE)


def followable(
    findings: Iterable[Finding], *, oldest: int | None, newest: int, properties: Mapping[str, Any], now: datetime
) -> Iterator[Finding]:
    """Yield findings with remedies that can be followed; fixed findings keep the remedy of their rule.

    :param oldest: first version that the log can reconstruct; None if there is none
    :param newest: newest version of the table
    :param properties: table properties of that version
    :param now: time of the audit, with its offset
    """
    retention = str(properties.get(DELETED_FILE_RETENTION, _DEFAULT_RETENTION))
    for finding in findings:
        rule = RULES.get(finding.code)
        remedy = rule.remedy if finding.remedy is None and rule is not None else finding.remedy
        if rule is None or not isinstance(remedy, Restore) or finding.version is None or not finding.is_open:
            yield finding
            continue
        place = Place(
            finding.version,
            bool(finding.at_or_before),
            oldest,
            max(newest, finding.version),
            retention if _is_older(finding.timestamp, retention, now) else None,
        )
        yield rule.worded(replace(finding, remedy=remedy.at(place)))


def _is_older(timestamp: str | None, retention: str, now: datetime) -> bool:
    """Return True if a version is known to be older than an interval."""
    read = _INTERVAL.fullmatch(retention.strip())
    if timestamp is None:
        return False
    try:
        kept = timedelta(weeks=1) if read is None else timedelta(**{f"{read[2].lower()}s": int(read[1])})
        return now - datetime.fromisoformat(timestamp.replace("Z", "+00:00")) > kept
    except (ValueError, TypeError, OverflowError):
        return False
