"""Whether rows kept their ids since a version: the commits since then, the rows that they moved, and keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from airflow_delta_provider.domain.checks.row_tracking.commits import suspicious_paths
from airflow_delta_provider.domain.checks.row_tracking.comparison import lost_version, no_such_version, untracked
from airflow_delta_provider.domain.checks.row_tracking.row_moves import RowMoves, moves_of, tracked
from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.delta.log.table_log import History, TableLog
from airflow_delta_provider.jobs.row_tracking.footer_survey import FooterSurvey
from airflow_delta_provider.jobs.row_tracking.key_stability import KeyStability
from airflow_delta_provider.jobs.row_tracking.moved_rows import MovedRowsReader
from airflow_delta_provider.jobs.session.missing_file import MissingFileError
from airflow_delta_provider.jobs.session.progress import Progress


@dataclass(frozen=True)
class CommitStep:
    """A commit, and which of its files earlier commits added.

    :param suspicious: paths it adds whose ids are those of an earlier commit
    :param earlier: those of them that an earlier commit added
    """

    transition: Transition
    suspicious: Sequence[str] = ()
    earlier: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ComparedHistory:
    """The newest state of a table and the commits since a version.

    :param comparable: whether ``history`` goes back to the requested version
    :param lost: why it does not
    :param refusal: the refusal of a version that does not exist
    """

    history: History
    comparable: bool = False
    lost: Finding | None = None
    refusal: Finding | None = None


def read_compared_history(log: TableLog, since: int | None) -> ComparedHistory:
    """Read a table's newest state and the commits since a version.

    :param since: None for those commits alone that are checked without any comparison
    :raises BrokenLogError: if the newest state cannot be read
    """
    error: Exception | None = None
    if since is not None:
        try:
            history = log.read_history(since)
            if history.transitions:
                return ComparedHistory(history, comparable=True)
        except (BrokenLogError, MissingFileError) as broken:
            error = broken
    history = log.read_history()
    newest = history.state.version
    if since is None or since == newest:
        return ComparedHistory(history, comparable=since is not None)
    if since > newest:
        return ComparedHistory(history, refusal=no_such_version(since, newest))
    assert error is not None  # a version before the newest has commits after it
    earliest = log.earliest_version()
    return ComparedHistory(history, lost=lost_version(since, error, earliest if (earliest or 0) > since else None))


def step_of(transition: Transition, log: TableLog) -> CommitStep:
    """Return a commit, with which of its files earlier commits added."""
    paths = suspicious_paths(transition)
    return CommitStep(
        transition, paths, frozenset(log.added_before(transition.commit.version, paths)) if paths else frozenset()
    )


class Stability:
    """Compares a table with an earlier version.

    :param steps: the commits since, or more of them
    :param since: the version to compare with
    """

    def __init__(
        self, session: DeltaSession, table: OpenTable, steps: Sequence[CommitStep], since: int, progress: Progress
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
