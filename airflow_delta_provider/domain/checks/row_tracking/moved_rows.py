"""Whether the commits since a version let rows keep their ids and commit versions: RT22 to RT24, and RT30.

PROTOCOL.md, Row IDs and Row Commit Versions (stable ones). What moved is judged by the effect of a commit on files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.row_tracking import rules
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.row_tracking import row_tracking_of
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

#: Commits that one rule names one by one.
MOST_COMMITS = 10


@dataclass(frozen=True)
class TakenRows:
    """Rows that a commit took away from a file.

    :param before: the file as it was live before
    :param after: the file as it stays, with other rows deleted; None where it went as a whole
    """

    before: LiveFile
    after: LiveFile | None = None

    def still_there(self, deleted_before: int, deleted_after: int, rows: int) -> int:
        """Return the rows of the file that were not taken, or were not there, as a bit set.

        :param deleted_before: the rows that the deletion vector of ``before`` deletes
        :param deleted_after: likewise of ``after``
        :param rows: number of rows of the file
        """
        if self.after is None:
            return deleted_before
        return ((1 << rows) - 1) & ~(deleted_after & ~deleted_before)


@dataclass(frozen=True)
class RowMoves:
    """What a commit did to rows.

    :param new: the files that it adds and that were never part of the table before
    :param taken: the rows that it took away
    :param unplaced: the files of which the log no longer tells whether they are new or brought back
    """

    transition: Transition
    new: tuple[LiveFile, ...]
    taken: tuple[TakenRows, ...]
    unplaced: tuple[LiveFile, ...] = ()

    @property
    def version(self) -> int:
        """The commit's version."""
        return self.transition.commit.version


@dataclass(frozen=True, order=True)
class MovedRow:
    """A row with a materialized id in a new file.

    :param position: physical, from 0
    :param commit_version: its row commit version there
    :param old_version: the one that the row of that id had before, None where there was none
    """

    row_id: int
    path: str
    position: int
    commit_version: int | None
    old_version: int | None


@dataclass(frozen=True)
class Misfits:
    """Rows in new files that are not what the rows that their commit took away were.

    :param first: the first of them
    """

    count: int = 0
    first: tuple[MovedRow, ...] = ()


@dataclass(frozen=True)
class MovedRows:
    """The rows with materialized ids in a commit's new files, compared with those that it took away.

    :param kept: how many kept the id of a row that was taken away
    :param foreign: those whose id no such row had
    :param other_version: those that kept an id and have a row commit version that they cannot have
    """

    kept: int = 0
    foreign: Misfits = Misfits()
    other_version: Misfits = Misfits()


def moves_of(transition: Transition, earlier_paths: Collection[str], unplaced_paths: Collection[str] = ()) -> RowMoves:
    """Return what a commit did to rows.

    :param earlier_paths: those of the paths it adds that an earlier commit added: a RESTORE brings files back
    :param unplaced_paths: those of which nobody can tell
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
    """Whether rows have ids that may be relied upon both before and after a commit."""
    return row_tracking_of(transition.before).relied_upon and row_tracking_of(transition.after).relied_upon


def untracked(since: int, transitions: Sequence[Transition]) -> Iterator[Finding]:
    """Yield that row tracking was not enabled all the time since a version, if so.

    :param transitions: all after ``since``, to a version at which it is enabled
    """
    enabled = max((t.commit.version for t in transitions if not tracked(t)), default=None)
    if enabled is not None:
        yield rules.HISTORY_UNREADABLE.finding(
            f"Row tracking is enabled without a break since version {enabled} only: before that, writers had no ids "
            f"to keep, so rows cannot be compared with version {since}. Compare with version {enabled} or later.",
            version=enabled,
        )


def no_such_version(version: int, newest: int) -> Finding:
    """Return the refusal of a version that is not there yet."""
    return requests.NO_SUCH_VERSION.finding(
        f"compare_to_version is {version}, but the newest version of the table is {newest}. Name that or an "
        "earlier one."
    )


def lost_version(version: int, error: Exception, earliest: int | None) -> Finding:
    """Return the finding that the log does not lead from a version to the newest any more.

    :param error: says what is missing
    :param earliest: the first version from which it does, where that is known and later than ``version``
    """
    hint = f" The earliest version that can be compared is {earliest}." if earliest is not None else ""
    return rules.HISTORY_UNREADABLE.finding(
        f"The log does not lead from version {version} to the newest one any more, so nobody can tell whether rows "
        f"kept their ids since: {error}.{hint}",
        version=version,
    )


def unplaced_finding(moves: RowMoves) -> Iterator[Finding]:
    """Yield that nobody can tell of some files of a commit whether they are new, if so."""
    if moves.unplaced:
        first = moves.unplaced[0].path
        yield rules.HISTORY_UNREADABLE.finding(
            f"Of {_files(len(moves.unplaced))} that this commit adds, the first one {first}, the log no longer tells "
            "whether they are new or were brought back from an earlier version, so nobody can tell which ids their "
            "rows should have. Compare with this version or a later one.",
            path=first,
            **moves.transition.commit.provenance,
        )


def unread_files(moves: RowMoves, path: str, count: int, why: str) -> Finding:
    """Return the finding that files of a commit cannot be looked into any more.

    :param path: the first of them
    :param why: what is wrong with it
    """
    return rules.HISTORY_UNREADABLE.finding(
        f"Whether the rows that this commit moved kept their ids cannot be decided: {_files(count)} that it added or "
        f"removed cannot be read, the first one {path}: {why}. VACUUM deletes the files of earlier versions. Compare "
        f"with version {moves.version} or a later one.",
        path=path,
        **moves.transition.commit.provenance,
    )


def judge_moved(moves: RowMoves, moved: MovedRows) -> Iterator[Finding]:
    """Yield what is wrong with the rows that a commit moved.

    :param moved: the rows of all its new files
    """
    where = moves.transition.commit.provenance
    if moved.foreign.count:
        yield rules.FOREIGN_ROW_ID.finding(
            f"{_rows(moved.foreign.count)} in new files with a row id kept from before, but no row that this commit "
            f"took away had it. First: {_listed(moved.foreign.first)}. Whatever follows row ids (change feeds, "
            "incremental views) takes these rows for others. RESTORE the table to the version before this commit, and "
            "let an engine write it that keeps row ids.",
            path=moved.foreign.first[0].path if moved.foreign.first else None,
            **where,
        )
    if moved.other_version.count:
        yield rules.FOREIGN_COMMIT_VERSION.finding(
            f"{_rows(moved.other_version.count)} moved to new files with another row commit version than before"
            f" (a row that was updated has {moves.version}, a row that was only moved keeps its own). First: "
            f"{_listed(moved.other_version.first, versions=True)}. Whoever reads changes by row commit version misses "
            "these rows, or sees them without need. RESTORE the table to the version before this commit, and write "
            "it again.",
            path=moved.other_version.first[0].path if moved.other_version.first else None,
            **where,
        )
    if replaces_rows(moves) and not moved.kept + moved.other_version.count + moved.foreign.count:
        yield rules.REPLACED_ROWS.finding(
            f"This commit removed all {_files(len(moves.taken))} of the table and added {len(moves.new)}, in which no "
            "row has kept an id: to whoever follows row ids, all rows were deleted and others inserted. INSERT "
            "OVERWRITE and CREATE OR REPLACE do so; MERGE keeps the ids of rows that stay.",
            **where,
        )


def replaces_rows(moves: RowMoves) -> bool:
    """Whether a commit took all rows of the table away and added new files."""
    rows = any(file.num_records != 0 for file in moves.new)
    return moves.transition.replaces_all and bool(moves.taken) and rows


def bounded(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the findings of one rule about one commit each, those beyond :data:`MOST_COMMITS` as one."""
    yield from findings[:MOST_COMMITS]
    more = findings[MOST_COMMITS:]
    if more:
        versions = [finding.version for finding in more if finding.version is not None]
        span = f", of versions {min(versions)} to {max(versions)}" if versions else ""
        yield Finding(more[0].code, more[0].severity, f"The same is true of {len(more)} more commits{span}.")


def _listed(rows: Sequence[MovedRow], *, versions: bool = False) -> str:
    return "; ".join(
        f"id {row.row_id} at row {row.position} of {row.path}"
        + (f", version {_known(row.old_version)} before and {_known(row.commit_version)} now" if versions else "")
        for row in rows
    )


def _known(version: int | None) -> str:
    return "unknown" if version is None else str(version)


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"
