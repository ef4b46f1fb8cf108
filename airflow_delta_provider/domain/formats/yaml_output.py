"""Plain values as YAML for people. Every reader of YAML 1.1 and 1.2 reads the same values.

Mappings have one key per line. Lists, and mappings of scalars within lists, are written on one line if they fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

WIDTH = 120
_WORD = r"[^\W\d][\w./@+-]*"
#: Strings that need no quotes in any place.
_PLAIN = re.compile(rf"(?:{_WORD}(?: {_WORD})*|[A-Za-z][A-Za-z0-9+.-]*://[\w./@+-]+)\Z")
#: Words that readers do not read as strings.
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
#: A key of more than 1,024 characters must be marked as one.
_LONGEST_KEY = 1000
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def to_yaml(value: Mapping[str, Any]) -> str:
    """Return the lines of a mapping of strings, booleans, None, lists and mappings."""
    return "".join(f"{line}\n" for line in _mapping(value, 0))


def scalar(value: Any) -> str:
    """Return a string, a boolean or None in a form that is valid in any place."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    text = str(value)
    return text if _PLAIN.match(text) and text.isprintable() and text.lower() not in _WORDS else _quoted(text)


def comment(text: str) -> str:
    """Return lines of a comment; characters that are not printable are escaped."""
    return "".join(f"# {_quoted(line)[1:-1] if not line.isprintable() else line}\n" for line in text.split("\n"))


def _mapping(value: Mapping[str, Any], indent: int) -> Iterator[str]:
    space = " " * indent
    for key, held in value.items():
        name = scalar(key)
        room = WIDTH - indent - len(name) - 2
        flow = _flow(held)
        begin = f"{space}? {name}\n{space}:" if len(name) > _LONGEST_KEY else f"{space}{name}:"
        if not held or isinstance(held, str) or not isinstance(held, (dict, list)):
            yield f"{begin} {flow}"
        elif isinstance(held, dict):
            yield begin
            yield from _mapping(held, indent + 2)
        elif not any(isinstance(item, (dict, list)) for item in held) and len(flow) <= room:
            yield f"{begin} {flow}"
        else:
            yield begin
            yield from _list(held, indent + 2)


def _list(value: list[Any], indent: int) -> Iterator[str]:
    for item in value:
        flow = _flow(item)
        nested = isinstance(item, dict) and any(isinstance(held, (dict, list)) for held in item.values())
        if not isinstance(item, dict) or (not nested and len(flow) + indent + 2 <= WIDTH) or not item:
            yield f"{' ' * indent}- {flow}"
            continue
        lines = _mapping(item, indent + 2)
        yield f"{' ' * indent}- {next(lines).lstrip(' ')}"
        yield from lines


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(key)}: {_flow(held)}' for key, held in value.items())}}}"
    return f"[{', '.join(map(_flow, value))}]" if isinstance(value, list) else scalar(value)


def _key(key: str) -> str:
    name = scalar(key)
    return f"? {name} " if len(name) > _LONGEST_KEY else name


def _quoted(text: str) -> str:
    return f'"{"".join(map(_character, text))}"'


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
