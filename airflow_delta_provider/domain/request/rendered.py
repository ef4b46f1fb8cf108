"""Reading lists and mappings back from the strings that Jinja renders."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from airflow_delta_provider.domain.request.request_error import RequestError


def as_list(option: str, value: Any) -> Sequence[Any]:
    """Return a rendered list. A string that is not written as a list is its only item.

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
    """Return a rendered mapping; a string is parsed.

    :raises RequestError: if it is not a mapping
    """
    value = read_literal(value, "{")
    if isinstance(value, Mapping):
        return value
    raise RequestError("{option} has to be a mapping, not {value!r}.", option=option, value=value)


def read_literal(value: Any, opening: str) -> Any:
    """Parse a string as a Python literal, as Jinja renders lists and mappings, or as JSON.

    Any other value is returned as it is.

    :param opening: characters that a literal may start with
    """
    if isinstance(value, str) and value.strip()[:1] and value.strip()[0] in opening:
        for read in (ast.literal_eval, json.loads):
            with suppress(ValueError, SyntaxError):
                return read(value.strip())
    return value
