"""Which tables a request names: patterns of paths, and all tables of a catalog schema, are looked up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from airflow_delta_provider.domain.request.exclusion import Exclusion
from airflow_delta_provider.domain.request.table_name import TableName, TableNameError
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.run.path_search import PathSearch

#: The directories that every Delta table has.
DELTA_MARKS = frozenset({"_delta_log"})


def expand(session: DeltaSession, tables: Iterable[str], exclude: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the tables that a request names, each once.

    A path with ``*``, ``?`` or ``[…]`` in it matches the Delta tables at all paths that fit, segment by segment;
    ``**`` stands for any number of segments. ``schema.*`` matches the Delta tables of a catalog schema. A pattern that
    fits none stays as it is, and so does a name that is a table's as it is written.

    :param exclude: patterns of tables to leave out, also of those that are named
    """
    found: dict[str, None] = {}
    excluded = Exclusion(exclude)
    for text in tables:
        matched = sorted(matches(session, text) or ()) or [text]
        found.update(dict.fromkeys(table for table in matched if not excluded.covers(table)))
    return tuple(found)


def matches(session: DeltaSession, text: str, marks: Collection[str] = DELTA_MARKS) -> Iterator[str] | None:
    """Return the tables that fit a pattern; None where a text is the name of one table.

    :param marks: names of directories that each table has
    """
    try:
        name = TableName.parse(text)
    except TableNameError:
        return None
    if not name.may_be_pattern:
        return None
    if name.location is not None:
        search = PathSearch(session.storage, marks)
        try:
            return None if search.is_table(name.location) else search.tables(name.location)
        except Exception:  # of a storage that cannot be reached, which is reported when it is opened as a table
            return iter((text,))
    prefix = text.rpartition(".")[0]
    return (f"{prefix}.{table}" for table in session.tables_in((name.identifier or ())[:-1]))
