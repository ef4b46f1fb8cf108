"""Audits at level footers of tables whose files PyArrow wrote: the commit that wrote what is wrong is found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Severity, Verdict
from airflow_delta_provider.domain.request.audit import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.run.python_engine import python_session
from airflow_delta_provider.jobs.run.runner import run
from tests.unit.command_line.tables import write
from tests.unit.damages.histories import KEY
from tests.unit.log_builder import Table
from tests.unit.states import field

ROWS = 10


def audit(path: Path, table: Table, *schemas: pa.Schema, **options: Any) -> TableReport:
    """Write a table, whose commits add one file each, and judge it.

    :param schemas: of the files, in the order in which they were added
    :param options: how they are written
    """
    written = dict(zip([add["path"] for add in added(table)], schemas, strict=True))
    path.mkdir()
    for name, schema in written.items():
        rows = pa.table({each.name: pa.nulls(ROWS, each.type) for each in schema}, schema=schema)
        pq.write_table(rows, path / name, **options)
    for add in added(table):
        add |= {"size": (path / add["path"]).stat().st_size, "stats": json.dumps({"numRecords": ROWS})}
    write(path, table)
    (report,) = run(JobRequest((str(path),), AuditOptions(level="footers")), python_session()).tables
    return report


def added(table: Table) -> list[dict[str, Any]]:
    return [action["add"] for actions in table.commits for action in actions if "add" in action]


def told(report: TableReport) -> list[tuple[str, Severity, int | None]]:
    return [(finding.code, finding.severity, finding.version) for finding in report.findings]


def only(report: TableReport) -> Finding:
    (finding,) = report.findings
    return finding


# -- timestamps ------------------------------------------------------------------------------------


def timestamps(data_type: str) -> Table:
    return Table(KEY, field("t", data_type), features=["timestampNtz"]).append().append().append()


def stored(unit: str, zone: str | None) -> pa.Schema:
    return pa.schema([("id", pa.int64()), ("t", pa.timestamp(unit, zone))])


def test_local_times_that_a_file_calls_instants_are_an_error_of_the_commit_that_added_it(tmp_path):
    report = audit(tmp_path / "t", timestamps("timestamp_ntz"), *_second(stored("us", None), stored("us", "UTC")))
    assert told(report) == [("DF11", Severity.ERROR, 2)]
    assert (only(report).column, report.verdict) == ("t", Verdict.VIOLATED)


def test_instants_that_a_file_calls_local_times_are_a_warning_as_trino_writes_them(tmp_path):
    report = audit(tmp_path / "t", timestamps("timestamp"), *_second(stored("us", "UTC"), stored("ms", None)))
    assert told(report) == [("DF11", Severity.WARNING, 2)]
    assert report.verdict is Verdict.PASS


def test_nanoseconds_are_an_error_of_the_commit_that_added_the_file(tmp_path):
    report = audit(tmp_path / "t", timestamps("timestamp"), *_second(stored("us", "UTC"), stored("ns", "UTC")))
    assert told(report) == [("TW16", Severity.ERROR, 2)]


def test_timestamps_in_every_form_that_readers_know_are_fine(tmp_path):
    schemas: Mapping[str, tuple[pa.Schema, ...]] = {
        "timestamp": (stored("us", "UTC"), stored("ms", "Europe/Berlin"), stored("s", "UTC")),
        "timestamp_ntz": (stored("us", None), stored("ms", None), stored("s", None)),
    }
    for data_type, of_type in schemas.items():
        assert told(audit(tmp_path / data_type, timestamps(data_type), *of_type)) == []
        int96 = {"use_deprecated_int96_timestamps": True}
        assert told(audit(tmp_path / f"{data_type}96", timestamps(data_type), *of_type, **int96)) == []


def _second(right: pa.Schema, wrong: pa.Schema) -> tuple[pa.Schema, ...]:
    return right, wrong, right
