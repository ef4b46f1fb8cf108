"""Text of tables and commits made safe to show: nothing moves a cursor, starts a line, or reorders its neighbours."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

#: Columns that a tab in a message moves to.
_TAB = 4
#: Begins a command for the CI that reads a line: of GitHub at its start, after blanks and colours; of GitHub, Azure and
#: TeamCity anywhere in it.
_COMMAND = re.compile(r"(?P<before>^(?:\x1b\[[0-9;]*m|\s)*):(?=:)|#(?=#(?:\[|vso\[|teamcity\[))")


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


def shown_lines(text: str) -> str:
    """Return a message that may have several lines with each as :func:`visible_lines` returns it."""
    return "\n".join(visible_lines(text))


def printed(lines: Iterable[str]) -> Iterator[str]:
    r"""Yield lines of plain output so that no CI takes one as its command: ``\x3a:error::`` for ``::error::``.

    A name cannot be made safe before it is wrapped: any part of it may begin a line then.
    """
    for line in lines:
        yield _COMMAND.sub(_written_out, line) if ":" in line or "#" in line else line


def _written_out(command: re.Match[str]) -> str:
    before = command["before"]
    return "\\x23" if before is None else f"{before}\\x3a"


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
