"""The live files that must be read to prove that no two live rows have the same id, and the proof."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.table_history import TableHistory, Vector, carries_ids, vector_key, vectors_of
from airflow_delta_provider.domain.row_ids.driver_limits import DriverLimits
from airflow_delta_provider.jobs.paimon.row_proofs import Ranges
from airflow_delta_provider.jobs.paimon.table_files import TableFiles
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.spark.paimon.deleted_rows import DeletedRows
from airflow_delta_provider.jobs.spark.paimon.file_survey import FileSurvey, survey
from airflow_delta_provider.jobs.spark.paimon.live_row_ids import LiveRowIds, RepeatedId
from airflow_delta_provider.jobs.spark.session.table_session import SparkTableSession

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
