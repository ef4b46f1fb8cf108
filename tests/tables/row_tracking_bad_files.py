"""Data files and deletion vectors that are missing, damaged, or not what the log says of them.

As in ``row_tracking_damage``: a damage cuts the history of a table of ``row_tracking.operations``, breaks
one file, and returns the data file that a finding should name.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tests.tables import row_tracking_files as files
from tests.tables.row_tracking_history import edit_file, edit_statistics, live, set_mark, settled, with_base

Files = list[str]


def file_missing(path: Path) -> Files:
    settled(path, 5)
    file = with_base(path, 8)
    files.remove_file(path, file)
    return [file]


def materialized_file_missing(path: Path) -> Files:
    settled(path, 5)
    file = with_base(path, 18)
    files.remove_file(path, file)
    return [file]


def file_truncated(path: Path, *, keep: int) -> Files:
    """A file cut to its first bytes, of which the log knows nothing."""
    settled(path, 5)
    file = with_base(path, 16)
    files.truncate(path, file, keep)
    return [file]


def file_of_zeros(path: Path) -> Files:
    settled(path, 5)
    file = with_base(path, 16)
    files.overwrite(path, file, bytes(live(path)[file]["size"]))
    return [file]


def file_not_parquet(path: Path) -> Files:
    settled(path, 5)
    file = with_base(path, 8)
    files.overwrite(path, file, b"id,name,v\n8,n8,8\n")
    edit_file(path, file, size=17)
    return [file]


def fewer_rows_than_said(path: Path) -> Files:
    settled(path, 2)
    file = with_base(path, 12)
    set_mark(path, 16)
    edit_statistics(path, file, numRecords=5)
    return [file]


def more_rows_than_said(path: Path) -> Files:
    settled(path, 2)
    file = with_base(path, 12)
    edit_statistics(path, file, numRecords=3)
    return [file]


def vector_missing(path: Path) -> Files:
    """The vector of the second UPDATE, alone in its file; the row that it hides is elsewhere by now."""
    settled(path, 7)
    file = with_base(path, 22)
    files.remove_vector(path, file)
    return [file]


def vector_of_a_fresh_file_missing(path: Path) -> Files:
    settled(path, 3)
    file = with_base(path, 0)
    files.remove_vector(path, file)  # and with it those of other files, of which there may be some in one file
    return [file]


def vector_flipped(path: Path) -> Files:
    settled(path, 7)
    file = with_base(path, 22)
    files.flip_vector(path, file)
    return [file]


def vector_cut(path: Path) -> Files:
    settled(path, 7)
    file = with_base(path, 22)
    found, vector = files.vector_file(path, file)
    files.truncate(path, found.name, vector.byte_range[1] - 6)
    return [file]


def ids_of_type(path: Path, *, data_type: pa.DataType) -> Files:
    settled(path, 6)
    file = with_base(path, 22)
    files.retype(path, file, data_type)
    return [file]
