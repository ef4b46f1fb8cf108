"""Proofs about the rows of a table: the port to the engine that reads them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from airflow_delta_provider.domain.checks.data_files.files import (
    BrokenCondition,
    damaged_file,
    encrypted_file,
    missing_file,
    unread_file,
    wrong_row_count,
)
from airflow_delta_provider.domain.checks.data_files.schema import FileSchemas
from airflow_delta_provider.domain.checks.data_files.statistics import (
    ComparisonTotals,
    FileStatistics,
    StatisticsComparison,
    UndecidedColumn,
)
from airflow_delta_provider.domain.checks.row_tracking.commits import suspicious_paths
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import (
    AssignedIds,
    FileIds,
    MaterializedTypeError,
    RowFile,
    file_ids,
)
from airflow_delta_provider.domain.checks.row_tracking.history import lost_version, no_such_version
from airflow_delta_provider.domain.checks.row_tracking.moved_rows import RowMoves
from airflow_delta_provider.domain.checks.row_tracking.row_ids import wrong_type
from airflow_delta_provider.domain.delta.data_type import Column
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.row_condition import RowCondition
from airflow_delta_provider.domain.delta.row_tracking import RowTracking
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.formats.parquet.footer import EncryptedFooterError, FooterError
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.jobs.delta.kept_log import KeptLog
from airflow_delta_provider.jobs.delta.session import DeltaFiles, OpenTable
from airflow_delta_provider.jobs.delta.table_log import History, TableLog
from airflow_delta_provider.jobs.process import Progress, TimeBudget
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError


@dataclass
class FooterSurvey:
    """The readable footers of a table's files.

    :param ids: row ids according to each file's footer, by path
    :param is_complete: True if no file was left out
    :param statistics: number of columns whose statistics were compared
    :param undecided: columns whose statistics only rows decide
    """

    ids: dict[str, FileIds] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    is_complete: bool = True
    statistics: ComparisonTotals = field(default_factory=ComparisonTotals)
    undecided: list[UndecidedColumn] = field(default_factory=list)

    def rows_of(self, file: RowFile) -> int | None:
        """Return the number of rows of a file: from its footer, or from the log if the footer could not be read."""
        ids = self.ids.get(file.path)
        return file.num_records if ids is None else ids.rows


def survey(data: DeltaFiles, files: Collection[LiveFile], column: str | None) -> FooterSurvey:
    """Read the footers of ``files``, each once. Neither schemas nor statistics are compared."""
    return survey_with_statistics(data, ((file, None) for file in files), column, None, None, None)


def survey_with_statistics(
    data: DeltaFiles,
    files: Iterable[tuple[LiveFile, object]],
    column: str | None,
    schemas: FileSchemas | None,
    statistics: FileStatistics | None,
    budget: TimeBudget | None,
    *,
    rows_follow: bool = False,
) -> FooterSurvey:
    """Read the footers of ``files``, each once, and compare the files' statistics with them.

    :param files: files with their statistics as logged
    :param column: column with materialized row ids
    :param schemas: checks the schemas of files; None to skip this check
    :param statistics: compares statistics; None to skip this check
    :param budget: time limit; the remaining files are left out once it is spent
    :param rows_follow: True to keep the columns that only rows decide
    """
    result = FooterSurvey()
    for (file, logged), tail in data.read_each(lambda pair: data.tail(pair[0]), files):
        found, wrong = _read(data, file, tail, logged, column, schemas, statistics)
        if budget is not None and budget.is_spent:
            result.is_complete = False
            return result
        result.findings += wrong
        if found is None:
            continue
        ids, compared = found
        result.ids[file.path] = ids
        result.statistics.add(compared)
        wrong_rows = file.num_records is not None and file.num_records != ids.rows
        if compared.corrected or wrong_rows:
            result.statistics.repairs.add(file, ids.rows, compared.corrected)
        result.undecided += compared.undecided if rows_follow else ()
        result.findings += compared.findings
        if file.num_records is not None and wrong_rows:
            result.findings.append(wrong_row_count(file.path, ids.rows, file.num_records))
    return result


def _read(
    data: DeltaFiles,
    file: LiveFile,
    tail: bytes | Exception,
    logged_statistics: object,
    column: str | None,
    schemas: FileSchemas | None,
    statistics: FileStatistics | None,
) -> tuple[tuple[FileIds, StatisticsComparison] | None, list[Finding]]:
    wrong: list[Finding] = []
    try:
        footer = data.footer(file, tail)
        if schemas is not None:
            wrong += schemas.check(footer.schema, file.path)
        compared = StatisticsComparison() if statistics is None else statistics.check(footer, file, logged_statistics)
        return (file_ids(footer, column), compared), wrong
    except (MissingFileError, FooterError, MaterializedTypeError, UnreadFileError) as error:
        return None, [*wrong, _unread(file, column, error)]


def unread(path: str, error: UnreadFileError, *, vector: bool = False) -> Finding:
    """Return the finding for a file that was not read.

    :param path: path of the file in the log
    :param vector: True if it is the file of the deletion vector
    """
    return unread_file(path, error.problem, error.meaning.remedy, outside=error.is_outside, vector=vector)


def _unread(file: LiveFile, column: str | None, error: Exception) -> Finding:
    """Return the finding that explains why a file's row ids are unknown."""
    if isinstance(error, MissingFileError):
        return missing_file(file.path)
    if isinstance(error, UnreadFileError):
        return unread(file.path, error)
    if isinstance(error, EncryptedFooterError):
        return encrypted_file(file.path, error)
    if isinstance(error, FooterError):
        return damaged_file(file.path, error)
    return wrong_type(file.path, column, error)


@dataclass(frozen=True)
class CommitStep:
    """A commit, and the files in it that earlier commits had already added.

    :param suspicious: paths that it adds with ids of an earlier commit
    :param earlier: suspicious paths that an earlier commit added
    """

    transition: Transition
    suspicious: Sequence[str] = ()
    earlier: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ComparedHistory:
    """The newest state of a table and the commits since a version.

    :param comparable: True if ``history`` goes back to the requested version
    :param lost: finding that explains why it does not
    :param refusal: refusal of a version that does not exist
    """

    history: History
    comparable: bool = False
    lost: Finding | None = None
    refusal: Finding | None = None


def read_compared_history(log: TableLog, since: int | None) -> ComparedHistory:
    """Read a table's newest state and the commits since a version.

    :param since: version; None for only the commits that are checked without a comparison
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
    assert error is not None  # an older version always has commits after it
    earliest = log.earliest_version()
    return ComparedHistory(history, lost=lost_version(since, error, earliest if (earliest or 0) > since else None))


def step_of(transition: Transition, log: KeptLog, assigned_ids: AssignedIds) -> CommitStep:
    """Return a commit, with the files and the row ids that earlier commits had already added."""
    paths = suspicious_paths(transition)
    if not paths:
        return CommitStep(transition)
    assigned = partial(assigned_ids.has, version=transition.commit.version)
    transition = replace(transition, past=replace(transition.past, assigned=assigned))
    return CommitStep(transition, paths, log.paths_seen_before(transition.commit.version, paths))


@dataclass
class Proof:
    """The proof that live rows have unique ids, or findings about the rows that do not.

    :param ids_read: number of ids that were read
    """

    findings: list[Finding]
    ids_read: int = 0


#: Partition values as in the log, by path of the file and name of the column there.
PartitionValues = Mapping[str, Mapping[str, "str | None"]]


@dataclass
class ConditionProof:
    """The rows that do not satisfy conditions.

    :param problems: conditions that could not be evaluated, with the reasons
    """

    broken: list[BrokenCondition]
    problems: list[tuple[RowCondition, str]]


class RowProofs(Protocol):
    """Reads rows, and proves facts that footers cannot show."""

    def limited(self, budget: TimeBudget) -> AbstractContextManager[None]:
        """Stop a running read when the time is over.

        :raises OutOfTimeError: if a read was stopped
        """

    def unique_ids(
        self, data: DeltaFiles, files: Collection[LiveFile], surveyed: FooterSurvey, tracking: RowTracking
    ) -> Proof:
        """Prove that live rows of ``files`` have unique ids, or find the rows that do not."""

    def conditions(
        self,
        data: DeltaFiles,
        files: Sequence[LiveFile],
        metadata: Metadata,
        conditions: Sequence[RowCondition],
        partition_values: Callable[[], PartitionValues],
    ) -> ConditionProof:
        """Find the rows of ``files`` that are not deleted and do not satisfy ``conditions``.

        :param partition_values: reads the partition values of the files, if a condition needs them
        """

    def bounds(
        self, data: DeltaFiles, metadata: Metadata, columns: Sequence[UndecidedColumn]
    ) -> Iterator[tuple[UndecidedColumn, int, int, Any, Any]]:
        """Yield columns with their numbers of live rows and NULLs, and their least and greatest value without NaN.

        Columns that cannot be read are left out.
        """

    def found_rows(
        self, table: OpenTable, version: int, predicates: Sequence[str]
    ) -> Iterator[tuple[str, int, int, str | None]]:
        """Yield for each predicate the engine, its number of rows without and with skipping of files, and its problem.

        The problem is None if both were counted.
        """

    def moved_rows(
        self, data: DeltaFiles, known: Mapping[str, FileIds], column: str | None, commits: Iterable[RowMoves]
    ) -> Iterator[Finding]:
        """Yield findings about rows that ``commits`` moved, and about commits that could not be checked.

        :param known: row ids of files whose footers were already read, by path
        :param column: column of the row ids in ``known``
        """

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
        """Yield findings about row ids that changed since ``version``, and about changes that could not be checked.

        :param steps: commits since that version; may include earlier ones
        :param state: newest state
        :param surveyed: footers of its files
        :param keys: columns that identify rows
        """
