"""Who wrote to a table lately, going by the commits that are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from airflow_delta_provider.domain.delta.commit import commit_info, parse_commit
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name, commit_versions
from airflow_delta_provider.domain.delta.writer import signature_of, writer_of
from airflow_delta_provider.jobs.delta.log.table_log import TableLog

#: Commits that count as recent.
RECENT = 100


def recent_writers(log: TableLog) -> Counter[str]:
    """Return how many of the latest commits each engine wrote, that of the newest commit first."""
    return Counter(_writers(log))


def _writers(log: TableLog) -> Iterator[str]:
    names = [commit_name(version) for version in reversed(commit_versions(log.list_names())[-RECENT:])]
    for name, content in zip(names, log.read_files(names)):
        try:
            info = commit_info(parse_commit(name, content))
        except BrokenLogError:
            continue
        yield writer_of(info) or signature_of(info) or "an engine that does not sign"
