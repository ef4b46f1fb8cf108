"""What the README shows of reports is what jobs print of such tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.text import render
from airflow_delta_provider.domain.request.audit import AuditOptions
from airflow_delta_provider.domain.request.check_row_tracking import CheckRowTrackingOptions
from airflow_delta_provider.domain.request.widen_types import WidenTypesOptions
from demo.damage import copy_with_colliding_ids

README = Path(__file__).parents[2] / "README.md"
FILE = re.compile(r"part-\d{5}-[0-9a-f-]{36}-c000")
PRINTED = {
    "refused widening": WidenTypesOptions(columns={"distnce": "bigint", "carrier": "smallint"}),
    "audit": AuditOptions(),
    "check of row ids": CheckRowTrackingOptions(),
}


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory) -> Path:
    """Return a folder with the table ``flights`` and ``flights_damaged``, a copy whose log gives ids out twice."""
    lake = tmp_path_factory.mktemp("lake")
    table = lake / "flights"
    spark.sql(
        f"CREATE TABLE delta.`{table}` (flight int, carrier int, delays array<struct<minutes int>>) USING delta "
        "TBLPROPERTIES ('delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true')"
    )
    spark.sql(
        f"INSERT INTO delta.`{table}` SELECT /*+ COALESCE(1) */ id, id % 7, array(named_struct('minutes', 5)) "
        "FROM range(1000)"
    )
    spark.sql(f"INSERT INTO delta.`{table}` VALUES (1000, 1, array())")
    spark.sql(f"OPTIMIZE delta.`{table}`")
    spark.sql(
        f"MERGE INTO delta.`{table}` t USING (SELECT /*+ COALESCE(1) */ id FROM range(900, 1100)) s ON t.flight = s.id "
        "WHEN MATCHED THEN UPDATE SET carrier = 8 "
        "WHEN NOT MATCHED THEN INSERT (flight, carrier) VALUES (s.id, 9)"
    )
    spark.sql(f"INSERT INTO delta.`{table}` VALUES (1100, 2, array())")
    copy_with_colliding_ids(table, lake / "flights_damaged", "MERGE")
    name_files(lake / "flights_damaged")
    return lake


def name_files(table: Path) -> None:
    """Give the data files of a table names that are always the same, in the order in which the log has them.

    Where two files break a rule together, their names decide which is reported first.
    """
    names: dict[str, str] = {}
    for commit in sorted((table / "_delta_log").glob("*.json")):
        text = commit.read_text(encoding="utf-8")
        for name in FILE.findall(text):
            names.setdefault(name, f"part-00000-{len(names) + 1}f2c8d51-6b0e-4c39-9d35-7a1f0c8e2b64-c000")
        commit.write_text(FILE.sub(lambda found: names[found[0]], text), encoding="utf-8")
    for file in table.glob("part-*.parquet"):
        file.rename(file.with_name(FILE.sub(lambda found: names[found[0]], file.name)))


@pytest.mark.parametrize("name", PRINTED)
def test_readme_shows_what_is_printed(lake: Path, run_job, name: str) -> None:
    options = PRINTED[name]
    table = lake / ("flights" if isinstance(options, WidenTypesOptions) else "flights_damaged")
    printed = as_at_home(run_job([table], options), lake)
    assert f"```text\n{printed}\n```" in README.read_text(encoding="utf-8"), f"README.md should have:\n{printed}"


def as_at_home(report: JobReport, lake: Path) -> str:
    """Return a report as it is printed of tables in ``s3a://lake``."""
    document = json.loads(json.dumps(report.to_json()).replace(str(lake), "s3a://lake"))
    for entry in document["tables"]:
        entry["timings"] = {}
    return render(JobReport.from_json(document))
