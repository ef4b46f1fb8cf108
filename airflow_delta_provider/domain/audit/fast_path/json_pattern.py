"""Patterns of JSON documents, one per line: a document with some of its values left open.

A line that matches a pattern is JSON. It has the keys of the document in their order, each once, and the same values
except for the open ones. Matching lines takes a fraction of the time that parsing them takes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

#: The path of keys to a value.
Keys = tuple[str, ...]

_PLAIN = r"[^\"\\\x00-\x1f]*"
_INTEGER = r"(?:0|[1-9][0-9]{0,17})"


class Open(Enum):
    """The form of an open value, as a regular expression without its quotes.

    Numbers are short enough to be exact as 64-bit integers and as floats. An optional part is written as a choice
    between it and nothing: for a repeated group, the regular expression engine copies all values so far.
    """

    NATURAL = _INTEGER
    """An integer that is not negative."""
    INTEGER = f"-?{_INTEGER}"
    NUMBER = r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]+|)(?:[eE][+-]?[0-9]+|)"
    BOOLEAN = "true|false"
    PLAIN_TEXT = _PLAIN
    """A string without escapes, used unchanged."""
    TEXT = rf"{_PLAIN}(?:\\[\"\\/bfnrt]{_PLAIN})*"
    OBJECT = r"\{[^{}\n]*\}"
    """A possible object of single values. If it is left open, the whole is compared."""
    DOCUMENT = ""
    """A string that is JSON itself. Its values are chosen in turn."""


#: Function that returns the form of a value, given its keys and the value. None matches exactly this value; a string is
#: a regular expression for a string.
Choose = Callable[[Keys, Any], "Open | str | None"]

#: Maximum number of open values in a pattern. With more, compiling it takes longer than it saves, and much memory.
MOST_OPEN = 1_000
#: Levels whose values may be open: each is read again for all levels above it. Deeper values are compared as a whole.
_LEVELS = 20

_KEY = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*:\s*')
_END = re.compile(r"\s*[,}]")
_SCAN: Callable[[str, int], tuple[Any, int]] = vars(json.JSONDecoder())["scan_once"]
_TEXTS = frozenset({Open.PLAIN_TEXT, Open.TEXT})


class NoPatternError(ValueError):
    """A document without a useful pattern, or without one that is certain to be correct."""


class Piece(NamedTuple):
    """A part of a pattern.

    :param text: regular expression
    :param is_needed: True for an open value that is needed
    """

    text: str
    is_needed: bool = False


class JsonPattern:
    """The pattern of a document.

    :param text: a valid document on one line
    :param choose: function that returns the form of a value
    :param needs: function that returns True if the open value with these keys is needed; others are only matched
    :raises NoPatternError: if there is no pattern for it
    """

    def __init__(self, text: str, choose: Choose, needs: Callable[[Keys], bool] = lambda _: True) -> None:
        self._choose = choose
        self._needs = needs
        self._open: list[Keys] = []
        self.pieces: list[Piece] = []
        """Its parts, in order."""
        self._write_document(text, (), '"')
        self.keys = [keys for keys in self._open if needs(keys)]
        """The keys of the open values that are needed, in order."""
        if len({*self._open}) != len(self._open):
            raise NoPatternError("it has a key twice")

    def fits(self, line: str) -> tuple[str, ...] | None:
        """Return the open values of a line, strings without their quotes; None if it does not match."""
        found = self._fits(line)
        return None if found is None else found.groups("")

    @cached_property
    def _fits(self) -> Callable[[str], re.Match[str] | None]:
        return re.compile("".join(f"({text})" if is_needed else text for text, is_needed in self.pieces)).fullmatch

    def _write_document(self, text: str, keys: Keys, quote: str) -> None:
        start = len(text) - len(text.lstrip())
        self._write_literal(text[:start], quote)
        end = self._write(text, start, keys, quote)
        self._write_literal(text[end:], quote)

    def _write_literal(self, text: str, quote: str) -> None:
        if text:
            self.pieces.append(Piece(re.escape(text.replace('"', quote))))

    def _write(self, text: str, start: int, keys: Keys, quote: str) -> int:
        """Write the pattern of the value that begins at ``start``; return its end."""
        value, end = _SCAN(text, start)
        choice = self._choose(keys, value)
        if choice is Open.DOCUMENT:
            if "\\" in value or text[start:end] != f'"{_escaped(value)}"' or quote != '"':
                raise NoPatternError("it has a document with escapes")
            self._write_literal('"', quote)
            self._write_document(value, keys, _escaped(quote))
            self._write_literal('"', quote)
        elif choice is not None:
            mark = '"' if isinstance(choice, str) or choice in _TEXTS else ""
            self._write_literal(mark, quote)
            is_needed, form = self._needs(keys), choice if isinstance(choice, str) else choice.value
            self.pieces.append(Piece(form if is_needed else f"(?:{form})", is_needed))
            self._write_literal(mark, quote)
            self._open.append(keys)
            if len(self._open) > MOST_OPEN:
                raise NoPatternError("it has too many values")
        elif isinstance(value, dict) and value and len(keys) < _LEVELS:
            self._write_object(text, start, end, keys, quote)
        else:
            self._write_literal(text[start:end], quote)
        return end

    def _write_object(self, text: str, start: int, end: int, keys: Keys, quote: str) -> None:
        at = start + 1
        self._write_literal("{", quote)
        while at < end:
            key = _KEY.match(text, at)
            assert key is not None
            self._write_literal(key[0], quote)
            at = self._write(text, key.end(), (*keys, key[1]), quote)
            behind = _END.match(text, at)
            assert behind is not None
            self._write_literal(behind[0], quote)
            at = behind.end()


class LinePatterns:
    """A group of patterns. Each line of a text matches one of them or none.

    Their common beginning is matched once.

    :param patterns: at least one pattern
    """

    def __init__(self, patterns: Sequence[JsonPattern]) -> None:
        self._groups = 0
        places: list[list[int]] = [[] for _ in patterns]
        source = self._either([(place, iter(pattern.pieces)) for place, pattern in zip(places, patterns)])
        self.rows: Callable[[str], list[tuple[str, ...]]] = re.compile(rf"{source}|([^\n]*)\n").findall
        """Function that returns the values of all patterns for each line of a text. All lines must end.

        The last value is the line itself if it fits no pattern.
        """
        self.signs = [place.pop() for place in places]
        """For each pattern, the place of a value that is empty only if a line does not fit it."""
        self.values = [_getter(place) for place in places]
        """For each pattern, the function that returns its open values from a row."""

    def _either(self, patterns: Sequence[tuple[list[int], Iterator[Piece]]]) -> str:
        """Write the next pieces of patterns, up to the end of the line.

        Calls nest only at places with different pieces, so the depth is less than the number of patterns, however long
        they are.

        :param patterns: each with the list to which the places of its values are added
        """
        written: list[str] = []
        while True:
            branches: dict[Piece, list[tuple[list[int], Iterator[Piece]]]] = {}
            for places, pieces in patterns:
                branches.setdefault(next(pieces, _END_OF_LINE), []).append((places, pieces))
            if len(branches) > 1:
                ways = [self._piece(piece, found) + self._rest(piece, found) for piece, found in branches.items()]
                return f"{''.join(written)}(?:{'|'.join(ways)})"
            ((piece, _),) = branches.items()
            written.append(self._piece(piece, patterns))
            if piece is _END_OF_LINE:
                return "".join(written)

    def _rest(self, piece: Piece, patterns: Sequence[tuple[list[int], Iterator[Piece]]]) -> str:
        return "" if piece is _END_OF_LINE else self._either(patterns)

    def _piece(self, piece: Piece, patterns: Sequence[tuple[list[int], Iterator[Piece]]]) -> str:
        """Write a piece that patterns have in common."""
        if not piece.is_needed:
            return piece.text
        for places, _ in patterns:
            places.append(self._groups)
        self._groups += 1
        return f"({piece.text})"


_END_OF_LINE = Piece(r"\n", is_needed=True)


def _getter(places: Sequence[int]) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    """Create a function that extracts values from a row, as a tuple. It is fast if they are adjacent."""
    start, end = places[0], places[-1] + 1
    return itemgetter(slice(start, end)) if end - start == len(places) else itemgetter(*places)


def _escaped(text: str) -> str:
    return text.replace('"', '\\"')
