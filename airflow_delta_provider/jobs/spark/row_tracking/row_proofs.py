"""Proofs about rows of Delta tables by Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.checks import faults
from airflow_delta_provider.domain.checks.data_files.statistics import UndecidedColumn
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import FileIds
from airflow_delta_provider.domain.checks.row_tracking.history import bounded, untracked
from airflow_delta_provider.domain.checks.row_tracking.id_sets import DriverLimits
from airflow_delta_provider.domain.checks.row_tracking.keys import (
    KEY_INSERTED_AGAIN,
    ChangedKey,
    ChangedKeys,
    hidden_row_ids,
    id_ranges,
    inserted_again,
    keys_before,
    moved_keys,
    renumbered_keys,
    repeated_keys,
    undecided_keys,
    unwritten_keys,
)
from airflow_delta_provider.domain.checks.row_tracking.moved_rows import RowMoves, moves_of, replaces_rows, tracked
from airflow_delta_provider.domain.checks.row_tracking.row_ids import MOST_ROWS
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.data_type import Column
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.row_condition import RowCondition
from airflow_delta_provider.domain.delta.row_tracking import RowTracking
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.text import quote
from airflow_delta_provider.jobs.delta.session import DeltaFiles, OpenTable
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Progress, TimeBudget
from airflow_delta_provider.jobs.row_tracking.row_proofs import (
    CommitStep,
    ConditionProof,
    FooterSurvey,
    PartitionValues,
    Proof,
)
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.spark.row_tracking.condition_reader import ConditionReader
from airflow_delta_provider.jobs.spark.row_tracking.moved_rows import MovedRowsReader, UnreadFilesError
from airflow_delta_provider.jobs.spark.row_tracking.uniqueness import prove
from airflow_delta_provider.jobs.spark.session import configured, limited, ship
from airflow_delta_provider.jobs.storage.errors import MissingFileError

_RANGES = "first: bigint, end: bigint, version: bigint"
#: Delta 4.1 and later refuse to read versions from before the retention time of removed files.
KEEP_TO_RETENTION = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
_METADATA = "_metadata"


@dataclass
class KeyStability:
    """Compares keys of the newest version with keys of an earlier one.

    :param state: newest state
    :param before: earlier state
    :param commits: effects on rows of the commits between them
    """

    session: SparkDeltaSession
    table: OpenTable
    state: TableState
    before: TableState
    commits: Sequence[RowMoves]
    reader: MovedRowsReader

    def check(self, keys: Sequence[Column]) -> Iterator[Finding]:
        """Yield findings about keys with another row id than before, and about keys that could not be compared."""
        then, findings = keys_before(keys, self.state.metadata, self.before.metadata)
        if lost := self.reader.lost_since(self.commits):
            findings.append(lost)
        schemas = (self.state.metadata.schema, self.before.metadata.schema)
        if any(field.name.lower() == _METADATA for schema in schemas for field in schema.fields):
            findings.append(hidden_row_ids(_METADATA))
        if findings:
            yield from findings
            return
        with configured(self.session.spark, {KEEP_TO_RETENTION: "false"}):
            try:
                changed = self._changed(keys, then).persist()
                try:
                    yield from self._compare(changed)
                finally:
                    changed.unpersist()
            except UnreadFilesError as error:
                yield error.finding
            except (PySparkException, Py4JJavaError) as error:
                meaning = understand(error)
                if meaning.rule is faults.STORAGE:
                    raise
                problem = Prose(meaning.message.rstrip("."))
                yield undecided_keys("The engine cannot read both versions. {problem}", problem=problem)

    def _compare(self, changed: DataFrame) -> Iterator[Finding]:
        """Yield findings by the commit that assigned a key's new id, and by whether its row was written since."""
        since, newest = self.before.version, self.state.version
        ranges = [{"first": ids.first, "end": ids.end, "version": ids.version} for ids in id_ranges(self.commits)]
        given = ship(self.session.spark, ranges, _RANGES)
        located = changed.join(
            sql.broadcast(given), sql.expr("NOT repeated AND new_id >= first AND new_id < end"), "left"
        ).selectExpr("repeated", "new_id", "old_id", "version", f"coalesce(written <= {since}, false) AS unwritten")
        counts = {
            (row["repeated"], row["version"], row["unwritten"]): row["count"]
            for row in located.groupBy("repeated", "version", "unwritten").count().collect()
        }
        if repeated := sum(count for (is_repeated, _, _), count in counts.items() if is_repeated):
            yield repeated_keys(repeated, since, newest)
        kinds = {(version, unwritten) for is_repeated, version, unwritten in counts if not is_repeated}
        located = located.where("NOT repeated")
        if any(unwritten for _, unwritten in kinds):
            yield from self._unwritten(located.where("unwritten"))
        if (None, False) in kinds:
            moved = located.where("version IS NULL AND NOT unwritten")
            yield from (moved_keys(keys, since) for keys in self._keys(moved))
        versions = {version for version, unwritten in kinds if version is not None and not unwritten}
        yield from self._rewritten(located.where("NOT unwritten"), versions)

    def _unwritten(self, keys: DataFrame) -> Iterator[Finding]:
        """Check keys whose rows were not written since: only RESTORE may have given them another row."""
        since = self.before.version
        here_before = self._rows_at(since, ["_metadata.row_id AS id"])
        old, new = keys.where("version IS NULL"), keys.where("version IS NOT NULL")
        same = old.join(here_before, sql.expr("new_id = id"), "left_semi").union(new)
        restored = old.join(here_before, sql.expr("new_id = id"), "left_anti")
        yield from (unwritten_keys(found, since) for found in self._keys(same))
        yield from (moved_keys(found, since) for found in self._keys(restored))

    def _rewritten(self, located: DataFrame, versions: set[int]) -> Iterator[Finding]:
        replaced = {moves.version for moves in self.commits if replaces_rows(moves)}
        again: list[Finding] = []
        for moves in self.commits:
            if moves.version not in versions - replaced:
                continue
            keys = located.where(f"version = {moves.version}")
            taken = self.reader.taken_rows(moves)
            if taken is not None:
                ids = taken.select("id")
                kept = self.reader.kept_ids(moves)
                if kept is not None:
                    ids = ids.join(kept, "id", "left_anti")
                by_this = sql.expr("old_id = id")
                yield from (renumbered_keys(found, moves) for found in self._keys(keys.join(ids, by_this, "left_semi")))
                keys = keys.join(ids, by_this, "left_anti")
            again += [inserted_again(found, moves) for found in self._keys(keys)]
        yield from bounded(KEY_INSERTED_AGAIN, again)

    def _changed(self, keys: Sequence[Column], then: Sequence[Column]) -> DataFrame:
        """Return the keys in both versions that have different ids or several rows, without their values."""
        names = [f"key{index}" for index in range(len(keys))]
        tracked = ["_metadata.row_id AS id", "_metadata.row_commit_version AS written"]
        now = self._rows_at(self.state.version, [*_selected(keys, names), *tracked, "1 AS now"])
        before = self._rows_at(self.before.version, [*_selected(then, names), *tracked, "0 AS now"])
        # Grouping treats nulls as equal, unlike a join.
        grouped = (
            now.union(before)
            .groupBy(*names)
            .agg(
                sql.expr("sum(now) AS rows_now"),
                sql.expr("sum(1 - now) AS rows_before"),
                sql.expr("max(CASE WHEN now = 1 THEN struct(id, written) END) AS new"),
                sql.expr("max(CASE WHEN now = 0 THEN id END) AS old_id"),
            )
        )
        return (
            grouped.where("rows_now > 0 AND rows_before > 0")
            .selectExpr(
                "rows_now > 1 OR rows_before > 1 AS repeated", "new.id AS new_id", "new.written AS written", "old_id"
            )
            .where("repeated OR new_id <> old_id")
        )

    def _keys(self, keys: DataFrame) -> Iterator[ChangedKeys]:
        """Yield the number of keys and the places of the first ones; nothing if there are no keys."""
        count = keys.count()
        if not count:
            return
        first = {row["new_id"]: row["old_id"] for row in keys.orderBy("new_id").limit(MOST_ROWS).collect()}
        places = self._rows_at(
            self.state.version,
            ["_metadata.row_id AS id", "_metadata.file_path AS path", "_metadata.row_index AS position"],
        )
        rows = places.where(f"id IN ({', '.join(map(str, first))})").collect()
        found = [ChangedKey(row["id"], first[row["id"]], self._path(row["path"]), row["position"]) for row in rows]
        yield ChangedKeys(count, tuple(sorted(found)))

    def _path(self, uri: str) -> str:
        """Return the path in the log of a file that Spark names: the last part of a path is unique."""
        name = PurePosixPath(uri).name
        files = self.state.live_files
        return next((file.path for file in files if unquote(PurePosixPath(file.path).name) == unquote(name)), uri)

    def _rows_at(self, version: int, selected: Sequence[str]) -> DataFrame:
        return self.session.spark.sql(
            f"SELECT {', '.join(selected)} FROM {self.table.name.sql} VERSION AS OF {version}"
        )


def _selected(columns: Sequence[Column], names: Sequence[str]) -> list[str]:
    return [f"{'.'.join(map(quote, column.parts))} AS {name}" for column, name in zip(columns, names)]


#: Setting of Delta Spark for data skipping by statistics of files.
_SKIPPING = "spark.databricks.delta.stats.skipping"


class SparkRowProofs:
    """Reads rows with Spark; see :class:`~airflow_delta_provider.jobs.row_tracking.row_proofs.RowProofs`."""

    def __init__(self, session: SparkDeltaSession) -> None:
        self._session = session

    def limited(self, budget: TimeBudget) -> AbstractContextManager[None]:
        """Cancel Spark's current work when the time is over."""
        return limited(self._session.spark, budget)

    def unique_ids(
        self, data: DeltaFiles, files: Collection[LiveFile], surveyed: FooterSurvey, tracking: RowTracking
    ) -> Proof:
        return prove(self._session, data, files, surveyed, tracking, DriverLimits())

    def conditions(
        self,
        data: DeltaFiles,
        files: Sequence[LiveFile],
        metadata: Metadata,
        conditions: Sequence[RowCondition],
        partition_values: Callable[[], PartitionValues],
    ) -> ConditionProof:
        return ConditionReader(self._session, data, metadata).check(files, conditions, partition_values)

    def bounds(
        self, data: DeltaFiles, metadata: Metadata, columns: Sequence[UndecidedColumn]
    ) -> Iterator[tuple[UndecidedColumn, int, int, Any, Any]]:
        return ConditionReader(self._session, data, metadata).bounds(columns)

    def found_rows(
        self, table: OpenTable, version: int, predicates: Sequence[str]
    ) -> Iterator[tuple[str, int, int, str | None]]:
        spark, engine = self._session.spark, f"Delta Spark {self._session.delta_version or ''}".rstrip()
        for predicate in predicates:
            counts: list[int] = []
            try:
                for skips in ("false", "true"):
                    with configured(spark, {_SKIPPING: skips, KEEP_TO_RETENTION: "false"}):
                        rows = spark.read.format("delta").option("versionAsOf", version).load(table.location)
                        counts.append(rows.where(predicate).count())
            except (PySparkException, Py4JJavaError) as error:
                if "cancelled" in str(error):
                    raise
                yield engine, 0, 0, understand(error).message
            else:
                yield engine, counts[0], counts[1], None

    def moved_rows(
        self, data: DeltaFiles, known: Mapping[str, FileIds], column: str | None, commits: Iterable[RowMoves]
    ) -> Iterator[Finding]:
        return MovedRowsReader(self._session, data, known, column).check(commits)

    def changes_since(
        self,
        version: int,
        table: OpenTable,
        steps: Sequence[CommitStep],
        state: TableState,
        data: DeltaFiles,
        surveyed: FooterSurvey,
        keys: Sequence[Column],
        progress: Progress,
    ) -> Iterator[Finding]:
        steps = [step for step in steps if step.transition.commit.version > version]
        transitions = [step.transition for step in steps]
        broken = list(untracked(version, transitions))
        yield from broken
        commits = _row_moves([step for step in steps if tracked(step.transition)], table.log)
        reader = MovedRowsReader(self._session, data, surveyed.ids, state.row_tracking.row_id_column)
        moving = [moves for moves in commits if moves.new or moves.unplaced]
        if moving:
            progress(f"{table.name.text}: comparing the rows that {len(moving)} commits moved")
        yield from reader.check(moving)
        if keys and transitions and not broken:
            progress(f"{table.name.text}: comparing keys with version {version}")
            before = transitions[0].before
            yield from KeyStability(self._session, table, state, before, commits, reader).check(keys)


def _row_moves(steps: Sequence[CommitStep], log: TableLog) -> list[RowMoves]:
    """Return the effects of commits on rows. A commit that was cleaned up may have added a file."""
    lost = [[path for path in step.suspicious if path not in step.earlier] for step in steps]
    cleaned_up = any(lost) and not _is_whole(log)
    return [moves_of(step.transition, step.earlier, paths if cleaned_up else ()) for step, paths in zip(steps, lost)]


def _is_whole(log: TableLog) -> bool:
    try:
        log.read_commit(commit_name(0))
    except (MissingFileError, BrokenLogError):
        return False
    return True
