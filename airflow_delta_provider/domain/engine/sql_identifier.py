"""Names as Spark SQL writes them: parts separated by dots, in backticks where they need it."""

from __future__ import annotations

import re

#: What means something else in a name of a table: its parts, quotes, paths, patterns.
_NEEDS_QUOTES = re.compile(r"[.`/*\s]|^$")


class SqlNameError(ValueError):
    """A text that is not a name: a part is empty, or a backtick is out of place."""


def quote(name: str) -> str:
    """Return ``name`` as a quoted SQL identifier; nothing in it can end the quotes."""
    return "`" + name.replace("`", "``") + "`"


def as_written(name: str) -> str:
    """Return ``name`` as a part of a dotted name: quoted where it would be taken for something else."""
    return quote(name) if _NEEDS_QUOTES.search(name) else name


def split_name(text: str) -> tuple[str, ...]:
    """Split a dotted name; parts in backticks are taken literally.

    :raises SqlNameError: on an empty part or a backtick out of place
    """
    parts: list[str] = []
    rest = text
    while True:
        part, rest = _first_part(rest)
        parts.append(part)
        if not rest:
            return tuple(parts)
        rest = rest[1:]


def _first_part(text: str) -> tuple[str, str]:
    if text.startswith("`"):
        end = 1
        while (end := text.find("`", end)) >= 0 and text[end + 1 : end + 2] == "`":
            end += 2
        if end > 1 and text[end + 1 : end + 2] in ("", "."):
            return text[1:end].replace("``", "`"), text[end + 1 :]
    else:
        part, dot, after = text.partition(".")
        if part and "`" not in part:
            return part, dot + after
    raise SqlNameError(text)
