"""Reads rows that commits moved to other files, with their ids, and compares them with the rows before."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.checks.data_files.files import DAMAGED, ENCRYPTED, MISSING, OUTSIDE, UNREAD
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import FileIds
from airflow_delta_provider.domain.checks.row_tracking.history import (
    NOT_COMPARABLE,
    bounded,
    unplaced_files,
    unread_files,
)
from airflow_delta_provider.domain.checks.row_tracking.keys import lost_rows
from airflow_delta_provider.domain.checks.row_tracking.moved_rows import (
    REPLACED_ROWS,
    MismatchedRows,
    MovedRow,
    MovedRows,
    RemovedRows,
    RowMoves,
    check_moved,
)
from airflow_delta_provider.domain.checks.row_tracking.row_ids import MATERIALIZED_TYPE, MOST_ROWS
from airflow_delta_provider.domain.delta.deletion_vector import BrokenDeletionVectorError, LargeDeletionVectorError
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.jobs.delta.session import DeltaFiles
from airflow_delta_provider.jobs.row_tracking.row_proofs import survey
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.row_tracking.row_reader import FileRows, RowReader
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError

#: Reasons why a footer has no row ids, by the rule that the survey found violated.
_REASONS = {
    MISSING.code: "it does not exist",
    DAMAGED.code: "it is damaged",
    ENCRYPTED.code: "it is encrypted",
    OUTSIDE.code: "it lies outside the table's border",
    UNREAD.code: "it cannot be accessed",
    MATERIALIZED_TYPE.code: "its column of row ids has another type",
}


class UnreadFilesError(Exception):
    """Files of a commit can no longer be read. The finding names them and the reason."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class MovedRowsReader:
    """Reads the ids of rows that commits moved. Each footer is read once.

    :param known: row ids of files whose footers were already read, by path
    :param column: column of the row ids in ``known``
    """

    def __init__(self, session: SparkDeltaSession, data: DeltaFiles, known: Mapping[str, FileIds], column: str | None):
        self._session = session
        self._data = data
        self._footers: dict[tuple[str, str | None], FileIds | str] = {
            (path, column): ids for path, ids in known.items()
        }

    def check(self, commits: Iterable[RowMoves]) -> Iterator[Finding]:
        """Yield findings about rows that ``commits`` moved, and about commits that could not be checked."""
        undecided: list[Finding] = []
        for moves in commits:
            undecided += unplaced_files(moves)
            try:
                new, unread = self._new_files(moves)
                undecided += unread
                moved = self._compare(moves, new) if new else MovedRows()
            except UnreadFilesError as error:
                undecided.append(error.finding)
                continue
            found = list(check_moved(moves, moved))
            yield from (finding for finding in found if not unread or finding.code != REPLACED_ROWS.code)
        yield from bounded(NOT_COMPARABLE, undecided)

    def taken_rows(self, moves: RowMoves) -> DataFrame | None:
        """Return the rows that a commit removed, in the form of :meth:`RowReader.rows`; None if there were none.

        :raises UnreadFilesError: if files with these rows are missing or damaged
        """
        tracking = moves.transition.before.row_tracking
        column = tracking.row_id_column
        found = self._taken(moves.taken, column)
        unread = [(taken.before.path, why) for taken, why in zip(moves.taken, found) if isinstance(why, str)]
        if unread:
            raise UnreadFilesError(unread_files(moves, unread[0][0], len(unread), unread[0][1]))
        rows = [file for file in found if isinstance(file, FileRows)]
        if not rows or column is None:
            return None
        return RowReader(self._session, self._data, column, tracking.commit_version_column).rows(rows)

    def kept_ids(self, moves: RowMoves) -> DataFrame | None:
        """Return the materialized ids of rows in a commit's new files, as ``id``; None if there are none.

        :raises UnreadFilesError: if these files are missing or damaged
        """
        new, unread = self._new_files(moves)
        if unread:
            raise UnreadFilesError(unread[0])
        return self._new_rows(moves, new).select("id") if new else None

    def lost_since(self, commits: Sequence[RowMoves]) -> Finding | None:
        """Return a finding for the first unreadable file with rows that ``commits`` removed; None if there is none."""
        seen: set[str] = set()
        for moves in commits:
            first = [taken for taken in moves.taken if taken.before.path not in seen]
            column = moves.transition.before.row_tracking.row_id_column
            for taken, why in zip(first, self._taken(first, column)):
                if isinstance(why, str):
                    return lost_rows(taken.before.path, moves.version, why)
            seen.update(file.path for file in moves.new)
            seen.update(taken.before.path for taken in first)
        return None

    def _taken(self, taken: Sequence[RemovedRows], column: str | None) -> list[FileRows | str | None]:
        """Return each file with its removed rows, None if it has none, or the reason why they cannot be read."""
        return [
            ids if isinstance(ids, str) else self._rows_taken(rows, ids)
            for rows, ids in zip(taken, self._ids_of([rows.before for rows in taken], column))
        ]

    def _rows_taken(self, taken: RemovedRows, ids: FileIds) -> FileRows | str | None:
        before = self._deleted(taken.before, ids)
        after = self._deleted(taken.after, ids) if taken.after else 0
        if isinstance(before, str) or isinstance(after, str):
            return before if isinstance(before, str) else str(after)
        left = taken.still_there(before, after, ids.rows)
        return FileRows(taken.before, left, ids.all_materialized) if left.bit_count() < ids.rows else None

    def _deleted(self, file: LiveFile, ids: FileIds) -> int | str:
        try:
            return self._data.deleted(file, ids.rows)
        except MissingFileError:
            return "the file of its deletion vector does not exist"
        except LargeDeletionVectorError as error:
            return f"its deletion vector was not read: {error}"
        except BrokenDeletionVectorError as error:
            return f"its deletion vector is damaged: {error}"
        except UnreadFileError as error:
            return f"its deletion vector was not read: {error.problem}"

    def _new_files(self, moves: RowMoves) -> tuple[list[FileRows], list[Finding]]:
        """Return a commit's new files with materialized ids, and findings about new files that could not be read."""
        new: list[FileRows] = []
        unread: list[tuple[str, str]] = []
        column = moves.transition.after.row_tracking.row_id_column
        for file, ids in zip(moves.new, self._ids_of(moves.new, column)):
            if isinstance(ids, str):
                unread.append((file.path, ids))
            elif not ids.all_fresh:
                deleted = self._deleted(file, ids)
                if isinstance(deleted, str):
                    unread.append((file.path, deleted))
                else:
                    new.append(FileRows(file, deleted, ids.all_materialized))
        findings = [unread_files(moves, unread[0][0], len(unread), unread[0][1])] if unread else []
        return new, findings

    def _ids_of(self, files: Sequence[LiveFile], column: str | None) -> list[FileIds | str]:
        """Return the row ids of files from their footers, or the reason why they are unknown."""
        unknown = [file for file in files if (file.path, column) not in self._footers]
        surveyed = survey(self._data, unknown, column)
        reasons = {finding.path: _REASONS[finding.code] for finding in surveyed.findings if finding.code in _REASONS}
        for file in unknown:
            ids = surveyed.ids.get(file.path)
            self._footers[file.path, column] = reasons[file.path] if ids is None else ids
        return [self._footers[file.path, column] for file in files]

    def _new_rows(self, moves: RowMoves, new: Sequence[FileRows]) -> DataFrame:
        """Return the rows with materialized ids that differ from the fresh ids of the same rows, and their files."""
        tracking = moves.transition.after.row_tracking
        assert tracking.row_id_column is not None  # otherwise no file has materialized ids
        reader = RowReader(self._session, self._data, tracking.row_id_column, tracking.commit_version_column)
        rows = reader.rows(new).where("materialized")
        base = _by_file([row.file.base_row_id for row in new], "bigint")
        return rows.where(~sql.expr("id - position").eqNullSafe(base))

    def _compare(self, moves: RowMoves, new: Sequence[FileRows]) -> MovedRows:
        """Compare the rows with materialized ids in new files with the rows that their commit removed."""
        taken = self.taken_rows(moves)
        rows = self._new_rows(moves, new)
        if taken is None:
            compared = rows.selectExpr("*", "NULL AS old_id", "CAST(NULL AS BIGINT) AS old_version")
        else:
            old = taken.selectExpr("id AS old_id", "commit_version AS old_version")
            compared = rows.join(old, sql.expr("id = old_id"), "left")
        changed = {file.path: file.data_change for file in moves.new}
        compared = compared.withColumn(
            "changes", _by_file([changed[row.file.path] for row in new], "boolean")
        ).selectExpr(
            "*",
            "CASE WHEN old_id IS NULL THEN 'foreign' WHEN commit_version <=> old_version THEN 'kept' "
            f"WHEN changes AND commit_version <=> {moves.version} THEN 'kept' ELSE 'other_version' END AS kind",
        )
        with self._session.reading_files():
            counts = {row["kind"]: row["count"] for row in compared.groupBy("kind").count().collect()}
            foreign, other = (
                _misfits(compared.where(f"kind = '{kind}'"), counts.get(kind, 0), new)
                for kind in ("foreign", "other_version")
            )
        return MovedRows(counts.get("kept", 0), foreign, other)


def _by_file(values: Sequence[int | bool | None], data_type: str) -> Column:
    """Return an expression for the item of ``values`` that belongs to a row's file. It is folded, and needs no join."""
    return sql.element_at(sql.from_json(sql.lit(json.dumps(values)), f"array<{data_type}>"), sql.expr("file + 1"))


def _misfits(rows: DataFrame, count: int, new: Sequence[FileRows]) -> MismatchedRows:
    if not count:
        return MismatchedRows()
    first = [
        MovedRow(row["id"], new[row["file"]].file.path, row["position"], row["commit_version"], row["old_version"])
        for row in rows.orderBy("id", "file", "position").limit(MOST_ROWS).collect()
    ]
    return MismatchedRows(count, tuple(first))
