"""Calls from Python: typed reports, without Airflow and Spark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_delta_provider.api import RequestError, Severity, Verdict, audit, detail, plan, render
from airflow_delta_provider.domain.report.report import JobReport
from tests.unit.command_line.tables import damaged, sound

SPEC = {"columns": [{"name": "extra", "type": "bigint"}]}


@pytest.fixture
def lake(tmp_path) -> Path:
    sound(tmp_path / "good")
    damaged(tmp_path / "bad", "AC08")
    return tmp_path


def test_audit_of_a_pattern_finds_the_damaged_table(lake):
    report = audit(f"{lake}/*", waivers=[{"code": "MD03", "owner": "me", "reason": "old", "expires": "2030-01-01"}])
    assert isinstance(report, JobReport)
    assert {table.table.rpartition("/")[2]: table.verdict for table in report.tables} == {
        "good": Verdict.PASS,
        "bad": Verdict.VIOLATED,
    }
    (finding,) = (finding for table in report.tables for finding in table.findings)
    assert (finding.code, finding.severity) == ("AC08", Severity.ERROR)


def test_detail_describes_tables(lake):
    (table,) = detail(f"{lake}/good").tables
    assert table.detail is not None
    assert table.detail["num_files"] > 0


@pytest.mark.parametrize("form", ["mapping", "file", "named"])
def test_plan_is_of_a_spec(lake, form):
    if form == "named":
        (table,) = plan(spec={"table": f"{lake}/good", **SPEC}).tables
    elif form == "file":
        (lake / "spec.yaml").write_text("columns: [{name: extra, type: bigint}]")
        (table,) = plan(f"{lake}/good", spec=lake / "spec.yaml").tables
    else:
        (table,) = plan(f"{lake}/good", spec=SPEC).tables
    assert table.plan is not None
    assert [step["explanation"] for step in table.plan["steps"]] == ["add extra bigint (1 commit)"]
    assert not table.changed


def test_report_is_shown_in_every_format_of_the_command_line(lake):
    report = audit(f"{lake}/bad")
    assert "AC08" in render(report)
    assert "<html" in render(report, "html")
    with pytest.raises(ValueError, match="There is no format 'xml'"):
        render(report, "xml")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda lake: audit(f"{lake}/good", level="rows"), "level is 'rows'"),
        (lambda lake: audit(f"{lake}/good", level="data"), "needs Spark"),
        (lambda lake: audit(), "at least one table"),
        (lambda lake: plan(f"{lake}/good", spec={"columns": [{"nam": "x"}]}), "unknown key 'nam'"),
    ],
)
def test_invalid_argument_is_an_error_that_names_it(lake, wrong, said):
    with pytest.raises(RequestError, match=said):
        wrong(lake)


GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
#: The other blocks need an object store and a Spark session: tests/unit/storage and tests/spark have those.
HERE = [block for block in BLOCKS if "s3://" not in block and "spark=spark" not in block]


def test_guide_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    assert (len(BLOCKS), len(HERE)) == (4, 2)
    monkeypatch.chdir(tmp_path)
    sound(tmp_path / "lake" / "orders")
    known: dict[str, object] = {}
    for block in HERE:
        exec(compile(block, str(GUIDE), "exec"), known)
    printed = capsys.readouterr().out
    assert "lake/orders PASS []" in printed
    assert "['add note string (1 commit)']" in printed


def test_import_needs_neither_airflow_nor_spark(lake):
    code = (
        "import sys\nfor name in ('airflow', 'pyspark', 'py4j', 'delta', 'yaml', 'obstore', 'fsspec'):\n"
        "    sys.modules[name] = None\n"
        f"from airflow_delta_provider.api import audit\nprint(audit({str(lake / 'bad')!r}).verdict.value)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "VIOLATED\n"


def test_request_that_needs_rows_names_the_argument(tmp_path):
    with pytest.raises(RequestError, match=r"audit reads rows with these arguments, which needs Spark. Pass spark="):
        audit(str(tmp_path), level="data")
