"""The statistics of one file, compared with its footer or its rows: DF14 to DF17.

PROTOCOL.md, Per-file Statistics. Footers cover all rows of a file, also deleted ones. Footers that readers do not
trust prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from airflow_delta_provider.domain.checks.data_files import FAMILY
from airflow_delta_provider.domain.checks.data_files.stored_bounds import (
    BoundKind,
    UndecidableBoundError,
    is_cut_from,
)
from airflow_delta_provider.domain.checks.data_files.stored_columns import StoredColumn
from airflow_delta_provider.domain.checks.rule import FileAspect, Prose, RepairMethod, Scope
from airflow_delta_provider.domain.delta.column_statistics import BOUNDS
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.formats.parquet.statistics import ChunkStatistics, Writer
from airflow_delta_provider.domain.report.report import Finding, Severity
from airflow_delta_provider.domain.text import sql_column

_data = FAMILY.of(
    Scope.DATA,
    "PROTOCOL.md, Per-file Statistics",
    remedy="Recompute them by Delta Spark: UPDATE … SET c = c without a condition, or OPTIMIZE … ZORDER BY. Until "
    "then, delta.dataSkippingNumIndexedCols = 0 stops skipping in Delta Spark, deltalake, Polars.",
    blames=FileAspect.STATISTICS,
)

_WIDENED = (
    " The bound was written for a float, before the column was widened to double. It is right for readers that take it "
    "for a float; Delta Spark 4.0 to 4.4 and Java Kernel take it for a double, and miss the row."
)
EXCLUDED = _data.error(
    14,
    "bounds exclude values of the file",
    name="bounds-exclude-values",
    effect="Engines that skip files by bounds miss these rows, without an error.",
    repairs=(RepairMethod.STATISTICS,),
)
NULLS_HIDDEN = _data.error(
    15,
    "nullCount hides rows",
    name="null-count-hides-rows",
    effect="Engines that skip files by nullCount miss rows in IS NULL, IS NOT NULL and joins, without an error.",
    repairs=(RepairMethod.STATISTICS,),
)
NULLS_DIFFER = _data.error(
    16,
    "nullCount is not the file's number of NULLs",
    name="null-count-differs-from-file",
    effect="Engines that answer COUNT of a column from statistics return wrong results.",
    repairs=(RepairMethod.STATISTICS,),
)
WIDE = _data.warning(
    17,
    "bounds are wider than the file's values, but recorded as tight",
    name="bounds-wider-than-values",
    effect="Engines read files that they could skip.",
    repairs=(RepairMethod.STATISTICS,),
)
_FILLED = "deltalake's to_pyarrow_table and to_pandas read NULL in place of the values, even without a filter."
_ANSWERED = "Delta Spark answers MIN and MAX of the column from the bounds, with a value that no row has."


class NotComparedError(Exception):
    """The reason why a column was not compared."""


NO_FOOTER = "the footer is damaged or encrypted"
NO_STATISTICS = "the footer has no statistics of the column"
UNTRUSTED = "readers do not trust the footer's statistics"
UNDECIDABLE = "a bound in the log is no value of the type, or engines read it differently"
OTHER_TYPE = "bounds of its type are not compared"
TRUNCATED = "the footer's bounds are truncated"
DAMAGED = "the footer's statistics of the column are damaged"
DELETED = "rows that contradict the statistics may be deleted"
TIGHT = "the deleted rows may be those with the bounds or NULLs"
CALENDAR = "old dates may be in another calendar"
UNKNOWN_CALENDAR = "the calendar of old dates is unknown"
MALFORMED = "statistics in the log are malformed"
NOT_FOUND = "the log has no statistics as JSON"
#: Reasons that do not matter if the rows are read.
DECIDED_BY_ROWS = frozenset({NO_STATISTICS, DAMAGED, UNTRUSTED, TRUNCATED, DELETED, TIGHT, CALENDAR})


class Logged(NamedTuple):
    """The statistics of a column in the log; None if one is missing or must not be compared."""

    minimum: Any
    maximum: Any
    nulls: Any

    @property
    def has_bounds(self) -> bool:
        """Return True if there is a bound."""
        return self.minimum is not None or self.maximum is not None


class Problems(NamedTuple):
    """The reasons why the number of NULLs, and the bounds, of a column were not compared; None if they were."""

    nulls: str | None
    bounds: str | None


class FileComparison:
    """Compares the statistics of one file in the log with its footer or its rows.

    :param stats: all its statistics in the log
    """

    def __init__(self, file: LiveFile, stats: Mapping[str, Any], writer: Writer, *, has_vectors: bool) -> None:
        self._path = file.path
        self._writer = writer
        rows = stats.get("numRecords")
        self._rows: int | None = rows if type(rows) is int else None
        self._is_tight = stats.get("tightBounds") is not False
        self._deleted = file.deleted_rows
        self._has_vectors = has_vectors

    @property
    def needs_live_rows(self) -> bool:
        """Return True if statistics must be exact for the rows that a deletion vector leaves."""
        return self._deleted > 0 and self._is_tight

    def check(
        self, leaf: StoredColumn, groups: Sequence[Sequence[ChunkStatistics]], logged: Logged
    ) -> tuple[list[Finding], Problems]:
        """Return findings about a column by its footer, and the reasons why statistics were not compared."""
        if leaf.problem is not None:
            return [], Problems(leaf.problem, None)
        try:
            chunks = self.chunks(leaf, groups)
        except NotComparedError as reason:
            text = str(reason)
            return [], Problems(None if logged.nulls is None else text, text if logged.has_bounds else None)
        found: list[Finding] = []
        of_nulls = of_bounds = None
        try:
            if leaf.ordinal is not None or self._rows is not None:
                counted = partial(self.counted, leaf, chunks)
                found.extend(self._nulls(leaf, counted, logged.nulls, self._deleted))  # keeps those before an error
        except NotComparedError as reason:
            of_nulls = str(reason)
        try:
            if leaf.ordinal is not None and logged.has_bounds:
                found.extend(self._bounds(leaf, partial(self.stored, leaf, chunks), logged))
        except NotComparedError as reason:
            of_bounds = str(reason)
        return found, Problems(of_nulls, of_bounds)

    def check_rows(
        self, leaf: StoredColumn, logged: Logged, rows: int, nulls: int, row_min: Any, row_max: Any
    ) -> list[Finding] | None:
        """Return findings about a column from its live rows, without NaN in the bounds; None if it cannot be compared.

        :param rows: number of live rows
        :param row_min: least value, as ``BoundKind.decode_footer`` returns it; None if there is none
        """
        minima, maxima = ([], []) if row_min is None else ([row_min], [row_max])
        stored = StoredBounds(minima, maxima, is_exact=True, problem=None)
        found = list(self._nulls(leaf, lambda: (nulls, rows - nulls), logged.nulls, deleted=0))
        try:
            if logged.has_bounds:
                found.extend(self._bounds(leaf, lambda _: stored, logged))
        except NotComparedError:
            return found or None
        return found

    @staticmethod
    def chunks(leaf: StoredColumn, groups: Sequence[Sequence[ChunkStatistics]]) -> list[ChunkStatistics]:
        """Return a column's statistics by row group; none if the file lacks the column.

        :raises NotComparedError: if they are damaged
        """
        ordinal = leaf.ordinal
        if ordinal is None:
            return []
        try:
            chunks = [group[ordinal] for group in groups]
        except IndexError:
            raise NotComparedError(NO_FOOTER) from None
        for chunk in chunks:
            nulls = chunk.null_count
            if chunk.path != leaf.path or (nulls is not None and not 0 <= nulls <= chunk.num_values):
                raise NotComparedError(DAMAGED)
        return chunks

    def counted(self, leaf: StoredColumn, chunks: Sequence[ChunkStatistics]) -> tuple[int, int]:
        """Return the numbers of NULLs and of values in the file.

        :raises NotComparedError: if the footer does not have them
        """
        values, nulls = 0, self._rows or 0 if leaf.ordinal is None else 0
        for chunk in chunks:
            count = chunk.null_count
            if count is None:
                if chunk.minimum is None or not self._writer.omits_zero:
                    raise NotComparedError(NO_STATISTICS)
                count = 0
            nulls += count
            values += chunk.num_values - count
        return nulls, values

    def _nulls(
        self, leaf: StoredColumn, counted: Callable[[], tuple[int, int]], count: Any, deleted: int
    ) -> Iterator[Finding]:
        """Yield a finding about the number of NULLs.

        :param counted: returns the numbers of NULLs and of values
        :param count: number of NULLs in the log
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
                predicate=f"{sql_column(leaf.kind.name)} IS NULL",
            )
        elif count == self._rows and values > deleted:
            yield NULLS_HIDDEN.found(
                "The statistics of {path} say that {column} is NULL in all {rows:row}, but the file has "
                "{values:value}{rest}: {predicate} returns too few rows.",
                effect=f"{NULLS_HIDDEN.effect} {_FILLED}",
                path=self._path,
                column=leaf.kind.name,
                rows=self._rows,
                values=values,
                rest=Prose(rest),
                predicate=f"{sql_column(leaf.kind.name)} IS NOT NULL",
            )
        elif (count == 0 and nulls) or (count == self._rows and values):
            raise NotComparedError(DELETED)
        elif self._is_tight:
            yield from self._differing_nulls(leaf, count, max(0, nulls - deleted), min(nulls, nulls + values - deleted))

    def _differing_nulls(self, leaf: StoredColumn, count: int, fewest: int, most: int) -> Iterator[Finding]:
        """Yield a finding if the log's number of NULLs is impossible: the live rows have ``fewest`` to ``most``.

        :raises NotComparedError: if it is possible, but not certain
        """
        if fewest <= count <= most:
            if fewest < most:
                raise NotComparedError(TIGHT)
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
        self, leaf: StoredColumn, stored_as: Callable[[BoundKind], StoredBounds], logged: Logged
    ) -> Iterator[Finding]:
        kind = leaf.bounds
        if kind is None:
            raise NotComparedError(OTHER_TYPE)
        try:
            low = None if logged.minimum is None else kind.decode_log(logged.minimum)
            high = None if logged.maximum is None else kind.decode_log(logged.maximum)
        except (ValueError, OverflowError):
            raise NotComparedError(UNDECIDABLE) from None
        stored = stored_as(kind)
        if not stored.minima:
            return  # no values: bounds carry no information
        first, last = min(stored.minima), max(stored.maxima)
        self.check_calendar(kind, min(value for value in (first, low, high) if value is not None), stored)
        below = 0 if low is None else sum(value < low or low != low for value in stored.minima)
        above = 0 if high is None else sum(value > high and _exceeds(value, high, kind) for value in stored.maxima)
        if below or above:
            if not stored.is_exact:
                raise NotComparedError(TRUNCATED)
            if self._deleted and stored.groups is not None:
                raise NotComparedError(DELETED)
            yield self._excluded(leaf, kind, (below, above), (low, high), (first, last), all_groups=stored.groups)
        elif stored.problem is not None:
            raise NotComparedError(stored.problem)
        elif stored.is_exact and self._is_tight:
            wide = next(self._wide(leaf, kind, (low, high), (first, last)), None)
            if wide is not None:
                yield wide
            elif self._deleted and stored.groups is not None:
                raise NotComparedError(TIGHT)

    def check_calendar(self, kind: BoundKind, earliest: Any, stored: StoredBounds) -> None:
        """Check that dates and timestamps from ``earliest`` on are in the proleptic Gregorian calendar.

        :raises NotComparedError: if they may not be
        """
        if (
            kind.calendar_matters_before is not None
            and earliest < kind.calendar_matters_before
            and not self._writer.uses_proleptic_calendar
        ):
            if not self._writer.records_spark_version:
                raise NotComparedError(UNKNOWN_CALENDAR)
            if stored.groups is not None:
                raise NotComparedError(CALENDAR)

    def stored(self, leaf: StoredColumn, chunks: Sequence[ChunkStatistics], kind: BoundKind) -> StoredBounds:
        """Return the bounds in the footer.

        :raises NotComparedError: if readers do not trust them, or there are none
        """
        writer, in_order = self._writer, self._writer.in_type_order
        assert leaf.ordinal is not None
        is_ordered = leaf.ordinal < len(in_order) and in_order[leaf.ordinal]
        if kind.is_bytes and not (
            writer.marks_truncated_strings if kind.is_text else writer.has_reliable_binary_bounds
        ):
            raise NotComparedError(UNTRUSTED)
        minima: list[Any] = []
        maxima: list[Any] = []
        is_exact, problem = True, None
        for chunk in chunks:
            if chunk.num_values == (chunk.null_count or 0):
                continue
            if chunk.minimum is None or chunk.maximum is None:
                problem = NO_STATISTICS
                continue
            is_signed = not (kind.is_bytes or kind.is_unsigned)
            if not (is_signed if chunk.is_deprecated else is_ordered):
                raise NotComparedError(UNTRUSTED)
            try:
                minimum, maximum = kind.decode_footer(chunk.minimum), kind.decode_footer(chunk.maximum)
            except (UndecidableBoundError, ArithmeticError):
                raise NotComparedError(DAMAGED) from None
            if not minimum <= maximum:  # NaN, or damage
                raise NotComparedError(UNTRUSTED)
            is_exact = is_exact and chunk.is_exact
            minima.append(minimum)
            maxima.append(maximum)
        if problem is not None and not minima:
            raise NotComparedError(problem)
        return StoredBounds(minima, maxima, is_exact, problem, len(chunks))

    def _excluded(
        self,
        leaf: StoredColumn,
        kind: BoundKind,
        groups: tuple[int, int],
        logged: tuple[Any, Any],
        actual: tuple[Any, Any],
        *,
        all_groups: int | None,
    ) -> Finding:
        """Return the finding about bounds that exclude values.

        :param groups: numbers of row groups with values below the minimum, and above the maximum
        :param logged: minimum and maximum in the log
        :param actual: least and greatest value in the file
        :param all_groups: number of row groups; None if live rows were compared
        """
        upper = bool(groups[1])
        bound, value = logged[upper], actual[upper]
        name = sql_column(leaf.kind.name)
        if kind.is_text:
            predicate = f"{name} {'>' if upper else '<'} {kind.to_sql(bound)}"
        else:
            predicate = f"{name} {'>=' if upper else '<='} {kind.to_sql(value)}"
        both = all(groups)
        counts: dict[str, Any] = {} if all_groups is None else {"groups": max(groups), "of": all_groups}
        return EXCLUDED.found(
            "{part} of {path} gives {said} for {column}, but the file has {value}, and values outside of "
            + ("both bounds" if both else "the bound")
            + ("" if all_groups is None else " in {groups} of {of:row group}")
            + ": {predicate} returns too few rows."
            + (_WIDENED if kind.is_widened else ""),
            severity=Severity.WARNING if kind.is_widened else None,
            path=self._path,
            column=leaf.kind.name,
            part=BOUNDS[upper],
            said=kind.to_sql(bound),
            value=kind.to_sql(value),
            predicate=predicate,
            **counts,
        )

    def _wide(
        self, leaf: StoredColumn, kind: BoundKind, logged: tuple[Any, Any], actual: tuple[Any, Any]
    ) -> Iterator[Finding]:
        """Yield a finding if a bound in the log is wider than the values, although it counts as tight."""
        for upper in () if kind.is_widened else (True, False):
            bound, value = logged[upper], actual[upper]
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
                said=kind.to_sql(bound),
                end="greatest" if upper else "least",
                value=kind.to_sql(value),
            )
            return


class StoredBounds(NamedTuple):
    """The bounds of a column: one pair per row group with values in the footer, or one pair of the live rows.

    :param problem: reason why the bounds of a row group are unknown
    :param groups: number of row groups; None for live rows
    """

    minima: list[Any]
    maxima: list[Any]
    is_exact: bool
    problem: str | None
    groups: int | None = None


def _exceeds(value: Any, bound: Any, kind: BoundKind) -> bool:
    return not kind.slack or value - bound >= kind.slack
