"""The places of a table and of the files in its findings, as URIs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.paimon.layout import snapshot_path
from airflow_delta_provider.domain.rendering.source_tree import SourceTree
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.table_name import TableName, TableNameError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:/*)(.*)", re.DOTALL)
#: Prefix of names that start at the working directory.
_HERE = re.compile(r"^(?:\./+)+")
#: Kinds of jobs whose versions are snapshots of Paimon.
_OF_PAIMON = frozenset({"check-paimon-row-tracking"})


@dataclass(frozen=True)
class TablePlace:
    """The directory of a table.

    :param uri: URI: absolute, relative to the repository, or relative to the catalog for a catalog's table
    :param known: True if the location is known; a report may have only the catalog's name for a table
    :param kind: kind of the job
    :param sources: the repository; None if unknown, then relative names stay as they are
    """

    uri: str
    known: bool
    kind: str
    sources: SourceTree | None = None

    @classmethod
    def of(cls, table: TableReport, kind: str, sources: SourceTree | None = None) -> TablePlace:
        named = (table.detail or {}).get("location")
        location = named if isinstance(named, str) else _location(table.table)
        uri = _uri(table.table) if location is None else _source_uri(location, sources)
        return cls(uri, location is not None, kind, sources)

    @property
    def is_below(self) -> bool:
        """True if it is a location in the repository."""
        return self.known and _SCHEME.match(self.uri) is None and ".." not in self.uri.split("/")

    @property
    def log(self) -> str:
        """URI of the directory with the table's history."""
        return self.file("snapshot" if self.kind in _OF_PAIMON else "_delta_log")

    def commit(self, version: int) -> str:
        """Return the URI of the file that made a version."""
        return self.file(commit_path(version, self.kind))

    def file(self, path: str) -> str:
        """Return the URI of a file.

        :param path: path relative to the table, or a location of its own, as in findings
        """
        if path.startswith("/") or _SCHEME.match(path):
            return _source_uri(path, self.sources)
        return _quoted(path) if self.uri == "." else f"{self.uri}/{_quoted(path)}"


def commit_path(version: int, kind: str) -> str:
    """Return the path of the file that made a version, relative to the table.

    :param kind: kind of the job
    """
    return snapshot_path(version) if kind in _OF_PAIMON else f"_delta_log/{commit_name(version)}"


def _location(name: str) -> str | None:
    try:
        return TableName.parse(name).location
    except TableNameError:
        return None


def _source_uri(location: str, sources: SourceTree | None) -> str:
    """Return a location as a URI, relative to the repository if it is in it."""
    if sources is None:
        return _uri(location)
    path = sources.path(location)
    return _uri(sources.absolute(location)) if path is None else _quoted(path)


def _uri(location: str) -> str:
    """Return a location as a URI without a trailing slash.

    All characters of the location are taken literally.
    """
    if match := _SCHEME.fullmatch(location):
        return match[1] + quote(match[2].rstrip("/"), safe="/:@", errors="surrogatepass")
    if location.startswith("/"):
        return f"file://{_quoted(location.rstrip('/'))}"
    return _quoted(_HERE.sub("", f"{location.rstrip('/')}/").rstrip("/")) or "."


def _quoted(path: str) -> str:
    return quote(path, safe="/", errors="surrogatepass")
