"""Right statistics in the report: exact, as the log has them, and missing with a reason if nothing shows them."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_delta_provider.domain.checks.data_files.statistics import Repairs
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.report.answers import RightColumn
from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from tests.unit.audit.test_file_statistics import INSTANT, LOCAL, audit, moment, of, one
from tests.unit.damages.histories import KEY
from tests.unit.log_builder import Table
from tests.unit.states import field

LONG = "é" * 40


def repaired(report: TableReport) -> list[Any]:
    return report.evidence["statistics"]["repair"]["files"]


@pytest.mark.parametrize(
    ("kind", "values", "wrong", "low", "high"),
    [
        ("long", of(pa.int64(), 2**53 + 1, 2**62 + 1), 5, str(2**53 + 1), str(2**62 + 1)),
        (
            "decimal(38,10)",
            of(pa.decimal128(38, 10), Decimal("-1E-10"), Decimal("1234567890123456789012345678.0123456789")),
            0,
            "-0.0000000001",
            "1234567890123456789012345678.0123456789",
        ),
        ("date", of(pa.date32(), date(1, 1, 1), date(9999, 12, 31)), "2024-01-01", "0001-01-01", "9999-12-31"),
        (
            "timestamp",
            of(INSTANT, moment("1969-12-31T23:59:59.999999"), moment("2024-01-01T00:00:00")),
            "2023-01-01T00:00:00Z",
            "1969-12-31T23:59:59.999999Z",
            "2024-01-01T00:00:00Z",
        ),
        (
            "timestamp_ntz",
            of(LOCAL, datetime(2024, 1, 1, 10, 0, 0, 1)),
            "2023-01-01T00:00:00",
            "2024-01-01T10:00:00.000001",
            "2024-01-01T10:00:00.000001",
        ),
        ("string", of(pa.string(), LONG, "a"), "b", "a", "é" * 32 + "\U0010ffff"),
        ("string", of(pa.string(), LONG), "z", "é" * 32, "é" * 32 + "\U0010ffff"),
        ("string", of(pa.string(), "\U0010ffff" * 40), "z", "\U0010ffff" * 32, "\U0010ffff" * 40),
        ("boolean", of(pa.bool_(), False, True), False, "false", "true"),
    ],
)
def test_bounds_are_exact_and_in_the_form_of_the_log(
    tmp_path: Path, kind: str, values: pa.Array, wrong: Any, low: str, high: str
) -> None:
    (file,) = repaired(one(tmp_path / "t", kind, values, wrong, wrong))
    column = {"column": ["x"], "type": kind, "read_from": "footer", "min": low, "max": high, "nulls": 0}
    assert (file["rows"], file["tight"], file["columns"]) == (len(values), True, [column])


def test_maximum_of_floats_is_missing_since_nothing_counts_nan(tmp_path: Path) -> None:
    report = one(tmp_path / "t", "double", of(pa.float64(), 0.1, float("inf"), float("nan"), None), 0.2, 0.2)
    (column,) = repaired(report)[0]["columns"]
    assert (column["min"], column["nulls"], "max" in column) == ("0.1", 1, False)
    assert "NaN" in column["missing"][0]


def test_column_that_a_file_lacks_is_null_in_all_rows(tmp_path: Path) -> None:
    table = Table(KEY, field("x", "long"), field("y", "long")).append()
    stats = {"minValues": {"x": 1}, "maxValues": {"x": 2}, "nullCount": {"x": 0, "y": 0}}
    (file,) = repaired(audit(tmp_path / "t", table, (pa.table({"x": [1, 2]}), stats)))
    assert file["columns"] == [{"column": ["y"], "type": "long", "read_from": "footer", "nulls": 2}]


def test_wrong_number_of_rows_is_repaired_from_the_footer(tmp_path: Path) -> None:
    report = audit(tmp_path / "t", Table(KEY, field("x", "long")).append(), (pa.table({"x": [1]}), {"numRecords": 7}))
    assert [(file["rows"], file["columns"]) for file in repaired(report)] == [(1, [])]


def test_sound_tables_have_no_data_for_a_repair(tmp_path: Path) -> None:
    assert "repair" not in one(tmp_path / "t", "long", of(pa.int64(), 1, 2), 1, 2).evidence["statistics"]


def test_decimals_of_deltalake_are_repaired_without_a_double(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    values = of(pa.decimal128(18, 2), *map(Decimal, ("9999999999999997.01", "9999999999999999.00")))
    deltalake.write_deltalake(str(tmp_path), pa.table({"x": values}))
    (report,) = run(JobRequest((str(tmp_path),), AuditOptions(level="footers")), python_session()).tables
    (column,) = repaired(report)[0]["columns"]
    assert (column["min"], column["max"]) == ("9999999999999997.01", "9999999999999999.00")


def column(name: str, **known: Any) -> RightColumn:
    return RightColumn(column=(name,), type="long", read_from="rows", nulls=0, **known)


def test_number_of_files_and_columns_is_limited() -> None:
    repairs = Repairs()
    for number in range(150):
        repairs.add(LiveFile(f"f{number}", 1, None, None, 5), 5, [column(f"c{n}", min="1") for n in range(20)])
    answer = repairs.to_answer()
    assert answer is not None
    assert (len(answer.files), sum(len(file.columns) for file in answer.files)) == (100, 1000)
    assert answer.left_out == 50 + 50 * 20


def test_rows_replace_the_footer_unless_only_nulls_were_read() -> None:
    repairs, file = Repairs(), LiveFile("f", 1, None, None, 5)
    repairs.add(file, 5, [RightColumn(column=("x",), type="long", read_from="footer", min="1", max="9", nulls=0)])
    repairs.add(file, 5, [column("x")], is_bounded=False)
    answer = repairs.to_answer()
    assert answer is not None
    assert answer.files[0].columns[0].max == "9"
    repairs.add(file, 5, [column("x", min="2", max="3")])
    answer = repairs.to_answer()
    assert answer is not None
    assert answer.files[0].columns[0].max == "3"
