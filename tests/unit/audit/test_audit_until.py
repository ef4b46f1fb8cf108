"""Audits up to a time: which version that is."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone

import pytest

from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.request.audit import AuditOptions
from airflow_delta_provider.jobs.audit.protocol_audit import ProtocolAudit
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.process.progress import silent
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Table, body
from tests.unit.states import field

START = datetime(2026, 3, 1, tzinfo=timezone.utc)


def after(hours):
    return START + timedelta(hours=hours)


@pytest.fixture
def hourly(tmp_path):
    """A table with a commit each hour; those of the versions given say no time, or cannot be read."""

    def write(*, silent_at=(), damaged_at=()):
        table = Table(field("id", "long"))
        for _ in range(8):
            table.append()
        for version, actions in enumerate(table.commits):
            info = body(actions, "commitInfo")
            info["timestamp"] = int(after(version).timestamp() * 1000)
            if version in silent_at:
                actions.remove({"commitInfo": info})
        on_disk = OnDisk(tmp_path / "t", table)
        for version in range(len(table.commits)):
            path, written = on_disk.log / commit_name(version), after(version).timestamp()
            if version in damaged_at:
                path.write_text("{")
            os.utime(path, (written, written))
        opened = on_disk.opened
        return OpenTable(opened.name, opened.location, opened.log, opened.log.list_names())

    return write


def audited(table, hours):
    options = AuditOptions(timestamp=after(hours).isoformat())
    return ProtocolAudit(DeltaSession(LocalStorage()), table, options, silent).run()


@pytest.mark.parametrize(("hours", "version"), [(0, 0), (0.5, 0), (3, 3), (7.9, 7), (8, 8), (100, 8)])
@pytest.mark.parametrize("silent_at", [(), (4,), range(9)], ids=["all say when", "one does not", "none does"])
def test_newest_version_that_is_not_later_is_the_last_to_be_judged(hourly, hours, version, silent_at):
    report = audited(hourly(silent_at=silent_at), hours)
    assert (report.version, report.findings) == (version, ())


def test_no_version_is_as_old(hourly):
    assert [finding.code for finding in audited(hourly(), -1).findings] == ["RQ19"]


@pytest.mark.parametrize("hours", [3.5, 6.5])
def test_commit_that_cannot_be_read_does_not_hide_when_it_was_made(hourly, hours):
    report = audited(hourly(damaged_at=(4,)), hours)
    assert report.version == 3
    assert [finding.code for finding in report.findings] == ([] if hours < 4 else ["LG09"])
