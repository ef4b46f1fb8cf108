"""Statistics in the log that contradict the footers of files: DF14 to DF17.

PROTOCOL.md, Per-file Statistics. Footers cover all rows of a file, also deleted ones. Footers that readers do not
trust prove nothing: such columns are counted as not compared.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.data_files import FAMILY
from airflow_delta_provider.domain.checks.data_files.stored_bounds import (
    BoundKind,
    UndecidableBoundError,
    is_cut_from,
)
from airflow_delta_provider.domain.checks.data_files.stored_columns import StoredColumn, StoredColumns
from airflow_delta_provider.domain.checks.rule import FileAspect, Prose, Scope
from airflow_delta_provider.domain.delta.column_statistics import (
    BOUNDS,
    COUNTS,
    read_statistics,
)
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.formats.parquet.footer import Footer, FooterError
from airflow_delta_provider.domain.formats.parquet.statistics import ChunkStatistics, Writer
from airflow_delta_provider.domain.report.report import Finding, Severity

_data = FAMILY.of(
    Scope.DATA,
    "PROTOCOL.md, Per-file Statistics",
    remedy="Rewrite the files by Delta Spark: UPDATE … SET c = c, without a condition, which would skip them. Until "
    "then, delta.dataSkippingNumIndexedCols = 0 stops skipping, in Delta Spark only.",
    blames=FileAspect.STATISTICS,
)

EXCLUDED = _data.error(
    14,
    "bounds exclude values of the file",
    name="bounds-exclude-values",
    effect="Engines that skip files by bounds miss these rows, without an error.",
)
NULLS_HIDDEN = _data.error(
    15,
    "nullCount hides rows",
    name="null-count-hides-rows",
    effect="Engines that skip files by nullCount miss rows in IS NULL, IS NOT NULL and joins, without an error.",
)
NULLS_DIFFER = _data.error(
    16,
    "nullCount is not the file's number of NULLs",
    name="null-count-differs-from-file",
    effect="Engines that answer COUNT of a column from statistics return wrong results.",
)
WIDE = _data.warning(
    17,
    "bounds are wider than the file's values, but recorded as tight",
    name="bounds-wider-than-values",
    effect="Engines read files that they could skip.",
)
_ANSWERED = "Delta Spark answers MIN and MAX of the column from the bounds, with a value that no row has."


@dataclass(frozen=True)
class StatisticsComparison:
    """The result for one file.

    :param compared: number of columns that were compared
    :param left_out: for each column with statistics that was not compared, the reason
    :param open: columns in ``left_out`` that rows can decide
    """

    findings: Sequence[Finding] = ()
    compared: int = 0
    left_out: Sequence[str] = ()
    open: Sequence[OpenColumn] = ()


class OpenColumn(NamedTuple):
    """A column whose statistics are to be compared with the rows of a file, since the footer does not decide.

    :param names: physical names, from the top-level column down
    :param of: its type, as in the schema's JSON
    :param is_bounded: True if bounds are to be compared
    :param reason: the reason why the footer does not decide; None if rows do not decide all of the column's statistics
    :param compare: returns findings for the live rows, None if it cannot; takes the numbers of rows and of NULLs, and
        the least and the greatest value
    """

    file: LiveFile
    names: tuple[str, ...]
    of: str
    is_bounded: bool
    reason: str | None
    compare: Callable[[int, int, Any, Any], list[Finding] | None]


@dataclass
class StatisticsCount:
    """The number of compared columns of files, and the number of others by reason."""

    compared: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def decide(self, column: OpenColumn) -> None:
        """Count a column as compared that was left out before."""
        if column.reason is None:
            return
        self.compared += 1
        self.left_out[column.reason] -= 1
        if not self.left_out[column.reason]:
            del self.left_out[column.reason]

    def add(self, result: StatisticsComparison) -> None:
        self.compared += result.compared
        for reason in result.left_out:
            self.left_out[reason] = self.left_out.get(reason, 0) + 1


class _NotComparedError(Exception):
    """The reason why a column was not compared."""


_NO_FOOTER = "the footer is damaged or encrypted"
_NO_STATISTICS = "the footer has no statistics of the column"
_UNTRUSTED = "readers do not trust the footer's statistics"
_UNDECIDABLE = "a bound in the log is no value of the type, or engines read it differently"
_OTHER_TYPE = "bounds of its type are not compared"
_TRUNCATED = "the footer's bounds are truncated"
_DAMAGED = "the footer's statistics of the column are damaged"
_DELETED = "rows that contradict the statistics may be deleted"
_TIGHT = "the deleted rows may be those with the bounds or NULLs"
_CALENDAR = "old dates may be in another calendar"
_UNKNOWN_CALENDAR = "the calendar of old dates is unknown"
_MALFORMED = "statistics in the log are malformed"
_NOT_FOUND = "the log has no statistics as JSON"
#: Types whose NULLs are counted by rows, although their bounds may not be compared.
_COUNTED_BY_ROWS = ("string", "binary")
#: Reasons that do not matter if the rows are read.
_DECIDED_BY_ROWS = frozenset({_NO_STATISTICS, _DAMAGED, _UNTRUSTED, _TRUNCATED, _DELETED, _TIGHT, _CALENDAR})


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

    def check(self, footer: Footer, file: LiveFile, said: object) -> StatisticsComparison:
        """Compare one file.

        :param said: its statistics in the log: JSON; None if it has none; any other value if the log does not show them
        """
        if not self._columns.are_known or said is None or said == "":
            return StatisticsComparison()
        if not isinstance(said, str):
            return StatisticsComparison(left_out=(_NOT_FOUND,))
        try:
            stats = read_statistics(said, exact=True)
            groups, writer = footer.statistics()
        except FooterError:
            return StatisticsComparison(left_out=(_NO_FOOTER,))
        except (ValueError, RecursionError, ArithmeticError):
            return StatisticsComparison(left_out=(_MALFORMED,))
        parts = [stats.get(part) for part in (*BOUNDS, COUNTS)] if isinstance(stats, Mapping) else [()]
        if not all(isinstance(part, (Mapping, type(None))) for part in parts):
            return StatisticsComparison(left_out=(_MALFORMED,))
        leaves: Sequence[StoredColumn] = self._columns.of_file(footer.layout)
        compared, of_file = 0, _OfFile(file, stats, writer, has_vectors=self._has_vectors)
        if len(groups) == 1 and None not in parts and self._is_trusted(writer) and not of_file.needs_live_rows:
            rest = _not_equal(leaves, groups[0], *parts)
            compared, leaves = len(leaves) - len(rest), rest
        if not leaves:
            return StatisticsComparison((), compared)
        findings: list[Finding] = []
        left_out: list[str] = []
        undecided: list[OpenColumn] = []
        for leaf in leaves:
            least, most, count = (_value(part, leaf.names) for part in parts)
            if least is None and most is None and count is None:
                continue
            found, problems = of_file.check(leaf, groups, least, most, count)
            findings += found
            open_parts = [problem in _DECIDED_BY_ROWS for problem in problems]
            reasons = [problem for problem in problems if problem is not None]
            if not reasons:
                compared += 1
                continue
            final = [reason for reason in reasons if reason not in _DECIDED_BY_ROWS]
            left_out.append((final or reasons)[0])
            if any(open_parts) and (leaf.bounds is not None or leaf.kind.of in _COUNTED_BY_ROWS):
                low, high = (least, most) if open_parts[1] else (None, None)
                compare = partial(of_file.check_rows, leaf, low, high, count if open_parts[0] else None)
                reason = None if final else reasons[0]
                undecided.append(OpenColumn(file, leaf.names, leaf.kind.of, open_parts[1], reason, compare))
        return StatisticsComparison(findings, compared, left_out, undecided)

    def _is_trusted(self, writer: Writer) -> bool:
        """Return True if all statistics of a writer are trusted."""
        if writer is not self._trusted[0]:
            is_trusted = all(writer.ordered) and writer.keeps_strings_whole and writer.uses_one_calendar
            self._trusted = writer, is_trusted and bool(writer.ordered)
        return self._trusted[1]


def _not_equal(
    leaves: Sequence[StoredColumn], chunks: Sequence[ChunkStatistics], low: Any, high: Any, counts: Any
) -> list[StoredColumn]:
    """Return the columns whose statistics may differ from the only row group's. Fast."""
    found: list[StoredColumn] = []
    for leaf in leaves:
        _, (name, *_), ordinal, path, _, packed, _ = leaf
        if packed is not None:
            try:
                stored, _, nulls, least, most, is_exact, is_deprecated = chunks[ordinal]  # type: ignore[index]  # None raises TypeError
                if (
                    counts[name] == nulls
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


class _OfFile:
    """The statistics of one file."""

    def __init__(self, file: LiveFile, stats: Mapping[str, Any], writer: Writer, *, has_vectors: bool) -> None:
        self._path = file.path
        self._writer = writer
        rows = stats.get("numRecords")
        self._rows: int | None = rows if type(rows) is int else None
        self._is_tight = stats.get("tightBounds") is not False
        self._deleted = 0 if file.deletion_vector is None else file.deletion_vector.cardinality
        self._has_vectors = has_vectors

    @property
    def needs_live_rows(self) -> bool:
        """Return True if statistics must be exact for the rows that a deletion vector leaves."""
        return self._deleted > 0 and self._is_tight

    def check(
        self, leaf: StoredColumn, groups: Sequence[Sequence[ChunkStatistics]], least: Any, most: Any, count: Any
    ) -> tuple[list[Finding], list[str | None]]:
        """Return findings about a column, and the reasons why its number of NULLs and its bounds were not compared."""
        if leaf.problem is not None:
            return [], [leaf.problem, None]
        found: list[Finding] = []
        problems: list[str | None] = [None, None]
        parts: list[Iterator[Finding]] = [iter(()), iter(())]
        try:
            chunks = self._chunks(leaf, groups)
        except _NotComparedError as reason:
            return [], [str(reason) if said else None for said in (count is not None, (least, most) != (None, None))]
        if leaf.ordinal is not None or self._rows is not None:
            parts[0] = self._nulls(leaf, partial(self._counted, leaf, chunks), count, self._deleted)
        if leaf.ordinal is not None and (least is not None or most is not None):
            parts[1] = self._bounds(leaf, partial(self._stored, leaf, chunks), least, most)
        for number, part in enumerate(parts):
            try:
                found.extend(part)  # keeps those before an error
            except _NotComparedError as reason:
                problems[number] = str(reason)
        return found, problems

    def check_rows(
        self, leaf: StoredColumn, least: Any, most: Any, count: Any, rows: int, nulls: int, low: Any, high: Any
    ) -> list[Finding] | None:
        """Return findings about a column from its live rows, without NaN in the bounds; None if it cannot be compared.

        :param rows: number of live rows
        :param low: least value, as ``BoundKind.stored`` returns it; None if there is none
        """
        lows, highs = ([], []) if low is None else ([low], [high])
        stored = _Stored(lows, highs, is_exact=True, problem=None)
        found = list(self._nulls(leaf, lambda: (nulls, rows - nulls), count, deleted=0))
        try:
            if least is not None or most is not None:
                found.extend(self._bounds(leaf, lambda _: stored, least, most))
        except _NotComparedError:
            return found or None
        return found

    @staticmethod
    def _chunks(leaf: StoredColumn, groups: Sequence[Sequence[ChunkStatistics]]) -> list[ChunkStatistics]:
        ordinal = leaf.ordinal
        if ordinal is None:
            return []
        try:
            chunks = [group[ordinal] for group in groups]
        except IndexError:
            raise _NotComparedError(_NO_FOOTER) from None
        for chunk in chunks:
            nulls = chunk.null_count
            if chunk.path != leaf.path or (nulls is not None and not 0 <= nulls <= chunk.num_values):
                raise _NotComparedError(_DAMAGED)
        return chunks

    def _counted(self, leaf: StoredColumn, chunks: Sequence[ChunkStatistics]) -> tuple[int, int]:
        """Return the numbers of NULLs and of values in the file."""
        values, nulls = 0, self._rows or 0 if leaf.ordinal is None else 0
        for chunk in chunks:
            count = chunk.null_count
            if count is None:
                if chunk.minimum is None or not self._writer.omits_zero:
                    raise _NotComparedError(_NO_STATISTICS)
                count = 0
            nulls += count
            values += chunk.num_values - count
        return nulls, values

    def _nulls(
        self, leaf: StoredColumn, counted: Callable[[], tuple[int, int]], count: Any, deleted: int
    ) -> Iterator[Finding]:
        """Yield a finding about the number of NULLs.

        :param counted: returns the numbers of NULLs and of values
        :param deleted: number of counted rows that a deletion vector deletes
        """
        if not leaf.kind.counted or type(count) is not int:
            return
        nulls, values = counted()
        rest = "" if not deleted else f", more than the {deleted} rows that its deletion vector deletes"
        if count == 0 and nulls > deleted:
            yield NULLS_HIDDEN.found(
                "The statistics of {path} count no NULL in {column}, but the file has {nulls:NULL}{rest}: "
                "{predicate} returns too few rows.",
                path=self._path,
                column=leaf.kind.name,
                nulls=nulls,
                rest=Prose(rest),
                predicate=f"{leaf.kind.name} IS NULL",
            )
        elif count == self._rows and values > deleted:
            yield NULLS_HIDDEN.found(
                "The statistics of {path} say that {column} is NULL in all {rows:row}, but the file has "
                "{values:value}{rest}: {predicate} returns too few rows.",
                path=self._path,
                column=leaf.kind.name,
                rows=self._rows,
                values=values,
                rest=Prose(rest),
                predicate=f"{leaf.kind.name} IS NOT NULL",
            )
        elif (count == 0 and nulls) or (count == self._rows and values):
            raise _NotComparedError(_DELETED)
        elif self._is_tight:
            yield from self._differing_nulls(leaf, count, max(0, nulls - deleted), min(nulls, nulls + values - deleted))

    def _differing_nulls(self, leaf: StoredColumn, count: int, fewest: int, most: int) -> Iterator[Finding]:
        """Yield a finding if the number of NULLs is not that of the live rows, which is in a range.

        :raises _NotComparedError: if it is in the range
        """
        if fewest <= count <= most:
            if fewest < most:
                raise _NotComparedError(_TIGHT)
        elif fewest <= most:
            # COUNT of a field is not answered from statistics; some writers leave out NULLs of its struct.
            is_answered = len(leaf.names) == 1 and not self._deleted
            yield NULLS_DIFFER.found(
                "The statistics of {path} count {said:NULL} in {column}, but "
                + ("the file has {nulls}." if not self._deleted else "the rows that are not deleted have {nulls}."),
                severity=None if is_answered else Severity.WARNING,
                path=self._path,
                column=leaf.kind.name,
                said=count,
                nulls=fewest if fewest == most else f"{fewest} to {most}",
            )

    def _bounds(
        self, leaf: StoredColumn, stored_as: Callable[[BoundKind], _Stored], least: Any, most: Any
    ) -> Iterator[Finding]:
        kind = leaf.bounds
        if kind is None:
            raise _NotComparedError(_OTHER_TYPE)
        try:
            low = None if least is None else kind.logged(least)
            high = None if most is None else kind.logged(most)
        except (ValueError, OverflowError):
            raise _NotComparedError(_UNDECIDABLE) from None
        stored = stored_as(kind)
        if not stored.lows:
            return  # no values: bounds carry no information
        first, last = min(stored.lows), max(stored.highs)
        earliest = min(value for value in (first, low, high) if value is not None)
        if kind.ancient is not None and earliest < kind.ancient and not self._writer.uses_one_calendar:
            if not self._writer.names_calendar:
                raise _NotComparedError(_UNKNOWN_CALENDAR)
            if stored.groups is not None:
                raise _NotComparedError(_CALENDAR)
        below = 0 if low is None else sum(value < low or low != low for value in stored.lows)
        above = 0 if high is None else sum(value > high and _exceeds(value, high, kind) for value in stored.highs)
        if below or above:
            if not stored.is_exact:
                raise _NotComparedError(_TRUNCATED)
            if self._deleted and stored.groups is not None:
                raise _NotComparedError(_DELETED)
            yield self._excluded(leaf, kind, (below, above), (low, high), (first, last), of=stored.groups)
        elif stored.problem is not None:
            raise _NotComparedError(stored.problem)
        elif stored.is_exact and self._is_tight:
            wide = next(self._wide(leaf, kind, (low, high), (first, last)), None)
            if wide is not None:
                yield wide
            elif self._deleted and stored.groups is not None:
                raise _NotComparedError(_TIGHT)

    def _stored(self, leaf: StoredColumn, chunks: Sequence[ChunkStatistics], kind: BoundKind) -> _Stored:
        ordered, writer = self._writer.ordered, self._writer
        assert leaf.ordinal is not None
        is_ordered = leaf.ordinal < len(ordered) and ordered[leaf.ordinal]
        if kind.is_bytes and not (writer.keeps_strings_whole if kind.is_text else writer.has_sound_bytes):
            raise _NotComparedError(_UNTRUSTED)
        lows: list[Any] = []
        highs: list[Any] = []
        is_exact, problem = True, None
        for chunk in chunks:
            if chunk.num_values == (chunk.null_count or 0):
                continue
            if chunk.minimum is None or chunk.maximum is None:
                problem = _NO_STATISTICS
                continue
            is_signed = not (kind.is_bytes or kind.is_unsigned)
            if not (is_signed if chunk.is_deprecated else is_ordered):
                raise _NotComparedError(_UNTRUSTED)
            try:
                low, high = kind.stored(chunk.minimum), kind.stored(chunk.maximum)
            except (UndecidableBoundError, ArithmeticError):
                raise _NotComparedError(_DAMAGED) from None
            if not low <= high:  # NaN, or damage
                raise _NotComparedError(_UNTRUSTED)
            is_exact = is_exact and chunk.is_exact
            lows.append(low)
            highs.append(high)
        if problem is not None and not lows:
            raise _NotComparedError(problem)
        return _Stored(lows, highs, is_exact, problem, len(chunks))

    def _excluded(
        self,
        leaf: StoredColumn,
        kind: BoundKind,
        groups: tuple[int, int],
        said: tuple[Any, Any],
        found: tuple[Any, Any],
        *,
        of: int | None,
    ) -> Finding:
        upper = bool(groups[1])
        bound, value = said[upper], found[upper]
        name = leaf.kind.name
        if kind.is_text:
            predicate = f"{name} {'>' if upper else '<'} {kind.shown(bound)}"
        else:
            predicate = f"{name} {'>=' if upper else '<='} {kind.shown(value)}"
        both = all(groups)
        counts: dict[str, Any] = {} if of is None else {"groups": max(groups), "of": of}
        return EXCLUDED.found(
            "{part} of {path} gives {said} for {column}, but the file has {value}, and values outside of "
            + ("both bounds" if both else "the bound")
            + ("" if of is None else " in {groups} of {of:row group}")
            + ": {predicate} returns too few rows.",
            path=self._path,
            column=name,
            part=BOUNDS[upper],
            said=kind.shown(bound),
            value=kind.shown(value),
            predicate=predicate,
            **counts,
        )

    def _wide(
        self, leaf: StoredColumn, kind: BoundKind, said: tuple[Any, Any], found: tuple[Any, Any]
    ) -> Iterator[Finding]:
        for upper in (True, False):
            bound, value = said[upper], found[upper]
            if bound is None or not (bound > value if upper else bound < value):
                continue
            if kind.is_text and is_cut_from(bound, value, upper=upper):
                continue
            if kind.slack and abs(bound - value) < kind.slack:
                continue
            is_answered = kind.is_answered and len(leaf.names) == 1 and not self._has_vectors
            yield WIDE.found(
                "{part} of {path} gives {said} for {column}, but the {end} value in the file is {value}; tightBounds "
                "does not say that bounds are wide.",
                severity=Severity.ERROR if is_answered else None,
                effect=_ANSWERED if is_answered else None,
                path=self._path,
                column=leaf.kind.name,
                part=BOUNDS[upper],
                said=kind.shown(bound),
                end="greatest" if upper else "least",
                value=kind.shown(value),
            )
            return


class _Stored(NamedTuple):
    """The bounds of a column: one pair per row group with values in the footer, or one pair of the live rows.

    :param problem: reason why the bounds of a row group are unknown
    :param groups: number of row groups; None for live rows
    """

    lows: list[Any]
    highs: list[Any]
    is_exact: bool
    problem: str | None
    groups: int | None = None


def _exceeds(value: Any, bound: Any, kind: BoundKind) -> bool:
    return not kind.slack or value - bound >= kind.slack
