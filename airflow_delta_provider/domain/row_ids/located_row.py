"""Where a row with a certain id is."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_delta_provider.domain.row_ids.row_file import RowFile


@dataclass(frozen=True)
class LocatedRow:
    """A row: its file and its physical position there, from 0.

    :param materialized: whether the id is in the file; else it follows from the file's base and the position
    """

    row_id: int
    file: RowFile
    position: int
    materialized: bool

    def __lt__(self, other: LocatedRow) -> bool:
        return (self.row_id, self.file.path, self.position) < (other.row_id, other.file.path, other.position)
