"""What is wrong with a request, regardless of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class RequestError(ValueError):
    """A request that is invalid, regardless of its tables; the message names the option and the remedy.

    An option has other names elsewhere: on the command line it is a flag. So messages name options between braces, and
    :meth:`naming` puts the names in.

    :param message: a format string: ``{level}`` is the name of the option ``level``, unless a value is called so;
        ``{option}`` is the name of ``option``
    :param option: the option that is wrong, where it is a single one
    :param values: what else the message shows
    """

    def __init__(self, message: str, /, *, option: str | None = None, **values: Any) -> None:
        super().__init__(message)
        self.option = option
        self._values = values

    def __str__(self) -> str:
        return self.naming({})

    def naming(self, names: Mapping[str, str]) -> str:
        """Return the message.

        :param names: what options are called, by their own names; the others keep those
        """
        message: str = self.args[0]
        return message.format_map(_Words(names, option=self.option, **self._values))


class _Words(dict[str, Any]):
    """The values of a message; what has none is an option."""

    def __init__(self, names: Mapping[str, str], *, option: str | None, **values: Any) -> None:
        super().__init__(values)
        self._names = names
        if option is not None:
            self["option"] = names.get(option, option)

    def __missing__(self, option: str) -> str:
        return self._names.get(option, option)


def check_text(what: str, value: Any) -> None:
    """Check that every text in ``value``, at any depth, is Unicode.

    Half of a surrogate pair is not: no file, engine or log takes it. It comes from the name of a file whose bytes are
    not UTF-8, or from JSON that was cut.

    :param what: says what it is, for the message
    :raises RequestError: naming what holds one
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
