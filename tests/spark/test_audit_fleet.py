"""Many tables in one audit: patterns, a catalog schema, whose they are, and none hiding another."""

from __future__ import annotations

import shutil

import pytest

from airflow_delta_provider.domain.report.report import Severity, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from tests.spark.webhdfs import WebHdfs
from tests.tables import log, row_tracking


@pytest.fixture
def lake(built, tmp_path):
    """Return a directory with tables in two folders, and with what is none."""
    for name in ("sales/orders", "sales/returns", "hr/people", "sales/[x]"):
        shutil.copytree(built(row_tracking.clustered), tmp_path / name)
    tmp_path.joinpath("sales", "exports").mkdir()
    tmp_path.joinpath("sales", "readme.txt").write_text("no table")
    return tmp_path


def audited(run_job, *tables, **known):
    return {report.table: report for report in run_job(list(tables), AuditOptions(**known)).tables}


def test_pattern_stands_for_the_tables_that_fit_and_for_nothing_else(run_job, lake):
    names = {"sales/orders", "sales/returns", "hr/people", "sales/[x]"}
    assert set(audited(run_job, f"{lake}/*/*")) == {f"{lake}/{name}" for name in names}
    assert set(audited(run_job, f"{lake}/sales/o*", f"{lake}/sales/orders")) == {f"{lake}/sales/orders"}
    assert set(audited(run_job, f"{lake}/sales/[x]")) == {f"{lake}/sales/[x]"}
    reports = audited(run_job, f"{lake}/marketing/*")
    assert [report.verdict for report in reports.values()] == [Verdict.REFUSED]


def test_damaged_table_hides_no_other(run_job, lake):
    log.log_file(lake / "sales/orders", 1).write_text("{")
    log.log_file(lake / "hr/people", 0).unlink()
    reports = audited(run_job, f"{lake}/*/*", f"{lake}/nowhere")
    verdicts = {table.removeprefix(f"{lake}/"): report.verdict for table, report in reports.items()}
    assert verdicts == {
        "hr/people": Verdict.REFUSED,
        "sales/[x]": Verdict.PASS,
        "sales/orders": Verdict.VIOLATED,
        "sales/returns": Verdict.PASS,
        "nowhere": Verdict.REFUSED,
    }


def test_tables_elsewhere_are_done_several_at_once_and_each_is_judged_like_one_here(run_job, lake):
    log.log_file(lake / "sales/orders", 1).write_text("{")
    log.log_file(lake / "hr/people", 0).unlink()
    here = audited(run_job, f"{lake}/*/*")
    with WebHdfs(lake, delay=0.05).running() as elsewhere:
        there = audited(run_job, f"{elsewhere.uri}/*/*")
        assert elsewhere.most_at_once > 1
    assert list(there) == [name.replace(str(lake), elsewhere.uri) for name in here]
    for one, other in zip(here.values(), there.values()):
        assert (one.verdict, one.version) == (other.verdict, other.version)
        assert [finding.fingerprint for finding in one.findings] == [finding.fingerprint for finding in other.findings]


def test_owner_says_how_much_a_rule_weighs_on_the_own_tables(run_job, lake, built):
    path = lake / "sales/orders"
    metadata = log.last(path, "metaData")
    log.commit(path, {"metaData": {**metadata, "id": "another"}})
    entries = ({"table": f"{lake}/sales/*", "owner": "ann", "severities": {"MD08": "warning"}},)
    report = audited(run_job, f"{lake}/sales/orders", ownership=entries)[str(path)]
    assert (report.verdict, report.evidence["owner"]) == (Verdict.PASS, "ann")
    assert [(f.code, f.severity) for f in report.findings] == [("MD08", Severity.WARNING)]
    off = ({"table": str(path), "severities": {"MD08": "off"}},)
    assert audited(run_job, str(path), ownership=off)[str(path)].findings == ()
    assert audited(run_job, str(path))[str(path)].verdict is Verdict.VIOLATED


def test_table_that_takes_too_long_is_given_up_and_said(run_job, lake):
    report = audited(run_job, f"{lake}/hr/people", seconds_per_table=1e-9)[f"{lake}/hr/people"]
    assert (report.verdict, [f.code for f in report.findings]) == (Verdict.UNDETERMINED, ["LG13"])


def test_schema_stands_for_its_delta_tables(run_job, spark, tmp_path):
    spark.sql("CREATE SCHEMA IF NOT EXISTS audited")
    try:
        spark.sql(f"CREATE TABLE audited.plain (id int) USING delta LOCATION '{tmp_path}/plain'")
        spark.sql(f"CREATE TABLE audited.other (id int) USING parquet LOCATION '{tmp_path}/other'")
        reports = audited(run_job, "audited.*")
        assert {table: report.verdict for table, report in reports.items()} == {"audited.plain": Verdict.PASS}
    finally:
        spark.sql("DROP SCHEMA audited CASCADE")
