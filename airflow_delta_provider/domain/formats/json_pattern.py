"""Patterns of JSON documents, each on a line: what one document says, with some of its values left open.

A line that fits a pattern is JSON, has the keys of the document in their order, each once, and the same values but for
the open ones. To match lines takes a fraction of the time that it takes to parse them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

#: The keys that lead to a value.
Keys = tuple[str, ...]

_PLAIN = r"[^\"\\\x00-\x1f]*"
_INTEGER = r"(?:0|[1-9][0-9]{0,17})"


class Open(Enum):
    """What an open value may be, as a regular expression without its quotes.

    Numbers are so short that they are exact, as integers of 64 bits and as floats.
    """

    NATURAL = _INTEGER
    """An integer that is not negative."""
    INTEGER = f"-?{_INTEGER}"
    NUMBER = r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
    BOOLEAN = "true|false"
    PLAIN_TEXT = _PLAIN
    """A text without escapes: it is read as it is."""
    TEXT = rf"{_PLAIN}(?:\\[\"\\/bfnrt]{_PLAIN})*"
    OBJECT = r"\{[^{}\n]*\}"
    """What may be an object of single values; if it is left open, the whole is compared."""
    DOCUMENT = ""
    """A text that is JSON itself; its values are chosen in turn."""


#: Says what a value may be, given its keys and the value; None for just this value; a text for a pattern of a text.
Choose = Callable[[Keys, Any], "Open | str | None"]

_KEY = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*:\s*')
_END = re.compile(r"\s*[,}]")
_SCAN: Callable[[str, int], tuple[Any, int]] = vars(json.JSONDecoder())["scan_once"]
_TEXTS = frozenset({Open.PLAIN_TEXT, Open.TEXT})


class NoPatternError(ValueError):
    """A document within the document is written with escapes of its own."""


class JsonPattern:
    """The pattern of a document.

    :param text: the document, valid, on one line
    :param choose: says what its values may be
    :param needs: whether the open value with these keys is needed; others are matched only
    :raises NoPatternError: if it cannot be one
    """

    def __init__(self, text: str, choose: Choose, needs: Callable[[Keys], bool] = lambda _: True) -> None:
        self._choose = choose
        self._needs = needs
        self._open: list[Keys] = []
        self.source = self._document(text, (), '"')
        """The regular expression. Its groups are the open values that are needed, texts without their quotes."""
        self.keys = [keys for keys in self._open if needs(keys)]
        """Of these values, in order."""
        if len({*self._open}) != len(self._open):
            raise NoPatternError("it has a key twice")

    def fits(self, line: str) -> tuple[str, ...] | None:
        """Return the open values of a line; None if it does not fit."""
        found = self._fits(line)
        return None if found is None else found.groups("")

    @cached_property
    def _fits(self) -> Callable[[str], re.Match[str] | None]:
        return re.compile(self.source).fullmatch

    def _document(self, text: str, keys: Keys, quote: str) -> str:
        start = len(text) - len(text.lstrip())
        written: list[str] = []
        end = self._write(text, start, keys, quote, written)
        return f"{_literal(text[:start], quote)}{''.join(written)}{_literal(text[end:], quote)}"

    def _write(self, text: str, start: int, keys: Keys, quote: str, written: list[str]) -> int:
        """Write the pattern of the value that begins at ``start``; return where it ends."""
        value, end = _SCAN(text, start)
        choice = self._choose(keys, value)
        if choice is Open.DOCUMENT:
            if "\\" in value or text[start:end] != f'"{_escaped(value)}"' or quote != '"':
                raise NoPatternError("it has a document with escapes")
            written.append(f'"{self._document(value, keys, _escaped(quote))}"')
        elif choice is not None:
            is_text = isinstance(choice, str) or choice in _TEXTS
            mark = re.escape(quote) if is_text else ""
            group = "(" if self._needs(keys) else "(?:"
            written.append(f"{mark}{group}{choice if isinstance(choice, str) else choice.value}){mark}")
            self._open.append(keys)
        elif isinstance(value, dict) and value:
            self._write_object(text, start, end, keys, quote, written)
        else:
            written.append(_literal(text[start:end], quote))
        return end

    def _write_object(self, text: str, start: int, end: int, keys: Keys, quote: str, written: list[str]) -> None:
        at = start + 1
        written.append(_literal("{", quote))
        while at < end:
            key = _KEY.match(text, at)
            assert key is not None
            written.append(_literal(key[0], quote))
            at = self._write(text, key.end(), (*keys, key[1]), quote, written)
            behind = _END.match(text, at)
            assert behind is not None
            written.append(_literal(behind[0], quote))
            at = behind.end()


class LinePatterns:
    """Patterns of which each line of a text fits one or none, tried in their order.

    :param patterns: each with at least one open value that is needed and is never empty
    """

    def __init__(self, patterns: Sequence[JsonPattern]) -> None:
        sources = [*(pattern.source for pattern in patterns), r"([^\n]*)"]
        self.rows: Callable[[str], list[tuple[str, ...]]] = re.compile(rf"(?:{'|'.join(sources)})\n").findall
        """Return for each line of a text, all of which end, the values of all patterns: of those that it does not fit,
        empty texts. The last value is the line itself, if it fits none."""
        ends = [*accumulate((len(pattern.keys) for pattern in patterns), initial=0)]
        self.places = [slice(start, end) for start, end in pairwise(ends)]
        """Of each pattern's values in a row."""


def _escaped(text: str) -> str:
    return text.replace('"', '\\"')


def _literal(text: str, quote: str) -> str:
    return re.escape(text.replace('"', quote))
