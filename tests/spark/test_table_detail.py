"""What tables are, by the kind ``detail``: of many in one job, and of those that an engine refuses to open."""

from __future__ import annotations

import json

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.options import DetailOptions
from tests.tables import log
from tests.tables.broken_logs import catalog_managed, damaged_schema, gap, unknown_reader_feature
from tests.tables.protocols import legacy, mapped_by_id
from tests.tables.widening import flat


@pytest.fixture
def detail(run_job):
    def details(*tables):
        return {table.table: table for table in run_job(list(tables), DetailOptions()).tables}

    return details


def test_detail_is_what_the_engine_says_of_the_table(spark, table, detail):
    path = table(flat)
    spark.sql(f"COMMENT ON TABLE delta.`{path}` IS 'all orders'")
    before = log.contents(path)
    found = detail(path)[str(path)]
    assert (found.verdict, found.changed, log.contents(path)) == (Verdict.PASS, False, before)
    told = spark.sql(f"DESCRIBE DETAIL delta.`{path}`").collect()[0].asDict(recursive=True)
    assert {key: found.detail[key] for key in ("id", "name", "description")} == {
        key: told[key] for key in ("id", "name", "description")
    }
    assert found.detail["location"].rstrip("/") == told["location"]
    assert found.detail["configuration"] == told["properties"]
    assert found.detail["partition_columns"] == told["partitionColumns"]
    assert found.detail["created_time"].startswith(told["createdAt"].isoformat(timespec="seconds")[:13])
    assert sorted(found.detail["features"]) == sorted(told["tableFeatures"])
    read = spark.read.format("delta").load(str(path)).schema
    assert found.detail["columns"] == {field.name: field.dataType.simpleString() for field in read}
    assert json.dumps(found.detail["schema"]).count('"name"') == len(read)
    in_files = [field["name"] for field in found.detail["data_schema"]["fields"]]
    assert in_files == [name for name in read.names if name not in told["partitionColumns"]] != read.names
    newest = spark.sql(f"DESCRIBE HISTORY delta.`{path}`").collect()[0]
    assert (found.version, found.detail["last_commit"]["operation"]) == (newest["version"], newest["operation"])
    assert found.detail["last_commit"]["writer"] == "Delta Spark 4.4.0"


def test_tables_of_a_pattern_and_of_a_catalog_are_told_in_one_job_and_one_that_cannot_be_read_hides_no_other(
    spark, table, detail, tmp_path
):
    paths = {builder.__name__: table(builder, builder.__name__) for builder in (legacy, mapped_by_id, gap)}
    spark.sql("CREATE SCHEMA IF NOT EXISTS told")
    try:
        spark.sql(f"CREATE TABLE told.orders USING delta LOCATION '{paths['legacy']}'")
        found = detail(f"{tmp_path}/*", "told.orders")
    finally:
        spark.sql("DROP SCHEMA told CASCADE")
    verdicts = {name: found[str(path)].verdict for name, path in paths.items()}
    assert verdicts == {"legacy": Verdict.PASS, "mapped_by_id": Verdict.PASS, "gap": Verdict.REFUSED}
    assert found[str(paths["mapped_by_id"])].detail["column_mapping_mode"] == "id"
    assert found[str(paths["gap"])].detail is None
    named = found["told.orders"].detail
    assert named == found[str(paths["legacy"])].detail
    assert named["location"].rstrip("/").endswith(str(paths["legacy"]))


@pytest.mark.parametrize(
    ("builder", "verdict", "codes", "features"),
    [
        (unknown_reader_feature, Verdict.UNDETERMINED, ["TF17"], {"hologram": "enabled"}),
        (
            catalog_managed,
            Verdict.UNDETERMINED,
            ["LG06"],
            {"catalogManaged": "enabled", "inCommitTimestamp": "supported", "vacuumProtocolCheck": "enabled"},
        ),
        (damaged_schema, Verdict.VIOLATED, ["MD02"], {"appendOnly": "supported", "invariants": "enabled"}),
    ],
)
def test_table_that_an_engine_refuses_to_open_has_a_detail_and_what_is_doubtful_is_said(
    spark, table, detail, builder, verdict, codes, features
):
    path = table(builder)
    with pytest.raises(Exception, match=r"DELTA|Unexpected|JSON|Unrecognized"):
        spark.read.format("delta").load(str(path)).collect()
    found = detail(path)[str(path)]
    assert (found.verdict, [finding.code for finding in found.findings]) == (verdict, codes)
    assert found.detail["features"] == features
    assert found.detail["id"] == log.last(path, "metaData")["id"]
    assert (found.detail["schema"] is None) == (builder is damaged_schema)


def test_catalog_name_leads_to_the_path_of_a_table_that_the_engine_refuses_to_open(spark, table, detail):
    path = table(legacy)
    spark.sql("CREATE SCHEMA IF NOT EXISTS told")
    try:
        spark.sql(f"CREATE TABLE told.refused USING delta LOCATION '{path}'")
        features = {"readerFeatures": ["hologram"], "writerFeatures": ["hologram"]}
        log.commit(path, {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}})
        by_name, by_schema = detail("told.refused"), detail("told.*")
    finally:
        spark.sql("DROP SCHEMA told CASCADE")
    assert by_name["told.refused"].detail == by_schema["told.refused"].detail
    assert by_name["told.refused"].detail["location"].rstrip("/").endswith(str(path))
    assert by_name["told.refused"].verdict is Verdict.UNDETERMINED
