"""The right statistics of files whose statistics in the log are wrong, as data for a repair.

PROTOCOL.md, Per-file Statistics. Nothing is guessed: a value that neither the footer nor the rows show is missing,
with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.checks.data_files.file_comparison import TRUNCATED, NotComparedError, StatisticsCheck
from airflow_delta_provider.domain.checks.data_files.stored_bounds import UndecidableBoundError, in_log
from airflow_delta_provider.domain.checks.data_files.stored_columns import StoredColumn
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.formats.parquet.statistics import ChunkStatistics
from airflow_delta_provider.domain.report.answers import ABSENT, Repair, RightColumn, RightStatistics

_NAN = "NaN is greater than all numbers, and neither footers nor this audit count it"
_NO_TEXT = "it is no text"


def from_footer(
    of_file: StatisticsCheck, leaf: StoredColumn, groups: Sequence[Sequence[ChunkStatistics]], rows: int
) -> RightColumn:
    """Return the right statistics of a column for all rows of a file, as far as its footer has them.

    :param rows: number of rows in the file
    """
    if leaf.ordinal is None:
        return _column(leaf, "footer", rows, None, None, [])
    missing: list[str] = []
    nulls: Any = ABSENT
    low = high = None
    try:
        chunks = of_file.chunks(leaf, groups)
        try:
            nulls, _ = of_file.counted(leaf, chunks)
        except NotComparedError as reason:
            missing.append(str(reason))
        if leaf.bounds is not None:
            stored = of_file.stored(leaf, chunks, leaf.bounds)
            if stored.problem is not None or not stored.is_exact:
                raise NotComparedError(stored.problem or TRUNCATED)
            if stored.lows:
                of_file.check_calendar(leaf.bounds, min(stored.lows), stored)
                low, high = min(stored.lows), max(stored.highs)
    except NotComparedError as reason:
        missing.append(str(reason))
    return _column(leaf, "footer", nulls, low, high, missing)


def from_rows(leaf: StoredColumn, nulls: int, low: Any, high: Any, *, is_bounded: bool) -> RightColumn:
    """Return the right statistics of a column for the live rows of a file.

    :param low: least value without NaN; None if there is none, or if bounds were not read
    :param is_bounded: whether bounds were read
    """
    return _column(
        leaf, "rows", nulls, low, high, [] if is_bounded or leaf.bounds is None else ["bounds were not read"]
    )


def _column(leaf: StoredColumn, source: str, nulls: Any, low: Any, high: Any, missing: list[str]) -> RightColumn:
    of = leaf.kind.of
    known: dict[str, Any] = {}
    for name, value, upper in (("min", low, False), ("max", high, True)):
        if value is None:
            continue
        if upper and isinstance(value, float):
            missing.append(_NAN)
            continue
        try:
            known[name] = in_log(value, of, upper=upper)
        except UndecidableBoundError:
            missing.append(_NO_TEXT)
    return RightColumn(
        column=leaf.names,
        type=of,
        read_from=source,
        nulls=nulls,
        missing=tuple(dict.fromkeys(missing)) or ABSENT,
        **known,
    )


#: Maximum numbers of files, and of columns of all files, in the data of a repair.
_MOST_FILES, _MOST_COLUMNS = 100, 1000


@dataclass
class _File:
    rows: int
    has_vector: bool
    columns: dict[tuple[str, ...], RightColumn] = field(default_factory=dict)


@dataclass
class Repairs:
    """Collects the right statistics of files, up to a limit."""

    _files: dict[str, _File] = field(default_factory=dict)
    _columns: int = 0
    _left_out: int = 0

    def add(self, file: LiveFile, rows: int, columns: Sequence[RightColumn] = (), *, is_bounded: bool = True) -> None:
        """Add the columns of a file whose statistics are wrong; none if only its number of rows is.

        :param rows: number of rows in the file
        :param is_bounded: False if only NULLs were read, which do not replace bounds that were added before
        """
        known = self._files.get(file.path)
        if known is None and len(self._files) < _MOST_FILES:
            known = self._files[file.path] = _File(rows, file.deletion_vector is not None)
        if known is None:
            self._left_out += 1
            return
        for column in columns:
            if column.column in known.columns and not is_bounded:
                continue
            if column.column not in known.columns and self._columns >= _MOST_COLUMNS:
                self._left_out += 1
                continue
            self._columns += column.column not in known.columns
            known.columns[column.column] = column

    def has(self, file: LiveFile, column: tuple[str, ...]) -> bool:
        """Return True if a column was added."""
        return file.path in self._files and column in self._files[file.path].columns

    def to_answer(self) -> Repair | None:
        """Return the data of the report; None if there is none."""
        if not self._files:
            return None
        return Repair(
            files=tuple(
                RightStatistics(
                    path=path,
                    rows=file.rows,
                    tight=not file.has_vector or all(c.read_from == "rows" for c in file.columns.values()),
                    columns=tuple(file.columns.values()),
                )
                for path, file in self._files.items()
            ),
            left_out=self._left_out,
        )
