"""How a table is named: by a location or by a catalog identifier."""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_delta_provider.domain.engine.sql_identifier import SqlNameError, quote, split_name

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(/.*)", re.DOTALL)
_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/@]*:[^/]*@")
_WILDCARD = re.compile(r"[*?\[]")
#: The format whose tables SQL names by their path: delta.`/lake/orders`.
_PATH_FORMAT = "delta"
_QUOTED_PATH = re.compile(rf"{_PATH_FORMAT}\.`((?:[^`]|``)+)`", re.IGNORECASE | re.DOTALL)
#: Schemes that name the same object store.
_SAME_SCHEME = {"s3a": "s3", "s3n": "s3", "abfs": "abfss", "wasb": "wasbs"}


class TableNameError(ValueError):
    """A text that does not name a table."""


@dataclass(frozen=True)
class TableName:
    """A table as a request names it: exactly one of ``location`` and ``identifier`` is set.

    :param text: the request's own text
    :param location: path or URI of the table's directory
    :param identifier: parts of the catalog identifier
    """

    text: str
    location: str | None = None
    identifier: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Read a name: a text with a slash is a location, unless it is quoted; else an identifier.

        :raises TableNameError: if it is neither, or holds a password
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
            return cls(text, location=parts[-1])  # what Spark takes for a path, with any catalog before it
        return cls(text, identifier=parts)

    @property
    def may_be_pattern(self) -> bool:
        """Whether it may match several tables: a path with ``*``, ``?`` or ``[``, or ``schema.*``."""
        if self.location is not None:
            return has_wildcard(self.location)
        return self.identifier is not None and len(self.identifier) > 1 and self.identifier[-1] == "*"

    @property
    def sql(self) -> str:
        """The name as quoted SQL; nothing in it can end the quotes."""
        if self.location is not None:
            return f"{_PATH_FORMAT}.{quote(self.location)}"
        return ".".join(quote(part) for part in self.identifier or ())


def has_wildcard(path: str) -> bool:
    """Whether a path, or a part of one, may match several: it has ``*``, ``?`` or ``[``."""
    return bool(_WILDCARD.search(path))


def is_relative(location: str) -> bool:
    """Whether a location is another one for each folder that a process runs in: no absolute path, and no URI."""
    return not location.startswith("/") and _SCHEME.fullmatch(location) is None


def is_catalog_name(text: str) -> bool:
    """Whether a text names a table of a catalog."""
    try:
        return TableName.parse(text).identifier is not None
    except TableNameError:  # which is said of that table
        return False


def normal_location(location: str) -> str:
    """Return one spelling for all that name the same place.

    ``s3a://b/t/`` and ``s3://b/t``, ``/t``, ``file:/t`` and ``file:///t`` are one; double slashes in
    the path are folded. ``..`` is kept: it is not resolved in object stores.
    """
    match = _SCHEME.fullmatch(location)
    scheme, rest = (match[1].lower(), match[2]) if match else ("file", location)
    authority = ""
    if match and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
    path = re.sub("/+", "/", rest).rstrip("/") or "/"
    return f"{_SAME_SCHEME.get(scheme, scheme)}://{authority}{path}"
