"""Waivers: findings that are accepted for a reason and until a day."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

from airflow_delta_provider.domain.audit.violation import worded
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.report import Finding, Severity, Waiver
from airflow_delta_provider.domain.text import did_you_mean

#: Fields that an entry needs, and optional fields that limit it to fewer findings.
_REQUIRED = ("code", "owner", "reason", "expires")
_BOUNDS = ("table", "path", "column", "fingerprint")


class WaiverError(ValueError):
    """An invalid entry; the message names it and gives the reason."""


class _Entry(NamedTuple):
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


_KEYS = ("table", "owner", "severities")
#: Severities that a rule can be given; ``off`` leaves its findings out.
_SEVERITIES: Mapping[str, Severity | None] = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "undecided": Severity.UNDECIDED,
    "off": None,
}


class OwnershipError(ValueError):
    """An invalid entry; the message names it and gives the reason."""


class Ownership(NamedTuple):
    """Settings for the tables whose names match a pattern.

    :param severities: severity by code of the rule; None leaves its findings out
    """

    table: str
    owner: str | None
    severities: Mapping[str, Severity | None]

    @classmethod
    def parse(cls, entry: Any) -> Ownership:
        """Read an entry: ``table`` (a pattern), ``owner``, and ``severities`` by code.

        :raises OwnershipError: if it is invalid
        """
        if not isinstance(entry, Mapping) or not isinstance(entry.get("table"), str):
            raise OwnershipError(f"{entry!r} names no table. An entry has table, and owner or severities")
        for key in entry:
            if key not in _KEYS:
                raise OwnershipError(f"{entry['table']} has {key!r}.{did_you_mean(str(key), _KEYS)}")
        given = entry.get("severities") or {}
        if not isinstance(given, Mapping):
            raise OwnershipError(f"severities of {entry['table']} is {given!r}; it has to be a mapping by code")
        severities = {}
        for code, value in given.items():
            named = "off" if value is False else str(value).lower()  # YAML reads off as false
            if code not in RULES:
                raise OwnershipError(f"{entry['table']} weighs {code!r}.{did_you_mean(str(code), RULES)}")
            if named not in _SEVERITIES:
                known = ", ".join(_SEVERITIES)
                raise OwnershipError(f"{code} of {entry['table']} is {value!r}; it has to be one of {known}")
            severities[code] = _SEVERITIES[named]
        owner = entry.get("owner")
        return cls(entry["table"], None if owner is None else str(owner), severities)

    def fits(self, table: str) -> bool:
        """Return True if the entry applies to a table."""
        return table == self.table or fnmatch.fnmatchcase(table, self.table)

    def weigh(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings with the severities for this table. Findings of rules that are off are left out."""
        weighed = ((finding, self.severities.get(finding.code, finding.severity)) for finding in findings)
        return [replace(finding, severity=severity) for finding, severity in weighed if severity is not None]
