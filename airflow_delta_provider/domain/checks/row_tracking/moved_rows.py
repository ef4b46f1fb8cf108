"""Row ids and commit versions of rows that a commit moved: RT22 to RT24."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.row_tracking import FAMILY, SPEC
from airflow_delta_provider.domain.checks.row_tracking.commits import moves_rows
from airflow_delta_provider.domain.checks.rule import Restore, Scope
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding


class RemovedRows(NamedTuple):
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


class RowMoves(NamedTuple):
    """The effect of a commit on rows.

    :param new: added files that were never part of the table before
    :param taken: rows that the commit removed
    :param unplaced: added files that may be new or restored; the log no longer shows which
    """

    transition: Transition
    new: tuple[LiveFile, ...]
    taken: tuple[RemovedRows, ...]
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
        RemovedRows(before, after.get(path))
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


_data = FAMILY.of(Scope.DATA)


@dataclass(frozen=True, order=True)
class MovedRow:
    """A row with a materialized id in a new file.

    :param position: physical row number in the file, from 0
    :param commit_version: its row commit version there
    :param old_version: row commit version of the removed row with that id; None if there was none
    """

    row_id: int
    path: str
    position: int
    commit_version: int | None
    old_version: int | None

    def __str__(self) -> str:
        return f"id {self.row_id} at row {self.position} of {self.path}"

    @property
    def versions(self) -> str:
        """Its row commit versions, before and now, for people."""
        before, now = ("unknown" if v is None else str(v) for v in (self.old_version, self.commit_version))
        return f"version {before} before and {now} now"


@dataclass(frozen=True)
class MismatchedRows:
    """Rows in new files that differ from the rows that their commit removed.

    :param first: the first of them
    """

    count: int = 0
    first: tuple[MovedRow, ...] = ()


class MovedRows(NamedTuple):
    """The rows with materialized ids in a commit's new files, compared with the rows that it removed.

    :param kept: number of rows that kept the id of a removed row
    :param foreign: rows with an id that no removed row had
    :param other_version: rows that kept an id and have a wrong row commit version
    """

    kept: int = 0
    foreign: MismatchedRows = MismatchedRows()
    other_version: MismatchedRows = MismatchedRows()


def check_moved(moves: RowMoves, moved: MovedRows) -> Iterator[Finding]:
    """Yield findings about the rows that a commit moved.

    :param moved: the rows of all its new files
    """
    for check in (_foreign_ids, _foreign_versions, _replaced_rows):
        for finding in check(moves, moved):
            yield replace(finding, **moves.transition.commit.provenance)


FOREIGN_ROW_ID = _data.error(
    22,
    "rewritten row with a row id that was not there before",
    name="rewritten-row-gets-new-id",
    effect="Consumers that follow row ids (change feeds, incremental views) mistake these rows for others.",
    remedy=Restore(", and write it again with an engine that keeps row ids"),
)


@on_demand(FOREIGN_ROW_ID)
def _foreign_ids(_: RowMoves, moved: MovedRows) -> Iterator[Finding]:
    foreign = moved.foreign
    if foreign.count:
        yield FOREIGN_ROW_ID.found(
            "{rows:row in a new file has|rows in new files have} a row id from before, but no row that this commit "
            "removed had it. First: {first}.",
            path=foreign.first[0].path if foreign.first else None,
            rows=foreign.count,
            first=[str(row) for row in foreign.first],
        )


FOREIGN_COMMIT_VERSION = _data.error(
    23,
    "row commit version of a moved row changed",
    name="moved-row-changes-commit-version",
    effect="Consumers that read changes by row commit version miss these rows, or see them without need.",
    remedy=Restore(", and write it again"),
)


@on_demand(FOREIGN_COMMIT_VERSION)
def _foreign_versions(moves: RowMoves, moved: MovedRows) -> Iterator[Finding]:
    wrong = moved.other_version
    if wrong.count:
        yield FOREIGN_COMMIT_VERSION.found(
            "{rows:row was|rows were} moved to new files with another row commit version than before (a row that was "
            "updated has {version}, a row that was only moved keeps its own). First: {first}.",
            version=moves.version,
            path=wrong.first[0].path if wrong.first else None,
            rows=wrong.count,
            first=[f"{row} ({row.versions})" for row in wrong.first],
        )


REPLACED_ROWS = _data.warning(
    24,
    "all rows replaced, none kept its row id",
    name="no-row-kept-its-id",
    effect="To consumers that follow row ids, all rows were deleted and others inserted.",
    remedy="Nothing, if this was intended, as INSERT OVERWRITE and CREATE OR REPLACE do it; MERGE keeps the ids of "
    "rows that stay.",
    source=SPEC,
)


@on_demand(REPLACED_ROWS)
def _replaced_rows(moves: RowMoves, moved: MovedRows) -> Iterator[Finding]:
    if replaces_rows(moves) and not moved.kept + moved.other_version.count + moved.foreign.count:
        yield REPLACED_ROWS.found(
            "The commit removed all {removed:file} of the table and added {added}; no row kept its id.",
            removed=len(moves.taken),
            added=len(moves.new),
        )
