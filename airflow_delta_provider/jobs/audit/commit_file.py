"""Commits as the log has them: whether the files of before matter to them, and how many are looked at together.

About as many are looked at together as were judged together before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from airflow_delta_provider.domain.audit.audit_state import AuditState
from airflow_delta_provider.domain.audit.touching import Touching
from airflow_delta_provider.domain.delta.commit import parse_commit
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name

#: New commits, and their bytes, up to which it is worth looking whether the files of before matter to them.
_FEW, _SMALL = 1000, 1 << 26


class CommitFile(NamedTuple):
    """One commit.

    :param checksum: of its version, where there is one
    """

    version: int
    content: bytes
    checksum: bytes | None


def touch_files(commits: Iterator[CommitFile], ahead: list[CommitFile], memory: AuditState) -> bool:
    """Return whether commits can only be judged with the files that were live before them: all but mere additions.

    :param ahead: takes the commits that had to be looked at
    :param memory: what is known of the version before them
    """
    size = 0
    touching = Touching(memory)
    for commit in commits:
        ahead.append(commit)
        size += len(commit.content)
        if len(ahead) > _FEW or size > _SMALL:
            return True
        try:
            if touching.take(parse_commit(commit_name(commit.version), commit.content)):
                return True
        except BrokenLogError:
            return True
    return False


#: Commits that are looked at together, at least where that is tried at all, and at most.
_LEAST, _MOST = 2, 64
#: Bytes of commits that are held, but for the last one.
_BYTES = 1 << 22


class Lookahead:
    """Gives commits, oldest first.

    :param commits: all of them
    """

    def __init__(self, commits: Iterable[CommitFile]) -> None:
        self._commits = iter(commits)
        self._held: deque[CommitFile] = deque()
        self._width = _LEAST
        self._alone = self._pause = 0

    def batch(self) -> list[CommitFile]:
        """Return the commits that come next: one, where it is not worth trying several; none at the end."""
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
        """Note that the next commits were judged together.

        :param number: how many, at least one
        """
        self._width = min(2 * self._width, _MOST) if number == self._width else max(_LEAST, number)
        self._pause = 0
        for _ in range(number):
            self._held.popleft()

    def took_one(self) -> None:
        """Note that the next commit was judged by itself. If that was not meant to be, more that follow are, too."""
        if self._alone:
            self._alone -= 1
        else:
            self._alone = self._pause = min(2 * self._pause + 1, _MOST)
            self._width = _LEAST
        self._held.popleft()
