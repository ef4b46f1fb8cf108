"""Names as Spark SQL writes them: parts separated by dots, in backticks where they need it."""

from __future__ import annotations


class SqlNameError(ValueError):
    """A text that is not a name: a part is empty, or a backtick is out of place."""


def quote(name: str) -> str:
    """Return ``name`` as a quoted SQL identifier; nothing in it can end the quotes."""
    return "`" + name.replace("`", "``") + "`"


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
