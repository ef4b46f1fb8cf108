"""Row ids and commit versions of rows that a commit moved: RT22 to RT24."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.remedy import Restore
from airflow_delta_provider.domain.checks.row_tracking.family import FAMILY, SPEC
from airflow_delta_provider.domain.checks.row_tracking.row_moves import RowMoves, replaces_rows
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.report.finding import Finding

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
class Misfits:
    """Rows in new files that differ from the rows that their commit removed.

    :param first: the first of them
    """

    count: int = 0
    first: tuple[MovedRow, ...] = ()


@dataclass(frozen=True)
class MovedRows:
    """The rows with materialized ids in a commit's new files, compared with the rows that it removed.

    :param kept: number of rows that kept the id of a removed row
    :param foreign: rows with an id that no removed row had
    :param other_version: rows that kept an id and have a wrong row commit version
    """

    kept: int = 0
    foreign: Misfits = Misfits()
    other_version: Misfits = Misfits()


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
