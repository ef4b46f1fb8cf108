"""Names of tables: locations or catalog identifiers. Wrong names are found before Spark starts."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from airflow_delta_provider.domain.engine.sql_identifier import SqlNameError, quote, split_name
from airflow_delta_provider.domain.request.request_error import RequestError

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
