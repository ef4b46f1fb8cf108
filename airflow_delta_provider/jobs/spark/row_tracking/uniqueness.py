"""The proof that no two live rows have the same id, from footers and materialized ids.

If fresh ranges are disjoint, all fresh ids are unique, regardless of deletion vectors. That leaves the rows with
materialized ids. Only that column is read. Its ids are compared with each other and with the fresh ids of other
files' rows. A materialized id within another file's fresh range is correct only if the row with that fresh id is
deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby, islice

from airflow_delta_provider.domain.checks.data_files.files import unreadable_vector
from airflow_delta_provider.domain.checks.row_tracking import MOST_FINDINGS
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import RowCount, RowFile, in_order, trusted_mark
from airflow_delta_provider.domain.checks.row_tracking.id_sets import (
    IDS,
    DriverLimits,
    FaultyIds,
    SharedIdFiles,
    SharedIds,
    ids_in,
    impossible_ids,
    landings,
)
from airflow_delta_provider.domain.checks.row_tracking.row_ids import (
    MOST_ROWS,
    impossible_ids_found,
    landed_ids,
    more_landings,
    repeated_ids_found,
)
from airflow_delta_provider.domain.delta.deletion_vector import BrokenDeletionVectorError
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.row_tracking import RowTracking
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.jobs.delta.session import DeltaFiles
from airflow_delta_provider.jobs.row_tracking.row_proofs import FooterSurvey, Proof, unread
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.row_tracking.deleted_positions import MISSING, VectorsInTasks
from airflow_delta_provider.jobs.spark.row_tracking.distributed_ids import DistributedIds
from airflow_delta_provider.jobs.spark.row_tracking.row_reader import FileRows, RowIds, RowReader
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError


class CollectedIds:
    """The materialized ids of live rows, all of them in this process.

    :param expected: approximate number of ids
    :param mixed: files that may have both rows with materialized ids and rows with fresh ids
    :param rows_of: returns the number of rows of a file
    :param high_water_mark: mark above which ids are impossible; None if it does not count
    :param deleted: returns the deleted rows of a file as a bit set
    """

    def __init__(
        self,
        row_ids: RowIds,
        expected: int,
        mixed: Collection[RowFile],
        rows_of: RowCount,
        high_water_mark: int | None,
        deleted: Callable[[RowFile], int],
    ) -> None:
        self._row_ids = row_ids
        self._buckets = row_ids.buckets(expected)
        self._mixed = mixed
        self._rows_of = rows_of
        self._high_water_mark = high_water_mark
        self._deleted = deleted

    def repeated(self, limit: int) -> FaultyIds:
        """Return the ids that several rows in files with materialized ids have, and the number of surplus rows."""
        buckets = [bucket for bucket in self._buckets if bucket.repeated]
        materialized: Sequence[int] = ()
        landed = self._landed_in_mixed(limit)
        last = [landing.last for landing in landed]
        if buckets:
            start, end = buckets[0].first_id, buckets[-1].first_id
            materialized = self._row_ids.repeated_between(start, start + IDS - 1, limit)
            last += self._row_ids.repeated_between(end, end + IDS - 1, 1, last=True)
        first = (row_id for row_id, _ in groupby(merge(materialized, *(landing.ids for landing in landed))))
        count = sum(bucket.repeated for bucket in buckets) + sum(landing.count for landing in landed)
        return FaultyIds(count, tuple(islice(first, limit)), max(last, default=None))

    def impossible(self, limit: int) -> FaultyIds:
        """Return the ids that are negative or above the mark."""
        found = [(bucket.first_id, impossible_ids(bucket, self._high_water_mark)) for bucket in self._buckets]
        found = [(first, bits) for first, bits in found if bits]
        count = sum(bits.bit_count() for _, bits in found)
        ids = (row_id for first, bits in found for row_id in ids_in(bits, first, limit))
        last = found[-1][0] + found[-1][1].bit_length() - 1 if found else None
        return FaultyIds(count, tuple(islice(ids, limit)), last)

    def landings(self, fresh: Sequence[RowFile], limit: int, most: int) -> SharedIdFiles:
        """Return the files of ``fresh`` with a live row whose id is materialized elsewhere.

        :param fresh: files ordered by base, with disjoint ranges
        :param limit: maximum number of ids to name per file
        :param most: maximum number of files to name
        """
        found = list(landings(self._buckets, fresh, self._rows_of, self._deleted, limit))
        return SharedIdFiles(tuple(found[:most]), len(found))

    def _landed_in_mixed(self, limit: int) -> list[SharedIds]:
        """Return landings on rows with fresh ids in files that also have materialized ids.

        These rows are looked up only in files with an id in their range.
        """
        ordered = in_order(self._mixed)
        near = [landing.file for landing in landings(self._buckets, ordered, self._rows_of, self._deleted, 0)]
        positions = self._row_ids.positions(near)

        def not_fresh(file: RowFile) -> int:
            return self._deleted(file) | positions[file.path]

        return list(landings(self._buckets, near, self._rows_of, not_fresh, limit))


#: Bit set of all rows: an unreadable deletion vector counts as deleting all of them.
UNREADABLE = -1


def prove(
    session: SparkDeltaSession,
    data: DeltaFiles,
    files: Collection[LiveFile],
    survey: FooterSurvey,
    tracking: RowTracking,
    limits: DriverLimits,
) -> Proof:
    """Prove that live rows of ``files`` have unique ids, or find the rows that do not.

    :param files: files with disjoint fresh ranges; files with unreadable footers are left out
    :param limits: limits of comparisons in this process; beyond them, Spark compares
    """
    column = tracking.row_id_column
    proof = Proof([])
    readable = [file for file in files if file.path in survey.ids]
    holding = [file for file in readable if not survey.ids[file.path].all_fresh]
    if not holding or column is None:
        return proof
    deleted = _DeletedRows(data, survey, {file.path: file for file in files}, proof.findings)
    ids = [survey.ids[file.path] for file in holding]
    here = limits.hold(ids, sum(found.rows for file, found in zip(holding, ids) if file.deletion_vector))
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
        expected = sum(survey.ids[row.file.path].most_materialized for row in rows)
        collected = CollectedIds(row_ids, expected, mixed, survey.rows_of, mark, deleted)
        proof.findings.extend(_compare(collected, row_ids, fresh, mark))
    else:
        vectors = VectorsInTasks(session, data, deleted.files, survey.rows_of, deleted.report)
        distributed = DistributedIds(session, reader, rows, survey.rows_of, mark, vectors)
        try:
            proof.findings.extend(_compare(distributed, row_ids, fresh, mark))
        finally:
            distributed.release()
    read = [row.file.path for row in rows if row.file.path not in deleted.reported]
    proof.ids_read = sum(survey.ids[path].most_materialized for path in read)
    return proof


def _compare(
    compared: CollectedIds | DistributedIds, row_ids: RowIds, fresh: Sequence[RowFile], high_water_mark: int | None
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
        yield more_landings(more)


class _DeletedRows:
    """Returns the deleted rows of files, and collects findings about deletion vectors."""

    def __init__(
        self, data: DeltaFiles, survey: FooterSurvey, files: Mapping[str, LiveFile], findings: list[Finding]
    ) -> None:
        self._data = data
        self._survey = survey
        self.files = files
        self._findings = findings
        self.reported: set[str] = set()
        self._last: tuple[LiveFile, int] | None = None

    def __call__(self, file: RowFile) -> int:
        """Return the deleted rows as a bit set; all rows if the vector cannot be read, which is reported once."""
        file = self.files[file.path]
        if file.deletion_vector is None:
            return 0
        if self._last is None or self._last[0] is not file:
            self._last = file, self._read(file)
        return self._last[1]

    def _read(self, file: LiveFile) -> int:
        try:
            return self._data.deleted(file, self._survey.rows_of(file))
        except UnreadFileError as error:
            self.report(file, error)
        except (MissingFileError, BrokenDeletionVectorError) as error:
            self.report(file, MISSING if isinstance(error, MissingFileError) else error)
        return UNREADABLE

    def report(self, file: LiveFile, why: str | Exception) -> None:
        """Report once that the deletion vector of a file cannot be read."""
        if file.path in self.reported:
            return
        self.reported.add(file.path)
        self._findings.append(
            unread(file.path, why, vector=True)
            if isinstance(why, UnreadFileError)
            else unreadable_vector(file.path, why)
        )
