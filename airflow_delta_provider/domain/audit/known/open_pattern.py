"""Patterns of actions without findings that are not about files.

They are the high water mark of row ids, and the transaction identifiers of applications.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.delta.commit import DomainMetadata
from airflow_delta_provider.domain.delta.features.row_tracking import DOMAIN
from airflow_delta_provider.domain.delta.row_tracking import HIGH_WATER_MARK
from airflow_delta_provider.domain.formats.json_pattern import JsonPattern, Keys, NoPatternError, Open

_CONFIGURATION = ("domainMetadata", "configuration")
_MARK = re.compile(rf'"{HIGH_WATER_MARK}"\s*:\s*([0-9]+)').search
_NUMBERS = frozenset({"version", "lastUpdated"})


class OpenPattern:
    """A pattern of lines; every line that matches it is correct."""

    pattern: JsonPattern
    """Pattern of its lines, with the values that :meth:`read` needs."""

    def lacks(self, line: str) -> bool:
        """Return False: these patterns have no values that have to be known."""
        del line
        return False

    def take(self, line: str) -> bool:
        """Return True if another action fits."""
        return self.pattern.fits(line) is not None


class MarkPattern(OpenPattern):
    """The pattern of a ``domainMetadata`` action of row tracking.

    :param line: line of a commit, with an action without findings
    :param domain: parsed action
    :raises NoPatternError: if it cannot serve as a pattern for others
    """

    kind = "domainMetadata"

    def __init__(self, line: str, domain: DomainMetadata) -> None:
        self.pattern = JsonPattern(line, _mark)
        found = self.pattern.fits(line) if len(self.pattern.keys) == 1 else None
        mark = _MARK(domain.configuration)
        if found is None or mark is None or domain.domain != DOMAIN:
            raise NoPatternError("it is unusual")
        self._around = mark.string[: mark.start(1)], mark.string[mark.end(1) :]
        if self.read([found]) != [domain]:
            raise NoPatternError("it is unusual")

    def read(self, rows: Sequence[tuple[str, ...]]) -> list[DomainMetadata]:
        """Return the actions of lines.

        :param rows: the values of lines that fit
        """
        before, after = self._around
        return [DomainMetadata(DOMAIN, f"{before}{row[0]}{after}") for row in rows]


class TransactionPattern(OpenPattern):
    """The pattern of a ``txn`` action: others of the same application differ in version and time.

    :param line: line of a commit, with an action without findings
    :param body: parsed action
    :raises NoPatternError: if it cannot serve as a pattern for others
    """

    kind = "txn"

    def __init__(self, line: str, body: Mapping[str, Any]) -> None:
        self.pattern = JsonPattern(line, _number_of_transaction)
        self._body = body
        self._names = [name for _, name in self.pattern.keys]
        found = self.pattern.fits(line) if self._names else None
        if found is None or self.read([found]) != [body]:
            raise NoPatternError("it is unusual")

    def read(self, rows: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
        """Return the actions of lines.

        :param rows: the values of lines that fit
        """
        return [{**self._body, **dict(zip(self._names, map(int, row)))} for row in rows]


def _mark(keys: Keys, value: Any) -> Open | None:
    if keys == _CONFIGURATION and isinstance(value, str):
        return Open.DOCUMENT
    return Open.NATURAL if keys == (*_CONFIGURATION, HIGH_WATER_MARK) and type(value) is int else None


def _number_of_transaction(keys: Keys, value: Any) -> Open | None:
    is_number = len(keys) == 2 and keys[1] in _NUMBERS and type(value) is int and value >= 0
    return Open.NATURAL if is_number else None
