"""Links in a rendered report: to the page of a rule, and to the files of a table in a source tree."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.table_name import TableName, TableNameError, is_relative, normal_location


def anchor(code: str) -> str:
    return code.lower()


@dataclass(frozen=True)
class RuleLinks:
    """Links to the documentation of rules.

    :param page: address of the published page of rules: the site's ``reference/rules.html``, or
        ``docs/reference/rules.md`` in a repository's browser; None if unknown
    :raises ValueError: if that is not an address on the web, or already has a fragment
    """

    page: str | None = None

    def __post_init__(self) -> None:
        if self.page is None:
            return
        parts = urlsplit(self.page)
        if parts.scheme not in ("http", "https") or not parts.netloc or "#" in self.page or not self.page.isprintable():
            raise ValueError(
                f"{self.page!r} is not the address of the page of rules. Give an http or https URL without a fragment."
            )

    def url(self, code: str) -> str | None:
        """Return the address of a rule; None without a page, or if this version does not know the rule."""
        return f"{self.page}#{anchor(code)}" if self.page and code in RULES else None

    def shown(self, code: str) -> str:
        """Return the address of a rule, or else the command that explains it; empty for an unknown rule."""
        return self.url(code) or (f"delta-provider explain {code}" if code in RULES else "")


@dataclass(frozen=True)
class RuleRoutes(RuleLinks):
    """Links to a server's pages of rules, one per rule.

    :param folder: address of the pages, relative to the page that links to them
    """

    folder: str = "."

    def url(self, code: str) -> str | None:
        """Return the address of a rule; None if this version does not know it."""
        return f"{self.folder}/{code}" if code in RULES else None


_LOCAL = "file://"


class SourceTree(NamedTuple):
    """A repository, with the folder that relative table names start from.

    :param root: absolute path of the repository
    :param folder: absolute path of the folder
    """

    root: str
    folder: str

    def path(self, location: str) -> str | None:
        """Return the path of a location, relative to the root; None if it is elsewhere."""
        whole = self.absolute(location)
        if whole == self.root:
            return "."
        root = f"{self.root.rstrip('/')}/"
        return whole.removeprefix(root) if whole.startswith(root) else None

    def absolute(self, location: str) -> str:
        if is_relative(location):
            return posixpath.normpath(posixpath.join(self.folder, location))
        normal = normal_location(location)
        return posixpath.normpath(normal.removeprefix(_LOCAL)) if normal.startswith(f"{_LOCAL}/") else location


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:/*)(.*)", re.DOTALL)
#: Prefix of names that start at the working directory.
_HERE = re.compile(r"^(?:\./+)+")
#: Kinds of jobs whose versions are snapshots of Paimon.
_OF_PAIMON = frozenset({"check-paimon-row-tracking"})


class TablePlace(NamedTuple):
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
    if kind not in _OF_PAIMON:
        return f"_delta_log/{commit_name(version)}"
    from airflow_delta_provider.domain.paimon.layout import snapshot_path  # late: few reports are about Paimon

    return snapshot_path(version)


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
