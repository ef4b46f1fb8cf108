"""Text of tables and commits made safe to show: nothing moves a cursor, starts a line, or reorders its neighbours."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

#: Columns that a tab in a message moves to.
_TAB = 4


def visible(text: str) -> str:
    r"""Return ``text`` with each character that does not print written as in Python: ``\n``, ``\x1b``, ``\u202e``."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def visible_lines(text: str) -> Iterator[str]:
    """Yield the lines of a message that may have several, each as :func:`visible` returns it."""
    for line in text.splitlines():
        yield visible(line.expandtabs(_TAB).rstrip())


def columns(text: str) -> int:
    """Return how many columns of a terminal ``text`` takes: two for wide East Asian characters, none for marks."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def padded(text: str, width: int) -> str:
    """Return ``text`` with blanks up to ``width`` columns; one that is longer stays as it is."""
    return text + " " * (width - columns(text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
