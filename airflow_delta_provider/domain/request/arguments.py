"""What is wrong with an argument, and the checks that the kinds of jobs share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any


class RequestError(ValueError):
    """A request that is wrong whatever the table; the message names the argument and the remedy."""


def check_text(what: str, value: Any) -> None:
    """Check that every text in ``value``, at any depth, is Unicode.

    A surrogate without its pair is none: no file, no engine and no log takes it. It comes from a name of a file whose
    bytes are not UTF-8, or from JSON that was cut.

    :param what: says what it is, for the message
    :raises RequestError: naming what holds one
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise RequestError(
                f"{what} is {value!a}, which is not valid Unicode: it has half of a surrogate pair at position "
                f"{error.start}. Give the text in UTF-8."
            ) from None
    elif isinstance(value, Mapping):
        for key, held in value.items():
            check_text(what, key)
            check_text(what, held)
    elif isinstance(value, (list, tuple)):
        for held in value:
            check_text(what, held)


def names(argument: str, value: Any) -> tuple[str, ...]:
    """Return a list of names, each once, in its order.

    :raises RequestError: if it is no list of texts that are not empty
    """
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) and name for name in value):
        raise RequestError(f"{argument} has to be a list of names, not {value!r}.")
    return tuple(dict.fromkeys(value))


def check_flags(options: Any, *arguments: str) -> None:
    """Check that the named attributes of ``options`` are booleans.

    :raises RequestError: naming the first that is none
    """
    for argument in arguments:
        if not isinstance(getattr(options, argument), bool):
            raise RequestError(f"{argument} is {getattr(options, argument)!r}; it has to be True or False.")


def version_or_none(argument: str, value: Any) -> int | None:
    """Return a table version.

    :raises RequestError: if it is neither None nor one
    """
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise RequestError(f"{argument} is {value!r}; it has to be a table version: 0, 1, 2, …")
    return value


def time_or_none(argument: str, value: Any) -> datetime | None:
    """Return a time; one without a zone is UTC.

    :raises RequestError: if it is neither None nor the text of one, ISO 8601
    """
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except (AttributeError, TypeError, ValueError):
        raise RequestError(f"{argument} is {value!r}; it has to be a time such as 2026-05-31T18:00:00Z.") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)
