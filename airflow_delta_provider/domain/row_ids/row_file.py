"""A data file whose rows have ids, as a table's metadata describes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowFile:
    """What readers of row ids need to know of a data file.

    :param path: as the metadata gives it
    :param size: bytes
    :param base_row_id: fresh id of its first row; None where its rows have no fresh ids
    :param default_row_commit_version: version or sequence number of rows that do not carry their own
    :param num_records: physical rows, deleted ones included; None where the metadata does not say
    """

    path: str
    size: int
    base_row_id: int | None
    default_row_commit_version: int | None
    num_records: int | None = None
