"""Text from tables and commits made safe to show.

It moves no cursor, starts no line, and reorders no text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

#: Width of a tab in a message, in columns.
_TAB = 4
#: Start of a CI command in a line. GitHub reads commands at the start of a line, after blanks and colours; GitHub,
#: Azure and TeamCity also read them anywhere in a line.
_COMMAND = re.compile(r"(?P<before>^(?:\x1b\[[0-9;]*m|\s)*):(?=:)|#(?=#(?:\[|vso\[|teamcity\[))")


def visible(text: str) -> str:
    r"""Return ``text`` with unprintable characters written as in Python: ``\n``, ``\x1b``, ``\u202e``."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def visible_lines(text: str) -> Iterator[str]:
    """Yield the lines of a message, each made safe by :func:`visible`."""
    for line in text.splitlines():
        yield visible(line.expandtabs(_TAB).rstrip())


def shown_lines(text: str) -> str:
    """Return a message with each of its lines made safe by :func:`visible`."""
    return "\n".join(visible_lines(text))


def printed(lines: Iterable[str]) -> Iterator[str]:
    r"""Yield lines of plain output so that no CI reads one as its command: ``\x3a:error::`` for ``::error::``.

    Names cannot be made safe before lines are wrapped: any part of a name may then begin a line.
    """
    for line in lines:
        yield _COMMAND.sub(_written_out, line) if ":" in line or "#" in line else line


def _written_out(command: re.Match[str]) -> str:
    before = command["before"]
    return "\\x23" if before is None else f"{before}\\x3a"


def columns(text: str) -> int:
    """Return the terminal width of ``text``: two columns for wide East Asian characters, none for marks."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def padded(text: str, width: int) -> str:
    """Return ``text`` padded with blanks to ``width`` columns; longer text stays as it is."""
    return text + " " * (width - columns(text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
