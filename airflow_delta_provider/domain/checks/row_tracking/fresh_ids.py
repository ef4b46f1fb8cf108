"""Fresh row ids: each file assigns a range of them, starting with ``baseRowId``, one for each of its rows.

PROTOCOL.md, Row IDs: an id is the file's base plus the physical position, so deleted rows also have one.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, NamedTuple, Protocol, TypeVar

from airflow_delta_provider.domain.formats.parquet.footer import Footer
from airflow_delta_provider.domain.formats.parquet.schema import LogicalKind, PhysicalType


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

    :param materialized: True if the id is in the file; otherwise it follows from the file's base and the position
    """

    row_id: int
    file: RowFile
    position: int
    materialized: bool

    def __lt__(self, other: LocatedRow) -> bool:
        return (self.row_id, self.file.path, self.position) < (other.row_id, other.file.path, other.position)


class MaterializedTypeError(Exception):
    """The column does not contain 64-bit integers; the message gives its type."""


class FileIds(NamedTuple):
    """The row ids of one data file, as far as its footer shows; rows under deletion vectors are included.

    :param rows: number of rows
    :param materialized: number of rows with a materialized id; None if the footer does not show it
    :param minimum: lower bound of the materialized ids; None if there are none or the footer does not show it
    :param maximum: upper bound of the materialized ids; None likewise
    """

    rows: int
    materialized: int | None = 0
    minimum: int | None = None
    maximum: int | None = None

    @property
    def most_materialized(self) -> int:
        """The maximum number of rows with a materialized id."""
        return self.rows if self.materialized is None else self.materialized

    @property
    def all_fresh(self) -> bool:
        """Return True if every row has its fresh id."""
        return self.materialized == 0

    @property
    def all_materialized(self) -> bool:
        """Return True if every row has a materialized id."""
        return self.materialized == self.rows


def file_ids(footer: Footer, column: str | None) -> FileIds:
    """Return the footer's information about the materialized column ``column``.

    :raises MaterializedTypeError: if the column has another type than 64-bit integer
    :raises FooterError: if the footer is damaged or does not let this be read
    """
    element = footer.leaf((column,)) if column else None
    if element is None:
        if column and any(found.name == column for found in footer.schema[1:]):
            raise MaterializedTypeError("it is not a plain column")
        return FileIds(footer.num_rows)
    logical = element.logical_type
    wide = logical is None or (logical.kind is LogicalKind.INTEGER and logical.signed and logical.bit_width == 64)
    if element.physical_type is not PhysicalType.INT64 or not wide:
        kind = logical.kind.value if logical else element.physical_type.name if element.physical_type else "group"
        raise MaterializedTypeError(f"its type is {kind.lower()}")
    chunks = footer.chunks((column,)) if column else ()
    counts = [None if chunk.null_count is None else chunk.num_values - chunk.null_count for chunk in chunks]
    known = [count for count in counts if count is not None]
    bounds = [(c.minimum, c.maximum) for c, count in zip(chunks, counts) if count != 0]
    lows = [low for low, _ in bounds if low is not None]
    highs = [high for _, high in bounds if high is not None]
    return FileIds(
        footer.num_rows,
        sum(known) if len(known) == len(counts) else None,
        min(lows) if lows and len(lows) == len(bounds) else None,
        max(highs) if highs and len(highs) == len(bounds) else None,
    )


F = TypeVar("F", bound=RowFile)
#: Bits of a number of rows, and the highest one.
_BITS, _MOST_ROWS = 32, (1 << 32) - 1


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


def end_if_apart(files: Iterable[RowFile], rows_of: RowCount) -> int | None:
    """Return the id after the last one; None if ids are unknown, negative or assigned by several files. Fast.

    One number is kept of each file that has a base, 40 bytes: a table may have millions.
    """
    ranges = list[int]()
    for file in files:
        if file.base_row_id is None:
            continue
        rows = rows_of(file)
        if rows is None or not 0 <= rows <= _MOST_ROWS:
            return None
        ranges.append(file.base_row_id << _BITS | rows)
    ranges.sort()
    end = 0
    for base_and_rows in ranges:
        base = base_and_rows >> _BITS
        if base < end:
            return None
        end = base + (base_and_rows & _MOST_ROWS)
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


class AssignedIds:
    """The row ids that earlier commits assigned, as ranges. Commits are read when they are first needed.

    :param files_between: function that returns the files that the kept commits after one version and up to another add
    """

    def __init__(self, files_between: Callable[[int, int], Iterable[RowFile]]) -> None:
        self._files_between = files_between
        self._read_to = -1
        self._starts: list[int] = []
        self._ends: list[int | float] = []

    def has(self, file: RowFile, version: int) -> bool:
        """Return True if a commit before ``version`` assigned an id of a new file, or if no such commit is known."""
        base = base_of(file)
        if version <= self._read_to:
            self._read_to, self._starts, self._ends = -1, [], []
        for earlier in self._files_between(self._read_to, version - 1):
            if earlier.base_row_id is not None and earlier.num_records != 0:
                self._add(earlier.base_row_id, earlier.num_records)
        self._read_to = version - 1
        first = bisect_right(self._ends, base)
        is_known = base >= 0 and bool(self._starts)
        return not is_known or (first < len(self._ends) and self._starts[first] < base + (file.num_records or 1))

    def _add(self, start: int, rows: int | None) -> None:
        end = math.inf if rows is None else start + rows
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last], self._ends[first:last] = [start], [end]


def trusted_mark(ordered: Iterable[RowFile], rows_of: RowCount, high_water_mark: int | None) -> int | None:
    """Return the mark; None if fresh ids are above it, so that this violation causes no further ones.

    :param ordered: files by their bases
    """
    if high_water_mark is None:
        return None
    highest = max((last for _, last in last_ids(ordered, rows_of)), default=-1)
    return high_water_mark if highest <= high_water_mark else None
