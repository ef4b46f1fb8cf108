"""No change is made where Delta's log store does not keep writers apart, by whichever way it commits."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.change_options import (
    AlterColumnsOptions,
    CreateTableOptions,
    DisableColumnMappingOptions,
    DropFeatureOptions,
    EnableFeatureOptions,
    WidenTypesOptions,
)
from airflow_delta_provider.jobs.changes.commit import LogStore
from tests.tables import log
from tests.tables.protocols import legacy, mappable

#: What Delta takes on S3, here for local files.
SINGLE_DRIVER = {"spark.delta.logStore.file.impl": "io.delta.storage.S3SingleDriverLogStore"}
UPGRADE = {"allow_protocol_upgrade": True}


@pytest.fixture
def single_driver(spark):
    settings = spark.sparkContext._jsc.sc().conf()
    for key, value in SINGLE_DRIVER.items():
        settings.set(key, value)
    yield
    for key in SINGLE_DRIVER:
        settings.remove(key)


@pytest.mark.parametrize(
    ("builder", "options", "known"),
    [
        (legacy, EnableFeatureOptions, {"features": ("changeDataFeed",), **UPGRADE}),
        (legacy, WidenTypesOptions, {"columns": {"id": "bigint"}, "enable_type_widening": True, **UPGRADE}),
        (legacy, AlterColumnsOptions, {"add": {"x": "int"}}),
        (mappable, DisableColumnMappingOptions, {}),
        (mappable, DropFeatureOptions, {"features": ("checkConstraints",)}),
        (None, CreateTableOptions, {"columns": {"a": "int"}, "acknowledge_writer_lockout": True}),
    ],
)
def test_change_is_refused_dry_run_included_until_it_is_said_that_nobody_else_writes(
    table, tmp_path, run_job, spark, single_driver, builder, options, known
):
    path = tmp_path / "new" if builder is None else table(builder)
    if builder is mappable:
        spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    before = {} if builder is None else log.contents(path)
    for dry_run in (True, False):
        (report,) = run_job([path], options(**known), dry_run=dry_run).tables
        assert (report.verdict, [finding.code for finding in report.findings]) == (Verdict.REFUSED, ["RQ41"])
        assert report.plan["steps"]
    assert ({} if builder is None else log.contents(path)) == before
    (report,) = run_job([path], options(**known, allow_unsafe_log_store=True)).tables
    assert (report.verdict, report.changed) == (Verdict.PASS, True)


def test_store_of_a_mounted_place_is_judged_by_where_that_lies(tmp_path, session):
    session.spark.conf.set("fs.viewfs.mounttable.mounted.link./t", f"file://{tmp_path}")
    store = LogStore(session, "viewfs://mounted/t/new/table")
    assert store.name.endswith("HDFSLogStore")
    assert store.location == f"file://{tmp_path}"
