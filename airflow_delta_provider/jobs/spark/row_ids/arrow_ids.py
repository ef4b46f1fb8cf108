"""Materialized row ids, read by PyArrow if it is installed: for few rows, a Spark job would take most of the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from airflow_delta_provider.domain.row_ids.id_buckets import IDS, IdBucket
from airflow_delta_provider.jobs.process.optional_packages import have
from airflow_delta_provider.jobs.spark.row_ids.row_reader import FileRows
from airflow_delta_provider.jobs.tables.data_files import DataFiles

#: Maximum files, and rows with or without materialized ids, to read here: about a second on a local disk.
_MOST_FILES, _MOST_ROWS = 1000, 1 << 24
_BITS = (IDS - 1).bit_length()


class _NotPlainError(Exception):
    """The file does not have the expected form."""


def is_available() -> bool:
    """Return True if PyArrow and NumPy are installed."""
    return have("numpy", "pyarrow.parquet")


def read_buckets(
    data: DataFiles,
    column: str,
    rows: Sequence[FileRows],
    *,
    most_files: int = _MOST_FILES,
    most_rows: int = _MOST_ROWS,
) -> list[IdBucket] | None:
    """Return the materialized ids of live rows as bit sets, by number of bucket.

    :param column: column with the ids
    :param most_files: maximum number of files to read here
    :param most_rows: limit of rows, with or without materialized ids, to read here; it must not be reached
    :return: None if Spark has to read the ids, or to report problems with them
    """
    if len(rows) > most_files or sum(most_rows if row.rows is None else row.rows for row in rows) >= most_rows:
        return None
    if not is_available():
        return None
    import numpy as np

    try:
        found = [ids for file in data.map(lambda row: list(_ids(data, column, row)), rows) for ids in file]
        return list(_buckets(np.concatenate(found))) if found else []
    except Exception:  # error of any library: Spark reads the same data and reports the problem
        return None


def _ids(data: DataFiles, column: str, row: FileRows) -> Iterator[Any]:
    """Yield the materialized ids of a file's live rows, in arrays."""
    import numpy as np
    from pyarrow import int64, parquet

    file = parquet.ParquetFile(data.open(row.file))
    # Spark ignores the case of a column's name, and PyArrow treats a dot as a path into a struct.
    named = [field for field in file.schema_arrow if field.name.lower() == column.lower()]
    if [(field.name, field.type) for field in named] != [(column, int64())] or "." in column:
        raise _NotPlainError(column)
    count = file.metadata.num_rows
    deleted = np.frombuffer(row.deleted.to_bytes((count + 7) // 8, "little"), np.uint8)
    deleted = np.unpackbits(deleted, count=count, bitorder="little").astype(bool)
    position = 0
    for batch in file.iter_batches(columns=[column]):
        ids = batch.column(0)
        end = position + len(ids)
        live = ids.is_valid().to_numpy(zero_copy_only=False) & ~deleted[position:end]
        yield ids.fill_null(0).to_numpy()[live]
        position = end
    if position != row.rows:
        raise _NotPlainError(column)


def _buckets(ids: Any) -> Iterator[IdBucket]:
    import numpy as np

    ids.sort()
    numbers = ids >> _BITS
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))
    for start, end in zip(starts, [*starts[1:], len(ids)]):
        bits = np.zeros(IDS, np.uint8)
        bits[ids[start:end] & (IDS - 1)] = 1
        packed = np.packbits(bits, bitorder="little").tobytes()
        yield IdBucket(int(numbers[start]), int(end - start), int.from_bytes(packed, "little"))
