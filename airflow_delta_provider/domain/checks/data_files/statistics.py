"""Statistics in the log, compared with the footers of all files of a table, and their correct values.

PROTOCOL.md, Per-file Statistics. Correct values are never guessed: a value that neither the footer nor the rows show is
missing, with the reason. Names say where a value is from: ``logged`` from the log, ``footer`` from the file's footer,
``row`` from its rows.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import ge, itemgetter
from typing import Any, NamedTuple, Protocol

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.data_files.file_comparison import (
    DECIDED_BY_ROWS,
    EXCLUDED,
    MALFORMED,
    NO_FOOTER,
    NOT_FOUND,
    NULLS_DIFFER,
    NULLS_HIDDEN,
    TRUNCATED,
    WIDE,
    FileComparison,
    Logged,
    NotComparedError,
    Problems,
)
from airflow_delta_provider.domain.checks.data_files.stored_bounds import FRACTIONS, UndecidableBoundError, in_log
from airflow_delta_provider.domain.checks.data_files.stored_columns import StoredColumn, StoredColumns
from airflow_delta_provider.domain.delta.column_statistics import BOUNDS, COUNTS, read_statistics
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.formats.parquet.footer import Footer, FooterError
from airflow_delta_provider.domain.formats.parquet.statistics import ChunkStatistics, GroupStatistics, Writer
from airflow_delta_provider.domain.report.answers import ABSENT, Repair, RightColumn, RightStatistics
from airflow_delta_provider.domain.report.report import Finding

_NAN = "NaN is greater than all numbers, and neither footers nor this audit count it"
_NO_TEXT = "it is no text"


def from_footer(
    comparison: FileComparison, leaf: StoredColumn, groups: Sequence[Sequence[ChunkStatistics]], rows: int
) -> RightColumn:
    """Return the correct statistics of a column for all rows of a file, as far as its footer has them.

    :param rows: number of rows in the file
    """
    if leaf.ordinal is None:
        return _column(leaf, "footer", rows, None, None, [])
    missing: list[str] = []
    nulls: Any = ABSENT
    low = high = None
    try:
        chunks = comparison.chunks(leaf, groups)
        try:
            nulls, _ = comparison.counted(leaf, chunks)
        except NotComparedError as reason:
            missing.append(str(reason))
        if leaf.bounds is not None:
            stored = comparison.stored(leaf, chunks, leaf.bounds)
            if stored.problem is not None or not stored.is_exact:
                raise NotComparedError(stored.problem or TRUNCATED)
            if stored.minima:
                comparison.check_calendar(leaf.bounds, min(stored.minima), stored)
                low, high = min(stored.minima), max(stored.maxima)
    except NotComparedError as reason:
        missing.append(str(reason))
    return _column(leaf, "footer", nulls, low, high, missing)


def from_rows(leaf: StoredColumn, nulls: int, row_min: Any, row_max: Any, *, is_bounded: bool) -> RightColumn:
    """Return the correct statistics of a column for the live rows of a file.

    :param row_min: least value without NaN; None if there is none, or if bounds were not read
    :param is_bounded: True if bounds were read
    """
    return _column(
        leaf, "rows", nulls, row_min, row_max, [] if is_bounded or leaf.bounds is None else ["bounds were not read"]
    )


def _column(leaf: StoredColumn, source: str, nulls: Any, low: Any, high: Any, missing: list[str]) -> RightColumn:
    type_name = leaf.kind.type_name
    bounds: dict[str, Any] = {}
    for name, value, upper in (("min", low, False), ("max", high, True)):
        if value is None:
            continue
        if upper and isinstance(value, float):
            missing.append(_NAN)
            continue
        try:
            bounds[name] = in_log(value, type_name, upper=upper)
        except UndecidableBoundError:
            missing.append(_NO_TEXT)
    return RightColumn(
        column=leaf.names,
        type=type_name,
        read_from=source,
        nulls=nulls,
        missing=tuple(dict.fromkeys(missing)) or ABSENT,
        **bounds,
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
    """Collects the correct statistics of files, up to a limit."""

    _files: dict[str, _File] = field(default_factory=dict)
    _columns: int = 0
    _left_out: int = 0

    def add(self, file: LiveFile, rows: int, columns: Sequence[RightColumn] = (), *, is_bounded: bool = True) -> None:
        """Add the columns of a file whose statistics are wrong; none if only its number of rows is.

        :param rows: number of rows in the file
        :param is_bounded: False if only NULLs were read, which do not replace bounds that were added before
        """
        kept = self._files.get(file.path)
        if kept is None and len(self._files) < _MOST_FILES:
            kept = self._files[file.path] = _File(rows, file.deletion_vector is not None)
        if kept is None:
            self._left_out += 1
            return
        for column in columns:
            if column.column in kept.columns and not is_bounded:
                continue
            if column.column not in kept.columns and self._columns >= _MOST_COLUMNS:
                self._left_out += 1
                continue
            self._columns += column.column not in kept.columns
            kept.columns[column.column] = column

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


class StatisticsComparison(NamedTuple):
    """The result for one file.

    :param compared: number of columns that were compared
    :param left_out: for each column with statistics that was not compared, the reason
    :param undecided: columns in ``left_out`` whose rows decide about some or all of their statistics
    :param corrected: correct statistics of columns with findings
    """

    findings: Sequence[Finding] = ()
    compared: int = 0
    left_out: Sequence[str] = ()
    undecided: Sequence[UndecidedColumn] = ()
    corrected: Sequence[RightColumn] = ()


class CompareRows(Protocol):
    """Compares a column's logged statistics with its live rows; returns None if they cannot be compared."""

    def __call__(self, rows: int, nulls: int, row_min: Any, row_max: Any, /) -> list[Finding] | None: ...


class CorrectByRows(Protocol):
    """Returns a column's correct statistics from its live rows."""

    def __call__(self, nulls: int, row_min: Any, row_max: Any, /) -> RightColumn: ...


class UndecidedColumn(NamedTuple):
    """A column of a file whose statistics have to be compared with rows, because the footer does not decide.

    :param names: physical names, from the top-level column down
    :param type_name: its type, as in the schema's JSON
    :param is_bounded: True if bounds have to be compared
    :param counted_as: reason for which it was counted as left out. None if it stays left out, because rows decide only
        about some of its statistics
    """

    file: LiveFile
    names: tuple[str, ...]
    type_name: str
    is_bounded: bool
    counted_as: str | None
    compare: CompareRows
    correct: CorrectByRows


@dataclass
class ComparisonTotals:
    """Totals over files: the compared columns, the others by reason, and data to repair wrong statistics."""

    compared: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    repairs: Repairs = field(default_factory=Repairs)

    def add(self, result: StatisticsComparison) -> None:
        """Count the columns of a file."""
        self.compared += result.compared
        for reason in result.left_out:
            self.left_out[reason] = self.left_out.get(reason, 0) + 1

    def count_decided(self, column: UndecidedColumn) -> None:
        """Count a column as compared that was counted as left out before, unless it stays left out."""
        reason = column.counted_as
        if reason is None:
            return
        self.compared += 1
        self.left_out[reason] -= 1
        if not self.left_out[reason]:
            del self.left_out[reason]

    def add_repair(
        self,
        column: UndecidedColumn,
        findings: Sequence[Finding],
        rows: int,
        *,
        nulls: int,
        row_min: Any,
        row_max: Any,
    ) -> None:
        """Keep the correct statistics of a column for a repair, if its logged statistics are wrong.

        :param findings: findings about its rows
        :param rows: number of rows in the file
        """
        if findings or self.repairs.has(column.file, column.names):
            corrected = column.correct(nulls, row_min, row_max)
            self.repairs.add(column.file, rows, [corrected], is_bounded=column.is_bounded)


#: Types whose null counts can be compared with rows even if their bounds cannot.
_COUNTED_BY_ROWS = ("string", "binary")
#: Keys of the statistics that are compared.
_PARTS = (*BOUNDS, COUNTS)
_NOTHING = Logged(None, None, None)
#: Types of the values of these keys: JSON objects, or missing.
_OBJECTS = frozenset({dict, type(None)})


@on_demand(EXCLUDED, NULLS_HIDDEN, NULLS_DIFFER, WIDE)
class FileStatistics:
    """Compares statistics of a table's files in the log with the footers.

    :param metadata: metadata of the table
    :param has_vectors: True if a live file has a deletion vector: Delta Spark then answers no MIN or MAX from bounds of
        the table, so bounds that are too wide do less harm
    """

    def __init__(self, metadata: Metadata, *, has_vectors: bool) -> None:
        self._columns = StoredColumns(metadata)
        self._has_vectors = has_vectors
        # Objects for the last file, as most files share their writer, their columns and their result.
        self._last_trusted: tuple[Writer | None, bool] = (None, False)
        self._last_test: _EqualityTest | None = None
        self._last_without_findings = StatisticsComparison()

    def check(self, footer: Footer, file: LiveFile, logged: object) -> StatisticsComparison:
        """Compare one file.

        :param logged: its statistics in the log: JSON; None if it has none; any other value if the log does not show
            them
        """
        if not self._columns.are_known or logged is None or logged == "":
            return StatisticsComparison()
        if not isinstance(logged, str):
            return StatisticsComparison(left_out=(NOT_FOUND,))
        try:
            stats = read_statistics(logged, exact=self._columns.have_decimals)
            groups, writer = footer.statistics()
        except FooterError:
            return StatisticsComparison(left_out=(NO_FOOTER,))
        except (ValueError, RecursionError, ArithmeticError):
            return StatisticsComparison(left_out=(MALFORMED,))
        if not isinstance(stats, dict):
            return StatisticsComparison(left_out=(MALFORMED,))
        parts = [stats.get(part) for part in _PARTS]
        if not _OBJECTS.issuperset(map(type, parts)):
            return StatisticsComparison(left_out=(MALFORMED,))
        columns: Sequence[StoredColumn] = self._columns.of_file(footer.layout)
        compared, comparison = 0, FileComparison(file, stats, writer, has_vectors=self._has_vectors)
        if len(groups) == 1 and None not in parts and self._is_trusted(writer) and not comparison.needs_live_rows:
            # Fast path. What may differ is compared in detail, to find out whether and how.
            unequal = self._may_differ(columns, groups[0], *parts)
            compared, columns = len(columns) - len(unequal), unequal
        if not columns:
            if self._last_without_findings.compared != compared:
                self._last_without_findings = StatisticsComparison((), compared)
            return self._last_without_findings
        return _compare(comparison, file, footer, groups, columns, parts, compared)

    def _is_trusted(self, writer: Writer) -> bool:
        """Return True if all statistics of a writer are trusted."""
        if writer is not self._last_trusted[0]:
            are_ordered = len(writer.in_type_order) > 0 and all(writer.in_type_order)
            is_trusted = are_ordered and writer.marks_truncated_strings and writer.uses_proleptic_calendar
            self._last_trusted = writer, is_trusted
        return self._last_trusted[1]

    def _may_differ(
        self,
        columns: Sequence[StoredColumn],
        group: GroupStatistics,
        logged_min: Any,
        logged_max: Any,
        logged_nulls: Any,
    ) -> Sequence[StoredColumn]:
        """Return the columns whose logged statistics may differ from those of the only row group."""
        if self._last_test is None or self._last_test.columns is not columns:
            self._last_test = _EqualityTest(columns)
        if self._last_test.passes(group, logged_min, logged_max, logged_nulls):
            return ()
        return _unequal(columns, group.chunks, logged_min, logged_max, logged_nulls)


def _compare(
    comparison: FileComparison,
    file: LiveFile,
    footer: Footer,
    groups: Sequence[GroupStatistics],
    columns: Sequence[StoredColumn],
    parts: Sequence[Any],
    compared: int,
) -> StatisticsComparison:
    """Compare the columns of one file in detail.

    :param parts: the logged minima, maxima and null counts
    :param compared: number of other columns, which are equal
    """
    chunks = [group.chunks for group in groups]
    findings: list[Finding] = []
    corrected: list[RightColumn] = []
    left_out: list[str] = []
    undecided: list[UndecidedColumn] = []
    for column in columns:
        logged = Logged._make([_value(part, column.names) for part in parts])
        if logged == _NOTHING:
            continue
        found, problems = comparison.check(column, chunks, logged)
        findings += found
        if found:
            corrected.append(from_footer(comparison, column, chunks, footer.num_rows))
        reasons = [problem for problem in problems if problem is not None]
        if not reasons:
            compared += 1
            continue
        final = [reason for reason in reasons if reason not in DECIDED_BY_ROWS]
        left_out.append((final or reasons)[0])
        if open_column := _undecided(comparison, file, column, logged, problems, None if final else reasons[0]):
            undecided.append(open_column)
    return StatisticsComparison(findings, compared, left_out, undecided, corrected)


def _undecided(
    comparison: FileComparison,
    file: LiveFile,
    column: StoredColumn,
    logged: Logged,
    problems: Problems,
    counted_as: str | None,
) -> UndecidedColumn | None:
    """Return what rows have to decide about a column; None if they decide nothing."""
    nulls_by_rows, bounds_by_rows = problems.nulls in DECIDED_BY_ROWS, problems.bounds in DECIDED_BY_ROWS
    if not nulls_by_rows and not bounds_by_rows:
        return None
    if column.bounds is None and column.kind.type_name not in _COUNTED_BY_ROWS:
        return None
    logged_min, logged_max = (logged.minimum, logged.maximum) if bounds_by_rows else (None, None)
    rest = Logged(logged_min, logged_max, logged.nulls if nulls_by_rows else None)
    return UndecidedColumn(
        file,
        column.names,
        column.kind.type_name,
        bounds_by_rows,
        counted_as,
        partial(comparison.check_rows, column, rest),
        partial(from_rows, column, is_bounded=bounds_by_rows),
    )


class _EqualityTest:
    """Tests in a few steps whether the log and a row group have equal statistics in all columns.

    It does not tell which columns differ: ``_unequal`` does, more slowly. For tables of 10 to 50 columns, the test
    saves 7 to 14 percent of an audit at level ``footers``. Values of all columns with a ``struct`` code are packed by
    one call, the others one by one.

    :param columns: columns of a file
    """

    def __init__(self, columns: Sequence[StoredColumn]) -> None:
        self.columns = columns
        packings = [column.packing for column in columns]
        in_order = all(column.ordinal == number and len(column.names) == 1 for number, column in enumerate(columns))
        self._is_usable = in_order and None not in packings and len(columns) > 1
        usable = [packing for packing in packings if packing is not None] if self._is_usable else []
        self._paths = tuple(column.path for column in columns)
        names = [column.names[0] for column in columns]
        self._names = _getter(names)
        coded = [number for number, packing in enumerate(usable) if packing.code]
        others = [number for number, packing in enumerate(usable) if not packing.code]
        self._coded, self._coded_names = _getter(coded), _getter([names[number] for number in coded])
        self._others, self._other_names = _getter(others), _getter([names[number] for number in others])
        self._pack_min = [usable[number].pack_min for number in others]
        self._pack_max = [usable[number].pack_max for number in others]
        codes = [usable[number].code for number in coded]
        self._fractions = [place for place, code in enumerate(codes) if code in FRACTIONS]
        self._struct = struct.Struct("<" + "".join(codes))
        self._sizes = [struct.calcsize(f"<{code}") for code in codes]

    def passes(self, group: GroupStatistics, logged_min: Any, logged_max: Any, logged_nulls: Any) -> bool:
        """Return True if the statistics of all columns are equal; False if they may differ."""
        if not self._is_usable:
            return False
        try:
            paths, values, nulls, footer_min, footer_max, exact, deprecated = group
            counted: Any = nulls  # None raises TypeError
            return (
                paths == self._paths
                and self._names(logged_nulls) == nulls
                and min(counted) >= 0
                and (max(counted) <= min(values) or all(map(ge, values, counted)))
                and False not in exact
                and True not in deprecated
                and self._bounds_equal(logged_min, footer_min, upper=False)
                and self._bounds_equal(logged_max, footer_max, upper=True)
            )
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, struct.error):
            return False

    def _bounds_equal(self, logged: Any, footer: Sequence[Any], *, upper: bool) -> bool:
        values, coded = self._coded_names(logged), self._coded(footer)
        if self._fractions and not upper:
            values = list(values)
            for place in self._fractions:
                values[place] = values[place] or -0.0  # files have -0.0 as the minimum for 0
        # Joined bytes could be equal although one bound is too long and the next too short.
        if self._struct.pack(*values) != b"".join(coded) or [*map(len, coded)] != self._sizes:
            return False
        packs = self._pack_max if upper else self._pack_min
        packed = [pack(value) for pack, value in zip(packs, self._other_names(logged))]
        return packed == [*self._others(footer)]


def _getter(keys: Sequence[Any]) -> Callable[[Any], Sequence[Any]]:
    """Return a function that returns the values of keys; with several keys it runs in C."""
    return itemgetter(*keys) if len(keys) > 1 else lambda values: [values[key] for key in keys]


def _unequal(
    columns: Sequence[StoredColumn],
    chunks: Sequence[ChunkStatistics],
    logged_min: Any,
    logged_max: Any,
    logged_nulls: Any,
) -> list[StoredColumn]:
    """Return the columns whose logged statistics may differ from the only row group's."""
    unequal: list[StoredColumn] = []
    for column in columns:
        _, (name, *_), ordinal, path, _, packing, _ = column  # faster than attributes
        if packing is not None:
            pack_min, pack_max, _ = packing
            try:
                stored, values, nulls, footer_min, footer_max, is_exact, is_deprecated = chunks[ordinal]  # type: ignore[index]  # None raises TypeError
                if (
                    logged_nulls[name] == nulls
                    and 0 <= nulls <= values  # type: ignore[operator]  # None raises TypeError
                    and pack_min(logged_min[name]) == footer_min
                    and pack_max(logged_max[name]) == footer_max
                    and stored == path
                    and is_exact
                    and not is_deprecated
                ):
                    continue
            except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, struct.error):
                pass
        unequal.append(column)
    return unequal


def _value(part: Any, names: tuple[str, ...]) -> Any:
    """Return the value of a column in the logged minima, maxima or null counts; None if it is missing."""
    for name in names:
        if not isinstance(part, Mapping):
            return None
        part = part.get(name)
    return part
