"""Limits for the part of the proof of unique row ids that fits into the driver."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from airflow_delta_provider.domain.row_ids.id_buckets import IDS
from airflow_delta_provider.domain.row_ids.materialized_ids import FileIds


@dataclass(frozen=True)
class DriverLimits:
    """Limits for comparing ids in this process; beyond any of them, Spark compares.

    :param ids: materialized ids; Spark compares a million as fast, and ids far apart need 4 KiB per bucket
    :param buckets: bit sets of ids: 64 MiB in total
    :param rows: rows of files with materialized ids and deletion vectors: a bit each, and some text to ship it
    """

    ids: int = 1_000_000
    buckets: int = 16_384
    rows: int = 1 << 24

    def hold(self, files: Collection[FileIds], rows_with_vectors: int = 0) -> bool:
        """Return True if the ids of files with materialized ids fit.

        :param rows_with_vectors: physical rows of those files that have deletion vectors
        """
        expected = sum(ids.most_materialized for ids in files)
        lows = [ids.minimum for ids in files if ids.minimum is not None]
        highs = [ids.maximum for ids in files if ids.maximum is not None]
        known = len(lows) == len(highs) == len(files)
        buckets = min(expected, max(highs) // IDS - min(lows) // IDS + 1) if known else expected
        return expected <= self.ids and buckets <= self.buckets and rows_with_vectors <= self.rows
