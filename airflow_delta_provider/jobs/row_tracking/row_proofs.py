"""Proofs about the rows of a table: the port to the engine that reads them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from airflow_delta_provider.domain.checks.data_files.row_conditions import BrokenCondition
from airflow_delta_provider.domain.checks.row_tracking.row_moves import RowMoves
from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.row_condition import RowCondition
from airflow_delta_provider.domain.delta.row_tracking import RowTracking
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_ids.materialized_ids import FileIds
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.process.time_budget import TimeBudget
from airflow_delta_provider.jobs.row_tracking.compared_history import CommitStep
from airflow_delta_provider.jobs.row_tracking.footer_survey import FooterSurvey


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
