"""Detects a table's format by the files that every table of the format has."""

from __future__ import annotations

import fnmatch
from contextlib import suppress

from airflow_delta_provider.jobs.storage.missing_file import MissingFileError
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


def is_table(storage: Storage, folder: str) -> bool:
    """Return True if a local folder is a table of a known format, as far as its files can be listed."""
    with suppress(OSError):
        return any(
            fnmatch.filter(_names_in(storage, f"{folder}/{directory}"), pattern) for _, directory, pattern in _FORMATS
        )
    return False


def metadata_folder(storage: Storage, path: str) -> tuple[str, str] | None:
    """Return a path's enclosing metadata folder and the format of its table; None if it lies in none.

    Folders with the same name that belong to no table do not count. Delta tables need no check: see
    :mod:`~airflow_delta_provider.domain.request.allowed_locations`.
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
