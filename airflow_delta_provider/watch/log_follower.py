"""Follower of a table's log: the state after each commit, read once for all triggers that follow it."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from dataclasses import dataclass, replace

from airflow_delta_provider.domain.delta.commit import parse_commit
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    NoLogError,
    commit_name,
    earliest_version,
    select_segment,
)
from airflow_delta_provider.domain.delta.table_events import Position, Progress
from airflow_delta_provider.domain.delta.table_head import NewestFirst, TableHead, changed_partitions
from airflow_delta_provider.watch.head_reader import HeadReader, ObjectStorageLog
from airflow_delta_provider.watch.metadata_folder import newest_after

log = logging.getLogger(__name__)

#: Most commits that are read at once to catch up.
MOST_AT_ONCE = 1_000


@dataclass(frozen=True)
class PollResult:
    """The result of one poll.

    :param heads: the table at the previous poll and after each commit since; only the newest head if the previous poll
        does not connect to it. Empty if there is no table
    :param history: number that stays the same as long as commits follow one another, and changes if the table was
        created again
    """

    heads: tuple[TableHead, ...]
    history: int


class LogFollower:
    """Reads each commit once; a poll of an unchanged table requests two files.

    A commit that cannot be read yet ends a poll; the next poll begins with it.

    :param table_log: the table's ``_delta_log``
    :param listing_interval: seconds after which the log is listed again, because only a listing shows some problems
    """

    def __init__(self, table_log: ObjectStorageLog, listing_interval: float = 600.0) -> None:
        self._log = table_log
        self._listing_interval = listing_interval
        self._head: TableHead | None = None
        self._stamp: str | None = None
        self._history = 0
        self._listed = 0.0

    def read(self) -> PollResult:
        """Return the new commits.

        :raises BrokenLogError: if the next commit, or the log, is damaged
        :raises DeltaProviderError: if the store cannot be reached because a package or connection is missing
        :raises Exception: errors of the filesystem
        """
        head = self._head
        known = head is not None and self._stamp is not None and self._stamp_of(head.version) == self._stamp
        if head is not None and known and time.monotonic() - self._listed < self._listing_interval:
            newest, stamp = newest_after(head.version, self._stamp_of)
            return PollResult((head,), self._history) if stamp is None else self._go_on(head, newest)
        listed = HeadReader(self._log).read()
        if listed is not None and head is not None and known and listed.version > head.version:
            try:
                self._listed = time.monotonic()
                return self._go_on(head, listed.version)
            except FileNotFoundError:
                log.info("Commits after version %d are gone already; going on from %d.", head.version, listed.version)
        self._listed = time.monotonic()
        if not known:
            self._history += 1
        self._head = listed
        self._stamp = None if listed is None else self._stamp_of(listed.version)
        return PollResult(() if listed is None else (listed,), self._history)

    def _go_on(self, head: TableHead, newest: int) -> PollResult:
        heads = heads_from(self._log, head, newest)
        stamp = self._stamp_of(heads[-1].version)
        if stamp is not None:
            self._head, self._stamp = heads[-1], stamp
        return PollResult(tuple(heads), self._history)

    def _stamp_of(self, version: int) -> str | None:
        return self._log.stamp(commit_name(version))


class Backlog:
    """Reads the commits since a position other than the last poll's: after a restart, for instance.

    :param table_log: the table's ``_delta_log``
    :param known: the table at the position, if known
    """

    def __init__(self, table_log: ObjectStorageLog, position: Position, known: TableHead | None = None) -> None:
        self._log = table_log
        self._position = position
        self._known = known

    def read(self) -> Progress | None:
        """Return the commits since the position, at most ``MOST_AT_ONCE``; None if there is no table.

        :raises BrokenLogError: if the log is damaged
        :raises Exception: errors of the filesystem
        """
        since = self._position.version
        try:
            names = set(self._log.names())
            newest = select_segment(names).version
        except (FileNotFoundError, NoLogError):
            return None
        if since < 0:
            return Progress([self._head_at(newest, names)])
        if newest < since:
            return Progress([self._head_at(newest, names)], recreated=True)
        base = self._base(since, newest, names)
        gap = base is None
        if base is None:  # cleaned up
            earliest = earliest_version(names)
            base = self._head_at(newest if earliest is None else max(earliest, since + 1), names)
            if base.metadata.id != self._position.mark.table_id:
                return Progress([self._head_at(newest, names)], recreated=True, gap=True)
        elif not self._position.fits(base):
            return Progress([self._head_at(newest, names)], recreated=True)
        return Progress(heads_from(self._log, base, min(newest, base.version + MOST_AT_ONCE)), gap=gap)

    def _base(self, version: int, newest: int, names: Collection[str]) -> TableHead | None:
        """Return the table at the position; None if the log no longer has that version or the next one."""
        if newest > version and commit_name(version + 1) not in names:
            return None
        try:
            return self._head_at(version, names)
        except (BrokenLogError, FileNotFoundError):
            return self._known if self._known is not None and self._known.version == version else None

    def _head_at(self, version: int, names: Collection[str]) -> TableHead:
        return HeadReader(self._log).read_version(version, names)


def heads_from(table_log: ObjectStorageLog, head: TableHead, newest: int) -> list[TableHead]:
    """Return the table at a version and after each later commit, up to a commit that cannot be read yet.

    :raises BrokenLogError: if the first commit is damaged, or incomplete so far
    :raises FileNotFoundError: if the first commit is missing
    """
    heads, versions = [head], range(head.version + 1, newest + 1)
    try:
        for version, content in zip(versions, table_log.read_ahead(map(commit_name, versions))):
            found = NewestFirst()
            actions = parse_commit(commit_name(version), content)
            found.take(actions)
            found.settle(heads[-1].protocol, heads[-1].metadata)
            read = found.head(version)
            heads.append(replace(read, partitions=changed_partitions(actions, read.metadata)))
    except (BrokenLogError, FileNotFoundError):
        if len(heads) == 1:
            raise
    return heads
