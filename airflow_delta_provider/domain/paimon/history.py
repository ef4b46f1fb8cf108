"""The snapshots of a table that are looked at, and the files that each had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_delta_provider.domain.paimon.live_files import Change
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_schema import TableSchema


@dataclass(frozen=True)
class History:
    """Snapshots one after the other.

    :param beginning: live files of the first of them
    :param changes: the first snapshot's own, and what each later one did; there is at least one
    :param live: live files of the newest
    :param schemas: by id, those that can be read
    :param complete: whether the files of each snapshot are known; if not, they cannot be relied upon
    """

    beginning: Mapping[FileKey, DataFile]
    changes: tuple[Change, ...]
    live: Mapping[FileKey, DataFile]
    schemas: Mapping[int, TableSchema]
    complete: bool

    @property
    def newest(self) -> Snapshot:
        """The newest snapshot."""
        return self.changes[-1].snapshot
