"""Waivers: findings that are accepted for a reason and until a day."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from airflow_delta_provider.domain.audit.violation import worded
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.finding import Finding, Waiver
from airflow_delta_provider.domain.suggestion import did_you_mean

#: Fields that an entry needs, and optional fields that limit it to fewer findings.
_REQUIRED = ("code", "owner", "reason", "expires")
_BOUNDS = ("table", "path", "column", "fingerprint")


class WaiverError(ValueError):
    """An invalid entry; the message names it and gives the reason."""


@dataclass(frozen=True)
class _Entry:
    code: str
    waiver: Waiver
    expires: date
    bounds: Mapping[str, str]

    def covers(self, finding: Finding, table: str) -> bool:
        has = {"table": table, "path": finding.path, "column": finding.column, "fingerprint": finding.fingerprint}
        return finding.code == self.code and all(
            has[name] is not None and fnmatch.fnmatchcase(str(has[name]), pattern)
            for name, pattern in self.bounds.items()
        )


class Waivers:
    """The waivers of an audit."""

    def __init__(self, entries: Iterable[_Entry] = ()) -> None:
        self._entries = tuple(entries)

    @classmethod
    def parse(cls, entries: Any) -> Waivers:
        """Read entries: ``code``, ``owner``, ``reason``, ``expires`` (a day), and optional limits for the findings.

        The limits are ``table``, ``path``, ``column`` (patterns) and ``fingerprint``.

        :raises WaiverError: naming the first entry that is invalid
        """
        if not isinstance(entries, (list, tuple)):
            raise WaiverError(f"they have to be a list of entries, not {entries!r}")
        return cls(_entry(number, entry) for number, entry in enumerate(entries, start=1))

    def apply(self, findings: Iterable[Finding], table: str, today: date) -> list[Finding]:
        """Return the findings with the waivers that cover them; an open finding also shows that its waiver expired."""
        waived = []
        for finding in findings:
            covering = [entry for entry in self._entries if entry.covers(finding, table)]
            valid = next((entry for entry in covering if entry.expires >= today), None)
            if valid is not None:
                finding = replace(finding, waiver=valid.waiver)
            elif covering and finding.healed_version is None:
                last = max(covering, key=lambda entry: entry.expires).waiver
                finding = worded(replace(finding, expired_waiver=last))
            waived.append(finding)
        return waived


def _entry(number: int, entry: Any) -> _Entry:
    if not isinstance(entry, Mapping):
        raise WaiverError(f"entry {number} is {entry!r}; it has to be a mapping with {', '.join(_REQUIRED)}")
    for name in entry:
        if name not in (*_REQUIRED, *_BOUNDS):
            raise WaiverError(f"entry {number} has {name!r}.{did_you_mean(str(name), (*_REQUIRED, *_BOUNDS))}")
    texts = {name: str(value) for name, value in entry.items() if value is not None}
    for name in _REQUIRED:
        if not texts.get(name):
            raise WaiverError(f"entry {number} has no {name}. Each needs {', '.join(_REQUIRED)}")
    if texts["code"] not in RULES:
        raise WaiverError(
            f"entry {number} waives {texts['code']!r}, which is not a rule.{did_you_mean(texts['code'], RULES)}"
        )
    try:
        expires = date.fromisoformat(texts["expires"])
    except ValueError:
        raise WaiverError(
            f"entry {number} expires {texts['expires']!r}; it has to be a day such as 2026-12-31"
        ) from None
    waiver = Waiver(texts["owner"], texts["reason"], expires.isoformat())
    return _Entry(texts["code"], waiver, expires, {name: texts[name] for name in _BOUNDS if name in texts})
