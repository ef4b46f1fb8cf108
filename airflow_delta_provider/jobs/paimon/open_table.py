"""Finds a Paimon table by its name in a request."""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.request.table_name import TableName
from airflow_delta_provider.jobs.paimon.metadata_source import MetadataSource
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError
from airflow_delta_provider.jobs.tables.table_formats import DELTA, PAIMON, format_of
from airflow_delta_provider.jobs.tables.table_session import TableError, TableSession


@dataclass(frozen=True)
class PaimonTable:
    """A table that was found.

    :param location: location of the table, as a URI
    """

    name: TableName
    location: str
    source: MetadataSource


def open_paimon_table(session: TableSession, name: TableName) -> PaimonTable:
    """Find a table by its location, to read its files directly.

    :raises TableError: if there is no such table, or it is not a Paimon table
    """
    if name.location is None:
        raise TableError(
            requests.NO_SUCH_TABLE.found(
                "{name} is a name in a catalog, but source is 'native'.",
                remedy="Name the table by its path or URI, or use source 'catalog'.",
                name=name.text,
            )
        )
    location = session.storage.qualify(name.location).rstrip("/")
    session.check_reach(name, location)
    try:
        found = format_of(session.storage, location)
    except MissingFileError:
        raise TableError(
            requests.NO_SUCH_TABLE.found(
                "There is no table at {name}: no such directory.", remedy="Check the path.", name=name.text
            )
        ) from None
    source = MetadataSource(session.files_of(location), location, session.codecs())
    if found != PAIMON and not source.snapshot_ids():
        what = f"is {'a' if found == DELTA else 'an'} {found} table, not" if found else "is not"
        how = "Check it with check-row-tracking." if found == DELTA else "Name the table's own directory."
        raise TableError(
            requests.NOT_PAIMON.found("{name} {what} an Apache Paimon table.", remedy=how, name=name.text, what=what)
        )
    return PaimonTable(replace(name, location=location), location, source)
