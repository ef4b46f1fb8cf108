"""The statistics of a file that a commit adds: AC18, AC19 and AC39.

PROTOCOL.md, Per-file Statistics. Bounds that are alike in many files, or 0 in all columns, are no sign of a fault:
constant columns have them, and neither sizes nor numbers of rows tell these from a wrong bound. Level footers does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from airflow_delta_provider.domain.checks.actions import FAMILY, WRITE_AGAIN
from airflow_delta_provider.domain.checks.check import on_file
from airflow_delta_provider.domain.checks.rule import Prose, RepairMethod, Scope
from airflow_delta_provider.domain.delta.column_statistics import (
    BOUNDS,
    COUNTS,
    ColumnKind,
    are_rounded,
    columns_of,
    is_after,
    is_rounding,
    is_sound,
    read_statistics,
    walk,
)
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.text import visible

_commit = FAMILY.of(Scope.COMMIT, "PROTOCOL.md, Per-file Statistics", remedy=WRITE_AGAIN, about_live_files=True)

MALFORMED_STATISTICS = _commit.error(
    18,
    "statistics malformed",
    name="statistics-malformed",
    effect="Strict readers fail on the file; others ignore its statistics, or read other values from them.",
    threads=("delta-io/delta-rs#1411",),
    repairs=(RepairMethod.STATISTICS,),
)
CONTRADICTORY_STATISTICS = _commit.error(
    19,
    "statistics contradict themselves",
    name="statistics-contradict-themselves",
    effect="Readers that skip files by statistics miss rows, and readers that answer queries from statistics return "
    "wrong results.",
    threads=("trinodb/trino#13389",),
    repairs=(RepairMethod.STATISTICS,),
)
ROUNDED_BOUNDS = _commit.warning(
    39,
    "bounds of a decimal rounded",
    name="decimal-bounds-rounded",
    effect="If the file has values outside its bounds, engines that skip files by statistics return too few rows, "
    "without an error.",
    remedy="Compare the bounds with the files (level footers); write the files again with an engine that keeps all "
    "digits. Until then, set spark.databricks.delta.stats.skipping=false in Delta Spark.",
    threads=("delta-io/delta-rs#4757",),
    repairs=(RepairMethod.STATISTICS,),
)


@on_file(
    MALFORMED_STATISTICS,
    CONTRADICTORY_STATISTICS,
    ROUNDED_BOUNDS,
    reads=("add.path", "add.stats", "commitInfo", "files", "metaData"),
)
def check_statistics(
    add: Mapping[str, Any], metadata: Metadata, *, is_new: bool, writer: str | None = None
) -> Iterator[Finding]:
    """Yield findings about the statistics of a file that a commit adds.

    :param add: the body of the ``add`` action, as in the log
    :param metadata: the table's metadata after the commit
    :param writer: name and version of the engine that made the commit; None if unknown
    :param is_new: True if the file was not in the table before; a column of an older file may have had another type
    """
    text = add.get("stats")
    if not text or not isinstance(text, str):
        return
    path, columns = add.get("path"), columns_of(metadata)
    try:
        stats = read_statistics(text, exact=columns is not None and columns.need_exact)
    except ValueError as error:
        yield MALFORMED_STATISTICS.found(
            "The statistics of {path} are not JSON: {problem}.", path=path, problem=Prose(error)
        )
        return
    if columns is None or stats is None or is_sound(stats, columns):  # Databricks Runtime 7 wrote null for none
        return
    wrong = None if not isinstance(stats, Mapping) else next(_malformed(stats), None)
    if not isinstance(stats, Mapping) or wrong is not None:
        yield MALFORMED_STATISTICS.found(
            "The statistics of {path} are malformed: {problem}.",
            path=path,
            problem=Prose(visible(wrong or "they are not an object")),
        )
        return
    rows = stats.get("numRecords")
    found: set[str] = set()
    for kind, least, most, count in walk(stats, columns):
        judged = (
            _column(kind, least, most, path)
            or _nulls(kind, count, rows, stats, path)
            or _all_null(kind, least, most, count, stats, path)
        )
        if judged is None or judged.code in found or (judged.code == MALFORMED_STATISTICS.code and not is_new):
            continue
        found.add(judged.code)
        yield judged
    for kind, least, most, _ in () if found else walk(stats, columns):
        if (rounded := _rounded(kind, least, most, writer, path)) is not None:
            yield rounded


def _malformed(stats: Mapping[str, Any]) -> Iterator[str]:
    rows = stats.get("numRecords")
    if rows is not None and (type(rows) is not int or rows < 0):
        yield f"numRecords is {rows!r}"
    if not isinstance(stats.get("tightBounds", True), (bool, type(None))):
        yield f"tightBounds is {stats['tightBounds']!r}"
    for part in (*BOUNDS, COUNTS):
        if not isinstance(stats.get(part, {}), (Mapping, type(None))):
            yield f"{part} is not an object"


def _column(kind: ColumnKind, least: Any, most: Any, path: Any) -> Finding | None:
    values = []
    for part, bound in zip(BOUNDS, (least, most)):
        try:
            values.append(None if bound is None or kind.value is None else kind.value(bound))
        except ValueError:
            return _not_of_type(kind, part, bound, path)
        if bound is not None and kind.below is not None:
            return _not_of_type(kind, part, bound, path)
    low, high = values
    if low is None or high is None or not _is_above(low, high, kind.slack):
        return None
    return CONTRADICTORY_STATISTICS.found(
        "The statistics of {path} say that the least value of {column} is {least!r} and the greatest {most!r}.",
        path=path,
        column=kind.name,
        least=_short(least),
        most=_short(most),
    )


def _is_above(low: Any, high: Any, slack: int) -> bool:
    """Return True if a lower bound is above the upper bound."""
    if isinstance(low, str):
        return is_after(low, high)
    return bool(low - high >= slack > 0) if slack else bool(low > high)


def _nulls(kind: ColumnKind, count: Any, rows: Any, stats: Mapping[str, Any], path: Any) -> Finding | None:
    """Return a finding about a null count.

    Wide bounds only show whether there are no nulls or nothing but nulls.
    """
    if count is None or isinstance(count, Mapping) or not kind.counted:
        return None
    if type(count) is not int or count < 0:
        return _not_of_type(kind, COUNTS, count, path)
    if rows is None or count <= rows or stats.get("tightBounds") is False:
        return None
    return CONTRADICTORY_STATISTICS.found(
        "The statistics of {path} count {nulls:null} in {column}, but {rows:row}.",
        path=path,
        column=kind.name,
        nulls=count,
        rows=rows,
    )


def _all_null(
    kind: ColumnKind, least: Any, most: Any, count: Any, stats: Mapping[str, Any], path: Any
) -> Finding | None:
    """Return a finding about bounds of a column that has no values."""
    bounds = [bound for bound in (least, most) if bound is not None]
    if not bounds or not count or type(count) is not int or not kind.counted:
        return None
    if count != stats.get("numRecords") or stats.get("tightBounds") is False:
        return None
    return CONTRADICTORY_STATISTICS.found(
        "The statistics of {path} say that all {rows:row} are NULL in {column}, but give it the bound {bound!r}.",
        path=path,
        column=kind.name,
        rows=count,
        bound=_short(bounds[0]),
    )


def _rounded(kind: ColumnKind, least: Any, most: Any, writer: str | None, path: Any) -> Finding | None:
    """Return a finding about bounds of a decimal that were numbers of a type with fewer digits.

    Bounds of an engine that is not known to round count only if they have the form of a double.
    """
    sure = are_rounded(kind, least, most)
    if sure is None or not (sure or is_rounding(writer)):
        return None
    whole = any(type(bound) is int for bound in (least, most))
    return ROUNDED_BOUNDS.found(
        "In {path}, the bounds of {column}, a {type}, are {least} and {greatest}: "
        + ("the limit of 64-bit integers." if whole else "doubles, which lack some of its digits."),
        path=path,
        column=kind.name,
        type=kind.type_name,
        least=_short(least),
        greatest=_short(most),
    )


def _not_of_type(kind: ColumnKind, part: str, value: Any, path: Any) -> Finding:
    return MALFORMED_STATISTICS.found(
        "The column {column} has the type {type}, but {part} of {path} gives {value!r} for it.",
        path=path,
        column=kind.name,
        type=kind.type_name,
        part=part,
        value=_short(value),
    )


def _short(value: Any) -> Any:
    if isinstance(value, Decimal):
        number = float(value)
        return number if Decimal(str(number)) == value else str(value)
    return value[:100] if isinstance(value, str) else value
