"""Errors in a request, and errors of the machine that runs a job, such as too little memory."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class Shortage(NamedTuple):
    """A resource that the machine ran out of.

    :param what: name of the resource
    :param remedy: advice, a sentence
    """

    what: str
    remedy: str


MEMORY = Shortage("memory", "Give the job more memory, or let fewer tasks run on this machine at once.")
FILES = Shortage(
    "open files",
    "Raise the limit of open files (ulimit -n, or LimitNOFILE of the service), or let fewer tasks run at once.",
)
THREADS = Shortage(
    "threads",
    "Raise the limit of processes and threads (ulimit -u, or the pids limit of the container), or let fewer tasks run "
    "at once.",
)
_NUMBERS: Mapping[int, Shortage] = {errno.ENOMEM: MEMORY, errno.EMFILE: FILES, errno.ENFILE: FILES}
#: Messages of exceptions without a class or number of their own: from threads, compiled libraries and Java.
_TEXTS: tuple[tuple[str, Shortage], ...] = (
    (r"can't start new thread|unable to create (new )?native thread", THREADS),
    (r"Too many open files|os error (23|24)\b|errno (23|24)\b", FILES),
    (r"Cannot allocate memory|not enough memory|bad_alloc|os error 12\b|errno 12\b", MEMORY),
    (r"(re|m)alloc of size \d+ failed", MEMORY),
)
#: Packages whose exceptions have one class for everything.
_LIBRARIES = frozenset({"obstore", "pyarrow", "zstd", "zstandard"})
_MOST_CAUSES = 10


def shortage(error: BaseException) -> Shortage | None:
    """Return the resource that the machine ran out of; None if an error has another cause."""
    return next(filter(None, map(_of_one, _causes(error))), None)


def shortage_named(message: str) -> Shortage | None:
    """Return the resource that the machine ran out of, according to a library's message.

    None if the message names no shortage.
    """
    return next((found for pattern, found in _TEXTS if re.search(pattern, message, re.IGNORECASE)), None)


def _of_one(error: BaseException) -> Shortage | None:
    if isinstance(error, MemoryError):
        return MEMORY
    if isinstance(error, OSError) and error.errno is not None:
        return _NUMBERS.get(error.errno)
    speaks = isinstance(error, (OSError, RuntimeError)) or type(error).__module__.partition(".")[0] in _LIBRARIES
    return shortage_named(str(error)) if speaks else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__


class BrokenMetadataError(Exception):
    """An error for metadata that cannot be read as one table.

    The message names the missing or damaged file.
    """


class UnreadMetadataError(BrokenMetadataError):
    """An error for metadata that cannot be read here, or needs more memory than allowed.

    The metadata may be intact. The message names the file and the reason.
    """


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
