"""Columns that a table had once, going by the commits that are kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.delta.column_mapping import physical_parts
from airflow_delta_provider.domain.delta.commit import parse_commit
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name, commit_versions
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.jobs.delta.log.table_log import TableLog
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError

#: How many of the newest commits are looked at.
_SEARCHED = 1_000
#: A commit without it changes no column.
_MARK = b'"metaData"'
_Path = tuple[str, ...]


def gone_columns(log: TableLog, head: TableState) -> tuple[_Path, ...]:
    """Return columns that recent versions had and that were dropped since; one that was renamed is not gone.

    Commits that cannot be read are passed over.

    :param head: the newest state
    """
    here = {stored for _, stored in _columns(head.metadata)}
    versions = [version for version in commit_versions(log.list_names()) if version <= head.version]
    names = [commit_name(version) for version in versions[-_SEARCHED:]]
    gone: dict[_Path, _Path] = {}
    with suppress(MissingFileError):  # cleaned up in the meantime
        for name, content in zip(names, log.read_files(names)):
            with suppress(BrokenLogError, ValueError):
                for metadata in _metadata_in(name, content):
                    gone |= {lowered(path): path for path, stored in _columns(metadata) if stored not in here}
    return tuple(gone.values())


def _metadata_in(name: str, content: bytes) -> list[Metadata]:
    actions = parse_commit(name, content) if _MARK in content else []
    return [Metadata.from_json(action["metaData"]) for action in actions if "metaData" in action]


def _columns(metadata: Metadata) -> Iterator[tuple[_Path, _Path]]:
    """Yield the columns and fields, each with its path in data files, which a rename leaves as it is."""
    mode = metadata.properties.mapping_mode
    for column in metadata.readable_columns or ():
        if column.kinds[-1] == "field":
            yield column.parts, lowered(physical_parts(column, metadata.schema, mode))
