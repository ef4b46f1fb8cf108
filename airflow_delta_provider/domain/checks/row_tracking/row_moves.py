"""Moves of rows by a commit, derived from its effect on files.

PROTOCOL.md, Row IDs and Row Commit Versions (stable ones).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.transition import Transition


@dataclass(frozen=True)
class TakenRows:
    """Rows that a commit removed from a file.

    :param before: the file as it was live before
    :param after: the file as it stays, with other rows deleted; None if the whole file was removed
    """

    before: LiveFile
    after: LiveFile | None = None

    def still_there(self, deleted_before: int, deleted_after: int, rows: int) -> int:
        """Return the rows of the file that were not taken, or were deleted before, as a bit set.

        :param deleted_before: rows that the deletion vector of ``before`` deletes, as a bit set
        :param deleted_after: rows that the deletion vector of ``after`` deletes, as a bit set
        :param rows: number of rows of the file
        """
        if self.after is None:
            return deleted_before
        return ((1 << rows) - 1) & ~(deleted_after & ~deleted_before)


@dataclass(frozen=True)
class RowMoves:
    """The effect of a commit on rows.

    :param new: added files that were never part of the table before
    :param taken: rows that the commit removed
    :param unplaced: added files that may be new or restored; the log no longer shows which
    """

    transition: Transition
    new: tuple[LiveFile, ...]
    taken: tuple[TakenRows, ...]
    unplaced: tuple[LiveFile, ...] = ()

    @property
    def version(self) -> int:
        return self.transition.commit.version


def moves_of(transition: Transition, earlier_paths: Collection[str], unplaced_paths: Collection[str] = ()) -> RowMoves:
    """Return the moves of rows by a commit.

    :param earlier_paths: added paths that an earlier commit also added: a RESTORE brings files back
    :param unplaced_paths: added paths that an earlier commit may have added; the log does not show it
    """
    after = {file.path: file for file in transition.commit.adds}
    new = [file for file in transition.new_files if file.path not in earlier_paths]
    taken = [
        TakenRows(before, after.get(path))
        for path, before in transition.before_files.items()
        if path not in after or after[path].key != before.key
    ]
    return RowMoves(
        transition,
        tuple(file for file in new if file.path not in unplaced_paths),
        tuple(taken),
        tuple(file for file in new if file.path in unplaced_paths),
    )


def tracked(transition: Transition) -> bool:
    """Return True if row ids can be relied on both before and after a commit."""
    return transition.before.row_tracking.relied_upon and transition.after.row_tracking.relied_upon


def replaces_rows(moves: RowMoves) -> bool:
    """Return True if a commit removed all rows of the table and added new files."""
    rows = any(file.num_records != 0 for file in moves.new)
    return moves.transition.replaces_all and bool(moves.taken) and rows
