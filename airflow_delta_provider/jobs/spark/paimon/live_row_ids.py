"""The proof that no two live rows of a snapshot have the same id: PD02.

The id ranges that metadata assigns to files are disjoint; if not, that is another violation. So only the ids in files
that carry ids have to be read, from a single column. They are compared with each other and with the assigned ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from airflow_delta_provider.domain.checks import paimon_rows as rules
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.row_outcome import MOST_ROWS
from airflow_delta_provider.domain.paimon.table_history import ROW_ID, SEQUENCE_NUMBER
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_ids.driver_limits import DriverLimits
from airflow_delta_provider.domain.row_ids.fresh_ids import base_of, in_order
from airflow_delta_provider.domain.row_ids.id_buckets import Landings
from airflow_delta_provider.domain.row_ids.row_file import LocatedRow, RowFile
from airflow_delta_provider.jobs.paimon.table_files import TableFiles
from airflow_delta_provider.jobs.spark.paimon.file_survey import FileSurvey
from airflow_delta_provider.jobs.spark.row_ids.collected_ids import CollectedIds
from airflow_delta_provider.jobs.spark.row_ids.distributed_ids import DistributedIds
from airflow_delta_provider.jobs.spark.row_ids.row_ids import RowIds
from airflow_delta_provider.jobs.spark.row_ids.row_reader import FileRows, RowReader
from airflow_delta_provider.jobs.spark.session.table_session import SparkTableSession

#: Maximum number of files that findings name, and that are read to name them.
_MOST_FILES = 20


@dataclass(frozen=True)
class RepeatedId:
    """Rows of one or several files that share ids.

    :param files: files that contain the rows
    :param ids: first of the ids
    :param count: number of surplus rows
    """

    finding: Finding
    files: tuple[DataFile, ...]
    ids: tuple[int, ...] = ()
    count: int = 0


@dataclass
class LiveRowIds:
    """Compares the ids of live rows.

    :param files: live files whose rows are rows of the table
    :param surveyed: footers of the files that carry ids, as far as they have to be read
    :param deleted: returns the deleted rows of a file as a bit set
    """

    session: SparkTableSession
    data: TableFiles
    files: Collection[DataFile]
    surveyed: FileSurvey
    deleted: Callable[[DataFile], int]
    limits: DriverLimits
    _by_path: dict[str, DataFile] = field(init=False, default_factory=dict)

    def repeated(self, chosen: Collection[FileKey]) -> Iterator[RepeatedId]:
        """Yield the ids that several rows have, at least one of them in a file of ``chosen``.

        :param chosen: files whose ids are read
        """
        held: dict[str, RowFile] = {}
        fresh: list[RowFile] = []
        ids = {}
        for file in self.files:
            if not file.holds_rows or not file.row_count:
                continue
            found = self.surveyed.ids.get(file.key)
            if file.key in chosen and found is not None and not found.all_fresh:
                live = self.surveyed.files[file.key]
                held[live.path] = live
                ids[live.path] = found
            elif file.first_row_id is not None and (found is None or found.all_fresh):
                live = self.surveyed.files.get(file.key) or self.data.row_file(file)
                fresh.append(live)
            else:
                continue
            self._by_path[live.path] = file
        if not held:
            return
        rows = [
            FileRows(file, self._without(file), ids[path].all_materialized, ids[path].rows)
            for path, file in held.items()
        ]
        reader = RowReader(self.session, self.data, ROW_ID, SEQUENCE_NUMBER)
        mixed = [row.file for row in rows if not row.all_materialized]
        row_ids = RowIds(self.session, reader, rows, self._without)
        if self.limits.hold(list(ids.values())):
            expected = sum(found.rows for found in ids.values())
            collected = CollectedIds(row_ids, expected, mixed, _rows_of, None, self._without)
            yield from self._check(collected, row_ids, in_order(fresh))
            return
        distributed = DistributedIds(self.session, reader, rows, _rows_of, None, known=self._without)
        try:
            yield from self._check(distributed, row_ids, in_order(fresh))
        finally:
            distributed.release()

    def _without(self, file: RowFile) -> int:
        return self.deleted(self._by_path[file.path])

    def _check(
        self, compared: CollectedIds | DistributedIds, row_ids: RowIds, fresh: Sequence[RowFile]
    ) -> Iterator[RepeatedId]:
        repeated = compared.repeated(MOST_ROWS)
        if repeated.count:
            located = row_ids.locate(repeated.first)
            yield self._found(repeated.count, repeated.first, located, "another live row")
        landings: Landings = compared.landings(fresh, MOST_ROWS, _MOST_FILES)
        located = row_ids.locate(row_id for landing in landings.first for row_id in landing.ids)
        for landing in landings.first:
            rows = [row for row in located if row.row_id in landing.ids]
            base = base_of(landing.file)
            here = [LocatedRow(row_id, landing.file, row_id - base, False) for row_id in landing.ids]
            name = self._by_path[landing.file.path].name
            yield self._found(landing.count, landing.ids, sorted([*rows, *here]), f"a live row of {name}")
        if more := landings.files - len(landings.first):
            yield RepeatedId(
                rules.REPEATED_ID.found("{files:more file has|more files have} rows with such ids.", files=more), ()
            )

    def _found(self, count: int, ids: Sequence[int], rows: Sequence[LocatedRow], other: str) -> RepeatedId:
        files = {row.file.path: self._by_path[row.file.path] for row in rows}
        places: dict[str, list[int]] = {}
        for row in rows:
            places.setdefault(self._by_path[row.file.path].name, []).append(row.position)
        finding = rules.REPEATED_ID.found(
            "{rows:live row shares|live rows share} a row id with {other}. The first: id {ids}, of {places}.",
            rows=count,
            other=other,
            ids=list(ids),
            places="; ".join(f"row {', '.join(map(str, positions))} of {name}" for name, positions in places.items()),
        )
        return RepeatedId(finding, tuple(files.values()), tuple(ids), count)


def _rows_of(file: RowFile) -> int | None:
    return file.num_records
