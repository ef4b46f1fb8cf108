"""Commit files of the log: a check if they depend on earlier files, and batches of commits to check together.

The size of a batch follows the number of commits that could be checked together before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from airflow_delta_provider.domain.audit.routine_audit import PartialReplay
from airflow_delta_provider.domain.audit.saved_state import AuditState, LiveFiles
from airflow_delta_provider.domain.delta.commit import parse_commit
from airflow_delta_provider.domain.delta.derived_files import counts_sizes
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name

#: Maximum number of new commits, and of their bytes, up to which the check for earlier files pays off.
_FEW, _SMALL = 1000, 1 << 26


class CommitFile(NamedTuple):
    """One commit.

    :param checksum: content of the checksum file of its version; None if it has none
    """

    version: int
    content: bytes
    checksum: bytes | None


def find_removed(
    commits: Iterator[CommitFile], ahead: list[CommitFile], memory: AuditState
) -> Mapping[FileKey, LiveFile] | None:
    """Return the files of a saved state that commits remove; None if checking the commits needs all its files.

    Also return None if there are many commits, or one is damaged.

    :param ahead: receives the commits that were read for this
    :param memory: state of the version before them
    """
    size = 0
    replay_tail = PartialReplay(memory)
    files = None if memory.facts is None else memory.facts.files
    for commit in commits:
        ahead.append(commit)
        size += len(commit.content)
        if len(ahead) > _FEW or size > _SMALL:
            return None
        try:
            if replay_tail.take(parse_commit(commit_name(commit.version), commit.content)):
                return None
        except BrokenLogError:
            return None
        if replay_tail.older and commit.checksum is not None and not _is_comparable(commit.checksum, files):
            return None
    return replay_tail.older


def _is_comparable(checksum: bytes, files: LiveFiles | None) -> bool:
    """Return True if a checksum file can be compared with a state whose files are not all known one by one."""
    counts = None if files is None else files.counts
    return counts is not None and (bool(counts.bounds) or not counts_sizes(checksum))


#: Minimum and maximum number of commits in a batch.
_LEAST, _MOST = 2, 64
#: Maximum bytes of held commits, not counting the last one.
_BYTES = 1 << 22


class Lookahead:
    """Returns commits in batches, oldest first.

    :param commits: all commits
    """

    def __init__(self, commits: Iterable[CommitFile]) -> None:
        self._commits = iter(commits)
        self._held: deque[CommitFile] = deque()
        self._width = _LEAST
        self._alone = self._pause = 0

    def batch(self) -> list[CommitFile]:
        """Return the next commits: a single one if a batch is not worth trying; empty at the end."""
        width = 1 if self._alone else self._width
        size = sum(len(commit.content) for commit in self._held)
        while len(self._held) < width and (size < _BYTES or not self._held):
            commit = next(self._commits, None)
            if commit is None:
                break
            self._held.append(commit)
            size += len(commit.content)
        return list(self._held)[:width]

    def took_together(self, number: int) -> None:
        """Note that the next commits were checked together.

        :param number: number of these commits, at least one
        """
        self._width = min(2 * self._width, _MOST) if number == self._width else max(_LEAST, number)
        self._pause = 0
        for _ in range(number):
            self._held.popleft()

    def took_one(self) -> None:
        """Note that the next commit was checked alone.

        If a batch had been tried, the following commits are also taken alone.
        """
        if self._alone:
            self._alone -= 1
        else:
            self._alone = self._pause = min(2 * self._pause + 1, _MOST)
            self._width = _LEAST
        self._held.popleft()
