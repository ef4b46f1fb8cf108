"""Whose a table is, and how much its rules weigh there: what the owner of a fleet of tables sets per table."""

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
#: What a rule may be made to weigh; ``off`` leaves its findings out.
_SEVERITIES: Mapping[str, Severity | None] = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "undecided": Severity.UNDECIDED,
    "off": None,
}


class OwnershipError(ValueError):
    """An entry that is invalid; the message says which, and why."""


@dataclass(frozen=True)
class Ownership:
    """What holds of the tables whose names fit a pattern.

    :param severities: by the code of a rule; None leaves its findings out
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
        """Whether it is about a table."""
        return table == self.table or fnmatch.fnmatchcase(table, self.table)

    def weigh(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings with the severities that hold for this table."""
        weighed = ((finding, self.severities.get(finding.code, finding.severity)) for finding in findings)
        return [replace(finding, severity=severity) for finding, severity in weighed if severity is not None]
