"""The commits of a history that moved rows, and a search for the commits that led to the live rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from airflow_delta_provider.domain.checks.row_tracking.commits import moves_rows
from airflow_delta_provider.domain.checks.row_tracking.row_moves import RowMoves

#: Maximum number of files in the kept commits, a few hundred bytes each. Files of older commits are mostly vacuumed.
MOST_FILES = 200_000


class Rewrites:
    """The moves of rows by commits, added oldest first; the newest are kept.

    :param most_files: maximum number of files in all kept commits
    """

    def __init__(self, most_files: int = MOST_FILES) -> None:
        self._kept: deque[RowMoves] = deque()
        self._files = 0
        self._most_files = most_files

    def add(self, moves: RowMoves) -> None:
        """Keep a commit's moves, if it added or removed rows."""
        if not (moves.new or moves.taken):
            return
        self._kept.append(moves)
        self._files += _size(moves)
        while self._files > self._most_files:
            self._files -= _size(self._kept.popleft())

    def leading_to(self, live: Iterable[str]) -> list[RowMoves]:
        """Return the commits that moved the live rows, oldest first.

        They added the live files, or files whose rows were moved again later. The effects of other commits on row ids
        disappeared with their files, as after a RESTORE or an overwrite.

        :param live: paths of the live files
        """
        matter = set(live)
        found: list[RowMoves] = []
        for moves in reversed(self._kept):
            if any(file.path in matter for file in moves.new):
                found.append(moves)
                if not moves.transition.replaces_all or moves_rows(moves.transition.commit):
                    matter.update(taken.before.path for taken in moves.taken)
        return found[::-1]


def _size(moves: RowMoves) -> int:
    return len(moves.new) + len(moves.taken)
