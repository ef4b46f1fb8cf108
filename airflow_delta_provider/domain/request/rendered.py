"""What Jinja makes of values: texts of booleans, numbers, lists and mappings, read again."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.request.request_error import RequestError


def as_list(option: str, value: Any) -> Sequence[Any]:
    """Return a rendered list; a text is read as a list if it is written as one, else it is its only item.

    :raises RequestError: if it is not a list
    """
    value = _read(value, "[(")
    if isinstance(value, str):
        return [value]
    if isinstance(value, Sequence):
        return value
    try:
        return list(value)  # a lazily read XCom of a mapped task
    except TypeError:
        raise RequestError("{option} has to be a list, not {value!r}.", option=option, value=value) from None


def as_mapping(option: str, value: Any) -> Mapping[str, Any]:
    """Return a rendered mapping; a text is read as one.

    :raises RequestError: if it is not a mapping
    """
    value = _read(value, "{")
    if isinstance(value, Mapping):
        return value
    raise RequestError("{option} has to be a mapping, not {value!r}.", option=option, value=value)


def as_flag(option: str, value: Any) -> bool:
    """Return a rendered boolean; the texts true and false are read as such.

    :raises RequestError: if it is neither
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise RequestError("{option} has to be True or False, not {value!r}.", option=option, value=value)


def as_version(option: str, value: Any) -> int | None:
    """Return a rendered table version, or None; texts of digits and ``None`` are read as such.

    An empty text is not a version: a template renders to it where a name in it is unknown.

    :raises RequestError: if it is neither
    """
    text = value.strip() if isinstance(value, str) else None
    if value is None or text == "None":
        return None
    if text is not None and text.isdecimal():
        return int(text)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise RequestError("{option} has to be a table version (0, 1, 2, …), not {value!r}.", option=option, value=value)


def _read(value: Any, opening: str) -> Any:
    """Read the text of a Python literal, as Jinja renders lists and mappings."""
    if isinstance(value, str) and value.strip()[:1] and value.strip()[0] in opening:
        try:
            return ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            return value
    return value
