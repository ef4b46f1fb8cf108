"""Which tables a request names: patterns of paths, and all tables of a catalog schema, are looked up."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator

from airflow_delta_provider.domain.request.table_name import TableName, TableNameError, has_wildcard
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError


def expand(session: DeltaSession, tables: Iterable[str]) -> tuple[str, ...]:
    """Return the tables that a request names, each once.

    A path with ``*``, ``?`` or ``[…]`` in it matches the Delta tables at all paths that fit, segment by
    segment; ``schema.*`` for the Delta tables of a catalog schema. A pattern that fits none stays as it is,
    and so does a name that is a table's as it is written.
    """
    found: dict[str, None] = {}
    for text in tables:
        matches = sorted(_matches(session, text))
        found.update(dict.fromkeys(matches or [text]))
    return tuple(found)


def _matches(session: DeltaSession, text: str) -> Iterator[str]:
    try:
        name = TableName.parse(text)
    except TableNameError:
        return
    if not name.may_be_pattern:
        return
    if name.location is not None:
        if not _is_table(session, name.location):
            yield from _paths(session, name.location)
    elif name.identifier is not None:
        prefix = text.rpartition(".")[0]
        yield from (f"{prefix}.{table}" for table in session.tables_in(name.identifier[:-1]))


def _paths(session: DeltaSession, pattern: str) -> Iterator[str]:
    """Yield the locations of tables whose path fits a pattern."""
    segments = pattern.rstrip("/").split("/")
    first = next(index for index, segment in enumerate(segments) if has_wildcard(segment))
    roots = ["/".join(segments[:first])]
    for segment in segments[first:]:
        roots = [
            f"{root}/{name}" for root in roots for name in _names(session, root) if fnmatch.fnmatchcase(name, segment)
        ]
    for root in roots:
        if _is_table(session, root):
            yield root


def _names(session: DeltaSession, location: str) -> list[str]:
    try:
        return sorted(session.storage.list_names(session.storage.qualify(f"{location}/")))
    except MissingFileError:
        return []


def _is_table(session: DeltaSession, location: str) -> bool:
    return "_delta_log" in _names(session, location)
