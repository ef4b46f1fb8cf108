"""Reading which columns a table has had, as far as its log is kept."""

from __future__ import annotations

from airflow_delta_provider.domain.changes.alter_columns.past_columns import PastColumns
from airflow_delta_provider.domain.changes.disable_mapping.column_history import FOREIGN_FILES
from airflow_delta_provider.domain.delta.commit import Commit, parse_commit
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name, commit_versions
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.jobs.delta.log.table_log import TableLog


def read_past_columns(log: TableLog) -> PastColumns:
    """Return the columns that a table has had."""
    return PastColumns.of(*_read_metadata(log))


def _read_metadata(log: TableLog) -> tuple[list[Metadata], str]:
    """Return the metadata of all versions that are kept, and why there may have been others."""
    names = log.list_names()
    versions = commit_versions(names)
    metadata: list[Metadata] = []
    why = ""
    if versions[:1] != [0]:
        first = log.earliest_version()
        why = "the log is no longer kept from the beginning"
        if first is not None:
            why = f"the log is kept from version {first} on"
            metadata.append(log.read_state(version=first).metadata)
    elif len(versions) != versions[-1] + 1:
        why = "commits are missing in the log"
    for version, content in zip(versions, log.read_files(map(commit_name, versions))):
        if b'"metaData"' not in content and not any(name.encode() in content for name in FOREIGN_FILES):
            continue
        try:
            commit = Commit.from_actions(version, parse_commit(commit_name(version), content))
        except BrokenLogError as error:
            why = str(error)
            continue
        metadata += commit.metadata
        if commit.operation in FOREIGN_FILES:
            why = f"version {version} took over files from elsewhere ({commit.operation})"
    return metadata, why
