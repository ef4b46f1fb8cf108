"""Which arguments are literal: what they will be when the task runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

_JINJA = ("{{", "{%", "{#")


def is_literal(value: Any) -> bool:
    """Whether ``value`` is what it will be when the task runs: no template, no XComArg."""
    if isinstance(value, str):
        return not any(mark in value for mark in _JINJA)
    if isinstance(value, Mapping):
        return all(is_literal(key) and is_literal(item) for key, item in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(is_literal(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, datetime))
