"""The live files of a table, counted by size and by what their deletion vectors delete: what checksum files repeat."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from airflow_delta_provider.domain.delta.live_file import LiveFile

#: The least numbers of deleted rows of each bin but the first, in which no rows are deleted.
_DELETED = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 2_147_483_647)


class LiveCounts:
    """Takes changes of the live files.

    :param files: those that are live now
    :param bounds: the least size of each bin, ascending and from 0
    """

    def __init__(self, files: Iterable[LiveFile], bounds: tuple[int, ...]) -> None:
        self.bounds = bounds
        self.numbers = [0] * len(bounds)
        """How many files there are of each size."""
        self.bytes = [0] * len(bounds)
        """Their sizes together."""
        self.deleted_counts = [0] * (len(_DELETED) + 1)
        """How many files there are by the number of their deleted rows."""
        self.vectors = 0
        """How many files have deletion vectors."""
        self.deleted = 0
        """How many rows those delete."""
        self.take(files, 1)

    def take(self, files: Iterable[LiveFile], by: int) -> None:
        """Take files that were added.

        :param by: 1; -1 for files that are gone
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
