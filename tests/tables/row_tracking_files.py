"""Data files and deletion vectors of a built table replaced, as a broken writer or a broken disk would."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_delta_provider.domain.delta.deletion_vector import DeletionVector
from tests.tables import log
from tests.tables.row_tracking_history import edit_file, live

ID = "delta.rowTracking.materializedRowIdColumnName"
COMMIT_VERSION = "delta.rowTracking.materializedRowCommitVersionColumnName"


def rows_of(path: Path, data_file: str) -> pa.Table:
    """Return everything that a data file holds, the materialized columns under their own names."""
    return pq.ParquetFile(path / unquote(data_file)).read()


def materialized(path: Path, data_file: str, which: str = ID) -> list[int | None] | None:
    """Return the values of a materialized column by position, None where the file does not have it."""
    name = log.configuration(path)[which]
    rows = rows_of(path, data_file)
    found: list[int | None] | None = rows.column(name).to_pylist() if name in rows.column_names else None
    return found


def rewrite(path: Path, data_file: str, change: Callable[[pa.Table], pa.Table], **options: Any) -> None:
    """Write a data file anew under its path; the log gets its size.

    :param options: of ``pyarrow.parquet.write_table``
    """
    file = path / unquote(data_file)
    after = change(rows_of(path, data_file))
    _unlink(file)
    pq.write_table(after, file, **options)
    edit_file(path, data_file, size=file.stat().st_size)


def set_materialized(
    path: Path, data_file: str, values: Mapping[int, int | None], which: str = ID, **options: Any
) -> None:
    """Change a materialized column at some positions."""
    name = log.configuration(path)[which]

    def change(rows: pa.Table) -> pa.Table:
        column = rows.column(name).to_pylist()
        for position, value in values.items():
            column[position] = value
        return rows.set_column(rows.column_names.index(name), name, pa.array(column, pa.int64()))

    rewrite(path, data_file, change, **options)


def position_of(path: Path, data_file: str, row_id: int) -> int:
    """Return where in a data file a materialized id is."""
    found = materialized(path, data_file)
    assert found is not None
    return found.index(row_id)


def holding(path: Path, row_id: int) -> tuple[str, int]:
    """Return the newest live file that holds a materialized id, and its position."""
    for data_file in reversed(live(path)):
        found = materialized(path, data_file)
        if found and row_id in found:
            return data_file, found.index(row_id)
    raise LookupError(row_id)


def retype(path: Path, data_file: str, data_type: pa.DataType) -> None:
    """Give the materialized row ids another type."""
    name = log.configuration(path)[ID]

    def change(rows: pa.Table) -> pa.Table:
        return rows.set_column(rows.column_names.index(name), name, rows.column(name).cast(data_type))

    rewrite(path, data_file, change)


def remove_file(path: Path, data_file: str) -> None:
    _unlink(path / unquote(data_file))


def truncate(path: Path, data_file: str, keep: int) -> None:
    """Cut a data file; the log is as it was."""
    file = path / unquote(data_file)
    content = file.read_bytes()
    _unlink(file)
    file.write_bytes(content[:keep])


def overwrite(path: Path, data_file: str, content: bytes) -> None:
    """Put something else where a data file was, of any size."""
    file = path / unquote(data_file)
    _unlink(file)
    file.write_bytes(content)


def vector_file(path: Path, data_file: str) -> tuple[Path, DeletionVector]:
    """Return the file in which a data file's deletion vector is, and its descriptor."""
    vector = DeletionVector.from_json(live(path)[data_file]["deletionVector"])
    assert vector.file is not None
    return path / vector.file, vector


def remove_vector(path: Path, data_file: str) -> None:
    _unlink(vector_file(path, data_file)[0])


def flip_vector(path: Path, data_file: str) -> None:
    """Flip the last byte of a deletion vector's bitmap; the checksum behind it stays."""
    file, vector = vector_file(path, data_file)
    content = bytearray(file.read_bytes())
    content[vector.byte_range[1] - 5] ^= 0xFF
    _unlink(file)
    file.write_bytes(bytes(content))


def _unlink(file: Path) -> None:
    """Remove a file and the checksum that Hadoop keeps beside it."""
    file.unlink()
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
