"""Whether rows kept their ids since a version: those that commits moved, and keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from airflow_delta_provider.domain.checks.row_tracking.comparison import untracked
from airflow_delta_provider.domain.checks.row_tracking.row_moves import RowMoves, moves_of, tracked
from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.row_tracking.compared_history import CommitStep
from airflow_delta_provider.jobs.row_tracking.footer_survey import FooterSurvey
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession
from airflow_delta_provider.jobs.spark.row_tracking.key_stability import KeyStability
from airflow_delta_provider.jobs.spark.row_tracking.moved_rows import MovedRowsReader
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError


class Stability:
    """Compares a table with an earlier version.

    :param steps: the commits since, or more of them
    :param since: the version to compare with
    """

    def __init__(
        self, session: SparkDeltaSession, table: OpenTable, steps: Sequence[CommitStep], since: int, progress: Progress
    ) -> None:
        self._session = session
        self._table = table
        self._steps = [step for step in steps if step.transition.commit.version > since]
        self._since = since
        self._progress = progress

    def check(
        self, state: TableState, data: DeltaFiles, survey: FooterSurvey, column: str | None, keys: Sequence[Column]
    ) -> Iterator[Finding]:
        """Yield what changed, and what cannot be decided.

        :param state: the newest
        :param survey: the footers of its files, with the materialized row ids in ``column``
        """
        transitions = [step.transition for step in self._steps]
        broken = list(untracked(self._since, transitions))
        yield from broken
        commits = [self._moves(step) for step in self._steps if tracked(step.transition)]
        reader = MovedRowsReader(self._session, data, survey.ids, column)
        moving = [moves for moves in commits if moves.new or moves.unplaced]
        if moving:
            self._progress(f"{self._table.name.text}: comparing the rows that {len(moving)} commits moved")
        yield from reader.check(moving)
        if keys and transitions and not broken:
            self._progress(f"{self._table.name.text}: comparing keys with version {self._since}")
            before = transitions[0].before
            yield from KeyStability(self._session, self._table, state, before, commits, reader).check(keys)

    def _moves(self, step: CommitStep) -> RowMoves:
        """Return what a commit did to rows; a commit that was cleaned up may have added a file."""
        lost = [path for path in step.suspicious if path not in step.earlier]
        return moves_of(step.transition, step.earlier, lost if lost and not self._log_is_whole else ())

    @cached_property
    def _log_is_whole(self) -> bool:
        try:
            self._table.log.read_commit(commit_name(0))
        except (MissingFileError, BrokenLogError):
            return False
        return True
