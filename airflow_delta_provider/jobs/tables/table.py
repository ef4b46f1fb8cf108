"""A table's format, detected by the files that every table of the format has, and its entry in a catalog."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from airflow_delta_provider.domain.text import counted, did_you_mean
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from airflow_delta_provider.jobs.storage.storage import Storage

DELTA, PAIMON = "Delta Lake", "Apache Paimon"
#: Format, directory, and pattern of a file name in it.
_FORMATS = (
    (DELTA, "_delta_log", "*.json"),
    ("Apache Iceberg", "metadata", "*.metadata.json"),
    (PAIMON, "schema", "schema-[0-9]*"),
    ("Apache Hudi", ".hoodie", "hoodie.properties"),
)
#: Directories that hold only metadata, by format.
_METADATA = {
    "Apache Hudi": {".hoodie"},
    "Apache Iceberg": {"metadata"},
    PAIMON: {"snapshot", "schema", "manifest", "index", "tag", "branch", "statistics", "consumer", "changelog"},
}


def format_of(storage: Storage, location: str) -> str | None:
    """Return the format of the table at a location; None if the format is unknown.

    :raises MissingFileError: if there is no such directory
    """
    names = set(storage.list_names(location))
    for format_name, directory, pattern in _FORMATS:
        if directory in names and fnmatch.filter(_names_in(storage, f"{location}/{directory}"), pattern):
            return format_name
    return None


def check_the_path(storage: Storage, location: str) -> str:
    """Return the remedy for a path without a directory, on this machine with a similar name beside it."""
    parent, _, name = location.rstrip("/").rpartition("/")
    hint = ""
    if name and storage.is_local(location):
        with suppress(OSError, MissingFileError):
            hint = did_you_mean(name, storage.list_folders(parent or "/"))
    return f"Check the path.{hint}"


def is_table(storage: Storage, folder: str) -> bool:
    """Return True if a local folder is a table of a known format, as far as its files can be listed."""
    with suppress(OSError):
        return any(
            fnmatch.filter(_names_in(storage, f"{folder}/{directory}"), pattern) for _, directory, pattern in _FORMATS
        )
    return False


def metadata_folder(storage: Storage, path: str) -> tuple[str, str] | None:
    """Return a path's enclosing metadata folder and the format of its table; None if no table has it.

    Folders with the same name that belong to no table do not count. Delta tables need no check: see
    :mod:`~airflow_delta_provider.domain.table_name`.
    """
    segments = path.rstrip("/").split("/")
    for index, segment in enumerate(segments):
        for format_name, directory, pattern in _FORMATS:
            if segment in _METADATA.get(format_name, ()):
                table = "/".join(segments[:index])
                if fnmatch.filter(_names_in(storage, f"{table}/{directory}"), pattern):
                    return f"{table}/{segment}", format_name
    return None


def _names_in(storage: Storage, directory: str) -> list[str]:
    try:
        return storage.list_names(directory)
    except MissingFileError:  # it is a file
        return []


class CatalogEntry(NamedTuple):
    """A catalog's entry for a name.

    :param provider: format of the table, in lower case; empty for a view
    :param location: location of the table, as the catalog records it
    :param kind: type of the entry as the catalog names it, in lower case: ``managed``, ``view``, …
    """

    provider: str
    location: str | None = None
    kind: str = ""

    @property
    def noun(self) -> str:
        """Noun for messages: ``parquet table``, ``view``."""
        if self.provider:
            return f"{self.provider} table"
        return "view" if "view" in self.kind else "table"


@dataclass(frozen=True)
class SchemaListing:
    """A catalog's listing of a schema.

    :param tables: names of the schema's tables of the requested format
    :param others: number of other entries, by noun
    """

    tables: Sequence[str]
    others: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[tuple[str, CatalogEntry | None]], provider: str) -> SchemaListing:
        """Return the listing for the tables of one format. An entry of unknown format counts as such a table."""
        tables, others = [], Counter[str]()
        for name, entry in entries:
            if entry is None or entry.provider == provider:
                tables.append(name)
            else:
                others[entry.noun] += 1
        return cls(tables, dict(sorted(others.items())))

    @property
    def left_out(self) -> str:
        """The other entries in words: ``2 parquet tables, 1 view``; empty if there are none."""
        return ", ".join(counted(count, noun) for noun, count in self.others.items())
