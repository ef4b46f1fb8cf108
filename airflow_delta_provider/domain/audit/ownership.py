"""Owners and severities of rules per table, as the owner of many tables configures them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.suggestion import did_you_mean

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


@dataclass(frozen=True)
class Ownership:
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
