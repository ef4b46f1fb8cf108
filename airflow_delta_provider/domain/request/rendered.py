"""What Jinja makes of lists and mappings: strings, read again."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from airflow_delta_provider.domain.request.request_error import RequestError


def as_list(option: str, value: Any) -> Sequence[Any]:
    """Return a rendered list; a text is read as a list if it is written as one, else it is its only item.

    :raises RequestError: if it is not a list
    """
    value = read_literal(value, "[(")
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
    value = read_literal(value, "{")
    if isinstance(value, Mapping):
        return value
    raise RequestError("{option} has to be a mapping, not {value!r}.", option=option, value=value)


def read_literal(value: Any, opening: str) -> Any:
    """Read the text of a Python literal, as Jinja renders lists and mappings; or of JSON, as its filter does."""
    if isinstance(value, str) and value.strip()[:1] and value.strip()[0] in opening:
        for read in (ast.literal_eval, json.loads):
            with suppress(ValueError, SyntaxError):
                return read(value.strip())
    return value
