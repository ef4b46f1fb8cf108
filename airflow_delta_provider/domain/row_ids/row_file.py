"""A data file whose rows have ids, as a table's metadata describes it, and a row of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol


class RowFile(Protocol):
    """The properties of a data file that readers of row ids need."""

    @property
    def path(self) -> str:
        """Its path as in the metadata."""

    @property
    def size(self) -> int:
        """Size in bytes."""

    @property
    def base_row_id(self) -> int | None:
        """Fresh id of its first row; None if its rows have no fresh ids."""

    @property
    def default_row_commit_version(self) -> int | None:
        """Version or sequence number of rows that do not have their own."""

    @property
    def num_records(self) -> int | None:
        """Number of physical rows, including deleted ones; None if the metadata does not contain it."""


class DescribedFile(NamedTuple):
    """A :class:`RowFile` of any format."""

    path: str
    size: int
    base_row_id: int | None
    default_row_commit_version: int | None
    num_records: int | None = None


@dataclass(frozen=True)
class LocatedRow:
    """A row: its file and its physical position there, from 0.

    :param materialized: whether the id is in the file; otherwise it follows from the file's base and the position
    """

    row_id: int
    file: RowFile
    position: int
    materialized: bool

    def __lt__(self, other: LocatedRow) -> bool:
        return (self.row_id, self.file.path, self.position) < (other.row_id, other.file.path, other.position)
