"""The tables of a request: patterns of paths, and the tables that match them, from listings alone."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.table_name import (
    Exclusion,
    PathPattern,
    States,
    TableName,
    TableNameError,
    is_hidden,
)
from airflow_delta_provider.domain.text import as_written, counted
from airflow_delta_provider.jobs.delta.session import DeltaSession
from airflow_delta_provider.jobs.process import Progress, silent
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from airflow_delta_provider.jobs.storage.storage import Storage
from airflow_delta_provider.jobs.tables.session import TableError

#: Number of concurrent listings on storages with network latency.
_AT_ONCE = 16
#: Seconds between two progress lines of a long search.
_SECONDS_BETWEEN = 5.0


class FolderNotListedError(Exception):
    """A folder could not be listed, so the tables below it are unknown. The cause has the reason."""


class _Seen(NamedTuple):
    """The listing of a directory: its tables and the folders to search next, or an error."""

    tables: tuple[str, ...] = ()
    below: Mapping[str, States] | None = None
    error: FolderNotListedError | None = None


class PathSearch:
    """Searches for tables below the root of a pattern.

    :param marks: names of directories that every table has, such as ``_delta_log``
    :param progress: receives a line from time to time during a long search
    """

    def __init__(self, storage: Storage, marks: Collection[str], progress: Progress = silent) -> None:
        self._storage = storage
        self._marks = frozenset(marks)
        self._entered: set[str] = set()
        self._progress = progress
        self.unlisted: dict[str, FolderNotListedError] = {}
        """Folders that could not be listed, up to now."""

    def tables(self, pattern: str) -> Iterator[str]:
        """Yield the tables that match. Tables nearer to the root come first.

        ``**`` does not enter tables, or folders whose names begin with ``_`` or ``.``. If several links lead to a
        directory, it is entered once.
        """
        from concurrent.futures import ThreadPoolExecutor  # slow to import

        parsed = PathPattern(pattern)
        level: Mapping[str, States] = {parsed.root: parsed.start}
        self._entered = set()
        reported, folders, tables = time.monotonic(), 0, 0
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            while level:
                is_local = self._storage.is_local(self._qualified(parsed.root))
                each_of = map if is_local else pool.map
                following: defaultdict[str, States] = defaultdict(frozenset)
                for (folder, _), seen in zip(
                    sorted(level.items()), each_of(lambda each: self._list(parsed, *each), sorted(level.items()))
                ):
                    if seen.error is not None:
                        self.unlisted[folder] = seen.error
                    yield from seen.tables
                    folders, tables = folders + 1, tables + len(seen.tables)
                    if time.monotonic() - reported > _SECONDS_BETWEEN:
                        reported = time.monotonic()
                        found = f"{counted(folders, 'folder')} listed, {counted(tables, 'table')} found so far"
                        self._progress(f"{pattern}: {found}")
                    for path, states in (seen.below or {}).items():
                        following[path] |= states
                level = following

    def is_table(self, location: str) -> bool:
        """Return True if a directory has all the marks of a table."""
        return self._marks <= set(self._names(location))

    def _list(self, pattern: PathPattern, path: str, states: States) -> _Seen:
        """List one directory, unless the pattern has a literal name for the next level."""
        if (name := pattern.literal(states)) is not None:
            return _Seen(below={f"{path}/{name}": pattern.step(states, name)})
        if pattern.is_deep(states) and self._was_entered(path):
            return _Seen()
        try:
            names = self._names(path)
        except Exception as error:
            unlisted = FolderNotListedError(f"{path} could not be listed; tables below it were not looked at")
            unlisted.__cause__ = error
            return _Seen(error=unlisted)
        is_table = self._marks <= set(names)
        tables = (path,) if is_table and pattern.fits(states) else ()
        if is_table and pattern.is_deep(states):
            return _Seen(tables)
        below = {}
        for name in names:
            after = pattern.step(pattern.shallow(states) if is_hidden(name) else states, name)
            if after:
                below[f"{path}/{name}"] = after
        return _Seen(tables, below)

    def _was_entered(self, path: str) -> bool:
        """Return True if a local directory was already entered by another path."""
        location = self._qualified(path)
        if not self._storage.is_local(location):
            return False
        real = self._storage.real_location(location)
        if real in self._entered:
            return True
        self._entered.add(real)
        return False

    def _names(self, location: str) -> list[str]:
        try:
            return self._storage.list_folders(self._qualified(location))
        except MissingFileError:  # or it is a file
            return []

    def _qualified(self, location: str) -> str:
        return self._storage.qualify(f"{location}/")


#: The directories that every Delta table has.
DELTA_MARKS = frozenset({"_delta_log"})


@dataclass(frozen=True)
class NamedTables:
    """The tables that a request names, each once.

    :param errors: errors by the name of the schema or folder whose tables are unknown
    """

    tables: tuple[str, ...]
    errors: Mapping[str, Exception]


@dataclass(frozen=True)
class Matches:
    """The tables that match a pattern, sorted.

    :param errors: errors by the folder that could not be listed
    """

    tables: list[str]
    errors: Mapping[str, Exception] = field(default_factory=dict)


def expand(
    session: DeltaSession, tables: Iterable[str], exclude: Sequence[str] = (), progress: Progress = silent
) -> NamedTables:
    """Return the tables that a request names.

    A path with ``*``, ``?`` or ``[…]`` matches the Delta tables at all matching paths, segment by segment; ``**``
    stands for any number of segments. ``schema.*`` matches the Delta tables of a catalog schema. A pattern without
    matches is kept, with an error. A name that is literally a table's name is also kept.

    :param exclude: patterns of tables to leave out, even if they are named
    """
    found: dict[str, None] = {}
    errors: dict[str, Exception] = {}
    excluded = Exclusion(exclude)
    for text in tables:
        try:
            fitting = matches(session, text, progress=progress)
            matched = [text] if fitting is None else [*fitting.tables, *fitting.errors]
            errors.update({} if fitting is None else fitting.errors)
            if not matched:
                raise TableError(
                    requests.NO_SUCH_TABLE.found(
                        "No Delta table matches {pattern}.", remedy="Check the pattern.", pattern=text
                    )
                )
        except Exception as error:  # reported as the error of a table with this name
            errors[text], matched = error, [text]
        found.update(dict.fromkeys(table for table in matched if not excluded.covers(table)))
    return NamedTables(tuple(found), errors)


def matches(
    session: DeltaSession, text: str, marks: Collection[str] = DELTA_MARKS, progress: Progress = silent
) -> Matches | None:
    """Return the tables that match a pattern; None if ``text`` is the name of one table.

    :param marks: names of directories that each table has
    :param progress: receives the other entries of a schema, and the progress of a long search
    :raises TableError: if the schema does not exist, or has no table of the format
    :raises Exception: error of a storage that cannot be reached
    """
    try:
        name = TableName.parse(text)
    except TableNameError:
        return None
    if not name.may_be_pattern:
        return None
    if name.location is not None:
        search = PathSearch(session.storage, marks, progress)
        if search.is_table(name.location):
            return None
        return Matches(sorted(search.tables(name.location)), search.unlisted)
    return Matches(sorted(_in_schema(session, text.rpartition(".")[0], (name.identifier or ())[:-1], progress)))


def _in_schema(session: DeltaSession, prefix: str, schema: tuple[str, ...], progress: Progress) -> Iterator[str]:
    """Return the tables of a schema. Each name begins with ``prefix``, the schema as the user wrote it.

    :raises TableError: if there is none
    """
    listing = session.tables_in(schema)
    left_out = listing.left_out
    if not listing.tables:
        raise TableError(
            requests.NO_SUCH_TABLE.found(
                "The schema {schema} has no Delta tables{others}.",
                remedy="Name another schema, or leave this one out.",
                schema=prefix,
                others=Prose(f", only {left_out}" if left_out else ": it is empty"),
            )
        )
    if left_out:
        progress(f"{prefix}: {len(listing.tables):,} Delta tables; left out: {left_out}")
    return (f"{prefix}.{as_written(table)}" for table in listing.tables)
