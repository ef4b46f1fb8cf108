"""What a job may reach, where links, mounts and catalogs lead elsewhere."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.change_options import CreateTableOptions
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.hadoop_storage import HadoopStorage
from tests.tables.row_tracking import partitioned


@pytest.fixture
def lake(tmp_path, table) -> Path:
    """A folder ``ours`` with a table, and links to another team's, which has one, too."""
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
        shutil.move(table(partitioned), tmp_path / name / "t")
    (tmp_path / "ours" / "linked").symlink_to(tmp_path / "theirs" / "t")
    (tmp_path / "ours" / "all").symlink_to(tmp_path / "theirs")
    return tmp_path


def refusals(session, tables, allowed, **options):
    """Return by table the messages of what an audit refused; nothing for one that it judged."""
    request = JobRequest(tuple(map(str, tables)), AuditOptions(**options), allowed_locations=tuple(map(str, allowed)))
    found = {}
    for report in run(request, session).tables:
        assert (report.verdict is Verdict.REFUSED) is bool(report.findings)
        assert {finding.code for finding in report.findings} <= {"RQ16"}
        found[report.table] = "".join(finding.message for finding in report.findings)
    return found


def test_links_are_followed_before_it_is_judged_what_is_allowed(session, lake):
    ours = lake / "ours"
    found = refusals(session, [ours / "t", ours / "linked", ours / "all" / "t", f"{ours}/*"], [ours])
    assert found.pop(f"{ours}/t") == ""
    assert set(found) == {f"{ours}/linked", f"{ours}/all/t"}
    assert all(f"resolves to file:{lake}/theirs/t" in message for message in found.values())
    (lake / "entry").symlink_to(ours)
    assert refusals(session, [lake / "entry" / "t"], [lake / "entry"]) == {f"{lake}/entry/t": ""}


def test_mounts_are_followed(session, spark, lake, monkeypatch):
    links = {"/sales": lake / "ours", "/hr": lake / "theirs"}
    for mounted, folder in links.items():
        spark.conf.set(f"fs.viewfs.mounttable.lake.link.{mounted}", f"file://{folder}")
    monkeypatch.setattr(session, "storage", HadoopStorage(spark))
    sales, hr = "viewfs://lake/sales", "viewfs://lake/hr"
    assert refusals(session, [f"{sales}/t"], [sales]) == {f"{sales}/t": ""}
    assert f"resolves to file:{lake}/theirs/t" in refusals(session, [f"{hr}/t"], [sales])[f"{hr}/t"]
    assert session.storage.real_location(f"{sales}/new/folder") == f"file:{lake}/ours/new/folder"


def test_catalog_name_is_judged_by_where_its_table_lies(session, spark, lake):
    spark.sql("CREATE SCHEMA IF NOT EXISTS reach")
    for name in ("ours", "theirs"):
        spark.sql(f"CREATE TABLE reach.{name} USING delta LOCATION '{lake / name / 't'}'")
    try:
        found = refusals(session, ["reach.ours", "reach.theirs"], ["reach", lake / "ours"])
        assert found["reach.ours"] == ""
        assert "'reach.theirs' resolves to" in found["reach.theirs"]
        assert refusals(session, ["reach.theirs"], ["reach"]) == {"reach.theirs": ""}  # names alone are bounded
    finally:
        for name in ("ours", "theirs"):
            spark.sql(f"DROP TABLE reach.{name}")


def test_nothing_is_remembered_among_what_tables_are(session, lake, spark):
    ours = lake / "ours"
    (ours / "state").symlink_to(lake / "theirs")
    (lake / "theirs" / "log").symlink_to(lake / "theirs" / "t" / "_delta_log")
    (ours / "paimon" / "schema").mkdir(parents=True)
    (ours / "paimon" / "schema" / "schema-0").touch()
    before = sorted(lake.rglob("*"))
    for allowed, path in [
        ([ours], lake / "theirs" / "state"),
        ([ours], ours / "state"),
        ([], lake / "theirs" / "log"),
        ([], ours / "t" / "state"),
        ([], ours / "paimon" / "snapshot"),
        ([], ours / "paimon" / "manifest" / "x"),
    ]:
        assert (
            "state_path (--state-path) is"
            in refusals(session, [ours / "t"], allowed, state_path=str(path))[f"{ours}/t"]
        ), path
    assert sorted(lake.rglob("*")) == before
    assert refusals(session, [ours / "t"], [ours], state_path=str(ours / "snapshot")) == {f"{ours}/t": ""}
    assert len(list((ours / "snapshot").iterdir())) == 1


def test_table_is_not_created_behind_a_link(session, lake):
    options = CreateTableOptions(columns={"id": "bigint"}, acknowledge_writer_lockout=True)
    new = lake / "ours" / "all" / "new"
    report = run(JobRequest((str(new),), options, allowed_locations=(str(lake / "ours"),)), session)
    assert [finding.code for finding in report.tables[0].findings] == ["RQ16"]
    assert not new.exists()


@pytest.fixture
def with_file_outside(tmp_path, spark) -> Path:
    """A table with rows to which a file outside was added, and a deletion vector outside."""
    folder = tmp_path / "t"
    spark.range(3).coalesce(1).write.format("delta").save(str(folder))
    own = next(folder.glob("*.parquet"))
    outside = tmp_path / "outside.parquet"
    shutil.copy(own, outside)
    add = {"partitionValues": {}, "size": own.stat().st_size, "modificationTime": 1, "dataChange": True}
    lines = [{"commitInfo": {"timestamp": 1, "operation": "WRITE"}}, {"add": {"path": f"file:{outside}", **add}}]
    commit = folder / "_delta_log" / f"{1:020}.json"
    commit.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


def test_file_outside_is_undecided_at_level_data_and_its_rows_are_not_read(session, with_file_outside):
    request = JobRequest((str(with_file_outside),), AuditOptions(level="data"))

    (report,) = run(request, session).tables

    assert [(finding.code, finding.path) for finding in report.findings] == [
        ("DF12", f"file:{with_file_outside.parent}/outside.parquet")
    ]
    allowed = replace(request, allowed_locations=(str(with_file_outside.parent),))
    assert run(allowed, session).tables[0].verdict is Verdict.PASS


def test_change_for_which_the_engine_would_read_a_file_outside_is_refused(session, with_file_outside):
    spec = {"table": str(with_file_outside), "constraints": {"small": "id < 100"}}
    request = JobRequest((str(with_file_outside),), ApplyMigrationOptions(spec=(spec,), allow_protocol_upgrade=True))

    (report,) = run(request, session).tables

    assert {finding.code for finding in report.findings} == {"RQ16"}
    assert report.verdict is Verdict.REFUSED
    allowed = replace(request, allowed_locations=(str(with_file_outside.parent),), dry_run=True)
    assert run(allowed, session).tables[0].verdict is Verdict.PASS
