"""Statistics that footers do not decide, compared with live rows: PyArrow reads them as Spark does at level data."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.domain.checks.data_files.statistics import ComparisonTotals, FileStatistics
from airflow_delta_provider.domain.delta.deletion_vector import DeletionVector
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.formats.parquet.footer import parse_footer
from airflow_delta_provider.domain.report.report import Severity
from tests.unit.mapped_tables import ID, MODE, NAME, mapped
from tests.unit.states import field, struct, type_to_json

Told = list[tuple[str, str | None, Severity]]


def compared(
    rows: pa.Table,
    stats: dict[str, Any],
    *columns: Any,
    deleted: Sequence[int] = (),
    schema: Any = None,
    partition_by: tuple[str, ...] = (),
    mode: str = "none",
    **options: Any,
) -> tuple[Told, ComparisonTotals, Told, ComparisonTotals]:
    """Return findings and counts at level footers, and at level data.

    :param deleted: rows that a deletion vector deletes
    """
    out = io.BytesIO()
    pq.write_table(rows, out, **options)
    vector = DeletionVector("i", "x", None, 1, len(deleted)) if deleted else None
    file = LiveFile("f", 1, None, None, rows.num_rows, vector)
    wire = schema or type_to_json(struct(*columns))
    metadata = Metadata("t", json.dumps(wire), partition_by, {MODE: mode})
    check = FileStatistics(metadata, has_vectors=vector is not None)
    result = check.check(parse_footer(out.getvalue()), file, json.dumps({"numRecords": rows.num_rows, **stats}))
    counts, after = ComparisonTotals(), ComparisonTotals()
    counts.add(result)
    after.add(result)
    live = rows.take([row for row in range(rows.num_rows) if row not in deleted])
    findings = list(result.findings)
    for column in result.undecided:
        values = _values(live, column.names)
        low, high = (min(values), max(values)) if values and column.is_bounded else (None, None)
        found = column.compare(live.num_rows, live.num_rows - len(values), low, high)
        if found is not None:
            findings += found
            after.count_decided(column)
    return _told(result.findings), counts, _told(findings), after


def _values(rows: pa.Table, names: tuple[str, ...]) -> list[Any]:
    found = []
    for row in rows.to_pylist():
        value: Any = row
        for name in names:
            value = None if value is None else value.get(name)
        if value is not None and value == value:
            found.append(_plain(value))
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return (
            round((value.replace(tzinfo=timezone.utc) - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds())
            * 10**9
        )
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    return value.encode() if isinstance(value, str) else value


def _told(findings: Any) -> Told:
    return [(finding.code, finding.column, finding.severity) for finding in findings]


ERROR, WARNING = Severity.ERROR, Severity.WARNING
#: The third row is deleted.
DELETED = [2]
NUMBERS = pa.table({"x": [1, None, 9, 5]})
#: Statistics of these rows, then findings at level footers, those at level data, for tight and for wide bounds.
OF_LIVE_ROWS: list[tuple[int, int, int, Told, Told, Told, Told]] = [
    (1, 5, 1, [], [], [], []),
    (1, 9, 1, [], [("DF17", "x", WARNING)], [], []),
    (0, 5, 1, [], [("DF17", "x", WARNING)], [], []),
    (0, 9, 1, [("DF17", "x", WARNING)], [("DF17", "x", WARNING)], [], []),
    (1, 4, 1, [], [("DF14", "x", ERROR)], [], [("DF14", "x", ERROR)]),
    (1, 100, 1, [("DF17", "x", WARNING)], [("DF17", "x", WARNING)], [], []),
    (1, 5, 0, [], [("DF15", "x", ERROR)], [], [("DF15", "x", ERROR)]),
    (1, 5, 2, [("DF16", "x", WARNING)], [("DF16", "x", WARNING)], [], []),
    (1, 5, 4, [("DF15", "x", ERROR)], [("DF15", "x", ERROR)], [("DF15", "x", ERROR)], [("DF15", "x", ERROR)]),
]


@pytest.mark.parametrize(
    ("low", "high", "nulls", "tight_footers", "tight_rows", "wide_footers", "wide_rows"), OF_LIVE_ROWS
)
def test_statistics_are_exact_for_live_rows_if_tight_and_exclude_none_if_wide(
    low, high, nulls, tight_footers, tight_rows, wide_footers, wide_rows
):
    stats = {"minValues": {"x": low}, "maxValues": {"x": high}, "nullCount": {"x": nulls}}
    for tight in ({}, {"tightBounds": True}, {"tightBounds": False}):
        is_tight = tight.get("tightBounds", True)
        before, _, after, counts = compared(NUMBERS, stats | tight, field("x", "long"), deleted=DELETED)
        assert before == (tight_footers if is_tight else wide_footers)
        assert after == (tight_rows if is_tight else wide_rows)
        assert (counts.compared, counts.left_out) == (1, {})


def test_null_that_is_left_hidden_by_a_deleted_row_is_found_in_rows():
    rows = pa.table({"x": [None, None, 3]})
    for nulls, deleted, codes in ((0, [0], ["DF15"]), (0, [0, 1], []), (3, [2], []), (3, [0], ["DF15"])):
        stats = {"nullCount": {"x": nulls}, "tightBounds": False}
        _, _, after, counts = compared(rows, stats, field("x", "long"), deleted=deleted)
        assert ([code for code, *_ in after], counts.left_out) == (codes, {})


def test_number_of_nulls_that_is_known_without_rows_is_found_in_footers():
    columns = (field("x", "long"), field("lost", "string"))
    rows = pa.table({"x": [None, 5, 6]})
    for nulls, lost, codes in ((1, 2, []), (2, 2, ["DF16"]), (1, 3, ["DF16"])):
        before, *_ = compared(rows, {"nullCount": {"x": nulls, "lost": lost}}, *columns, deleted=[1])
        assert [code for code, *_ in before] == codes


PERSON = pa.table({"s": [{"a.b": {"c": 1, "d": "x"}}, None, {"a.b": None}, {"a.b": {"c": 7, "d": "zebra"}}]})
IN_STRUCT = field("s", struct(field("a.b", struct(field("c", "long"), field("d", "string")))))


@pytest.mark.parametrize(
    ("c", "d", "nulls", "expected"),
    [
        (7, "zebra", 2, []),
        (6, "zebra", 2, [("DF14", "s.`a.b`.c", ERROR)]),
        (7, "zebr", 2, [("DF14", "s.`a.b`.d", ERROR)]),
        (8, "zebra", 2, [("DF17", "s.`a.b`.c", WARNING)]),
        (7, "zebra", 0, [("DF15", "s.`a.b`.c", ERROR)]),
        (7, "zebra", 1, [("DF16", "s.`a.b`.c", WARNING)]),
    ],
)
def test_fields_of_structs_without_footer_statistics_are_compared_with_rows(c, d, nulls, expected):
    stats = {
        "minValues": {"s": {"a.b": {"c": 1, "d": "x"}}},
        "maxValues": {"s": {"a.b": {"c": c, "d": d}}},
        "nullCount": {"s": {"a.b": {"c": nulls, "d": 2}}},
    }
    before, counts, after, decided = compared(PERSON, stats, IN_STRUCT, write_statistics=False)
    assert (before, sum(counts.left_out.values())) == ([], 2)
    assert (after, decided.compared, decided.left_out) == (expected, 2, {})


def test_bounds_are_compared_although_the_footer_counts_no_nulls():
    """The bounds of the footer prove what its missing number of NULLs does not."""
    stats = {"minValues": {"x": 1}, "maxValues": {"x": 4}, "nullCount": {"x": 0}}
    rows = pa.table({"x": [1, None, 5]})
    out = io.BytesIO()
    pq.write_table(rows, out)
    content = out.getvalue()
    footer = parse_footer(content)
    (group,), writer = footer.statistics()
    object.__setattr__(footer, "statistics", lambda: ([group._replace(null_counts=(None,))], writer))
    metadata = Metadata("t", json.dumps(type_to_json(struct(field("x", "long")))))
    file = LiveFile("f", 1, None, None, 3)
    result = FileStatistics(metadata, has_vectors=False).check(footer, file, json.dumps({"numRecords": 3, **stats}))
    assert [finding.code for finding in result.findings] == ["DF14"]
    (column,) = result.undecided
    assert (column.is_bounded, [finding.code for finding in column.compare(3, 1, None, None) or ()]) == (
        False,
        ["DF15"],
    )


def test_footer_statistics_of_another_length_leave_the_column_to_its_rows():
    rows = pa.table({"x": pa.array([1, 5], pa.int64()), "y": pa.array([1, 5], pa.int32())})
    stats = {"minValues": {"x": 1, "y": 1}, "maxValues": {"x": 4, "y": 5}, "nullCount": {"x": 0, "y": 0}}
    out = io.BytesIO()
    pq.write_table(rows, out)
    footer = parse_footer(out.getvalue())
    (group,), writer = footer.statistics()
    odd = group._replace(maxima=(b"\x05", group.maxima[1]), null_counts=(0, -1))
    object.__setattr__(footer, "statistics", lambda: ([odd], writer))
    metadata = Metadata("t", json.dumps(type_to_json(struct(field("x", "long"), field("y", "integer")))))
    file = LiveFile("f", 1, None, None, 2)
    result = FileStatistics(metadata, has_vectors=False).check(footer, file, json.dumps({"numRecords": 2, **stats}))
    assert list(result.left_out) == ["the footer's statistics of the column are damaged"] * 2
    found = [finding for column in result.undecided for finding in column.compare(2, 0, 1, 5) or ()]
    assert [(finding.code, finding.column) for finding in found] == [("DF14", "x")]


def test_nulls_of_columns_without_bounds_are_counted_in_rows():
    rows = pa.table({"x": pa.array([b"a", None], pa.binary())})
    _, _, after, counts = compared(rows, {"nullCount": {"x": 0}}, field("x", "binary"), write_statistics=False)
    assert ([code for code, *_ in after], counts.left_out) == (["DF15"], {})


def test_bounds_that_nobody_compares_stay_counted_although_rows_count_nulls():
    rows = pa.table({"x": pa.array([b"a", None], pa.binary())})
    stats = {"minValues": {"x": "a"}, "maxValues": {"x": "a"}, "nullCount": {"x": 0}}
    _, _, after, counts = compared(rows, stats, field("x", "binary"), write_statistics=False)
    assert [code for code, *_ in after] == ["DF15"]
    assert counts.left_out == {"bounds of its type are not compared": 1}


def test_columns_are_found_by_field_id_in_mode_id():
    """A file that another table format wrote may have other names than the physical ones, even exchanged."""
    wire = mapped(struct(field("x", "long"), field("y", "long"), field("z", "long"), field("v", "variant")))
    ids = {each["name"]: each["metadata"][ID] for each in wire["fields"]}
    names = {each["name"]: each["metadata"][NAME] for each in wire["fields"]}
    told_ids = [{"PARQUET:field_id": str(ids[name])} for name in ("y", "x")]
    of = pa.schema([pa.field(names[name], pa.int64(), metadata=told_ids[n]) for n, name in enumerate(("x", "y"))])
    rows = pa.table({names["x"]: [10, 20], names["y"]: [1, 2]}, schema=of)  # the ids say that x has 1 and 2
    low, high = {names["x"]: 1, names["y"]: 10}, {names["x"]: 2, names["y"]: 19}
    nulls = {names["x"]: 0, names["y"]: 0, names["z"]: 2, names["v"]: 0}
    stats = {"minValues": low, "maxValues": high, "nullCount": nulls}
    before, counts, *_ = compared(rows, stats, schema=wire, mode="id")
    assert before == [("DF14", "y", ERROR)]
    assert (counts.compared, counts.left_out) == (3, {"variants are not compared": 1})


def test_partition_columns_and_columns_that_are_not_told_apart_are_not_taken_for_missing():
    rows = pa.table({"a": [1], "A": [2]})
    stats = {"nullCount": {"p": 0, "a": 0}}
    before, counts, *_ = compared(rows, stats, field("p", "long"), field("a", "long"), partition_by=("p",))
    assert before == []
    _, counts, *_ = compared(rows, {"nullCount": {"aA": 0}}, field("aA", "long"))
    rows = pa.table([pa.array([1]), pa.array([2])], names=["aa", "AA"])
    before, counts, *_ = compared(rows, {"nullCount": {"aA": 0}}, field("aA", "long"))
    assert (before, counts.left_out) == ([], {"the file has no single column of the name or field id": 1})


@pytest.mark.parametrize(
    ("kind", "values", "low", "high", "codes"),
    [
        (
            "timestamp",
            [datetime(2024, 1, 1, 1), datetime(2024, 1, 1, 2)],
            "2024-01-01T01:00:00Z",
            "2024-01-01T02:00:00Z",
            [],
        ),
        (
            "timestamp",
            [datetime(2024, 1, 1, 1), datetime(2024, 1, 1, 2)],
            "2024-01-01T01:00:00Z",
            "2024-01-01T01:59:59.999Z",
            ["DF14"],
        ),
        ("decimal(38,0)", [Decimal(1), Decimal(10**37)], 1, 10**37, []),
        ("decimal(38,0)", [Decimal(1), Decimal(10**37)], 1, 10**37 - 1, ["DF14"]),
        ("date", [date(1500, 1, 1), date(2024, 1, 1)], "1500-01-01", "2024-01-01", []),
        ("date", [date(1500, 1, 1), date(2024, 1, 1)], "1500-01-02", "2024-01-01", ["DF14"]),
        ("boolean", [False, True], False, True, []),
        ("boolean", [False, True], False, False, ["DF14"]),
    ],
)
def test_values_of_rows_are_compared_as_exactly_as_those_of_footers(kind, values, low, high, codes):
    arrow = {"timestamp": pa.timestamp("us", "UTC"), "decimal(38,0)": pa.decimal128(38, 0), "date": pa.date32()}
    rows = pa.table({"x": pa.array(values, arrow.get(kind))})
    stats = {"minValues": {"x": low}, "maxValues": {"x": high}, "nullCount": {"x": 0}}
    _, _, after, counts = compared(rows, stats, field("x", kind), write_statistics=False)
    assert ([code for code, *_ in after], counts.left_out) == (codes, {})
