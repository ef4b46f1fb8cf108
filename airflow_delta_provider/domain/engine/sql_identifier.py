"""Names in the notation of Spark SQL: parts separated by dots, in backticks if necessary."""

from __future__ import annotations

import re

#: Characters with another meaning in a table's name: separators, quotes, paths, patterns.
_NEEDS_QUOTES = re.compile(r"[.`/*\s]|^$")


class SqlNameError(ValueError):
    """A string that is not a name: a part is empty, or a backtick is misplaced."""


def quote(name: str) -> str:
    """Return ``name`` as a quoted SQL identifier; its contents cannot end the quotes."""
    return "`" + name.replace("`", "``") + "`"


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
