"""The proof that no two live rows of a snapshot have the same id: PD02.

The id ranges that metadata assigns to files are disjoint; if not, that is another violation. So only the ids in files
that carry ids have to be read, from a single column. They are compared with each other and with the assigned ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.checks import paimon_rows as rules
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import LocatedRow, RowFile, base_of, in_order
from airflow_delta_provider.domain.checks.row_tracking.id_sets import DriverLimits, SharedIdFiles
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.row_rules import MOST_ROWS
from airflow_delta_provider.domain.paimon.table_history import (
    ROW_ID,
    SEQUENCE_NUMBER,
    TableHistory,
    Vector,
    carries_ids,
    vector_key,
    vectors_of,
)
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.jobs.paimon.table import Ranges, TableFiles
from airflow_delta_provider.jobs.process import Progress
from airflow_delta_provider.jobs.spark.paimon.compared_rows import DeletedRows
from airflow_delta_provider.jobs.spark.paimon.rows import FileSurvey, survey
from airflow_delta_provider.jobs.spark.row_tracking.distributed_ids import DistributedIds
from airflow_delta_provider.jobs.spark.row_tracking.row_reader import FileRows, RowIds, RowReader
from airflow_delta_provider.jobs.spark.row_tracking.uniqueness import CollectedIds
from airflow_delta_provider.jobs.spark.table_session import SparkTableSession

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
        landings: SharedIdFiles = compared.landings(fresh, MOST_ROWS, _MOST_FILES)
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


_ALL = (-(1 << 63), (1 << 63) - 1)


@dataclass
class LiveProof:
    """Proves that the live row ids in the newest snapshot of a history are unique.

    If the start of the history is proven, unchanged files are read only if their ids may overlap with a new file's
    ids.

    :param surveyed: footers already read; footers read here are added
    :param kept: ranges of ids that an earlier check found
    :param limits: limits of comparisons in this process; beyond them, Spark compares
    """

    session: SparkTableSession
    data: TableFiles
    history: TableHistory
    deleted: DeletedRows
    surveyed: FileSurvey
    kept: Ranges
    limits: DriverLimits = field(default_factory=DriverLimits)
    evidence: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._live = {file.key: file for file in self.history.latest.files}
        self._vectors = vectors_of(self.history.latest.index_files)

    def repeated(self, added: Collection[DataFile], progress: Progress) -> Iterator[RepeatedId]:
        """Yield the ids that several live rows have.

        :param added: new files
        """
        live = [file for file in self._live.values() if file.holds_rows and not self._is_broken(file)]
        chosen = {file.key for file in live if carries_ids(file) or not self._plain(file)}
        if self.history.proven:
            chosen &= self._meeting(live, added)
        ids = LiveRowIds(
            self.session,
            self.data,
            [file for file in live if not self._is_broken(file)],
            self.surveyed,
            lambda file: self.deleted(file, self._vector_of(file)),
            self.limits,
        )
        self.evidence["files_with_ids_read"] = len(chosen)
        if chosen:
            progress(f"reading the row ids in {len(chosen)} files")
        yield from ids.repeated(chosen)

    def ranges(self) -> dict[str, tuple[int, int]]:
        """Return the lowest and highest id in each live file that carries ids, if known."""
        return {
            file.name: found
            for file in self._live.values()
            if carries_ids(file) and not self._is_broken(file) and (found := self._known_range(file)) is not None
        }

    def range_of(self, file: DataFile) -> tuple[int, int] | None:
        """Return the range of a file's ids; None if it has no ids.

        If a file carries ids and nothing is known about them, this is the full range.
        """
        if not file.row_count:
            return None
        if not carries_ids(file) and self._plain(file):
            first = file.first_row_id
            return None if first is None else (first, first + file.row_count - 1)
        return self._known_range(file) or _ALL

    def complete(self) -> bool:
        """Return True if the rows of all live files could be read."""
        return not any(self._is_broken(file) for file in self._live.values() if file.holds_rows)

    def _is_broken(self, file: DataFile) -> bool:
        return file.key in self.surveyed.broken or file.key in self.deleted.broken

    def _plain(self, file: DataFile) -> bool:
        ids = self.surveyed.ids.get(file.key)
        return ids is None or ids.all_fresh

    def _meeting(self, live: Sequence[DataFile], added: Collection[DataFile]) -> set[FileKey]:
        """Return the new files, and the files that carry ids in the range of a new one. Missing footers are read."""
        new = {file.key for file in added}
        before = vectors_of(self.history.start.index_files)
        new |= {file.key for file in live if before.get(vector_key(file)) != self._vector_of(file)}
        self._read_footers(
            file
            for file in live
            if carries_ids(file)
            and file.key not in self.surveyed.ids
            and (file.key in new or file.name not in self.kept)
        )
        ranges = [found for file in live if file.key in new and (found := self.range_of(file))]
        near = [
            file
            for file in live
            if file.key not in new
            and carries_ids(file)
            and (found := self.range_of(file))
            and any(low <= found[1] and found[0] <= high for low, high in ranges)
        ]
        self._read_footers(file for file in near if file.key not in self.surveyed.ids)
        self.evidence["unchanged_files_read"] = len(near)
        return new | {file.key for file in near}

    def _read_footers(self, files: Iterator[DataFile]) -> None:
        self.surveyed.extend(survey(list(files), self.data, lambda file: file.key in self._live))

    def _known_range(self, file: DataFile) -> tuple[int, int] | None:
        ids = self.surveyed.ids.get(file.key)
        if ids is None:
            return self.kept.get(file.name)
        if ids.minimum is None or ids.maximum is None or not ids.all_materialized:
            return None
        return ids.minimum, ids.maximum

    def _vector_of(self, file: DataFile) -> Vector | None:
        return self._vectors.get(vector_key(file))
