"""Statistics in the log, compared with the footers of all files of a table, and their right values.

PROTOCOL.md, Per-file Statistics. Nothing is guessed: a right value that neither the footer nor the rows show is
missing, with the reason.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import ge, itemgetter
from typing import Any, NamedTuple

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
    NotComparedError,
    StatisticsCheck,
)
from airflow_delta_provider.domain.checks.data_files.stored_bounds import FRACTIONS, UndecidableBoundError, in_log
from airflow_delta_provider.domain.checks.data_files.stored_columns import StoredColumn, StoredColumns
from airflow_delta_provider.domain.delta.column_statistics import (
    BOUNDS,
    COUNTS,
    read_statistics,
)
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.formats.parquet.footer import Footer, FooterError
from airflow_delta_provider.domain.formats.parquet.statistics import ChunkStatistics, GroupStatistics, Writer
from airflow_delta_provider.domain.report.answers import ABSENT, Repair, RightColumn, RightStatistics
from airflow_delta_provider.domain.report.report import Finding

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


@dataclass(frozen=True)
class StatisticsComparison:
    """The result for one file.

    :param compared: number of columns that were compared
    :param left_out: for each column with statistics that was not compared, the reason
    :param open: columns in ``left_out`` that rows can decide
    :param right: right statistics of columns with findings
    """

    findings: Sequence[Finding] = ()
    compared: int = 0
    left_out: Sequence[str] = ()
    open: Sequence[OpenColumn] = ()
    right: Sequence[RightColumn] = ()


class OpenColumn(NamedTuple):
    """A column whose statistics are to be compared with the rows of a file, since the footer does not decide.

    :param names: physical names, from the top-level column down
    :param of: its type, as in the schema's JSON
    :param is_bounded: True if bounds are to be compared
    :param reason: the reason why the footer does not decide; None if rows do not decide all of the column's statistics
    :param compare: returns findings for the live rows, None if it cannot; takes the numbers of rows and of NULLs, and
        the least and the greatest value
    :param right: returns the right statistics, from the number of NULLs and the two values
    """

    file: LiveFile
    names: tuple[str, ...]
    of: str
    is_bounded: bool
    reason: str | None
    compare: Callable[[int, int, Any, Any], list[Finding] | None]
    right: Callable[[int, Any, Any], RightColumn]


@dataclass
class StatisticsCount:
    """The number of compared columns of files, the number of others by reason, and data to repair wrong statistics."""

    compared: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    repairs: Repairs = field(default_factory=Repairs)

    def decide(self, column: OpenColumn) -> None:
        """Count a column as compared that was left out before."""
        if column.reason is None:
            return
        self.compared += 1
        self.left_out[column.reason] -= 1
        if not self.left_out[column.reason]:
            del self.left_out[column.reason]

    def add_rows(
        self, column: OpenColumn, findings: Sequence[Finding], rows: int, nulls: int, low: Any, high: Any
    ) -> None:
        """Add the right statistics of a column from its rows, if it has wrong ones.

        :param findings: findings about its rows
        :param rows: number of rows in the file
        """
        if findings or self.repairs.has(column.file, column.names):
            right = column.right(nulls, low, high)
            self.repairs.add(column.file, rows, [right], is_bounded=column.is_bounded)

    def add(self, result: StatisticsComparison) -> None:
        self.compared += result.compared
        for reason in result.left_out:
            self.left_out[reason] = self.left_out.get(reason, 0) + 1


#: Types whose NULLs are counted by rows, although their bounds may not be compared.
_COUNTED_BY_ROWS = ("string", "binary")


_PARTS = (*BOUNDS, COUNTS)
#: Types of the parts of statistics: JSON objects, or missing.
_OBJECTS = frozenset({dict, type(None)})


@on_demand(EXCLUDED, NULLS_HIDDEN, NULLS_DIFFER, WIDE)
class FileStatistics:
    """Compares statistics of a table's files in the log with the footers.

    :param metadata: metadata of the table
    :param has_vectors: whether a live file has a deletion vector: Delta Spark then answers no MIN or MAX from bounds
    """

    def __init__(self, metadata: Metadata, *, has_vectors: bool) -> None:
        self._columns = StoredColumns(metadata)
        self._has_vectors = has_vectors
        self._trusted: tuple[Writer | None, bool] = (None, False)
        self._equal: _Equality | None = None
        self._sound = StatisticsComparison()

    def check(self, footer: Footer, file: LiveFile, said: object) -> StatisticsComparison:
        """Compare one file.

        :param said: its statistics in the log: JSON; None if it has none; any other value if the log does not show them
        """
        if not self._columns.are_known or said is None or said == "":
            return StatisticsComparison()
        if not isinstance(said, str):
            return StatisticsComparison(left_out=(NOT_FOUND,))
        try:
            stats = read_statistics(said, exact=self._columns.have_decimals)
            groups, writer = footer.statistics()
        except FooterError:
            return StatisticsComparison(left_out=(NO_FOOTER,))
        except (ValueError, RecursionError, ArithmeticError):
            return StatisticsComparison(left_out=(MALFORMED,))
        parts = [stats.get(part) for part in _PARTS] if isinstance(stats, dict) else [()]
        if not _OBJECTS.issuperset(map(type, parts)):
            return StatisticsComparison(left_out=(MALFORMED,))
        leaves: Sequence[StoredColumn] = self._columns.of_file(footer.layout)
        compared, of_file = 0, StatisticsCheck(file, stats, writer, has_vectors=self._has_vectors)
        if len(groups) == 1 and None not in parts and self._is_trusted(writer) and not of_file.needs_live_rows:
            if self._equal is None or self._equal.leaves is not leaves:
                self._equal = _Equality(leaves)
            rest = () if self._equal.holds(groups[0], *parts) else _not_equal(leaves, groups[0].chunks, *parts)
            compared, leaves = len(leaves) - len(rest), rest
        if not leaves:
            if self._sound.compared != compared:
                self._sound = StatisticsComparison((), compared)
            return self._sound
        chunks = [group.chunks for group in groups]
        findings: list[Finding] = []
        right: list[RightColumn] = []
        left_out: list[str] = []
        undecided: list[OpenColumn] = []
        for leaf in leaves:
            least, most, count = (_value(part, leaf.names) for part in parts)
            if least is None and most is None and count is None:
                continue
            found, problems = of_file.check(leaf, chunks, least, most, count)
            findings += found
            right += [from_footer(of_file, leaf, chunks, footer.num_rows)] if found else ()
            open_parts = [problem in DECIDED_BY_ROWS for problem in problems]
            reasons = [problem for problem in problems if problem is not None]
            if not reasons:
                compared += 1
                continue
            final = [reason for reason in reasons if reason not in DECIDED_BY_ROWS]
            left_out.append((final or reasons)[0])
            if any(open_parts) and (leaf.bounds is not None or leaf.kind.of in _COUNTED_BY_ROWS):
                low, high = (least, most) if open_parts[1] else (None, None)
                compare = partial(of_file.check_rows, leaf, low, high, count if open_parts[0] else None)
                reason = None if final else reasons[0]
                bounded = open_parts[1]
                undecided.append(
                    OpenColumn(
                        file,
                        leaf.names,
                        leaf.kind.of,
                        bounded,
                        reason,
                        compare,
                        partial(from_rows, leaf, is_bounded=bounded),
                    )
                )
        return StatisticsComparison(findings, compared, left_out, undecided, right)

    def _is_trusted(self, writer: Writer) -> bool:
        """Return True if all statistics of a writer are trusted."""
        if writer is not self._trusted[0]:
            are_ordered = len(writer.in_type_order) > 0 and all(writer.in_type_order)
            is_trusted = are_ordered and writer.marks_truncated_strings and writer.uses_proleptic_calendar
            self._trusted = writer, is_trusted
        return self._trusted[1]


class _Equality:
    """Compares the statistics of all columns with those of a row group in a few steps, if all are equal.

    :param leaves: columns of a file
    """

    def __init__(self, leaves: Sequence[StoredColumn]) -> None:
        self.leaves = leaves
        kinds = [leaf.packed for leaf in leaves]
        in_order = all(leaf.ordinal == number and len(leaf.names) == 1 for number, leaf in enumerate(leaves))
        self._is_usable = in_order and None not in kinds and len(leaves) > 1
        packings = [kind for kind in kinds if kind is not None] if self._is_usable else []
        self._paths = tuple(leaf.path for leaf in leaves)
        names = [leaf.names[0] for leaf in leaves]
        self._names = _getter(names)
        coded = [number for number, kind in enumerate(packings) if kind.code]
        others = [number for number, kind in enumerate(packings) if not kind.code]
        self._coded, self._coded_names = _getter(coded), _getter([names[number] for number in coded])
        self._others, self._other_names = _getter(others), _getter([names[number] for number in others])
        self._least = [packings[number].least for number in others]
        self._most = [packings[number].most for number in others]
        codes = [packings[number].code for number in coded]
        self._fractions = [place for place, code in enumerate(codes) if code in FRACTIONS]
        self._struct = struct.Struct("<" + "".join(codes))
        self._sizes = [struct.calcsize(f"<{code}") for code in codes]

    def holds(self, group: GroupStatistics, low: Any, high: Any, counts: Any) -> bool:
        """Return True if the statistics of all columns are equal; False if they may differ."""
        if not self._is_usable:
            return False
        try:
            paths, values, nulls, least, most, exact, deprecated = group
            counted: Any = nulls  # None raises TypeError
            return (
                paths == self._paths
                and self._names(counts) == nulls
                and min(counted) >= 0
                and (max(counted) <= min(values) or all(map(ge, values, counted)))
                and False not in exact
                and True not in deprecated
                and self._are(low, least, upper=False)
                and self._are(high, most, upper=True)
            )
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, struct.error):
            return False

    def _are(self, said: Any, stored: Sequence[Any], *, upper: bool) -> bool:
        values, coded = self._coded_names(said), self._coded(stored)
        if self._fractions and not upper:
            values = list(values)
            for place in self._fractions:
                values[place] = values[place] or -0.0  # as the packing of a minimum
        if self._struct.pack(*values) != b"".join(coded) or [*map(len, coded)] != self._sizes:
            return False
        packs = self._most if upper else self._least
        packed = [pack(value) for pack, value in zip(packs, self._other_names(said))]
        return packed == [*self._others(stored)]


def _getter(keys: Sequence[Any]) -> Callable[[Any], Sequence[Any]]:
    """Return a function that returns the values of keys. Fast if there are several."""
    return itemgetter(*keys) if len(keys) > 1 else lambda values: [values[key] for key in keys]


def _not_equal(
    leaves: Sequence[StoredColumn], chunks: Sequence[ChunkStatistics], low: Any, high: Any, counts: Any
) -> list[StoredColumn]:
    """Return the columns whose statistics may differ from the only row group's. Fast."""
    found: list[StoredColumn] = []
    for leaf in leaves:
        _, (name, *_), ordinal, path, _, packed, _ = leaf
        if packed is not None:
            try:
                stored, values, nulls, least, most, is_exact, is_deprecated = chunks[ordinal]  # type: ignore[index]  # None raises TypeError
                if (
                    counts[name] == nulls
                    and 0 <= nulls <= values  # type: ignore[operator]  # None raises TypeError
                    and packed[0](low[name]) == least
                    and packed[1](high[name]) == most
                    and stored == path
                    and is_exact
                    and not is_deprecated
                ):
                    continue
            except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, struct.error):
                pass
        found.append(leaf)
    return found


def _value(part: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        if not isinstance(part, Mapping):
            return None
        part = part.get(name)
    return part
