"""What a table is, as the kind ``detail`` tells it, and what of that fits into XCom."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.data_type import ArrayType, MapType, PrimitiveType
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import detail_of
from airflow_delta_provider.domain.rendering.text import render_log
from airflow_delta_provider.domain.report.report import JobReport, TableReport
from airflow_delta_provider.domain.report.summary import MAX_BYTES, details_of, summarise
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import DetailOptions
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from tests.unit.command_line.tables import write
from tests.unit.damages.histories import plain
from tests.unit.states import field, state_of, struct

NOW = "2026-01-02T03:04:05.678+00:00"
FEATURES = Protocol(2, 5).supporting(["rowTracking", "typeWidening", "timestampNtz"])
CONFIGURATION = {"delta.enableRowTracking": "true", "delta.columnMapping.mode": "Name", "own": "x"}
INSIDE = struct(field("a", "long"), field("b", ArrayType(PrimitiveType("short"))))
STATE = state_of(
    struct(field("day", "date"), field("s", MapType(PrimitiveType("string"), INSIDE)), field("id", "integer")),
    protocol=FEATURES,
    configuration=CONFIGURATION,
)
STATE = replace(STATE, metadata=replace(STATE.metadata, partition_columns=("day",), created_time=0, name="orders"))


def test_every_fact_of_the_metadata_and_the_protocol_is_told():
    info = {"timestamp": 1000, "operation": "WRITE", "engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0"}
    detail = detail_of(STATE, "s3://lake/t", Commit(3, {**info, "userName": "ann"}), (2, 300))
    schema = json.loads(STATE.metadata.schema_string)
    assert detail == {
        "location": "s3://lake/t",
        "id": "id",
        "name": "orders",
        "description": None,
        "format": {"provider": "parquet", "options": {}},
        "columns": {"day": "date", "s": "map<string,struct<a:bigint,b:array<smallint>>>", "id": "int"},
        "schema": schema,
        "data_schema": {"type": "struct", "fields": schema["fields"][1:]},
        "partition_columns": ["day"],
        "configuration": CONFIGURATION,
        "created_time": "1970-01-01T00:00:00.000+00:00",
        "column_mapping_mode": "name",
        "protocol": FEATURES.to_json(),
        "features": {
            "appendOnly": "supported",
            "changeDataFeed": "supported",
            "checkConstraints": "enabled",
            "columnMapping": "enabled",
            "domainMetadata": "enabled",
            "generatedColumns": "enabled",
            "invariants": "enabled",
            "rowTracking": "enabled",
            "timestampNtz": "enabled",
            "typeWidening": "supported",
        },
        "clustering_columns": [],
        "num_files": 2,
        "size_in_bytes": 300,
        "last_modified": "1970-01-01T00:00:01.000+00:00",
        "last_commit": {
            "version": 3,
            "timestamp": "1970-01-01T00:00:01.000+00:00",
            "operation": "WRITE",
            "engine": "Apache-Spark/4.2.0 Delta-Lake/4.4.0",
            "writer": "Delta Spark 4.4.0",
            "user": "ann",
        },
    }


def test_row_tracking_that_is_suspended_is_told_as_such():
    metadata = replace(STATE.metadata, configuration={"delta.rowTrackingSuspended": "true"})
    assert detail_of(replace(STATE, metadata=metadata), "/t")["features"]["rowTracking"] == "suspended"


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"schema_string": "{"}, {"schema": None, "data_schema": None, "columns": None, "partition_columns": ["day"]}),
        ({"id": ""}, {"id": None}),
        ({"created_time": None}, {"created_time": None}),
        ({}, {"num_files": None, "size_in_bytes": None, "last_modified": None}),
        ({"name": 7, "description": ["x"]}, {"name": None, "description": None}),
    ],
)
def test_what_the_log_does_not_say_is_null(metadata, told):
    detail = detail_of(replace(STATE, metadata=replace(STATE.metadata, **metadata)), "/t")
    assert {key: detail[key] for key in told} == told
    assert detail["last_commit"] is None


def test_clustering_columns_have_their_own_names():
    clustered = replace(STATE, domains={"delta.clustering": json.dumps({"clusteringColumns": [["id"]]})})
    assert detail_of(clustered, "/t")["clustering_columns"] == ["id"]
    damaged = replace(clustered, metadata=replace(STATE.metadata, schema_string="{"))
    assert detail_of(damaged, "/t")["clustering_columns"] == []


def sizes(folder: Path) -> tuple[int, int]:
    detail = run(JobRequest((str(folder),), DetailOptions()), python_session(), lambda _: None).tables[0].detail
    assert detail is not None
    return detail["num_files"], detail["size_in_bytes"]


@pytest.mark.parametrize(
    ("checksum", "told"),
    [
        (None, "log"),
        ({"numFiles": 7, "tableSizeBytes": 70}, "checksum"),
        ({"numFiles": "7", "tableSizeBytes": 70}, "log"),
        ({"tableSizeBytes": 70}, "log"),
        ({"numFiles": 7, "tableSizeBytes": 70, "txnId": "of another commit"}, "log"),
        ([], "log"),
    ],
)
def test_number_and_size_of_files_are_of_the_checksum_or_else_of_the_log(tmp_path, checksum, told):
    table = plain().append().append()
    table.commits[-1][0]["commitInfo"]["txnId"] = "own"
    live = [action["add"]["size"] for actions in table.commits for action in actions if "add" in action]
    folder = write(tmp_path / "t", table)
    if checksum is not None:
        (folder / "_delta_log" / f"{len(table.commits) - 1:020d}.crc").write_text(json.dumps(checksum))
    assert sizes(folder) == ((len(live), sum(live)) if told == "log" else (7, 70))


def report_of(tables: int, columns: int) -> JobReport:
    state = state_of(struct(*(field(f"column_{number}", "integer") for number in range(columns))))
    reports = (TableReport.of_findings(f"/t{n}", version=n, detail=detail_of(state, f"/t{n}")) for n in range(tables))
    return JobReport("detail", NOW, NOW, tuple(reports), {})


@pytest.mark.parametrize(
    ("tables", "columns", "truncated", "lacking"),
    [
        (1, 10, False, set()),
        (20, 40, True, {"schema", "data_schema"}),
        (1, 2000, True, {"schema", "data_schema"}),
        (1, 5000, True, {"schema", "data_schema", "columns"}),
    ],
)
def test_details_for_xcom_lose_schemas_first_and_columns_next(tables, columns, truncated, lacking):
    found: dict[str, Any] = details_of(report_of(tables, columns))
    assert len(json.dumps(found).encode()) <= MAX_BYTES
    assert (len(found["tables"]), found["truncated"]) == (tables, truncated)
    for number in range(tables):
        detail = found["tables"][f"/t{number}"]
        assert detail["version"] == number
        assert {key for key in ("schema", "data_schema", "columns") if detail[key] is None} == lacking


def test_details_of_too_many_tables_keep_the_first_and_the_summary_stays_small():
    report = report_of(500, 5)
    found = details_of(report)
    assert found["truncated"]
    assert list(found["tables"]) == [f"/t{number}" for number in range(len(found["tables"]))]
    assert 30 < len(found["tables"]) < 500
    assert "detail" not in summarise(report)["tables"][0]


def test_table_without_a_detail_is_not_among_them():
    refused = JobReport("detail", NOW, NOW, (TableReport("/t", report_of(1, 1).verdict),), {})
    assert details_of(refused) == {"tables": {}, "truncated": False}


def test_people_read_a_detail_in_lines():
    detail = detail_of(STATE, "s3://lake/t")
    lines = render_log(
        JobReport("detail", NOW, NOW, (TableReport.of_findings("t", version=3, detail=detail),), {})
    ).splitlines()
    assert lines[0] == "PASS  t  version 3"
    assert "    location: s3://lake/t" in lines
    assert "    columns: day date, s map<string,struct<a:bigint,b:array<smallint>>>, id int" in lines
    assert "    partition columns: day" in lines
    assert any(line.startswith("    features: appendOnly supported, ") for line in lines)
