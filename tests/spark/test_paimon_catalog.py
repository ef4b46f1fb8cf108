"""Source ``catalog``: what Paimon's connector said of a history, served by tables and views of the same columns.

A Delta table stands for the table, since it has ``VERSION AS OF``, too; views for its system tables. The connector
itself cannot be had here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.report.report import JobReport, Severity, TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.process import silent
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.paimon.catalog import CatalogSource, PaimonCatalogCheck
from tests.tables.paimon.archive import expected

pytestmark = pytest.mark.nightly

_SNAPSHOT = (
    "snapshot_id bigint, commit_kind string, operation string, total_record_count bigint, delta_record_count bigint, "
    "next_row_id bigint, schema_id bigint"
)
_FILE = (
    "partition string, file_name string, record_count bigint, min_sequence_number bigint, max_sequence_number bigint, "
    "file_source string, first_row_id bigint, write_cols array<string>, schema_id bigint"
)
#: Spark's own catalog takes no ``$`` in a name.
_SEPARATOR = "__"
_ROW = "id bigint, data string, _ROW_ID bigint, _SEQUENCE_NUMBER bigint"

Serve = Callable[..., str]


def write(spark: SparkSession, location: Path, rows: dict[str, list[dict[str, Any]]], columns: dict[int, str]) -> None:
    """Write a table whose version is the snapshot.

    :param columns: by snapshot: its columns, if they are not the usual ones
    """
    spark.createDataFrame([], _ROW).write.format("delta").save(str(location))  # its version 0 is no snapshot
    for number, found in sorted(rows.items(), key=lambda item: int(item[0])):
        frame = spark.createDataFrame(found, columns.get(int(number), _ROW)).coalesce(1)
        frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(str(location))


@pytest.fixture(scope="module")
def worked(spark: SparkSession, paimon_archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the table of the worked example, which is only read."""
    location = tmp_path_factory.mktemp("paimon_catalog") / "worked"
    write(spark, location, expected(paimon_archive)["worked/05_delete"]["rows"], {})
    return location


@pytest.fixture
def serve(spark: SparkSession, paimon_archive: Path, worked: Path, tmp_path: Path) -> Iterator[Serve]:
    """Serve what the connector said of the worked example; return the name of the table."""
    said = expected(paimon_archive)["worked/05_delete"]
    views: list[str] = []

    def serve_as(
        name: str,
        *,
        snapshots: str = _SNAPSHOT,
        rows: dict[str, list[dict[str, Any]]] | None = None,
        schemas: dict[int, tuple[int, str, str]] | None = None,
        options: dict[str, str] | None = None,
        files_of: str = "4",
        **changed: Any,
    ) -> str:
        """Serve a table.

        :param schemas: by snapshot: the schema's id, its columns in Spark, and its fields as JSON
        :param options: options of each schema; None if the connector does not show them
        :param files_of: snapshot whose files are served
        :param changed: keys of the newest snapshot
        """
        location = tmp_path / name if rows else worked
        if rows:
            write(spark, location, rows, {number: columns for number, (_, columns, _) in (schemas or {}).items()})
        spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{location}'")
        columns = [column.split()[0] for column in snapshots.split(", ")]
        known = [dict(snapshot) for snapshot in said["snapshots"]]
        known[-1] |= changed
        if schemas:
            known = [{**snapshot, "schema_id": schemas[snapshot["snapshot_id"]][0]} for snapshot in known]
        listed = [tuple(snapshot.get(column) for column in columns) for snapshot in known]
        spark.createDataFrame(listed, snapshots).createOrReplaceTempView(f"{name}{_SEPARATOR}snapshots")
        fields = sorted({(number, text) for number, _, text in (schemas or {}).values()}) or [(0, "[]")]
        view = spark.createDataFrame(fields, "schema_id bigint, fields string")
        if options is not None:
            view = view.withColumn("options", sql.lit(json.dumps(options)))
        view.createOrReplaceTempView(f"{name}{_SEPARATOR}schemas")
        files = [{**file, "partition": str(file["partition"])} for file in said["files"][files_of]]
        spark.createDataFrame(files, _FILE).createOrReplaceTempView(f"{name}{_SEPARATOR}files")
        views.append(name)
        return name

    yield serve_as
    for name in views:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        for what in ("snapshots", "files", "schemas"):
            spark.catalog.dropTempView(f"{name}{_SEPARATOR}{what}")


@pytest.fixture
def check(session: SparkDeltaSession) -> Callable[..., TableReport]:
    def check_one(text: str, **known: Any) -> TableReport:
        name = TableName.parse(text)
        options = PaimonCheckRowTrackingOptions(level="data", **known)
        return PaimonCatalogCheck(session, name, options, silent, CatalogSource(session, name, _SEPARATOR)).run()

    return check_one


def test_a_history_as_the_connector_tells_it_passes_by_the_same_rules(
    serve: Serve, check: Callable[..., TableReport]
) -> None:
    report = check(serve("paimon_worked"), key_columns=("id",))

    assert (report.verdict, report.findings, report.version) == (Verdict.PASS, (), 4)
    assert (report.evidence["source"], report.evidence["snapshots"]) == ("catalog", 4)


def test_rows_that_break_rules_are_found_at_their_snapshot(
    serve: Serve, check: Callable[..., TableReport], paimon_archive: Path
) -> None:
    rows = expected(paimon_archive)["worked/05_delete"]["rows"]
    rows["4"][0]["data"] = "changed in silence"
    rows["4"].append({**rows["4"][1], "id": 44})

    report = check(serve("paimon_broken", rows=rows), since_snapshot=3)

    assert {(finding.code, finding.version) for finding in report.findings} == {("PD02", 4), ("PD05", 4)}
    assert report.verdict is Verdict.VIOLATED


def _fields(*columns: tuple[int, str, str]) -> str:
    return json.dumps([{"id": number, "name": name, "type": kind} for number, name, kind in columns])


def test_columns_are_compared_by_their_field_ids(
    serve: Serve, check: Callable[..., TableReport], paimon_archive: Path
) -> None:
    """Where a column was renamed, and where one was dropped and another of its name added, no row has changed."""
    old = (0, _ROW, _fields((0, "id", "BIGINT"), (1, "data", "STRING")))
    renamed = (1, _ROW.replace("data", "text"), _fields((0, "id", "BIGINT"), (1, "text", "STRING")))
    added = (1, _ROW, _fields((0, "id", "BIGINT"), (2, "data", "STRING")))
    rows = expected(paimon_archive)["worked/05_delete"]["rows"]
    texts, nulls = dict(rows), dict(rows)
    texts["4"] = [{"text" if key == "data" else key: value for key, value in row.items()} for row in rows["4"]]
    nulls["4"] = [{**row, "data": None} for row in rows["4"]]

    reports = [
        check(serve(name, rows=found, schemas={1: old, 2: old, 3: old, 4: new}))
        for name, found, new in (("paimon_renamed", texts, renamed), ("paimon_added", nulls, added))
    ]

    assert [(report.verdict, report.findings) for report in reports] == [(Verdict.PASS, ())] * 2


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"next_row_id": 1}, "PM03"),
        ({"total_record_count": 9}, "PM11"),
        ({"next_row_id": 9, "operation": "DELETE"}, "PM19"),
    ],
)
def test_snapshots_that_break_rules_are_found(
    serve: Serve, check: Callable[..., TableReport], changed: dict[str, Any], code: str
) -> None:
    report = check(serve("paimon_snapshots", **changed))

    assert [(finding.code, finding.version) for finding in report.findings if finding.code[:2] == "PM"] == [(code, 4)]
    assert report.verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (None, ("PD11", Severity.WARNING)),
        ({"clustering.columns": "id", "row-tracking.enabled": "true"}, ("PD11", Severity.WARNING)),
        ({"row-tracking.enabled": "true"}, ("PD15", Severity.ERROR)),
    ],
)
def test_a_compaction_may_assign_ids_if_the_options_let_it(
    serve: Serve,
    check: Callable[..., TableReport],
    paimon_archive: Path,
    options: dict[str, str] | None,
    found: tuple[str, Severity],
) -> None:
    rows = expected(paimon_archive)["worked/05_delete"]["rows"]
    rows["4"] = [{**row, "_ROW_ID": row["_ROW_ID"] + 6} for row in rows["3"]]
    kept = expected(paimon_archive)["worked/05_delete"]["snapshots"][2]
    compacted = {**kept, "commit_kind": "COMPACT", "operation": None, "snapshot_id": 4, "delta_record_count": 0}
    compacted["next_row_id"] += 6

    report = check(serve("paimon_compacted", rows=rows, options=options, files_of="3", **compacted))

    assert [(finding.code, finding.severity) for finding in report.findings] == [found]


def test_another_shape_is_undetermined_and_said(serve: Serve, check: Callable[..., TableReport]) -> None:
    older = "snapshot_id bigint, commit_kind string, total_record_count bigint, schema_id bigint"

    report = check(serve("paimon_old", snapshots=older))

    [finding] = report.findings
    assert (finding.code, report.verdict) == ("PD13", Verdict.UNDETERMINED)
    assert "$snapshots has no column next_row_id" in finding.message


def test_a_name_is_looked_for_in_the_catalog_and_a_table_that_is_not_there_said(
    run_job: Callable[..., JobReport],
) -> None:
    report = run_job(["no_such_paimon_table"], PaimonCheckRowTrackingOptions(level="data")).tables[0]

    assert report.verdict is Verdict.UNDETERMINED
    assert "no_such_paimon_table" in report.findings[0].message
