"""Which format a table has, by the files that every table of the format has."""

from __future__ import annotations

import fnmatch

from airflow_delta_provider.jobs.storage.hadoop_storage import HadoopStorage

DELTA, PAIMON = "Delta Lake", "Apache Paimon"
#: Format, directory, and what the name of a file in it is like.
_FORMATS = (
    (DELTA, "_delta_log", "*.json"),
    ("Apache Iceberg", "metadata", "*.metadata.json"),
    (PAIMON, "schema", "schema-*"),
    ("Apache Hudi", ".hoodie", "hoodie.properties"),
)


def format_of(storage: HadoopStorage, location: str) -> str | None:
    """Return the format of the table at a location, None where it is none that is known.

    :raises FileNotFoundError: if there is no such directory
    """
    names = set(storage.list_names(location))
    for format_name, directory, pattern in _FORMATS:
        if directory in names and fnmatch.filter(_names_in(storage, f"{location}/{directory}"), pattern):
            return format_name
    return None


def _names_in(storage: HadoopStorage, directory: str) -> list[str]:
    try:
        return storage.list_names(directory)
    except FileNotFoundError:  # a file of that name
        return []
