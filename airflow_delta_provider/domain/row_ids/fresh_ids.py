"""Fresh row ids: each file assigns a range of them, starting with ``baseRowId``, one for each of its rows.

PROTOCOL.md, Row IDs: an id is the file's base plus the physical position, so deleted rows also have one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, TypeVar

from airflow_delta_provider.domain.row_ids.row_file import RowFile

F = TypeVar("F", bound=RowFile)

#: Returns the number of physical rows of a file; None if unknown.
RowCount = Callable[[RowFile], "int | None"]


@dataclass(frozen=True, slots=True)
class Overlap(Generic[F]):
    """Two files that assign the same ids, from ``first`` to ``last``, both included."""

    one: F
    other: F
    first: int
    last: int


def in_order(files: Iterable[F]) -> list[F]:
    """Return the files that have a base, by their bases."""
    return sorted([file for file in files if file.base_row_id is not None], key=attrgetter("base_row_id"))


def base_of(file: RowFile) -> int:
    """Return the first id of a file that has one."""
    assert file.base_row_id is not None
    return file.base_row_id


def last_id(file: RowFile) -> int | None:
    """Return the highest id that a file assigns according to the log; None if it assigns none."""
    if file.base_row_id is None or file.num_records == 0:
        return None
    return file.base_row_id + (0 if file.num_records is None else file.num_records - 1)


def last_ids(ordered: Iterable[F], rows_of: RowCount) -> Iterator[tuple[F, int]]:
    """Yield the files that assign ids, each with its last id.

    :param ordered: files by their bases; if the number of rows is unknown, the id before the base is yielded
    """
    for file in ordered:
        rows = rows_of(file)
        if rows != 0:
            yield file, base_of(file) + (rows or 0) - 1


def are_apart(files: Iterable[RowFile]) -> bool:
    """Return True if each file assigns higher ids than the files before it, as files of one commit do. Fast."""
    end = 0
    for file in files:
        base, rows = file.base_row_id, file.num_records
        if base is None or rows is None or base < end:
            return False
        end = base + rows
    return True


def end_if_apart(ordered: Iterable[RowFile], rows_of: RowCount) -> int | None:
    """Return the id after the last one; None if ids are unknown, negative or assigned by several files. Fast.

    :param ordered: files by their bases
    """
    end = 0
    for file in ordered:
        base, rows = file.base_row_id, rows_of(file)
        if base is None or rows is None or base < end:
            return None
        end = base + rows
    return end


def overlaps(ordered: Iterable[F], rows_of: RowCount) -> Iterator[Overlap[F]]:
    """Yield each file whose range begins inside an earlier file's range, with the earlier file that reaches furthest.

    If nothing is yielded, all ranges are disjoint, except for files without rows or with an unknown number of rows,
    which are skipped. A path that occurs twice counts as one range.

    :param ordered: files by their bases
    """
    furthest: F | None = None
    end = 0
    for file in ordered:
        rows = rows_of(file)
        if not rows:
            continue
        base = base_of(file)
        if furthest is not None and base < end and file.path != furthest.path:
            yield Overlap(furthest, file, base, min(end, base + rows) - 1)
        if furthest is None or base + rows > end:
            furthest, end = file, base + rows


def trusted_mark(ordered: Iterable[RowFile], rows_of: RowCount, high_water_mark: int | None) -> int | None:
    """Return the mark; None if fresh ids are above it, so that this violation causes no further ones.

    :param ordered: files by their bases
    """
    if high_water_mark is None:
        return None
    highest = max((last for _, last in last_ids(ordered, rows_of)), default=-1)
    return high_water_mark if highest <= high_water_mark else None
