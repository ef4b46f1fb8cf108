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
    Pack,
    UndecidableBoundError,
    bound_kind,
    is_cut_from,
    packing,
)
from airflow_delta_provider.domain.checks.rule import FileAspect, Prose, Scope
from airflow_delta_provider.domain.delta.column_statistics import (
    BOUNDS,
    COUNTS,
    ColumnKind,
    Columns,
    columns_of,
    read_statistics,
)
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.formats.parquet.footer import Footer, FooterError
from airflow_delta_provider.domain.formats.parquet.schema import Schema
from airflow_delta_provider.domain.formats.parquet.statistics import ChunkStatistics, Writer, encoded_path
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

    :param reason: the reason why the footer does not decide
    :param compare: returns findings for the live rows, None if it cannot; takes the numbers of rows and of NULLs, and
        the least and the greatest value
    """

    file: LiveFile
    name: str
    of: str
    reason: str
    compare: Callable[[int, int, Any, Any], list[Finding] | None]


@dataclass
class StatisticsCount:
    """The number of compared columns of files, and the number of others by reason."""

    compared: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def decide(self, column: OpenColumn) -> None:
        """Count a column as compared that was left out before."""
        self.compared += 1
        self.left_out[column.reason] -= 1
        if not self.left_out[column.reason]:
            del self.left_out[column.reason]

    def add(self, result: StatisticsComparison) -> None:
        self.compared += result.compared
        for reason in result.left_out:
            self.left_out[reason] = self.left_out.get(reason, 0) + 1


class _Leaf(NamedTuple):
    """A column with statistics.

    :param names: names in the statistics, from the top-level column down
    :param ordinal: place in row groups; None if the file lacks the column, so that all its values are NULL
    :param path: path in the file, as encoded in row groups
    :param bounds: None if they cannot be compared
    :param packed: functions that encode bounds of a top-level column as files do; None if that is not possible
    """

    kind: ColumnKind
    names: tuple[str, ...]
    ordinal: int | None
    path: bytes
    bounds: BoundKind | None
    packed: tuple[Pack, Pack] | None = None


#: Names of the groups and columns in a file, by the path above them and by lower case.
_Names = dict[tuple[str, ...], dict[str, dict[str, None]]]


class _NotComparedError(Exception):
    """The reason why a column was not compared."""


_NO_FOOTER = "the footer is damaged or encrypted"
_NO_STATISTICS = "the footer has no statistics of the column"
_UNTRUSTED = "readers do not trust the footer's statistics"
_UNDECIDABLE = "a bound in the log is no value of the type, or engines read it differently"
_OTHER_TYPE = "bounds of its type are not compared"
_TRUNCATED = "the footer's bounds are truncated"
_DELETED = "values outside of the bounds may be deleted"
_CALENDAR = "old dates may be in another calendar"
_MALFORMED = "statistics in the log are malformed"
_NOT_FOUND = "the log has no statistics as JSON"
#: Reasons that do not matter if the rows are read.
_DECIDED_BY_ROWS = frozenset({_NO_STATISTICS, _UNTRUSTED, _TRUNCATED, _DELETED})


@on_demand(EXCLUDED, NULLS_HIDDEN, NULLS_DIFFER, WIDE)
class FileStatistics:
    """Compares statistics of a table's files in the log with the footers.

    :param metadata: metadata of the table
    :param has_vectors: whether a live file has a deletion vector: Delta Spark then answers no MIN or MAX from bounds
    """

    def __init__(self, metadata: Metadata, *, has_vectors: bool) -> None:
        self._columns = columns_of(metadata)
        self._by_id = metadata.properties.mapping_mode is MappingMode.ID
        self._has_vectors = has_vectors
        self._last: tuple[Schema | None, tuple[_Leaf, ...]] = (None, ())
        self._trusted: tuple[Writer | None, bool] = (None, False)

    def check(self, footer: Footer, file: LiveFile, said: object) -> StatisticsComparison:
        """Compare one file.

        :param said: its statistics in the log: JSON; None if it has none; any other value if the log does not show them
        """
        if self._columns is None or said is None or said == "":
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
        leaves: Sequence[_Leaf] = self._leaves(footer.layout)
        compared = 0
        if len(groups) == 1 and None not in parts and self._is_trusted(writer):
            rest = _not_equal(leaves, groups[0], *parts)
            compared, leaves = len(leaves) - len(rest), rest
        if not leaves:
            return StatisticsComparison((), compared)
        of_file = _OfFile(file, stats, groups, writer, has_vectors=self._has_vectors)
        findings: list[Finding] = []
        left_out: list[str] = []
        undecided: list[OpenColumn] = []
        for leaf in leaves:
            least, most, count = (_value(part, leaf.names) for part in parts)
            if least is None and most is None and count is None:
                continue
            before = len(findings)
            try:
                findings.extend(of_file.check(leaf, least, most, count))  # keeps those before an error
                compared += 1
            except _NotComparedError as reason:
                left_out.append(str(reason))
                if str(reason) in _DECIDED_BY_ROWS and len(leaf.names) == 1 and leaf.bounds is not None:
                    left = count if len(findings) == before else None  # a finding about NULLs needs no repetition
                    compare = partial(of_file.check_rows, leaf, least, most, left)
                    undecided.append(OpenColumn(file, leaf.names[0], leaf.kind.of, str(reason), compare))
        return StatisticsComparison(findings, compared, left_out, undecided)

    def _is_trusted(self, writer: Writer) -> bool:
        """Return True if all statistics of a writer are trusted."""
        if writer is not self._trusted[0]:
            is_trusted = all(writer.ordered) and writer.keeps_strings_whole and writer.uses_one_calendar
            self._trusted = writer, is_trusted and bool(writer.ordered)
        return self._trusted[1]

    def _leaves(self, layout: Schema) -> tuple[_Leaf, ...]:
        last, leaves = self._last
        if last is not layout:
            stored: _Names = {}
            for path in layout.leaves:
                for depth, name in enumerate(path):
                    stored.setdefault(path[:depth], {}).setdefault(name.lower(), {})[name] = None
            leaves = tuple(self._walk(layout, stored, self._columns or Columns(), (), ()))
            self._last = layout, leaves
        return leaves

    def _walk(
        self, layout: Schema, stored: _Names, columns: Columns, names: tuple[str, ...], above: tuple[str, ...]
    ) -> Iterator[_Leaf]:
        here = stored.get(above, {})
        for name, kind in columns.items():
            alike = here.get(name.lower(), {})
            path = (*above, name if name in alike or len(alike) != 1 else next(iter(alike)))
            if kind.below is not None:
                yield from self._walk(layout, stored, kind.below, (*names, name), path)
            elif path in layout.leaves:
                ordinal, element = layout.leaves[path]
                is_ordered_otherwise = kind.of == "string" and kind.value is None
                bounds = None if is_ordered_otherwise else bound_kind(element, kind.of)
                packed = None if bounds is None or above else packing(element, kind.of)
                yield _Leaf(kind, (*names, name), ordinal, encoded_path(path), bounds, packed)
            elif not alike and not self._by_id:
                yield _Leaf(kind, (*names, name), None, b"", None)


def _not_equal(
    leaves: Sequence[_Leaf], chunks: Sequence[ChunkStatistics], low: Any, high: Any, counts: Any
) -> list[_Leaf]:
    """Return the columns whose statistics may differ from the only row group's. Fast."""
    found: list[_Leaf] = []
    for leaf in leaves:
        _, (name, *_), ordinal, path, _, packed = leaf
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

    def __init__(
        self,
        file: LiveFile,
        stats: Mapping[str, Any],
        groups: Sequence[Sequence[ChunkStatistics]],
        writer: Writer,
        *,
        has_vectors: bool,
    ) -> None:
        self._path = file.path
        self._groups = groups
        self._writer = writer
        rows = stats.get("numRecords")
        self._rows: int | None = rows if type(rows) is int else None
        self._is_tight = stats.get("tightBounds") is not False
        self._vector = file.deletion_vector
        self._deleted = 0 if self._vector is None else self._vector.cardinality
        self._has_vectors = has_vectors

    def check(self, leaf: _Leaf, least: Any, most: Any, count: Any) -> Iterator[Finding]:
        """Yield findings about a column.

        :raises _NotComparedError: if bounds or number of NULLs cannot be compared
        """
        chunks = self._chunks(leaf)
        if leaf.ordinal is not None or self._rows is not None:
            yield from self._nulls(leaf, partial(self._counted, leaf, chunks), count, self._deleted)
        if leaf.ordinal is not None and (least is not None or most is not None):
            yield from self._bounds(leaf, partial(self._stored, leaf, chunks), least, most)

    def check_rows(
        self, leaf: _Leaf, least: Any, most: Any, count: Any, rows: int, nulls: int, low: Any, high: Any
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

    def _chunks(self, leaf: _Leaf) -> list[ChunkStatistics]:
        ordinal = leaf.ordinal
        if ordinal is None:
            return []
        try:
            chunks = [group[ordinal] for group in self._groups]
        except IndexError:
            raise _NotComparedError(_NO_FOOTER) from None
        for chunk in chunks:
            nulls = chunk.null_count
            if chunk.path != leaf.path or (nulls is not None and not 0 <= nulls <= chunk.num_values):
                raise _NotComparedError(_NO_FOOTER)
        return chunks

    def _counted(self, leaf: _Leaf, chunks: Sequence[ChunkStatistics]) -> tuple[int, int]:
        """Return the numbers of NULLs and of values in the file."""
        values, nulls = 0, self._rows or 0 if leaf.ordinal is None else 0
        for chunk in chunks:
            if chunk.null_count is None:
                raise _NotComparedError(_NO_STATISTICS)
            nulls += chunk.null_count
            values += chunk.num_values - chunk.null_count
        return nulls, values

    def _nulls(
        self, leaf: _Leaf, counted: Callable[[], tuple[int, int]], count: Any, deleted: int
    ) -> Iterator[Finding]:
        """Yield a finding about the number of NULLs.

        :param counted: returns the numbers of NULLs and of values
        :param deleted: number of counted rows that a deletion vector deletes
        """
        if not leaf.kind.counted or type(count) is not int:
            return
        nulls, values = counted()
        if count == nulls:
            return
        if count == 0 and nulls > deleted:
            yield NULLS_HIDDEN.found(
                "The statistics of {path} count no NULL in {column}, but the file has {nulls:NULL}{rest}: "
                "{predicate} returns too few rows.",
                path=self._path,
                column=leaf.kind.name,
                nulls=nulls,
                rest=Prose(self._rest(deleted)),
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
                rest=Prose(self._rest(deleted)),
                predicate=f"{leaf.kind.name} IS NOT NULL",
            )
        elif self._is_tight and self._vector is None:
            yield NULLS_DIFFER.found(
                "The statistics of {path} count {said:NULL} in {column}, but the file has {nulls}.",
                # COUNT of a field is not answered from statistics; some writers leave out NULLs of its struct.
                severity=None if len(leaf.names) == 1 else Severity.WARNING,
                path=self._path,
                column=leaf.kind.name,
                said=count,
                nulls=nulls,
            )

    @staticmethod
    def _rest(deleted: int) -> str:
        return "" if not deleted else f", more than the {deleted} rows that its deletion vector deletes"

    def _bounds(
        self, leaf: _Leaf, stored_as: Callable[[BoundKind], _Stored], least: Any, most: Any
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
            raise _NotComparedError(_CALENDAR)
        below = 0 if low is None else sum(value < low or low != low for value in stored.lows)
        above = 0 if high is None else sum(value > high and _exceeds(value, high, kind) for value in stored.highs)
        if below or above:
            if not stored.is_exact:
                raise _NotComparedError(_TRUNCATED)
            if self._vector is not None and stored.groups is not None:
                raise _NotComparedError(_DELETED)
            yield self._excluded(leaf, kind, (below, above), (low, high), (first, last), of=stored.groups)
        elif stored.problem is not None:
            raise _NotComparedError(stored.problem)
        elif stored.is_exact and self._is_tight and self._vector is None:
            yield from self._wide(leaf, kind, (low, high), (first, last))

    def _stored(self, leaf: _Leaf, chunks: Sequence[ChunkStatistics], kind: BoundKind) -> _Stored:
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
                raise _NotComparedError(_NO_FOOTER) from None
            if not low <= high:  # NaN, or damage
                raise _NotComparedError(_UNTRUSTED)
            is_exact = is_exact and chunk.is_exact
            lows.append(low)
            highs.append(high)
        if problem is not None and not lows:
            raise _NotComparedError(problem)
        return _Stored(lows, highs, is_exact, problem, len(self._groups))

    def _excluded(
        self,
        leaf: _Leaf,
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

    def _wide(self, leaf: _Leaf, kind: BoundKind, said: tuple[Any, Any], found: tuple[Any, Any]) -> Iterator[Finding]:
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
