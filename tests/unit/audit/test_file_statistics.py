"""Audits at level footers of tables whose statistics in the log differ from their files, which PyArrow wrote."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.domain.report.report import Finding, Severity, TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from tests.unit.command_line.tables import write
from tests.unit.damages.histories import KEY
from tests.unit.log_builder import Table
from tests.unit.mapped_tables import MODE, NAME
from tests.unit.states import field, struct

UTC = timezone.utc
CODES = ("DF14", "DF15", "DF16", "DF17")


def audit(path: Path, table: Table, *files: tuple[pa.Table, dict[str, Any]], **options: Any) -> TableReport:
    """Write a table, whose commits add one file each with these statistics, and audit it."""
    path.mkdir(exist_ok=True)
    adds = [action["add"] for actions in table.commits for action in actions if "add" in action]
    for add, (rows, stats) in zip(adds, files, strict=True):
        pq.write_table(rows, path / add["path"], **options)
        stats = {"numRecords": rows.num_rows, **stats}
        add |= {"size": (path / add["path"]).stat().st_size, "stats": json.dumps(stats)}
    write(path, table)
    (report,) = run(JobRequest((str(path),), AuditOptions(level="footers")), python_session()).tables
    return report


def one(path: Path, of: str, values: pa.Array, low: Any, high: Any, **stats: Any) -> TableReport:
    """Audit a table with one file and one column besides the key."""
    rows = pa.table({"x": values})
    stats = {"minValues": {"x": low}, "maxValues": {"x": high}, "nullCount": {"x": values.null_count}, **stats}
    return audit(path, Table(KEY, field("x", of)).append(), (rows, stats))


def told(report: TableReport) -> list[tuple[str, Severity]]:
    return [(finding.code, finding.severity) for finding in report.findings if finding.code in CODES]


def only(report: TableReport) -> Finding:
    (finding,) = (finding for finding in report.findings if finding.code in CODES)
    return finding


def of(kind: pa.DataType, *values: Any) -> pa.Array:
    return pa.array(values, kind)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


BIG = Decimal("99999999999999999999999999999999999999")
INSTANT, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")
#: Type of the column, values of the file, bounds in the log: all sound.
SOUND: list[tuple[str, pa.Array, Any, Any]] = [
    ("long", of(pa.int64(), 2**53 + 1, -(2**63), 2**63 - 1), -(2**63), 2**63 - 1),
    ("long", of(pa.int32(), -5, 7), -5, 7),
    ("double", of(pa.float32(), 0.1, 0.5), 0.1, 0.5),
    ("float", of(pa.float32(), 0.1, 3.4028234663852886e38), 0.1, 3.4028235e38),
    ("float", of(pa.float32(), 0.1, 0.7), 0.10000000149011612, 0.699999988079071),
    ("double", of(pa.float64(), 0.1, 1e308), 0.1, 1e308),
    ("double", of(pa.float64(), -0.0, 0.0), 0.0, 0.0),
    ("double", of(pa.float64(), -math.inf, math.inf), "-Infinity", "Infinity"),
    ("double", of(pa.float64(), 1.0, math.nan), 1.0, "NaN"),
    ("double", of(pa.int32(), 1, 2), 1, 2.0),
    ("decimal(38,0)", of(pa.decimal128(38, 0), BIG.copy_negate(), BIG), -int(BIG), int(BIG)),
    ("decimal(18,2)", of(pa.decimal128(18, 2), Decimal("-0.01"), Decimal("0.30")), -0.01, 0.30000000000000004),
    ("decimal(12,4)", of(pa.decimal128(10, 2), Decimal("1.25"), Decimal("2.50")), 1.25, "2.5"),
    ("date", of(pa.date32(), date(1, 1, 1), date(1500, 2, 28), date(9999, 12, 31)), "0001-01-01", "9999-12-31"),
    ("timestamp", of(INSTANT, moment("2024-01-01T10:00:00.123456")), *["2024-01-01T10:00:00.123Z"] * 2),
    ("timestamp", of(INSTANT, moment("2024-01-01T10:00:00.123999")), *["2024-01-01T11:00:00.123+01:00"] * 2),
    ("timestamp", of(INSTANT, moment("1969-12-31T23:59:59.999999")), *["1969-12-31T23:59:59.999Z"] * 2),
    ("timestamp_ntz", of(LOCAL, datetime(9999, 12, 31, 23, 59)), *["9999-12-31T23:59:00.000"] * 2),
    ("timestamp_ntz", of(LOCAL, datetime(2024, 1, 1)), *["2024-01-01T00:00:00Z"] * 2),
    ("timestamp_ntz", of(pa.date32(), date(2024, 1, 1)), *["2024-01-01"] * 2),
    ("string", of(pa.string(), "a\uffff", "a\U00010000"), "a\uffff", "a\U00010000"),
    ("string", of(pa.string(), "z" * 40, "é" * 40), "z" * 32, "é" * 32 + "\U0010ffff"),
    ("string", of(pa.string(), "m" * 40, "\U0001f600" * 40), "m" * 32, "\U0001f600" * 16 + "\U0010ffff"),
    ("string", of(pa.string(), "", "b"), "", "b"),
    ("boolean", of(pa.bool_(), False, True), False, True),
    ("double", of(pa.float64(), -0.0, 1.0), -0.0, 1.0),
    ("double", of(pa.float64(), -1.0, 0.0), -1.0, -0.0),
    ("float", of(pa.float32(), -math.inf, math.inf), "-Infinity", "Infinity"),
    ("short", of(pa.int16(), -(2**15), 2**15 - 1), -(2**15), 2**15 - 1),
    ("timestamp", of(pa.timestamp("ms", "UTC"), moment("2024-01-01T10:00:00.123")), *["2024-01-01T10:00:00.123Z"] * 2),
    ("timestamp_ntz", of(pa.timestamp("ns"), datetime(2024, 1, 1, 0, 0, 0, 123)), *["2024-01-01T00:00:00.000"] * 2),
    ("long", of(pa.int64(), None, None), None, None),
    ("long", of(pa.int64(), None, None), 1, 2),
]


@pytest.mark.parametrize(("kind", "values", "low", "high"), SOUND)
def test_sound_statistics_of_every_type_pass(tmp_path, kind, values, low, high):
    report = one(tmp_path, kind, values, low, high)
    assert told(report) == []
    assert report.evidence["statistics"] == {"compared": 1, "not_compared": {}}


#: Type of the column, values of the file, bounds that exclude one, and the predicate that loses it.
EXCLUDING: list[tuple[str, pa.Array, Any, Any, str]] = [
    ("long", of(pa.int64(), 2**53, 2**53 + 1), 2**53, 2**53, f"x >= {2**53 + 1}"),
    ("long", of(pa.int32(), 1, 2), 2, 2, "x <= 1"),
    ("double", of(pa.float64(), 0.1, 0.30000000000000004), 0.1, 0.3, "x >= 0.30000000000000004"),
    ("double", of(pa.float64(), 1.0, 2.0), "NaN", "NaN", "x <= 1.0"),
    ("double", of(pa.float64(), 1.0, math.inf), 1.0, 1.7976931348623157e308, "x >= double('inf')"),
    (
        "decimal(18,2)",
        of(pa.decimal128(18, 2), Decimal("9999999999999998.00"), Decimal("9999999999999998.50")),
        9999999999999998.0,
        9999999999999998.0,
        "x >= 9999999999999998.50",
    ),
    ("decimal(38,0)", of(pa.decimal128(38, 0), Decimal(1), BIG), 1, int(BIG) - 1, f"x >= {BIG}"),
    (
        "date",
        of(pa.date32(), date(1582, 10, 4), date(2024, 1, 1)),
        "1582-10-05",
        "2024-01-01",
        "x <= DATE '1582-10-04'",
    ),
    (
        "timestamp",
        of(INSTANT, moment("2024-01-01T10:00:00.123456")),
        "2024-01-01T10:00:00.122Z",
        "2024-01-01T10:00:00.122Z",
        "x >= TIMESTAMP '2024-01-01 10:00:00.123456Z'",
    ),
    (
        "timestamp",
        of(INSTANT, moment("1969-12-31T23:59:59.999001")),
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:00.000Z",
        "x <= TIMESTAMP '1969-12-31 23:59:59.999001Z'",
    ),
    ("date", of(pa.date32(), date(9999, 12, 31)), "9999-12-30", "9999-12-30", "x >= DATE '9999-12-31'"),
    (
        "timestamp",
        of(INSTANT, moment("2024-01-01T10:00:00.124000")),
        *["2024-01-01T11:00:00.123+01:00"] * 2,
        "x >= TIMESTAMP '2024-01-01 10:00:00.124Z'",
    ),
    (
        "timestamp_ntz",
        of(pa.date32(), date(2024, 1, 2)),
        *["2024-01-01T00:00:00.000"] * 2,
        "x >= TIMESTAMP_NTZ '2024-01-02 00:00:00'",
    ),
    ("float", of(pa.float32(), 0.5, 1.0000001192092896), 0.5, 1.0, "x >= 1.0000001192092896"),
    ("double", of(pa.float64(), -5e-324, 0.0), -0.0, 0.0, "x <= -5e-324"),
    ("double", of(pa.int32(), 1, 2), 1.0, 1.5, "x >= 2"),
    ("decimal(12,4)", of(pa.decimal128(10, 2), Decimal("2.50")), "2.4999", "2.4999", "x >= 2.50"),
    ("boolean", of(pa.bool_(), False, True), False, False, "x >= true"),
    ("string", of(pa.string(), "a\uffff", "a\U00010000"), "a\U00010000", "a\U00010000", "x < 'a\U00010000'"),
    ("string", of(pa.string(), "z" * 32 + "\U0001f600"), "z", "z" * 32 + "\uffff", "x > '" + "z" * 32 + "\uffff'"),
    ("string", of(pa.string(), "a", "a\U00010000"), "a", "a\uffff", "x > 'a\uffff'"),
    ("string", of(pa.string(), "z" * 40), "z" * 32, "z" * 32, "x > '" + "z" * 32 + "'"),
]


@pytest.mark.parametrize(("kind", "values", "low", "high", "predicate"), EXCLUDING)
def test_bounds_that_exclude_a_value_are_an_error_with_a_predicate_that_loses_it(
    tmp_path, kind, values, low, high, predicate
):
    for tight in ({}, {"tightBounds": True}, {"tightBounds": False}):
        report = one(tmp_path / str(tight.get("tightBounds")), kind, values, low, high, **tight)
        assert told(report) == [("DF14", Severity.ERROR)]
        finding = only(report)
        assert (finding.column, finding.version, finding.facts["predicate"]) == ("x", 1, predicate)
        assert repr(predicate)[3:-2] in finding.message


@pytest.mark.parametrize(
    ("values", "bound", "predicate"),
    [((0.1, 0.5), (0.1, 0.5), None), ((0.1, 0.1), (0.1, 0.1), ">="), ((0.7, 1.0), (0.7, 1.0), "<=")],
)
def test_bounds_of_floats_hide_rows_of_a_column_that_was_widened_to_double(tmp_path, values, bound, predicate):
    report = one(tmp_path, "double", of(pa.float32(), *values), *bound)
    assert told(report) == ([] if predicate is None else [("DF14", Severity.WARNING)])
    if predicate is not None:
        assert f"x {predicate} {pa.scalar(values[0], pa.float32()).as_py()!r} returns" in only(report).message


@pytest.mark.parametrize(
    ("kind", "values", "low", "high", "severity"),
    [
        ("long", of(pa.int64(), 1, 1049), 1, 100_000, Severity.ERROR),
        ("double", of(pa.float64(), 1.0, 2.0), 0.5, 2.0, Severity.ERROR),
        ("date", of(pa.date32(), date(2024, 1, 1)), "2024-01-01", "2024-01-02", Severity.ERROR),
        ("decimal(18,2)", of(pa.decimal128(18, 2), Decimal("1.00")), 0.99, 1.0, Severity.WARNING),
        (
            "timestamp",
            of(INSTANT, moment("2024-01-01T10:00:00")),
            "2024-01-01T09:00:00Z",
            "2024-01-01T10:00:00Z",
            Severity.WARNING,
        ),
        ("string", of(pa.string(), "b", "c"), "a", "c", Severity.WARNING),
    ],
)
def test_bounds_wider_than_the_file_are_an_error_where_delta_spark_answers_from_them(
    tmp_path, kind, values, low, high, severity
):
    assert told(one(tmp_path / "t", kind, values, low, high)) == [("DF17", severity)]
    assert told(one(tmp_path / "wide", kind, values, low, high, tightBounds=False)) == []


@pytest.mark.parametrize(
    ("values", "count", "codes"),
    [
        ((1, None, None), 0, ["DF15"]),
        ((1, None, None), 3, ["DF15"]),
        ((1, None, None), 1, ["DF16"]),
        ((1, None, None), 2, []),
        ((1, 1, 1), 0, []),
        ((None, None, None), 3, []),
    ],
)
def test_null_counts_are_those_of_the_file(tmp_path, values, count, codes):
    for tight in ({}, {"tightBounds": False}):
        path = tmp_path / str(len(tight))
        found = one(path, "long", of(pa.int64(), *values), 1, 1, nullCount={"x": count}, **tight)
        assert told(found) == [(code, Severity.ERROR) for code in codes if code != "DF16" or not tight]


def test_null_count_of_a_field_is_a_warning_as_no_count_is_answered_from_it(tmp_path):
    rows = pa.table({"s": [{"x": 1}, {"x": None}, None]})
    table = Table(KEY, field("s", struct(field("x", "long")))).append()
    report = audit(tmp_path / "t", table, (rows, {"nullCount": {"s": {"x": 1}}}))
    assert told(report) == [("DF16", Severity.WARNING)]


def test_column_that_the_file_lacks_is_null_in_all_rows(tmp_path):
    rows = pa.table({"id": [1, 2]})
    table = Table(KEY, field("x", "long")).append()
    assert told(audit(tmp_path / "t", table, (rows, {"nullCount": {"x": 0}}))) == [("DF15", Severity.ERROR)]
    table = Table(KEY, field("x", "long")).append()
    assert told(audit(tmp_path / "u", table, (rows, {"nullCount": {"x": 2}}))) == []


def test_only_row_groups_with_the_value_count_and_files_alike_are_one_finding(tmp_path):
    rows = pa.table({"x": list(range(30))})
    stats = {"minValues": {"x": 0}, "maxValues": {"x": 19}, "nullCount": {"x": 0}}
    sound = stats | {"maxValues": {"x": 29}}
    table = Table(KEY, field("x", "long")).append().append().append()
    report = audit(tmp_path / "t", table, (rows, sound), (rows, stats), (rows, stats), row_group_size=10)
    finding = only(report)
    assert (finding.code, finding.version, finding.alike, finding.alike_until) == ("DF14", 2, 1, 3)
    assert (finding.facts["groups"], finding.facts["of"], finding.facts["value"]) == (1, 3, "29")
    assert finding.engine is not None


def test_fields_of_structs_and_names_with_dots_are_found_by_their_physical_names(tmp_path):
    table = Table(KEY, field("a.b", "long"), features=["columnMapping"], properties={MODE: "name"}).append()
    (physical,) = (each["metadata"][NAME] for each in table.schema["fields"] if each["name"] == "a.b")
    stats = {"minValues": {physical: 1}, "maxValues": {physical: 2}, "nullCount": {physical: 0}}
    report = audit(tmp_path / "t", table, (pa.table({physical: [1, 3]}), stats))
    finding = only(report)
    assert finding.code == "DF14"
    assert (finding.column, finding.facts["predicate"]) == ("`a.b`", "`a.b` >= 3")


def test_deleted_rows_may_be_those_outside_of_the_bounds(tmp_path):
    values = of(pa.int64(), 1, 2, None, 9)
    for number, (high, count, code) in enumerate([(2, 1, None), (9, 0, None), (9, 4, "DF15"), (100, 2, None)]):
        table = Table(KEY, field("x", "long"), features=["deletionVectors"]).append()
        (add,) = (action["add"] for action in table.commits[-1] if "add" in action)
        vector = {"storageType": "i", "pathOrInlineDv": "x" * 40, "sizeInBytes": 32, "cardinality": 1}
        add["deletionVector"] = vector
        stats = {"minValues": {"x": 1}, "maxValues": {"x": high}, "nullCount": {"x": count}, "tightBounds": False}
        report = audit(tmp_path / str(number), table, (pa.table({"x": values}), stats))
        assert [code for code, _ in told(report)] == ([] if code is None else [code])


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"write_statistics": False}, of(pa.int64(), 1, 5)),
        ({"use_deprecated_int96_timestamps": True}, of(pa.timestamp("us", "UTC"), moment("2024-01-01T00:00:00"))),
    ],
)
def test_footers_without_statistics_leave_columns_out_and_count_them(tmp_path, options, values):
    kind = "long" if pa.types.is_integer(values.type) else "timestamp"
    bound: Any = 3 if kind == "long" else "2023-01-01T00:00:00Z"
    stats = {"minValues": {"x": bound}, "maxValues": {"x": bound}}
    report = audit(tmp_path / "t", Table(KEY, field("x", kind)).append(), (pa.table({"x": values}), stats), **options)
    assert told(report) == []
    counted = report.evidence["statistics"]
    assert (counted["compared"], sum(counted["not_compared"].values())) == (0, 1)


@pytest.mark.parametrize(
    "stats",
    [
        {"minValues": {"x": "one"}, "maxValues": {"x": []}, "nullCount": {"x": "0"}},
        {"minValues": {"x": {"y": 1}}, "maxValues": {"x": None}, "nullCount": {"x": {}}},
        {"minValues": [], "maxValues": "no", "nullCount": 3},
        {"minValues": {"x": 10**400}, "maxValues": {"x": True}, "nullCount": {"x": -1}},
        {"minValues": {}, "maxValues": None},
        {"numRecords": "many", "nullCount": {"x": 1.5}},
    ],
)
def test_statistics_of_other_forms_never_crash(tmp_path, stats):
    for number, kind in enumerate(("long", "double", "decimal(5,2)", "date", "timestamp", "string", "boolean")):
        arrow = {"long": pa.int64(), "double": pa.float64(), "decimal(5,2)": pa.decimal128(5, 2)}
        arrow |= {"date": pa.date32(), "timestamp": INSTANT, "string": pa.string(), "boolean": pa.bool_()}
        rows = pa.table({"x": pa.nulls(2, arrow[kind])})
        report = audit(tmp_path / str(number), Table(KEY, field("x", kind)).append(), (rows, stats))
        assert report.verdict is not Verdict.FAULT


def test_file_without_rows_and_file_without_statistics_pass(tmp_path):
    empty = pa.table({"x": pa.array([], pa.int64())})
    stats = {"minValues": {}, "maxValues": {}, "nullCount": {"x": 0}}
    table = Table(KEY, field("x", "long")).append().append()
    assert told(audit(tmp_path / "t", table, (empty, stats), (pa.table({"x": [1]}), {}))) == []


def test_statistics_that_a_later_commit_wrote_are_blamed_on_it(tmp_path):
    rows = pa.table({"x": [1, 5]})
    stats = {"minValues": {"x": 1}, "maxValues": {"x": 5}, "nullCount": {"x": 0}}
    table = Table(KEY, field("x", "long")).append().append()
    adds = [action["add"] for actions in table.commits for action in actions if "add" in action]
    adds[1]["path"] = adds[0]["path"]
    adds[1]["dataChange"] = False
    report = audit(tmp_path / "t", table, (rows, stats), (rows, stats | {"maxValues": {"x": 4}}))
    finding = only(report)
    assert (finding.code, finding.version) == ("DF14", 2)


def test_decimals_of_deltalake_are_found(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    values = [Decimal("9999999999999997.01"), Decimal("9999999999999998.50"), Decimal("9999999999999999.00")]
    path = str(tmp_path / "t")
    deltalake.write_deltalake(path, pa.table({"x": of(pa.decimal128(18, 2), *values)}))
    (report,) = run(JobRequest((path,), AuditOptions(level="footers")), python_session()).tables
    assert (report.verdict, told(report)) == (Verdict.VIOLATED, [("DF14", Severity.ERROR)])


def test_every_common_type_that_deltalake_writes_passes(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    start = moment("1969-07-20T20:17:40.123456")
    rows = pa.table(
        {
            "i": pa.array([2**62, -1, None]),
            "f": of(pa.float32(), 0.1, -2.5, None),
            "d": of(pa.float64(), 0.1, -math.inf, 1e-300),
            "s": ["a" * 100, "é" * 50, "\U0001f600" * 20],
            "t": of(INSTANT, start, start + timedelta(days=20_000, microseconds=7), None),
            "n": of(LOCAL, datetime(1, 1, 1), datetime(9999, 12, 31), None),
            "e": of(pa.date32(), date(1, 1, 1), date(9999, 12, 31), None),
            "m": of(pa.decimal128(10, 2), Decimal("-0.01"), Decimal("12345678.99"), None),
            "b": [True, False, None],
            "a": [{"b.c": 1, "x": "y"}, None, {"b.c": 3, "x": None}],
            "l": [[1], [], None],
        }
    )
    path = str(tmp_path / "t")
    deltalake.write_deltalake(path, rows)
    (report,) = run(JobRequest((path,), AuditOptions(level="footers")), python_session()).tables
    assert (told(report), report.verdict) == ([], Verdict.PASS)
    assert report.evidence["statistics"]["not_compared"] == {}


@pytest.mark.parametrize("bound", ["2024-01-01T10:00:00.000", "2024-01-01 10:00:00"])
def test_timestamps_without_a_zone_which_engines_read_differently_are_not_compared(tmp_path, bound):
    report = one(tmp_path / "t", "timestamp", of(INSTANT, moment("2025-01-01T10:00:00")), bound, bound)
    assert (told(report), report.evidence["statistics"]["compared"]) == ([], 0)


def test_null_count_is_compared_even_if_the_bounds_are_not(tmp_path):
    report = one(tmp_path / "t", "long", of(pa.int64(), 1, None), "one", "two", nullCount={"x": 0})
    assert told(report) == [("DF15", Severity.ERROR)]
    assert sum(report.evidence["statistics"]["not_compared"].values()) == 1
