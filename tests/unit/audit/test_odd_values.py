"""Odd values of every type, as deltalake writes them: the audit's verdict is the truth about the rows."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.checks.data_files.file_comparison import TRUNCATED
from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from scripts.measure_engines.environments import environment
from scripts.measure_engines.releases import DEFAULT_WRITERS, Measured
from tests.tables import odd_values

pytest.importorskip("deltalake")
ENVIRONMENTS = Path(__file__).parents[3] / "build" / "engines" / "environments"
CODES = ("DF14", "DF15", "DF16", "DF17")
#: Rules that deltalake breaks, because it writes bounds of decimals as doubles.
WRONG = {
    "decimal_18_2": {"DF14"},
    "decimal_19_0": {"DF14"},
    "decimal_38_0": {"DF14"},
    "decimal_38_10": {"DF17"},
    "decimal_38_38": {"DF14"},
}


def audit(folder: Path) -> TableReport:
    (report,) = run(JobRequest((str(folder),), AuditOptions(level="footers")), python_session()).tables
    return report


#: Changes of the statistics that deltalake wrote.
CHANGES: dict[str, Callable[[dict[str, Any], str], object]] = {
    "none": lambda stats, name: None,
    "least is greatest": lambda stats, name: stats["minValues"].update({name: stats["maxValues"].get(name)}),
    "greatest is least": lambda stats, name: stats["maxValues"].update({name: stats["minValues"].get(name)}),
    "no NULL": lambda stats, name: stats["nullCount"].update({name: _all(stats["nullCount"][name], 0)}),
    "all NULL": lambda stats, name: stats["nullCount"].update({name: _all(stats["nullCount"][name], None, stats)}),
    "wide": lambda stats, name: stats.update(tightBounds=False),
}


def _all(count: Any, value: int | None, stats: Any = None) -> Any:
    number = stats["numRecords"] if value is None else value
    return {field: _all(each, number) for field, each in count.items()} if isinstance(count, dict) else number


def changed(folder: Path, name: str, change: str) -> None:
    (log,) = folder.joinpath("_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    (add,) = (action["add"] for action in actions if "add" in action)
    stats = json.loads(add["stats"])
    CHANGES[change](stats, name)
    add["stats"] = json.dumps(stats)
    log.write_text("".join(f"{json.dumps(action)}\n" for action in actions))


@pytest.mark.parametrize("name", odd_values.ODD)
@pytest.mark.parametrize("change", CHANGES)
def test_verdict_is_the_truth_about_the_rows(tmp_path: Path, name: str, change: str) -> None:
    folder = tmp_path / "t"
    odd_values.write("deltalake", odd_values.frame(name), str(folder))
    changed(folder, name, change)
    report, expected = audit(folder), odd_values.truth(folder, name)
    found = {finding.code for finding in report.findings if finding.code in CODES}
    left_out = report.evidence["statistics"]["not_compared"]
    assert found == expected or (found < expected and list(left_out) == [TRUNCATED])
    assert report.verdict is not Verdict.FAULT
    assert not left_out or ("string" in name and change != "none") or name == "struct_y"
    assert change != "none" or expected == WRONG.get(name, set())


#: DuckDB appends to tables that deltalake creates.
DUCKDB = Measured(
    "DuckDB beside deltalake",
    "1.5.5",
    "duckdb",
    ("duckdb==1.5.5", "duckdb-extension-delta==1.5.5", "deltalake==1.6.6", "pyarrow"),
)
SAIL = Measured("Sail", "0.7.2", "sail", ("pysail==0.7.2", "pyspark-client==4.0.1", "pyarrow", "pandas<3"))


@pytest.mark.soak
@pytest.mark.parametrize(
    "writer",
    [*(writer for writer in DEFAULT_WRITERS if not writer.jars), DUCKDB, SAIL],
    ids=lambda writer: f"{writer.name} {writer.version}",
)
def test_tables_of_other_libraries(tmp_path: Path, writer: Measured) -> None:
    """A library may not write a column; a footer may not decide one. There is no false alarm."""
    python = environment(writer, ENVIRONMENTS)
    made = subprocess.run(
        [python, odd_values.__file__, writer.engine, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr[-2000:]
    tables = sorted(path for path in tmp_path.iterdir() if path.joinpath("_delta_log").is_dir())
    assert len(tables) > 30, made.stdout
    undecided = 0
    for folder in tables:
        report, expected = audit(folder), odd_values.truth(folder, folder.name)
        found = {finding.code for finding in report.findings if finding.code in CODES}
        left_out = sum(report.evidence["statistics"]["not_compared"].values())
        assert found == expected or (found < expected and left_out), folder.name
        assert report.verdict is not Verdict.FAULT
        undecided += bool(left_out)
    assert undecided < 6


def test_changes_lead_to_each_rule(tmp_path: Path) -> None:
    """Otherwise the truth would say nothing."""
    found = set[str]()
    for name, change in (("long", "greatest is least"), ("integer", "no NULL"), ("short", "all NULL")):
        odd_values.write("deltalake", odd_values.frame(name), str(tmp_path / name))
        changed(tmp_path / name, name, change)
        found |= odd_values.truth(tmp_path / name, name)
    assert found == {"DF14", "DF15"}
