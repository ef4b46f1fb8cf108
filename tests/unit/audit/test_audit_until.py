"""Audits up to a time: which version that is."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone

import pytest

from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.jobs.audit.protocol_audit import ProtocolAudit
from airflow_delta_provider.jobs.delta.session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.process import silent
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


@pytest.fixture
def at_hours(tmp_path):
    """A table whose commits state these hours, those of ``in_commit`` as in-commit timestamps."""

    def write(hours, *, in_commit=()):
        table = Table(field("id", "long"))
        for _ in hours[1:]:
            table.append()
        for version, (actions, hour) in enumerate(zip(table.commits, hours, strict=True)):
            stamp = int(after(hour).timestamp() * 1000)
            body(actions, "commitInfo").update(
                {"timestamp": stamp} | ({"inCommitTimestamp": stamp} if version in in_commit else {})
            )
        opened = OnDisk(tmp_path / "t", table).opened
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


CLOCK_WENT_BACK = (10, 11, 12, 9.1, 9.2, 9.3)


@pytest.mark.parametrize(("hours", "version"), [(10.5, 0), (11.5, 1), (12.5, 5)])
def test_commits_after_a_clock_went_back_are_no_older_than_those_before(at_hours, hours, version):
    assert audited(at_hours(CLOCK_WENT_BACK), hours).version == version


def test_a_time_that_only_commits_after_a_clock_went_back_state_is_before_the_first(at_hours):
    assert [finding.code for finding in audited(at_hours(CLOCK_WENT_BACK), 9.15).findings] == ["RQ19"]


@pytest.mark.parametrize(("hours", "version"), [(3.5, 3), (5, 4), (60, 5), (200, 5)])
def test_in_commit_timestamps_do_not_follow_the_clocks_of_earlier_writers(at_hours, hours, version):
    table = at_hours((1, 2, 100, 3, 4, 50), in_commit=(3, 4, 5))
    assert audited(table, hours).version == version
