"""Arguments before and after rendering: which are literal, and lists and mappings that Jinja made text of."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from airflow_delta_provider.exceptions import DeltaRequestError

_JINJA = ("{{", "{%", "{#")


def is_literal(value: Any) -> bool:
    """Whether ``value`` is what it will be when the task runs: no template, no XComArg."""
    if isinstance(value, str):
        return not any(mark in value for mark in _JINJA)
    if isinstance(value, Mapping):
        return all(is_literal(key) and is_literal(item) for key, item in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(is_literal(item) for item in value)
    return value is None or isinstance(value, (bool, int, float))


def as_list(argument: str, value: Any) -> Sequence[Any]:
    """
    Return a rendered list; a text is read as a list if it is written as one, else it is its only item.

    :raises DeltaRequestError: if it is no list
    """
    value = _read(value, "[(")
    if isinstance(value, str):
        return [value]
    if isinstance(value, Sequence):
        return value
    try:
        return list(value)  # a lazily read XCom of a mapped task
    except TypeError:
        raise DeltaRequestError(f"{argument} has to be a list, not {value!r}.") from None


def as_mapping(argument: str, value: Any) -> Mapping[str, Any]:
    """
    Return a rendered mapping; a text is read as one.

    :raises DeltaRequestError: if it is none
    """
    value = _read(value, "{")
    if isinstance(value, Mapping):
        return value
    raise DeltaRequestError(f"{argument} has to be a mapping, not {value!r}.")


def as_flag(argument: str, value: Any) -> bool:
    """
    Return a rendered boolean; the texts true and false are read as such.

    :raises DeltaRequestError: if it is neither
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise DeltaRequestError(f"{argument} has to be True or False, not {value!r}.")


def as_version(argument: str, value: Any) -> int | None:
    """
    Return a rendered table version, or None; texts of digits and ``None`` are read as such.

    An empty text is no version: a template renders to it where a name in it is unknown.

    :raises DeltaRequestError: if it is neither
    """
    text = value.strip() if isinstance(value, str) else None
    if value is None or text == "None":
        return None
    if text is not None and text.isdecimal():
        return int(text)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise DeltaRequestError(f"{argument} has to be a table version (0, 1, 2, …), not {value!r}.")


def _read(value: Any, opening: str) -> Any:
    """Read the text of a Python literal, as Jinja renders lists and mappings."""
    if isinstance(value, str) and value.strip()[:1] and value.strip()[0] in opening:
        try:
            return ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            return value
    return value
