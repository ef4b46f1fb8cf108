"""Patterns of JSON documents: what is said of one document, with some of its values left open.

A text that fits a pattern is JSON, has the keys of the document in their order, each once, and the same values but for
the open ones. To match a text takes a fraction of the time that it takes to parse it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import Enum
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
    OBJECT = r"\{[^{}]*\}"
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

    :param text: the document, valid
    :raises NoPatternError: if it cannot be one
    """

    def __init__(self, text: str, choose: Choose) -> None:
        self._choose = choose
        self.keys: list[Keys] = []
        """Of the open values, in order."""
        self.match = re.compile(self._document(text, (), '"')).fullmatch
        """Match a text; the groups are the open values, texts without their quotes."""
        if len({*self.keys}) != len(self.keys):
            raise NoPatternError("it has a key twice")

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
            written.append(f"{mark}({choice if isinstance(choice, str) else choice.value}){mark}")
            self.keys.append(keys)
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


def _escaped(text: str) -> str:
    return text.replace('"', '\\"')


def _literal(text: str, quote: str) -> str:
    return re.escape(text.replace('"', quote))
