"""Names of tables: locations or catalog identifiers. Wrong names are found before Spark starts."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.text import SqlNameError, quote, split_name

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(/.*)", re.DOTALL)
_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/@]*:[^/]*@")
_WILDCARD = re.compile(r"[*?\[]")
#: Format of SQL names that contain a path: delta.`/lake/orders`.
_PATH_FORMAT = "delta"
_QUOTED_PATH = re.compile(rf"{_PATH_FORMAT}\.`((?:[^`]|``)+)`", re.IGNORECASE | re.DOTALL)
#: Schemes that name the same object store.
_SAME_SCHEME = {"s3a": "s3", "s3n": "s3", "abfs": "abfss", "wasb": "wasbs"}


class TableNameError(ValueError):
    """An error for text that does not name a table."""


@dataclass(frozen=True)
class TableName:
    """A table as a request names it: exactly one of ``location`` and ``identifier`` is set.

    :param text: original text of the request
    :param location: path or URI of the table's directory
    :param identifier: parts of the catalog identifier
    """

    text: str
    location: str | None = None
    identifier: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Read a name: unquoted text with a slash is a location, anything else an identifier.

        :raises TableNameError: if it is neither, or contains a password
        """
        if not isinstance(text, str) or not text.strip() or "\x00" in text:
            raise TableNameError(f"{text!r} does not name a table. Give a path, a URI or a catalog name.")
        name = cls._read(text)
        if name.location is not None and _PASSWORD.match(name.location):
            raise TableNameError(
                "The name of a table holds a password before its @, which logs and reports would show. Leave it out: "
                "Spark takes credentials from its configuration, a sensor from the connection in storage_conn_id."
            )
        return name

    @classmethod
    def _read(cls, text: str) -> TableName:
        if path := _QUOTED_PATH.fullmatch(text):
            return cls(text, location=path[1].replace("``", "`"))
        if "/" in text and not text.startswith("`"):
            return cls(text, location=text)
        try:
            parts = split_name(text)
        except SqlNameError:
            raise TableNameError(
                f"{text!r} is not a catalog name. Separate catalog, schema and table by dots, and put a part that "
                "itself holds a dot or a backtick between backticks, a backtick in it doubled."
            ) from None
        if "/" in parts[-1] and parts[-2:-1] and parts[-2].casefold() == _PATH_FORMAT:
            return cls(text, location=parts[-1])  # Spark reads this as a path, with any catalog before it
        return cls(text, identifier=parts)

    @property
    def may_be_pattern(self) -> bool:
        """True if it may match several tables: a path with ``*``, ``?`` or ``[``, or ``schema.*``."""
        if self.location is not None:
            return has_wildcard(self.location)
        return self.identifier is not None and len(self.identifier) > 1 and self.identifier[-1] == "*"

    @property
    def sql(self) -> str:
        """The name as quoted SQL, with quotes in it escaped."""
        if self.location is not None:
            return f"{_PATH_FORMAT}.{quote(self.location)}"
        return ".".join(quote(part) for part in self.identifier or ())


def has_wildcard(path: str) -> bool:
    """Return True if a path, or a part of one, may match several: it has ``*``, ``?`` or ``[``."""
    return bool(_WILDCARD.search(path))


def is_relative(location: str) -> bool:
    """Return True if a location depends on the working directory: no absolute path, and no URI."""
    return not location.startswith("/") and _SCHEME.fullmatch(location) is None


def is_catalog_name(text: str) -> bool:
    """Return True if a string names a table of a catalog."""
    try:
        return TableName.parse(text).identifier is not None
    except TableNameError:  # this error is reported for that table
        return False


def normal_location(location: str) -> str:
    """Return one spelling for all spellings of a location.

    ``s3a://b/t/`` and ``s3://b/t`` become the same, and so do ``/t``, ``file:/t`` and ``file:///t``. Double slashes in
    the path are merged. ``..`` is kept: object stores do not resolve it.
    """
    match = _SCHEME.fullmatch(location)
    scheme, rest = (match[1].lower(), match[2]) if match else ("file", location)
    authority = ""
    if match and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
    path = re.sub("/+", "/", rest).rstrip("/") or "/"
    return f"{_SAME_SCHEME.get(scheme, scheme)}://{authority}{path}"


def check_tables(tables: Iterable[str], *, patterns: bool, relative: bool) -> None:
    """Check the names of tables.

    :param patterns: True if patterns are allowed
    :param relative: True if relative paths are allowed
    :raises RequestError: for a pattern or relative path that is not allowed, and for a table that is named twice
    :raises TableNameError: for text that does not name a table
    """
    spelled: dict[Hashable, str] = {}
    for text in tables:
        name = TableName.parse(text)
        if not patterns and _is_pattern(name):
            raise _pattern_refused(name)
        if not relative and name.location is not None and is_relative(name.location):
            raise RequestError(
                "{text!r} is relative to the folder of the process that reads it. Give an absolute path or a URI.",
                text=text,
            )
        before = spelled.setdefault(place_of(name), text)
        if before != text:
            raise RequestError(
                "{before!r} and {text!r} are one table in two spellings. Name it once.", before=before, text=text
            )


def _is_pattern(name: TableName) -> bool:
    """Return True if a name is probably meant as a pattern.

    Brackets in a path do not count, as folder names contain them.
    """
    if name.location is None:
        return name.may_be_pattern
    return name.location == name.text and any(mark in name.location for mark in "*?")


def _pattern_refused(name: TableName) -> RequestError:
    return RequestError(
        "{text!r} is a pattern, which this kind of job does not accept. Name each table.{literal}",
        text=name.text,
        literal="" if name.location is None else f" If that is the table's name, write {name.sql}.",
    )


def place_of(name: TableName) -> Hashable:
    """Return a key that is equal for all spellings of a table."""
    if name.location is None:
        return tuple(part.casefold() for part in name.identifier or ())
    folded = re.sub(r"/(?:\./)+|/\.$", "/", name.location.removeprefix("./"))
    return folded.rstrip("/") if is_relative(folded) else normal_location(folded)


def named_place(table: str | None) -> Hashable:
    """Return a key that is equal for all strings that name the same table."""
    try:
        return place_of(TableName.parse(table or ""))
    except TableNameError:
        return table


DEEP = "**"
#: Positions that a path has reached in a pattern, as indices of segments. One path may match in several ways.
States = frozenset[int]


class PathPattern:
    """A pattern that is matched along a path, one segment at a time.

    :param pattern: path or URI; a segment ``**`` also matches no segment at all
    """

    def __init__(self, pattern: str) -> None:
        segments = pattern.rstrip("/").split("/")
        first = next((index for index, segment in enumerate(segments) if has_wildcard(segment)), len(segments))
        self.root = "/".join(segments[:first])
        """The part before the first wildcard."""
        self._segments = segments[first:]
        self.start = self._with_none(0)
        """The positions in the pattern after ``root``."""

    def step(self, states: States, name: str) -> States:
        """Return the positions after one more segment."""
        found: set[int] = set()
        for state in states:
            if state < len(self._segments):
                segment = self._segments[state]
                if segment == DEEP:
                    found |= self._with_none(state)
                elif fnmatch.fnmatchcase(name, segment):
                    found |= self._with_none(state + 1)
        return frozenset(found)

    def is_deep(self, states: States) -> bool:
        """Return True if ``**`` can match the next segment; it does not look into tables."""
        return any(self._segments[state : state + 1] == [DEEP] for state in states)

    def shallow(self, states: States) -> States:
        """Return the positions except ``**``, which does not look into hidden folders."""
        return frozenset(state for state in states if self._segments[state : state + 1] != [DEEP])

    def fits(self, states: States) -> bool:
        """Return True if a path that reached these positions matches the pattern."""
        return len(self._segments) in states

    def literal(self, states: States) -> str | None:
        """Return the only name that can follow; None if several may."""
        segments = {self._segments[state] for state in states if state < len(self._segments)}
        if len(segments) != 1 or self.fits(states):
            return None
        (segment,) = segments
        return None if has_wildcard(segment) else segment

    def covers(self, path: str) -> bool:
        """Return True if a path matches the pattern, or is below one that does."""
        if self.root not in ("", path) and not path.startswith(f"{self.root}/"):
            return False
        states = self.start
        rest = path[len(self.root) :].strip("/")
        for name in rest.split("/") if rest else ():
            if self.fits(states):
                return True
            states = self.step(states, name)
        return self.fits(states)

    def _with_none(self, state: int) -> States:
        return frozenset(self._also(state))

    def _also(self, state: int) -> Iterator[int]:
        """Yield a position, and the positions after each ``**`` that matches no segment."""
        yield state
        while self._segments[state : state + 1] == [DEEP]:
            state += 1
            yield state


def is_hidden(name: str) -> bool:
    """Return True if a folder is hidden, so it is not searched for tables."""
    return name.startswith(("_", "."))


class Exclusion:
    """Tables to leave out.

    :param patterns: patterns with a slash match absolute paths and everything below them; patterns without match the
        last part of a path, or the whole name of a table in a catalog
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._paths = [PathPattern(normal_location(pattern)) for pattern in patterns if "/" in pattern]
        self._names = [pattern for pattern in patterns if "/" not in pattern]

    def covers(self, table: str) -> bool:
        """Return True if a table is to be left out; a path must be absolute."""
        try:
            location = TableName.parse(table).location
        except TableNameError:
            return False
        if location is None:
            return any(fnmatch.fnmatchcase(table, name) for name in self._names)
        path = normal_location(location)
        last = path.rpartition("/")[2]
        return any(fnmatch.fnmatchcase(last, name) for name in self._names) or any(
            pattern.covers(path) for pattern in self._paths
        )


#: Folders with a Delta table's own metadata. Nothing else may be written there.
_METADATA = frozenset({"_delta_log", "_change_data", "_delta_index"})
_OWN_FOLDER = "Choose a folder of its own."


def allowed_roots(allowed: Iterable[str]) -> tuple[str, ...]:
    """Return the entries that are locations."""
    parsed = ((entry, TableName.parse(entry)) for entry in allowed)
    return tuple(name.location or entry for entry, name in parsed if name.location is not None)


def is_below(location: str, root: str) -> bool:
    """Return True if a location is ``root`` or below it, in any spelling; False if it contains ``..``."""
    if ".." in location.split("/"):
        return False
    path, above = normal_location(location), normal_location(root)
    return path == above or path.startswith(above.rstrip("/") + "/")


def check_location(table: TableName, allowed: Sequence[str]) -> Finding | None:
    """Return a refusal if ``table``, as named, is outside every entry of ``allowed``."""
    if not allowed or any(_allows(entry, table) for entry in allowed):
        return None
    return _outside("{table!r} lies outside", allowed, table=table.text)


def check_found(table: TableName, location: str, roots: Sequence[str]) -> Finding | None:
    """Return a refusal if ``table`` leads to a location outside every root.

    :param location: location after resolving the catalog, links and mounts
    :param roots: locations that are allowed; empty if locations are not restricted
    """
    if not roots or any(is_below(location, root) for root in roots):
        return None
    what = "{table!r} resolves to {location}, where a catalog entry, a symbolic link or a mount leads, outside"
    return _outside(what, roots, table=table.text, location=location)


def check_path(argument: str, path: str, allowed: Sequence[str]) -> Finding | None:
    """Return a refusal if a file or folder in an argument must not be used.

    A folder with a table's own metadata is always refused. Any other must be below an entry that is a location.

    :param argument: name of the argument, for the message
    """
    metadata = _METADATA & {segment.casefold() for segment in path.split("/")}
    if metadata:
        return requests.LOCATION_NOT_ALLOWED.found(
            "{argument} is {place!r}, inside {folder} of a table. Only the table itself may be written there.",
            remedy=_OWN_FOLDER,
            argument=argument,
            place=path,
            folder=min(metadata),
        )
    if not allowed or any(is_below(path, root) for root in allowed_roots(allowed)):
        return None
    return _outside("{argument} is {place!r}, outside", allowed, argument=argument, place=path)


def check_outside_data(argument: str, path: str, table: str) -> Finding | None:
    """Return a refusal if ``path`` is among the data of the table at the location ``table``.

    VACUUM and clean-ups of orphan files delete files there that the table does not know. They spare names that begin
    with ``_`` or ``.``, so a folder like ``_audit`` is allowed.
    """
    if not is_below(path, table):
        return None
    rest = normal_location(path)[len(normal_location(table)) :].lstrip("/")
    if rest.startswith(("_", ".")):
        return None
    return requests.LOCATION_NOT_ALLOWED.found(
        "{argument} is {place!r}, in the folder of the table {table}. There, VACUUM deletes files that are not part "
        "of the table.",
        remedy=_OWN_FOLDER,
        argument=argument,
        place=path,
        table=table,
    )


def _outside(what: str, allowed: Sequence[str], **facts: Any) -> Finding:
    return requests.LOCATION_NOT_ALLOWED.found(f"{what} the allowed locations ({{allowed}}).", allowed=allowed, **facts)


def _allows(entry: str, table: TableName) -> bool:
    prefix = TableName.parse(entry)
    if prefix.location is not None:
        return table.location is not None and is_below(table.location, prefix.location)
    wanted = tuple(part.casefold() for part in prefix.identifier or ())
    parts = tuple(part.casefold() for part in table.identifier or ())
    return parts[: len(wanted)] == wanted
