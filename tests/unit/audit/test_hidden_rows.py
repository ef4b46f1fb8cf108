"""Rows that deltalake loses by wrong statistics, counted by the predicates of findings."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_delta_provider.domain.checks.data_files.file_comparison import EXCLUDED, NULLS_HIDDEN
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.answers import ABSENT
from airflow_delta_provider.domain.report.report import Finding, TableReport
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.audit.hidden_rows import Query, by_deltalake, queries_of
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from tests.unit.audit.test_file_statistics import INSTANT, LOCAL, moment, of

deltalake = pytest.importorskip("deltalake")


def audit(path: Path) -> TableReport:
    (report,) = run(JobRequest((str(path),), AuditOptions(level="footers")), python_session()).tables
    return report


def written(path: Path, values: pa.Array, **changes: Any) -> None:
    """A table of deltalake whose statistics of ``x`` are changed."""
    deltalake.write_deltalake(str(path), pa.table({"x": values}))
    name = path / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in name.read_text().splitlines()]
    (add,) = (action["add"] for action in actions if "add" in action)
    stats = json.loads(add["stats"])
    for part, value in changes.items():
        stats[part]["x"] = value
    add["stats"] = json.dumps(stats)
    name.write_text("".join(f"{json.dumps(action)}\n" for action in actions))


@pytest.mark.parametrize(
    ("values", "changes", "rows"),
    [
        (of(pa.int64(), 1, 2**62, 2**62 + 1), {"maxValues": 5}, 1),
        (of(pa.int64(), -7, 2), {"minValues": 0}, 1),
        (of(pa.decimal128(18, 2), Decimal("9999999999999997.01"), Decimal("9999999999999999.00")), {}, 1),
        (of(pa.date32(), date(2024, 1, 1), date(9999, 12, 31)), {"maxValues": "2024-01-02"}, 1),
        (of(INSTANT, moment("2024-01-01T10:00:00.123456")), {"maxValues": "2024-01-01T10:00:00Z"}, 1),
        (of(LOCAL, datetime(2024, 1, 1), datetime(2024, 1, 1, 10)), {"maxValues": "2024-01-01T09:00:00.000Z"}, 1),
        (of(pa.string(), "a", "it's \\\\ b", "z'"), {"maxValues": "it's"}, 2),
        (of(pa.bool_(), False, True), {"maxValues": False}, 1),
        (of(pa.float64(), 0.5, float("inf")), {"maxValues": 0.5}, 1),
        (of(pa.int64(), None, 1, None), {"nullCount": 0}, 2),
        (of(pa.int64(), None, 1, 2), {"nullCount": 3}, 2),
    ],
)
def test_deltalake_loses_the_rows_of_the_predicate(
    tmp_path: Path, values: pa.Array, changes: dict[str, Any], rows: int
) -> None:
    written(tmp_path, values, **changes)
    (query, *_) = queries_of(audit(tmp_path).findings)
    by_dataset, by_sql = by_deltalake([query], str(tmp_path), 0)
    assert (by_dataset.problem, by_dataset.rows, by_dataset.found) == (ABSENT, rows, 0)
    assert (by_dataset.predicate, by_dataset.engine.split()[0]) == (query.predicate, "deltalake")
    is_skipped = not pa.types.is_boolean(values.type)  # DataFusion does not skip by bounds of booleans
    assert (by_sql.problem, by_sql.rows, by_sql.found) == (ABSENT, rows, 0 if is_skipped else rows)
    assert by_sql.engine == f"{by_dataset.engine} SQL"


def test_fields_with_odd_names_are_found_but_not_skipped_by(tmp_path: Path) -> None:
    values = pa.array([{"a b.c": 1}, {"a b.c": 9}])
    written(tmp_path, values, maxValues={"a b.c": 1})
    (query,) = queries_of(audit(tmp_path).findings)
    by_dataset, by_sql = by_deltalake([query], str(tmp_path), 0)
    assert (query.column, by_dataset.rows, by_dataset.found) == ("x.`a b.c`", 1, 1)
    assert (by_sql.rows, by_sql.found) == (1, 0), "its SQL does skip by fields"


def test_deltalake_reads_null_if_the_statistics_count_nothing_else(tmp_path: Path) -> None:
    """Even without a filter: the effect of the finding says so."""
    written(tmp_path, of(pa.int64(), None, 1, 2), nullCount=3)
    assert deltalake.DeltaTable(str(tmp_path)).to_pyarrow_table().column("x").null_count == 3
    (found,) = (finding for finding in audit(tmp_path).findings if finding.code == NULLS_HIDDEN.code)
    assert "to_pyarrow_table and to_pandas read NULL in place of the values" in found.message


def test_other_values_than_another_engine_reads_are_no_answer(tmp_path: Path) -> None:
    written(tmp_path, of(pa.int64(), 1, 5), maxValues=1)
    query = Query("DF14", "x", "x >= 5")
    for answer in by_deltalake([query], str(tmp_path), 0, {query: 7}):
        assert (answer.problem, answer.rows) == ("it reads other values: 1 rows fit without skipping", ABSENT)


def test_errors_are_answers_too(tmp_path: Path) -> None:
    (answer,) = by_deltalake([Query("DF14", "x", "x >= 5")], str(tmp_path / "none"), 0)
    assert answer.problem is not ABSENT
    written(tmp_path, of(pa.int64(), 1, 5), maxValues=1)
    answers = by_deltalake([Query("DF14", "x", "x ~ 5")], str(tmp_path), 0)
    assert {answer.problem for answer in answers} == {"the predicate has an unknown form"}


def finding(rule: Any, column: str, predicate: str) -> Finding:
    found: Finding = rule.found("{predicate}", column=column, predicate=predicate)
    return found


def test_one_query_for_each_rule_and_column_up_to_a_limit() -> None:
    findings = [
        finding(EXCLUDED, "x", "x > 1"),
        finding(EXCLUDED, "x", "x > 2"),
        finding(NULLS_HIDDEN, "x", "x IS NULL"),
    ]
    assert [query.predicate for query in queries_of(findings)] == ["x > 1", "x IS NULL"]
    assert len(queries_of(finding(EXCLUDED, f"c{number}", "c > 1") for number in range(99))) == 20


@pytest.mark.parametrize("level", ["log", "footers"])
def test_other_levels_than_data_read_no_rows(level: str) -> None:
    with pytest.raises(RequestError, match=r"show_hidden_rows is set with level .* Use level 'data'"):
        AuditOptions(level=level, show_hidden_rows=True)
    assert AuditOptions(level="data", show_hidden_rows=True).needs_delta(by_name=False)
