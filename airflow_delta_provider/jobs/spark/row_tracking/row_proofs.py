"""Proofs about rows of Delta tables by Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from airflow_delta_provider.domain.checks.data_files.statistics import OpenColumn
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import FileIds
from airflow_delta_provider.domain.checks.row_tracking.history import untracked
from airflow_delta_provider.domain.checks.row_tracking.id_sets import DriverLimits
from airflow_delta_provider.domain.checks.row_tracking.moved_rows import RowMoves, moves_of, tracked
from airflow_delta_provider.domain.delta.data_type import Column
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.row_condition import RowCondition
from airflow_delta_provider.domain.delta.row_tracking import RowTracking
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding
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
from airflow_delta_provider.jobs.spark.row_tracking.key_stability import KEEP_TO_RETENTION, KeyStability
from airflow_delta_provider.jobs.spark.row_tracking.moved_rows import MovedRowsReader
from airflow_delta_provider.jobs.spark.row_tracking.uniqueness import prove
from airflow_delta_provider.jobs.spark.session import configured, limited
from airflow_delta_provider.jobs.storage.storage import MissingFileError

#: Whether Delta Spark skips files by statistics.
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
        self, data: DeltaFiles, metadata: Metadata, columns: Sequence[OpenColumn]
    ) -> Iterator[tuple[OpenColumn, int, int, Any, Any]]:
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
