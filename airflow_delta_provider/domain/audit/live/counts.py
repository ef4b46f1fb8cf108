"""Counts of a table's live files by size and by deleted rows, as checksum files repeat them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from airflow_delta_provider.domain.delta.live_file import LiveFile

#: Lower bounds of the bins of deleted rows, except the first bin, which has no deleted rows.
_DELETED = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 2_147_483_647)


class LiveCounts:
    """Running counts of the live files.

    :param files: files that are live now
    :param bounds: lower bound of each size bin, ascending from 0
    """

    def __init__(self, files: Iterable[LiveFile], bounds: tuple[int, ...]) -> None:
        self.bounds = bounds
        self.numbers = [0] * len(bounds)
        """Number of files per size bin."""
        self.bytes = [0] * len(bounds)
        """Total size in bytes per size bin."""
        self.deleted_counts = [0] * (len(_DELETED) + 1)
        """Number of files per bin of deleted rows."""
        self.vectors = 0
        """Number of files with deletion vectors."""
        self.deleted = 0
        """Number of rows that those delete."""
        self.take(files, 1)

    def take(self, files: Iterable[LiveFile], by: int) -> None:
        """Count files that were added or removed.

        :param by: 1 for added files, -1 for removed files
        """
        for file in files:
            if self.bounds:
                place = bisect_right(self.bounds, file.size) - 1
                self.numbers[place] += by
                self.bytes[place] += by * file.size
            vector = file.deletion_vector
            cardinality = 0 if vector is None else vector.cardinality
            self.deleted_counts[bisect_right(_DELETED, cardinality)] += by
            if vector is not None:
                self.vectors += by
                self.deleted += by * cardinality
