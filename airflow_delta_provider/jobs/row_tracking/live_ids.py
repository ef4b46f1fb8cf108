"""The ids of a table's live rows, from the footers of its files and from the ids themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from airflow_delta_provider.domain.checks.row_tracking.row_ids import impossible_bounds
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.row_tracking import RowTracking
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_ids.fresh_ids import in_order, trusted_mark
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.process.timings import Timings
from airflow_delta_provider.jobs.row_tracking.footer_survey import FooterSurvey
from airflow_delta_provider.jobs.row_tracking.row_proofs import RowProofs


class LiveIds:
    """Checks the row ids of live files whose footers were read.

    :param files: files of a table whose row tracking is relied upon
    """

    def __init__(
        self, data: DeltaFiles, files: Collection[LiveFile], surveyed: FooterSurvey, tracking: RowTracking
    ) -> None:
        self._data = data
        self._files = files
        self._surveyed = surveyed
        self._tracking = tracking
        self._ids_read = 0
        self._holding = [f for f in files if f.path in surveyed.ids and not surveyed.ids[f.path].all_fresh]

    @property
    def evidence(self) -> dict[str, Any]:
        """The extent of the check."""
        return {
            "rows": live_rows(self._files, self._surveyed),
            "files_with_materialized_ids": len(self._holding),
            "materialized_ids_read": self._ids_read,
        }

    def check(self, proofs: RowProofs | None, name: str, timings: Timings, progress: Progress) -> list[Finding]:
        """Return problems with materialized ids.

        :param proofs: reads rows; None at level ``footers``
        :param name: name of the table, for messages
        """
        if proofs is None:
            return list(self._impossible_bounds())
        with timings.phase("ids"):
            if self._holding:
                progress(f"{name}: reading the row ids in {len(self._holding)} of them")
            proof = proofs.unique_ids(self._data, self._files, self._surveyed, self._tracking)
        self._ids_read = proof.ids_read
        return proof.findings

    def _impossible_bounds(self) -> Iterator[Finding]:
        """Yield findings for files whose statistics show impossible ids.

        Files with deleted rows are skipped: the deleted rows may have these ids.
        """
        mark = trusted_mark(in_order(self._files), self._surveyed.rows_of, self._tracking.high_water_mark)
        for file in self._files:
            ids = self._surveyed.ids.get(file.path)
            if ids is None or file.deletion_vector is not None or ids.minimum is None or ids.maximum is None:
                continue
            if ids.minimum < 0 or (mark is not None and ids.maximum > mark):
                yield impossible_bounds(file.path, ids.minimum, ids.maximum, mark)


def live_rows(files: Collection[LiveFile], surveyed: FooterSurvey) -> int:
    """Return the number of rows of files, without rows that deletion vectors delete."""
    deleted = sum(file.deletion_vector.cardinality for file in files if file.deletion_vector)
    return sum(surveyed.rows_of(file) or 0 for file in files) - deleted
