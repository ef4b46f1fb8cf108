"""How the log writes transaction identifiers of an application, where nothing is wrong with that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.audit.known.open_pattern import OpenPattern
from airflow_delta_provider.domain.formats.json_pattern import JsonPattern, Keys, NoPatternError, Open

_KIND = "txn"
_NUMBERS = frozenset({"version", "lastUpdated"})


class TransactionPattern(OpenPattern):
    """The pattern of a ``txn`` action: others of the same application differ in version and time.

    :param line: of a commit, with an action that nothing is wrong with
    :param body: what it says
    :raises NoPatternError: if others cannot be known by it
    """

    kind = _KIND

    def __init__(self, line: str, body: Mapping[str, Any]) -> None:
        self.pattern = JsonPattern(line, _choose)
        """Of its lines; with the values that :meth:`read` takes."""
        self._body = body
        self._names = [name for _, name in self.pattern.keys]
        found = self.pattern.fits(line) if self._names else None
        if found is None or self.read([found]) != [body]:
            raise NoPatternError("it is unusual")

    def read(self, rows: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
        """Return what lines say.

        :param rows: the values of lines that fit
        """
        return [{**self._body, **dict(zip(self._names, map(int, row)))} for row in rows]


def _choose(keys: Keys, value: Any) -> Open | None:
    is_number = len(keys) == 2 and keys[1] in _NUMBERS and type(value) is int and value >= 0
    return Open.NATURAL if is_number else None
