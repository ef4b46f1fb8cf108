"""Expands a request's patterns of paths and of catalog schemas into tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.engine.sql_identifier import as_written
from airflow_delta_provider.domain.request.path_pattern import Exclusion
from airflow_delta_provider.domain.request.table_name import TableName, TableNameError
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.process.progress import Progress, silent
from airflow_delta_provider.jobs.run.path_search import PathSearch
from airflow_delta_provider.jobs.tables.table_session import TableError

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
