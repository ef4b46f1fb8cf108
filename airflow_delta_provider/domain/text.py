"""Text made safe to show, shortened or counted; SQL identifiers, names like another, and short digests."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

#: Maximum number of characters of one paragraph; the JSON report has all of it.
MAX_TEXT = 10_000
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


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str], most: int = 3) -> str:
    """Return the first names, and the number of others."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def counted_codes(codes: Iterable[str], most: int | None = None) -> str:
    """Return rule codes with their frequencies, most frequent first.

    :param most: maximum number of different codes; None for all
    """
    found = Counter(codes).most_common()
    named = [code if count == 1 else f"{code} ×{count:,}" for code, count in found[:most]]
    return ", ".join([*named, "…"] if len(named) < len(found) else named)


def shortened(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters. It ends after a sentence, or else a word, if one is long enough.

    :param limit: 1 or more
    """
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    sentence, word = kept.rfind(". ") + 1, kept.rfind(" ")
    end = next((end for end in (sentence, word) if end > limit // 2), 0)
    return f"{kept[:end]} …" if end else f"{kept}…"


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return `` Did you mean 'x'?`` for the nearest of ``known``, or an empty string.

    :param most: maximum number of names to suggest
    """
    near = close_names(name, known, most)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def close_names(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return the names of ``known`` that are like ``name``, the nearest first.

    :param most: maximum number of names to return
    """
    import difflib  # late: few names are mistyped

    by_folded = {candidate.casefold(): candidate for candidate in known}
    return [by_folded[each] for each in difflib.get_close_matches(name.casefold(), by_folded, n=most, cutoff=0.6)]


def short_digest(text: str) -> str:
    """Return the first 16 hexadecimal digits of a text's SHA-256; any characters are allowed."""
    from hashlib import sha256  # late: it loads OpenSSL, and a sound table needs none

    return sha256(text.encode(errors="backslashreplace")).hexdigest()[:16]


#: Characters with another meaning in a table's name: separators, quotes, paths, patterns.
_NEEDS_QUOTES = re.compile(r"[.`/*\s]|^$")


class SqlNameError(ValueError):
    """A string that is not a name: a part is empty, or a backtick is misplaced."""


def quote(name: str) -> str:
    """Return ``name`` as a quoted SQL identifier; its contents cannot end the quotes."""
    return "`" + name.replace("`", "``") + "`"


def sql_column(path: str) -> str:
    """Return a dotted path of a column for SQL, with backticks around each part that is not a plain identifier."""
    return ".".join(part if _IDENTIFIER(part) else quote(part) for part in split_name(path))


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII).fullmatch


def literal(text: str) -> str:
    """Return ``text`` as an SQL string literal, with quotes and backslashes escaped."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def as_written(name: str) -> str:
    """Return ``name`` as a part of a dotted name, quoted if it would otherwise be misread."""
    return quote(name) if _NEEDS_QUOTES.search(name) else name


def split_name(text: str) -> tuple[str, ...]:
    """Split a dotted name; parts in backticks are taken literally.

    :raises SqlNameError: if a part is empty, or a backtick is misplaced
    """
    parts: list[str] = []
    rest = text
    while True:
        part, rest = first_part(rest)
        parts.append(part)
        if not rest:
            return tuple(parts)
        rest = rest[1:]


def first_part(text: str, ends: str = ".") -> tuple[str, str]:
    """Return the first part of a dotted name, and the rest, which begins with one of ``ends`` or is empty.

    :raises SqlNameError: if the part is empty, or a backtick is misplaced
    """
    if text.startswith("`"):
        end = 1
        while (end := text.find("`", end)) >= 0 and text[end + 1 : end + 2] == "`":
            end += 2
        rest = text[end + 1 :]
        if end > 1 and (not rest or rest.lstrip()[:1] in ends):
            return text[1:end].replace("``", "`"), rest
    else:
        part = text[: next((place for place, letter in enumerate(text) if letter in ends), len(text))]
        if part and "`" not in part:
            return part, text[len(part) :]
    raise SqlNameError(text)
