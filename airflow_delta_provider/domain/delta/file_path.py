"""Paths of files in the log: URIs; several of them can name one file.

PROTOCOL.md, Add File and Remove File: RFC 2396, relative to the table's root or absolute.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

#: Characters allowed in a URI, including non-ASCII ones that Java accepts.
_CHARACTERS = r"[^\x00-\x20\x7f-\xa0\"<>\\^`{|}\[\]%]"
#: Regular expression of a valid path, also in quotes: a URI that can be decoded.
_URI = rf"(?=[^\"]){_CHARACTERS}*(?:%[0-9A-Fa-f]{{2}}{_CHARACTERS}*)"
#: The same for a path with few encoded bytes: within a larger pattern, each additional one needs memory.
SHORT_URI = f"{_URI}{{0,200}}"
_IS_URI = re.compile(f"{_URI}*").fullmatch
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)")
_DOTS = re.compile(r"/(?:\./)+")
_SLASHES = re.compile(r"/{2,}")
#: Schemes that lead to the same files.
_SAME = {"s3a": "s3", "s3n": "s3", "file": ""}


def is_uri(path: str) -> bool:
    """Return True if a path is a URI that can be decoded."""
    return _IS_URI(path) is not None


def is_odd(path: str) -> bool:
    """Return True if another path may name the same file: decoded, normalised or relative to the table.

    If neither of two different paths is odd, they name two files.
    """
    return "%" in path or ":" in path or path.startswith((".", "/")) or "/." in path or "//" in path


_ODD = ("%", ":", "/.", "//", "\n.", "\n/")
_NOT_PLAIN = (*_ODD, "/_", "\n_")


def is_any_odd(paths: Iterable[str]) -> bool:
    """Return True if at least one of several paths is odd."""
    return _is_any_in(paths, _ODD)


def are_plain(paths: Iterable[str]) -> bool:
    """Return True if no path is odd, and none leads into a folder whose name begins with an underscore."""
    return not _is_any_in(paths, _NOT_PLAIN)


def _is_any_in(paths: Iterable[str], signs: Iterable[str]) -> bool:
    joined = "\n".join(["", *paths])
    return any(sign in joined for sign in signs)


def is_absolute(path: str) -> bool:
    """Return True if a path does not start at the table's root."""
    return path.startswith("/") or _SCHEME.match(path) is not None


def plain_path(path: str, root: str | None = None) -> str:
    """Return the same string for all paths of one file.

    The path is decoded, and relative to the table if it is inside it.

    :param root: location of the table, a URI; None if unknown
    """
    if not is_absolute(path):
        return _short(f"/{unquote(path)}")[1:]
    found = _located(path)
    below = None if root is None else f"{_located(root).rstrip('/')}/"
    return found[len(below) :] if below is not None and found.startswith(below) else found


def _located(path: str) -> str:
    scheme = _SCHEME.match(path)
    if scheme is None:
        return _short(unquote(path))
    name = scheme[1].lower()
    name = _SAME.get(name, name)
    return f"{name}{':' if name else ''}{_short(unquote(path[scheme.end() :]))}"


def _short(path: str) -> str:
    return _DOTS.sub("/", _SLASHES.sub("/", path))


def hidden_folder(path: str) -> str | None:
    """Return the first hidden folder of a relative path: its name begins with an underscore.

    None if there is none. A folder that is named after a partition column, such as ``_day=2024-01-01``, is not hidden.
    """
    if not ("_" in path and "/" in path) or is_absolute(path):
        return None
    folders = path.split("/")[:-1]
    return next((folder for folder in folders if folder.startswith("_") and "=" not in folder), None)
