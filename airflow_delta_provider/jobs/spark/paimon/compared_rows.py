"""Compares rows before and after commits with Spark: all commits of a history in one job, more jobs only for faults.

The result is one line for each commit, and the first rows of each fault.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.checks import paimon_rows as rules
from airflow_delta_provider.domain.paimon.changed_rows import Comparison
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey, FileSource
from airflow_delta_provider.domain.paimon.row_rules import (
    MOST_ROWS,
    ChangedRow,
    FaultyRows,
    FileFault,
    MoveCounts,
    MovedKeys,
    Outcome,
    RowFault,
    unread,
)
from airflow_delta_provider.domain.paimon.schema import LargeFileError, PaimonFormatError
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_history import TableHistory, Vector
from airflow_delta_provider.jobs.paimon.table import TableFiles
from airflow_delta_provider.jobs.spark.paimon.rows import UserColumn, content_of
from airflow_delta_provider.jobs.spark.session import ship
from airflow_delta_provider.jobs.spark.table_session import SparkTableSession
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError


class DeletedRows:
    """Reads deletion vectors of a history's snapshots.

    Files whose deleted rows cannot be determined are in :attr:`broken`: their rows must not be read.
    """

    def __init__(self, data: TableFiles, history: TableHistory) -> None:
        self._data = data
        self._history = history
        self.broken: set[FileKey] = set()
        self.faults: list[FileFault] = []

    def __call__(self, file: DataFile, vector: Vector | None) -> int:
        """Return the deleted rows of a file as a bit set; 0 if they cannot be determined."""
        try:
            return self._data.deleted_by(file, vector)
        except (MissingFileError, PaimonFormatError, UnreadFileError) as error:
            if file.key not in self.broken:
                self.broken.add(file.key)
                if isinstance(error, UnreadFileError):
                    says = f"its deletion vector is in a file that was not read: {error.problem}"
                    self.faults.append(unread(file, says, error.meaning.remedy))
                    return 0
                why = "there is no such file" if isinstance(error, MissingFileError) else str(error)
                name = vector.file.name if vector else file.name
                says = f"has deleted rows that are unknown: {name} with its deletion vector cannot be read: {why}."
                rule = rules.UNREAD if isinstance(error, LargeFileError) else rules.UNREADABLE
                self.faults.append(FileFault(rule, file, says, since=self._first_with(vector)))
            return 0

    def _first_with(self, vector: Vector | None) -> Snapshot | None:
        """Return the first snapshot with the index file of a deletion vector; None without a vector.

        If the start of the history has the file, this is the start's snapshot.
        """
        if vector is None or vector.file in self._history.start.index_files:
            return self._history.start.snapshot if vector else None
        return next((step.snapshot for step in self._history.steps if vector.file in step.index_files), None)


_STEPS = (
    "step: int, low: bigint, high: bigint, next_before: bigint, next_after: bigint, bounds: boolean, "
    "alone: boolean, compaction: boolean, merge: boolean, adds: boolean, deletes: boolean, replaces: boolean"
)
_BOTH = "before_n > 0 AND after_n > 0"
_NEW = "before_n = 0 AND after_n > 0"
#: Faults, by priority. ``alone``: there are no earlier rows to compare with. ``adds``, ``deletes``
#: and ``replaces``: the commit's kind or operation permits nothing else. A sequence number that was already above
#: the snapshot's id is the fault of an earlier commit, or comes from a branch.
_CONDITIONS = {
    RowFault.NO_ID: "id IS NULL AND after_n > 0",
    RowFault.REPEATED: "after_n > 1",
    RowFault.IMPOSSIBLE_ID: "after_n > 0 AND (id < 0 OR id >= next_after)",
    RowFault.IMPOSSIBLE_SEQUENCE: (
        "after_n > 0 AND (a_low < 1 OR (bounds AND NOT fits)"
        " OR (a_seq > high AND NOT merge AND NOT coalesce(a_seq <= b_seq, false)))"
    ),
    RowFault.COMPACTED: f"NOT alone AND compaction AND {_BOTH} AND ({{sequence}} OR a_content <> b_content)",
    RowFault.LOST: "NOT alone AND compaction AND after_n = 0",
    RowFault.ADDED: "NOT alone AND compaction AND before_n = 0",
    RowFault.TAKEN: "NOT alone AND adds AND before_n > 0 AND after_n = 0",
    RowFault.REUSED: f"NOT alone AND replaces AND {_BOTH} AND (a_seq <> b_seq OR a_content <> b_content)",
    RowFault.INVENTED: f"NOT alone AND NOT compaction AND {_NEW} AND id < next_before",
    RowFault.WENT_BACK: f"NOT alone AND NOT compaction AND {_BOTH} AND a_seq < b_seq AND b_seq <= low",
    RowFault.SILENT: f"NOT alone AND NOT compaction AND {_BOTH} AND a_seq = b_seq AND a_content <> b_content",
    RowFault.OTHER_SEQUENCE: f"NOT alone AND NOT compaction AND {_BOTH} AND a_seq <> b_seq AND NOT (a_seq > low)",
    RowFault.NEW_WITH_OTHER_SEQUENCE: (
        f"NOT alone AND NOT compaction AND {_NEW} AND NOT (a_seq > low AND a_seq <= high)"
    ),
    RowFault.TOUCHED: f"NOT alone AND deletes AND {_BOTH} AND (a_seq <> b_seq OR a_content <> b_content)",
}
#: Files of one column group share a sequence number, so compaction may raise a row's sequence number.
_OTHER_SEQUENCE, _LOWER_SEQUENCE = "a_seq <> b_seq", "a_seq < b_seq"


@dataclass
class ComparedRows:
    """Compares the rows of some commits with the rows before.

    :param rows: rows in the form of :meth:`RowFrame.rows`
    :param names: names for the values of the column ``file``
    :param columns: columns that make up the content of a row
    :param keys: columns that identify rows; empty if they are unknown
    """

    session: SparkTableSession
    rows: DataFrame
    names: Sequence[str]
    comparisons: Sequence[Comparison]
    columns: Sequence[UserColumn]
    keys: Sequence[UserColumn]

    def outcomes(self) -> dict[int, Outcome]:
        """Return the result of each comparison, by its number."""
        by_id = self._by_id()
        faults = {fault: f"count_if(fault = '{fault.value}')" for fault in RowFault}
        removed = "before_n > 0 AND after_n = 0"
        new = f"{_NEW} AND id >= next_before AND coalesce(id < next_after, true)"
        sums = {
            "kept": f"count_if({_BOTH})",
            "removed": f"count_if({removed})",
            "new": f"count_if({new})",
            "before": "sum(before_n)",
            "after": "sum(after_n)",
            **{
                f"{which}_{end}": f"{end}(CASE WHEN {condition} THEN id END)"
                for which, condition in (("removed", removed), ("new", new))
                for end in ("min", "max")
            },
            "removed_sum": f"sum(CASE WHEN {removed} THEN CAST(b_content AS DECIMAL(38, 0)) END)",
            "new_sum": f"sum(CASE WHEN {new} THEN CAST(a_content AS DECIMAL(38, 0)) END)",
            **{fault.value: count for fault, count in faults.items()},
        }
        totals = by_id.groupBy("step").agg(*(sql.expr(f"{value} AS {name}") for name, value in sums.items()))
        with self.session.reading_files():
            found = {row["step"]: row for row in totals.collect()}
            first = self._first(by_id) if any(row[fault.value] for row in found.values() for fault in RowFault) else {}
            keys = self._moved_keys() if self.keys else None
        return {
            step: Outcome(
                MoveCounts(
                    row["kept"],
                    row["removed"],
                    row["new"],
                    row["removed_sum"] == row["new_sum"],
                    row["before"],
                    row["after"],
                    (row["removed_min"], row["removed_max"]),
                    (row["new_min"], row["new_max"]),
                ),
                {
                    fault: FaultyRows(row[fault.value], tuple(first.get((step, fault), ())))
                    for fault in RowFault
                    if row[fault.value]
                },
                None if keys is None else keys.get(step, MovedKeys(0, 0, 0)),
            )
            for step, row in found.items()
        }

    def _by_id(self) -> DataFrame:
        """Return each row id of each comparison, with its values before and after, and its fault."""
        rows = self.rows.withColumn("content", sql.expr(content_of(self.columns)))
        grouped = rows.groupBy("step", "id").agg(
            *map(
                sql.expr,
                (
                    "count_if(NOT after) AS before_n",
                    "count_if(after) AS after_n",
                    "max(CASE WHEN NOT after THEN seq END) AS b_seq",
                    "max(CASE WHEN after THEN seq END) AS a_seq",
                    "min(CASE WHEN after THEN seq END) AS a_low",
                    "bool_and(NOT after OR fits) AS fits",
                    "max(CASE WHEN NOT after THEN content END) AS b_content",
                    "max(CASE WHEN after THEN content END) AS a_content",
                    "max(struct(after, file, position)) AS place",
                ),
            )
        )
        steps = ship(self.session.spark, _steps(self.comparisons), _STEPS)
        evolution = any(comparison.evolution for comparison in self.comparisons)
        sequence = _LOWER_SEQUENCE if evolution else _OTHER_SEQUENCE
        cases = " ".join(
            f"WHEN {condition.replace('{sequence}', sequence)} THEN '{fault.value}'"
            for fault, condition in _CONDITIONS.items()
        )
        return grouped.join(sql.broadcast(steps), "step").withColumn("fault", sql.expr(f"CASE {cases} END"))

    def _first(self, by_id: DataFrame) -> dict[tuple[int, RowFault], list[ChangedRow]]:
        found: dict[tuple[int, RowFault], list[ChangedRow]] = defaultdict(list)
        for row in _first_of(by_id.where("fault IS NOT NULL"), ["step", "fault"], sql.col("id")):
            file = self.names[row["place"]["file"]]
            changed = ChangedRow(row["id"], row["b_seq"], row["a_seq"], file, row["place"]["position"])
            found[row["step"], RowFault(row["fault"])].append(changed)
        return found

    def _moved_keys(self) -> dict[int, MovedKeys]:
        """Return the keys that several rows have, or whose row has another id."""
        indexes = [self.columns.index(key) for key in self.keys]
        key = ", ".join(f"c{index}" for index in indexes)
        named = " AND ".join(f"c{index} IS NOT NULL" for index in indexes)
        steps = ship(self.session.spark, _steps(self.comparisons), _STEPS)
        grouped = (
            self.rows.where(f"id IS NOT NULL AND {named}")
            .selectExpr("step", "after", "id", f"struct({key}) AS key")
            .groupBy("step", "key")
            .agg(
                *map(
                    sql.expr,
                    (
                        "count_if(NOT after) AS before_n",
                        "count_if(after) AS after_n",
                        "max(CASE WHEN NOT after THEN id END) AS b_id",
                        "max(CASE WHEN after THEN id END) AS a_id",
                    ),
                )
            )
            .join(sql.broadcast(steps), "step")
            .where(f"NOT alone AND NOT compaction AND {_BOTH}")
            .selectExpr("step", "before_n > 1 OR after_n > 1 AS repeated", "a_id >= next_before AS new", "b_id", "a_id")
            .where("repeated OR a_id <> b_id")
        )
        totals = {
            row["step"]: row
            for row in grouped.groupBy("step")
            .agg(
                sql.expr("count_if(repeated) AS repeated"),
                sql.expr("count_if(NOT repeated AND new) AS reassigned"),
                sql.expr("count_if(NOT repeated AND NOT new) AS exchanged"),
            )
            .collect()
        }
        first: dict[int, list[tuple[int, int]]] = defaultdict(list)
        if totals:
            for row in _first_of(grouped.where("NOT repeated"), ["step"], sql.col("b_id")):
                first[row["step"]].append((row["b_id"], row["a_id"]))
        return {
            step: MovedKeys(row["reassigned"], row["exchanged"], row["repeated"], tuple(first[step]))
            for step, row in totals.items()
        }


def _first_of(rows: DataFrame, by: Sequence[str], order: Column) -> list[Row]:
    numbered = rows.withColumn("number", sql.row_number().over(Window.partitionBy(*by).orderBy(order)))
    first: list[Row] = numbered.where(f"number <= {MOST_ROWS}").orderBy(*by, "number").collect()
    return first


def _steps(comparisons: Sequence[Comparison]) -> list[dict[str, object]]:
    """Return the values of each comparison that the conditions use."""
    steps: list[dict[str, object]] = []
    highest: int | None = None
    for comparison in comparisons:
        before, snapshot = comparison.before, comparison.snapshot
        permits = snapshot.permits
        given_out = _higher(highest, before.next_row_id if before else None)
        highest = _higher(given_out, snapshot.next_row_id)
        steps.append(
            {
                "step": comparison.number,
                "low": before.id if before else 0,
                "high": snapshot.id,
                "next_before": given_out,
                "next_after": None if snapshot.next_row_id is None else highest,
                "bounds": _are_reliable(comparison, snapshot),
                "alone": before is None or comparison.restored,
                "compaction": comparison.compaction,
                "merge": snapshot.is_branch_merge,
                "adds": permits.added and not permits.removed,
                "deletes": permits.removed and not permits.added,
                "replaces": permits.removed and permits.added and not permits.changed,
            }
        )
    return steps


def _higher(one: int | None, other: int | None) -> int | None:
    """Return the higher number. A lowered nextRowId is a violation of its own and must not cause further ones."""
    return other if one is None else one if other is None else max(one, other)


def _are_reliable(comparison: Comparison, snapshot: Snapshot) -> bool:
    """Return True if manifests have correct sequence number bounds; for compacted files, only since Paimon 2."""
    version = (snapshot.writer_version or "").split(".")[0]
    recent = version.isdigit() and int(version) >= 2
    files = (one.file for one in comparison.occurrences if one.after)
    return recent or all(file.source is not FileSource.COMPACT for file in files)
