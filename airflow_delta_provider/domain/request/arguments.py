"""What is wrong with an argument, and the checks that the kinds of jobs share."""

from __future__ import annotations

from typing import Any


class RequestError(ValueError):
    """A request that is wrong whatever the table; the message names the argument and the remedy."""


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
