"""Patterns of the ``commitInfo`` of commits without findings: matching lines need not be parsed."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.formats.json_pattern import JsonPattern, Keys, NoPatternError, Open

_KIND = "commitInfo"
_TIMESTAMP = "inCommitTimestamp"
_NUMBERS = frozenset({"timestamp", _TIMESTAMP, "readVersion"})
#: Maps of strings that differ from commit to commit. Rules read neither, except for the parameters of commits that
#: restore a version or change the metadata.
_MAPS = frozenset({"operationParameters", "operationMetrics"})
#: A string that is not empty, as rules require for transaction ids.
_SOME_TEXT = r"[^\"\\\x00-\x1f]+"


class InfoPattern:
    """The pattern of a ``commitInfo`` action: others differ in their times, metrics, parameters and ids.

    :param line: line of a commit without findings
    :raises NoPatternError: if it cannot serve as a pattern for others
    """

    def __init__(self, line: str) -> None:
        self._pattern = JsonPattern(line, _choose, lambda keys: keys == (_KIND, _TIMESTAMP))
        if not line.startswith(f'{{"{_KIND}":') or not self.fits(line):
            raise NoPatternError("it is unusual")

    def fits(self, line: str) -> bool:
        return self._pattern.fits(line) is not None

    def timestamp(self, line: str) -> int | None:
        """Return the in-commit timestamp of a line that fits, in milliseconds since 1970; None if it has none."""
        values = self._pattern.fits(line)
        return int(values[0]) if values else None


def _choose(keys: Keys, value: Any) -> Open | str | None:
    *above, name = keys or ("",)
    if above == [_KIND]:
        if name in _NUMBERS and type(value) is int and value >= 0:
            return Open.NATURAL
        if name == "txnId" and value and isinstance(value, str):
            return _SOME_TEXT
        if name == "userMetadata" and isinstance(value, str):
            return Open.TEXT
    if len(above) == 2 and above[1] in _MAPS and isinstance(value, str):
        return Open.TEXT
    return None
