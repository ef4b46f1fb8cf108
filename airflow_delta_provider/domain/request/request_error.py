"""Errors of a request that do not depend on its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class RequestError(ValueError):
    """An error for an invalid request, regardless of its tables.

    The message names the option and the remedy.

    An option has other names elsewhere: on the command line it is a flag. So messages have option names in braces,
    which :meth:`naming` replaces.

    :param message: format string: ``{level}`` is the name of the option ``level``, unless ``values`` has that key;
        ``{option}`` is the name of ``option``
    :param option: name of the wrong option, if it is a single one
    :param values: further values of the message
    """

    def __init__(self, message: str, /, *, option: str | None = None, **values: Any) -> None:
        super().__init__(message)
        self.option = option
        self._values = values

    def __str__(self) -> str:
        return self.naming({})

    def naming(self, names: Mapping[str, str]) -> str:
        """Return the message.

        :param names: names to show for options, by their own names; other options keep theirs
        """
        message: str = self.args[0]
        return message.format_map(_Words(names, option=self.option, **self._values))


class _Words(dict[str, Any]):
    """The values of a message. A placeholder without a value names an option."""

    def __init__(self, names: Mapping[str, str], *, option: str | None, **values: Any) -> None:
        super().__init__(values)
        self._names = names
        if option is not None:
            self["option"] = names.get(option, option)

    def __missing__(self, option: str) -> str:
        return self._names.get(option, option)


def check_text(what: str, value: Any) -> None:
    """Check that every string in ``value``, at any depth, is valid Unicode.

    Half of a surrogate pair is not: no file, engine or log accepts it. It comes from a file name whose bytes are not
    UTF-8, or from truncated JSON.

    :param what: description of the value, for the message
    :raises RequestError: if a string is not valid Unicode
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise RequestError(
                "{option} is {value!a}, which is not valid Unicode: it has half of a surrogate pair at position "
                "{position}. Give the text in UTF-8.",
                option=what,
                value=value,
                position=error.start,
            ) from None
    elif isinstance(value, Mapping):
        for key, held in value.items():
            check_text(what, key)
            check_text(what, held)
    elif isinstance(value, (list, tuple)):
        for held in value:
            check_text(what, held)
