"""Who wrote to a table lately, going by the commits that are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from airflow_delta_provider.domain.changes.commit.edit import ENGINE_INFO
from airflow_delta_provider.domain.delta.commit import (
    Action,
    changes_metadata,
    commit_info,
    parse_commit,
    parse_line,
    time_of,
)
from airflow_delta_provider.domain.delta.demands import demands_of
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name, commit_versions
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.writer import signature_of, writer_of
from airflow_delta_provider.domain.engine.profiles.access import Demands
from airflow_delta_provider.domain.engine.recent_writer import RecentWriter, RecentWriters
from airflow_delta_provider.jobs.delta.log.table_log import TableLog
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError

#: Commits that count as recent.
RECENT = 100
#: How lines begin that say nothing of writers and of what the table demands.
_FILES = (b'{"add"', b'{"remove"', b'{"cdc"', b'{"txn"', b'{"domainMetadata"')
_OWN = ENGINE_INFO.partition("/")[0]


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


@dataclass(frozen=True)
class _Commit:
    version: int
    time: datetime
    info: Mapping[str, Any]
    changes_metadata: bool


def writers_within(log: TableLog, head: TableState, days: float, now: datetime) -> RecentWriters:
    """Return who wrote to a table within some days, without the commits of this package.

    Commits that cannot be read are passed over.

    :param head: the newest state
    :param now: with a time zone
    """
    since = now - timedelta(days=days)
    versions = [version for version in commit_versions(log.list_names()) if version <= head.version]
    commits: list[_Commit] = []
    left_window = False
    with suppress(MissingFileError):  # cleaned up in the meantime
        for commit in _newest_first(log, versions):
            if commit.time < since:
                left_window = True
                break
            commits.append(commit)
    oldest = commits[-1].version if commits else None
    complete = left_window or oldest == 0 or not versions
    managed = _Managed(log, head, commits)
    writers: dict[str | None, list[_Commit]] = {}
    for commit in commits:
        signature = signature_of(commit.info)
        if signature is None or signature.partition("/")[0] != _OWN:
            writers.setdefault(writer_of(commit.info) or signature, []).append(commit)
    found = tuple(
        RecentWriter(
            name=name,
            commits=len(made),
            first=made[-1].version,
            last=made[0].version,
            last_time=made[0].time.isoformat(timespec="milliseconds"),
            managed=managed.at(made[0].version),
        )
        for name, made in writers.items()
    )
    return RecentWriters(days=days, writers=found, since=oldest, complete=complete)


def _newest_first(log: TableLog, versions: list[int]) -> Iterator[_Commit]:
    names = [commit_name(version) for version in reversed(versions)]
    for version, name, content in zip(reversed(versions), names, log.read_files(names)):
        try:
            actions = list(_about_writers(content))
        except ValueError:
            continue
        info = commit_info(actions)
        text = time_of(info.get("inCommitTimestamp", info.get("timestamp")))
        yield _Commit(
            version,
            log.written_at(name) if text is None else datetime.fromisoformat(text),
            info,
            changes_metadata(actions),
        )


def _about_writers(content: bytes) -> Iterator[Action]:
    """Yield the actions that say who made a commit, and what it changes of what the table demands.

    :raises ValueError: if one is damaged
    """
    for line in content.split(b"\n"):
        if line.strip() and not line.startswith(_FILES):
            action = parse_line(line.decode())
            if isinstance(action, dict):
                yield action


class _Managed:
    """What a table demanded when a commit was made: that much its engine can write.

    :param commits: newest first
    """

    def __init__(self, log: TableLog, head: TableState, commits: list[_Commit]) -> None:
        self._log = log
        self._head = head
        self._changes = [commit.version for commit in reversed(commits) if commit.changes_metadata]
        self._known: dict[int, Demands | None] = {}

    def at(self, version: int) -> Demands | None:
        """Return what it demanded at a version of the window; None where that is not known."""
        number = sum(change <= version for change in self._changes)
        if number not in self._known:
            self._known[number] = self._after(number)
        return self._known[number]

    def _after(self, number: int) -> Demands | None:
        """Return what it demanded after so many of the changes."""
        if number == len(self._changes):
            return _demands(self._head.protocol, self._head.metadata)
        try:
            state = self._log.read_state(version=self._changes[number] - 1)
        except (BrokenLogError, MissingFileError):
            return None
        return _demands(state.protocol, state.metadata)


def _demands(protocol: Protocol, metadata: Metadata) -> Demands | None:
    try:
        return demands_of(protocol, metadata)
    except (ValueError, BrokenLogError):
        return None
