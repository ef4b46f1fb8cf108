"""A change that was committed is reported, whatever fails afterwards."""

from __future__ import annotations

import errno
import json
import subprocess
import sys

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
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions
from airflow_delta_provider.jobs.changes.commit import LogStore
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.run.runner import run
from tests.every_kind import CHANGES
from tests.tables import log
from tests.tables.protocols import legacy
from tests.tables.unmapping import small
from tests.tables.widening import flat, mapped

pytestmark = pytest.mark.nightly

COMMITTED = [
    (
        flat,
        {"enabled": False},
        WidenTypesOptions(columns={"q": "bigint"}, enable_type_widening=True, allow_protocol_upgrade=True),
    ),
    (legacy, {}, EnableFeatureOptions(features=("rowTracking",), allow_protocol_upgrade=True)),
    (legacy, {}, EnableFeatureOptions(features=("appendOnly",))),
    (mapped, {}, AlterColumnsOptions(drop=("day",), add={"more": "string"})),
    (small, {}, DisableColumnMappingOptions()),
    (flat, {}, DropFeatureOptions(features=("typeWidening",), allow_rewrite=True, allow_protocol_upgrade=True)),
    (legacy, {}, ApplyMigrationOptions(spec=({"comment": "as declared"},))),
]


def once_committed(monkeypatch, path, failure):
    """Let the log fail to be read as soon as it has a commit more."""
    first, read = log.newest(path), TableLog.read_state
    commits = TableLog.commits_after

    def read_state(self, *arguments, **known):
        if log.newest(path) > first:
            raise failure
        return read(self, *arguments, **known)

    def commits_after(self, *arguments, **known):
        if log.newest(path) > first:
            raise failure
        return commits(self, *arguments, **known)

    monkeypatch.setattr(TableLog, "read_state", read_state)
    monkeypatch.setattr(TableLog, "commits_after", commits_after)


@pytest.mark.parametrize("number", range(len(COMMITTED)), ids=lambda n: f"{COMMITTED[n][2].kind}-{n}")
def test_log_that_cannot_be_read_after_a_commit_leaves_the_change_unverified(number, session, table, monkeypatch):
    builder, arguments, options = COMMITTED[number]
    path = table(builder, **arguments)
    before = log.newest(path)
    once_committed(monkeypatch, path, OSError(errno.EIO, "Input/output error"))
    (report,) = run(JobRequest((str(path),), options), session).tables
    assert log.newest(path) > before
    assert report.changed
    assert report.plan["steps"]
    assert report.version_before == before
    assert report.version is None
    assert "FT04" in [finding.code for finding in report.findings]
    assert report.verdict in (Verdict.UNDETERMINED, Verdict.FAULT)
    said = " ".join(finding.message for finding in report.findings)
    assert "committed" in said or "All steps of the plan were sent" in said


def test_every_kind_that_changes_a_table_is_tried():
    assert {options.kind for *_, options in COMMITTED} | {CreateTableOptions.kind} == {kind.kind for kind in CHANGES}


@pytest.mark.parametrize(("reread", "said"), [(False, "was committed"), (True, "may have been committed")])
def test_table_that_was_created_although_the_storage_failed_is_reported(reread, said, session, tmp_path, monkeypatch):
    path, put = tmp_path / "t", LogStore.put

    def put_and_fail(self, version, lines):
        put(self, version, lines)
        if reread:
            monkeypatch.setattr(TableLog, "read_commit", failing)
        raise ValueError("the answer was lost")

    def failing(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(LogStore, "put", put_and_fail)
    monkeypatch.setattr(LogStore, "refresh", failing)
    options = CreateTableOptions(columns={"id": "int"}, acknowledge_writer_lockout=True)
    (report,) = run(JobRequest((str(path),), options), session).tables
    assert log.newest(path) == 0
    assert report.changed
    if reread:
        assert said in report.findings[0].message


def test_reports_of_all_tables_survive_the_end_of_the_jvm(table, tmp_path):
    paths = [table(flat, name, enabled=False) for name in ("first", "second", "third")]
    kept = tmp_path / "report.json"
    arguments = ["widen-types", *map(str, paths), "--column", "q=bigint", "--enable-type-widening"]
    command = [sys.executable, "-m", "tests.spark.ended_session", str(paths[1]), *arguments, "--allow-protocol-upgrade"]
    done = subprocess.run(
        [*command, "--report", str(kept), "--format", "json", "--no-config"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    printed = json.loads(done.stdout)
    assert printed["tables"] == json.loads(kept.read_text())["tables"]
    first, second, third = printed["tables"]
    assert (first["verdict"], first["changed"]) == ("PASS", True)
    assert (second["verdict"], second["changed"], second["retryable"]) == ("FAULT", True, True)
    assert len(second["plan"]["steps"]) == 2
    assert "Step 1 of 2 was committed" in second["findings"][-1]["message"]
    assert (third["verdict"], third["changed"], third["version"]) == ("FAULT", False, None)
    assert "was begun" in third["findings"][0]["message"]
    assert log.newest(paths[2]) == log.newest(table(flat, "untouched", enabled=False))
