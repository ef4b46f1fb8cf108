"""How the log writes the high water mark of row ids, where nothing is wrong with that: lines with others are alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from airflow_delta_provider.domain.audit.known.open_pattern import OpenPattern
from airflow_delta_provider.domain.delta.commit import DomainMetadata
from airflow_delta_provider.domain.delta.features.row_tracking import DOMAIN
from airflow_delta_provider.domain.delta.row_tracking import HIGH_WATER_MARK
from airflow_delta_provider.domain.formats.json_pattern import JsonPattern, Keys, NoPatternError, Open

_KIND = "domainMetadata"
_CONFIGURATION = (_KIND, "configuration")
_MARK = re.compile(rf'"{HIGH_WATER_MARK}"\s*:\s*([0-9]+)').search


class MarkPattern(OpenPattern):
    """The pattern of a ``domainMetadata`` action of row tracking.

    :param line: of a commit, with an action that nothing is wrong with
    :param domain: what it says
    :raises NoPatternError: if others cannot be known by it
    """

    kind = _KIND

    def __init__(self, line: str, domain: DomainMetadata) -> None:
        self.pattern = JsonPattern(line, _choose)
        """Of its lines; with the value that :meth:`read` takes."""
        found = self.pattern.fits(line) if len(self.pattern.keys) == 1 else None
        mark = _MARK(domain.configuration)
        if found is None or mark is None or domain.domain != DOMAIN:
            raise NoPatternError("it is unusual")
        self._around = mark.string[: mark.start(1)], mark.string[mark.end(1) :]
        if self.read([found]) != [domain]:
            raise NoPatternError("it is unusual")

    def read(self, rows: Sequence[tuple[str, ...]]) -> list[DomainMetadata]:
        """Return what lines say.

        :param rows: the values of lines that fit
        """
        before, after = self._around
        return [DomainMetadata(DOMAIN, f"{before}{row[0]}{after}") for row in rows]


def _choose(keys: Keys, value: Any) -> Open | None:
    if keys == _CONFIGURATION and isinstance(value, str):
        return Open.DOCUMENT
    return Open.NATURAL if keys == (*_CONFIGURATION, HIGH_WATER_MARK) and type(value) is int else None
