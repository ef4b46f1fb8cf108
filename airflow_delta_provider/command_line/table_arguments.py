"""The tables on a command line: arguments, and files with tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

from airflow_delta_provider.command_line.usage_error import UsageError

#: First character of an argument that names a file of tables.
_FILE = "@"


def read_names(arguments: Iterable[str]) -> list[str]:
    """Return names and patterns of tables, with ``@FILE`` replaced by the names in the file.

    A file has one name per line; ``#`` begins a comment. ``@-`` is standard input.

    :raises UsageError: if a file cannot be read
    """
    return [_as_location(name) for argument in arguments for name in _named_by(argument)]


def _named_by(argument: str) -> Iterator[str]:
    if not argument.startswith(_FILE):
        yield argument
        return
    file = argument.removeprefix(_FILE)
    try:
        if file == "-":
            lines = sys.stdin.read().splitlines()
        else:
            with open(file, encoding="utf-8") as opened:
                lines = opened.read().splitlines()
    except OSError as error:
        raise UsageError(f"{argument}: the file cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{argument}: the file is not UTF-8 text.") from None
    for line in lines:
        name = f" {line}".partition(" #")[0].strip()
        if name:
            yield name


def _as_location(name: str) -> str:
    """Return a name unchanged, or as a path if it could also be a catalog name and is a folder here."""
    if "/" in name or name.startswith("`"):
        return name
    is_pattern = any(mark in name for mark in "*?") and "." not in name
    return f"./{name}" if is_pattern or os.path.isdir(name) else name


def pairs(settings: Iterable[str]) -> dict[str, str]:
    """Return settings that are written as ``KEY=VALUE``.

    If a key is given twice, the last value is used.
    """
    parted = (setting.partition("=") for setting in settings)
    return {key: value for key, _, value in parted}
