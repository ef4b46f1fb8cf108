"""Work that takes too long is ended, wherever it is, and said."""

from __future__ import annotations

import math
import time

import pytest

from airflow_delta_provider.domain.report.report import Status, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.jobs import process as progress_module
from airflow_delta_provider.jobs.process import OutOfTimeError, TimeBudget
from airflow_delta_provider.jobs.spark.session import limited
from tests.tables import row_tracking_bad_files
from tests.tables.row_tracking import operations
from tests.tables.row_tracking_model import Model


@pytest.fixture
def audit_until(run_job, monkeypatch):
    """Audit a table whose time is over as soon as a line of progress holds some words."""

    def audit(path, words, **known):
        now = [0.0]
        monkeypatch.setattr(progress_module, "monotonic", lambda: now[0])

        def progress(line):
            if words in line:
                now[0] = math.inf

        return run_job([path], AuditOptions(level="data", seconds_per_table=60, **known), progress=progress).tables[0]

    return audit


def test_what_spark_does_is_cancelled(spark):
    spark.sparkContext.setJobGroup("mine", "of the user")
    started = time.monotonic()
    with pytest.raises(OutOfTimeError), limited(spark, TimeBudget(0.5)):
        spark.sql("SELECT sum(hash(id)) FROM range(1000000000000)").collect()
    assert time.monotonic() - started < 30
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") == "mine"
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def test_failure_in_time_stays_what_it_is(spark):
    with pytest.raises(ZeroDivisionError), limited(spark, TimeBudget(60)):
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), limited(spark, TimeBudget(None)):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("reading the footers", "it read the footers of 0 files."),
        ("reading the row ids", "it read the footers of all files and the row ids in them."),
    ],
)
def test_audit_is_given_up_while_it_reads_files(tmp_path, audit_until, words, said):
    model = Model()
    model.insert([5, 4])
    model.update(lambda row_id: row_id in (1, 6), vectors=True)
    model.write(tmp_path / "t")
    report = audit_until(tmp_path / "t", words)
    assert (report.verdict, [f.code for f in report.findings]) == (Verdict.UNDETERMINED, ["LG13"])
    assert said in report.findings[0].message
    assert report.evidence["commits"] > 1


def test_what_was_found_before_the_time_was_over_is_told_and_not_taken_for_resolved(
    table, audit, audit_until, tmp_path, monkeypatch
):
    path = table(operations)
    row_tracking_bad_files.file_missing(path)
    state = {"state_path": str(tmp_path / "state")}
    missing = [f.fingerprint for f in audit(path, level="data", **state).findings if f.code == "DF01"]
    assert len(missing) == 1
    again = audit_until(path, "reading the footers", **state).findings
    assert [(f.fingerprint, f.status) for f in again if f.code == "DF01"] == [(missing[0], Status.KNOWN)]
    assert [f.status for f in again if f.code == "LG13"] == [Status.NEW]
    monkeypatch.undo()
    last = audit(path, level="data", **state).findings
    assert [(f.fingerprint, f.status) for f in last if f.code == "DF01"] == [(missing[0], Status.KNOWN)]
    assert "LG13" not in {f.code for f in last}
