"""Errors of the machine that runs a job, such as too little memory. They say nothing about a table."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Shortage:
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
