"""The proof that no two live rows have the same id, from footers and materialized ids.

Fresh ranges that are disjoint make the fresh ids of all files unique, whatever their deletion vectors. What is left
are rows with materialized ids: they are read, that one column alone, compared with each other, and with the fresh ids
of other files' rows. One that lands there is right only if that row is deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from airflow_delta_provider.domain.checks.data_files import rules as file_rules
from airflow_delta_provider.domain.checks.row_tracking import rules
from airflow_delta_provider.domain.checks.row_tracking.row_rules import (
    MOST_ROWS,
    impossible_ids_found,
    landed_ids,
    repeated_ids_found,
)
from airflow_delta_provider.domain.checks.row_tracking.state_rules import MOST_FINDINGS
from airflow_delta_provider.domain.delta.deletion_vector import BrokenDeletionVectorError
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.row_ids.fresh_ids import in_order, trusted_mark
from airflow_delta_provider.domain.delta.row_ids.id_buckets import IDS
from airflow_delta_provider.domain.delta.row_ids.materialized_ids import FileIds
from airflow_delta_provider.domain.delta.row_tracking import RowTracking
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.row_tracking.collected_ids import CollectedIds
from airflow_delta_provider.jobs.row_tracking.deleted_positions import MISSING
from airflow_delta_provider.jobs.row_tracking.distributed_ids import DistributedIds
from airflow_delta_provider.jobs.row_tracking.footer_survey import FooterSurvey
from airflow_delta_provider.jobs.row_tracking.row_ids import RowIds
from airflow_delta_provider.jobs.row_tracking.row_reader import FileRows, RowReader
from airflow_delta_provider.jobs.session.missing_file import MissingFileError
from airflow_delta_provider.jobs.tables.data_files import DataFiles
from airflow_delta_provider.jobs.tables.delta_session import DeltaSession

#: All rows: what a deletion vector deletes that cannot be read.
UNREADABLE = -1


@dataclass
class Proof:
    """The outcome.

    :param ids_read: how many ids were read
    """

    findings: list[Finding]
    ids_read: int = 0


@dataclass(frozen=True)
class Room:
    """What is compared in this process; beyond any of it, Spark compares.

    :param ids: materialized ids; Spark compares a million as fast, and what lies far apart takes 4 KiB a bucket
    :param buckets: bit sets of ids: 64 MiB of them
    :param rows: rows of files with materialized ids and deletion vectors: a bit each, and some text to ship it
    """

    ids: int = 1_000_000
    buckets: int = 16_384
    rows: int = 1 << 24

    def holds(self, files: Collection[LiveFile], survey: FooterSurvey) -> bool:
        """Whether the ids of ``files``, which hold materialized ones, fit."""
        held = [survey.ids[file.path] for file in files]
        expected = sum(map(_most_materialized, held))
        lows = [ids.minimum for ids in held if ids.minimum is not None]
        highs = [ids.maximum for ids in held if ids.maximum is not None]
        known = len(lows) == len(highs) == len(held)
        buckets = min(expected, max(highs) // IDS - min(lows) // IDS + 1) if known else expected
        with_vectors = sum(survey.ids[file.path].rows for file in files if file.deletion_vector)
        return expected <= self.ids and buckets <= self.buckets and with_vectors <= self.rows


def prove(
    session: DeltaSession,
    data: DataFiles,
    files: Collection[LiveFile],
    survey: FooterSurvey,
    tracking: RowTracking,
    room: Room = Room(),
) -> Proof:
    """Prove that live rows of ``files`` have unique ids, or find those that do not.

    :param files: whose fresh ranges are disjoint; those whose footers could not be read are left out
    """
    column = tracking.row_id_column
    proof = Proof([])
    readable = [file for file in files if file.path in survey.ids]
    holding = [file for file in readable if not survey.ids[file.path].all_fresh]
    if not holding or column is None:
        return proof
    deleted = _DeletedRows(data, survey, proof.findings)
    here = room.holds(holding, survey)
    rows = [
        FileRows(file, deleted(file) if here else 0, survey.ids[file.path].all_materialized, survey.ids[file.path].rows)
        for file in holding
    ]
    rows = [row for row in rows if row.deleted != UNREADABLE]
    if not rows:
        return proof
    reader = RowReader(session, data, column)
    mixed = [row.file for row in rows if not row.all_materialized]
    row_ids = RowIds(session, reader, rows, deleted)
    ordered = in_order(readable)
    mark = trusted_mark(ordered, survey.rows_of, tracking.high_water_mark)
    fresh = [file for file in ordered if survey.ids[file.path].all_fresh and survey.ids[file.path].rows]
    if here:
        expected = sum(_most_materialized(survey.ids[row.file.path]) for row in rows)
        collected = CollectedIds(row_ids, expected, mixed, survey.rows_of, mark, deleted)
        proof.findings.extend(_judge(collected, row_ids, fresh, mark))
    else:
        distributed = DistributedIds(session, data, reader, rows, survey.rows_of, mark, deleted.report)
        try:
            proof.findings.extend(_judge(distributed, row_ids, fresh, mark))
        finally:
            distributed.release()
    read = [row.file.path for row in rows if row.file.path not in deleted.reported]
    proof.ids_read = sum(_most_materialized(survey.ids[path]) for path in read)
    return proof


def _most_materialized(ids: FileIds) -> int:
    return ids.rows if ids.materialized is None else ids.materialized


def _judge(
    compared: CollectedIds | DistributedIds, row_ids: RowIds, fresh: list[LiveFile], high_water_mark: int | None
) -> Iterator[Finding]:
    repeated = compared.repeated(MOST_ROWS)
    if repeated.count:
        yield repeated_ids_found(row_ids.locate(repeated.first), repeated)
    impossible = compared.impossible(MOST_ROWS)
    if impossible.count:
        yield impossible_ids_found(row_ids.locate(impossible.first), impossible, high_water_mark)
    landings = compared.landings(fresh, MOST_ROWS, MOST_FINDINGS)
    located = row_ids.locate(row_id for landing in landings.first for row_id in landing.ids)
    for landing in landings.first:
        yield landed_ids(landing, [row for row in located if row.row_id in landing.ids])
    if more := landings.files - len(landings.first):
        yield rules.DUPLICATE_ROW_IDS.finding(f"{more} more files have rows whose ids rows in other files have, too.")


class _DeletedRows:
    """Gives the deleted rows of files, and keeps what is wrong with deletion vectors as findings."""

    def __init__(self, data: DataFiles, survey: FooterSurvey, findings: list[Finding]) -> None:
        self._data = data
        self._survey = survey
        self._findings = findings
        self.reported: set[str] = set()
        self._last: tuple[LiveFile, int] | None = None

    def __call__(self, file: LiveFile) -> int:
        """Return them as a bit set; of a vector that cannot be read all rows, once it was reported."""
        if file.deletion_vector is None:
            return 0
        if self._last is None or self._last[0] is not file:
            self._last = file, self._read(file)
        return self._last[1]

    def _read(self, file: LiveFile) -> int:
        try:
            return self._data.deleted(file, self._survey.rows_of(file))
        except (MissingFileError, BrokenDeletionVectorError) as error:
            self.report(file, MISSING if isinstance(error, MissingFileError) else str(error))
            return UNREADABLE

    def report(self, file: LiveFile, why: str) -> None:
        """Keep, once, that the deletion vector of a file cannot be read."""
        if file.path in self.reported:
            return
        self.reported.add(file.path)
        self._findings.append(
            file_rules.DELETION_VECTOR.finding(
                f"The deletion vector of {file.path} cannot be read: {why}. Which of its rows are deleted is lost, "
                "and reading the table fails. RESTORE the table to a version before the vector was written.",
                path=file.path,
            )
        )
