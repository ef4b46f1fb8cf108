"""Judging the commits of a log on disk after an earlier audit: what is read for it, and that it says the same."""

from __future__ import annotations

from collections import Counter

import pytest

from airflow_delta_provider.domain.audit.past import find_version_range
from airflow_delta_provider.domain.audit.saved_state import AuditState
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.jobs.audit import commit_file
from airflow_delta_provider.jobs.audit.range_audit import RangeAudit
from airflow_delta_provider.jobs.process import TimeBudget, Timings, silent
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from tests.unit.damages.edits import metadata, removed
from tests.unit.local_table import OnDisk, open_log
from tests.unit.log_builder import Table
from tests.unit.states import field


class CountedStorage(LocalStorage):
    """Counts what is read, by file name."""

    def __init__(self):
        super().__init__()
        self.reads = Counter()

    def read(self, path):
        self.reads[path.rsplit("/", 1)[-1]] += 1
        return super().read(path)


@pytest.fixture
def on_disk(tmp_path):
    return OnDisk(tmp_path / "t", Table(field("id", "long")).append().append())


def judge(table, memory=None):
    """Judge the whole log, or what came after an earlier audit; return the audit and what was read."""
    storage = CountedStorage()
    log = open_log(storage, f"file:{table.log.parent}")
    names = log.list_names()
    last = len(names) - 1
    judged = RangeAudit(log, names, "t", Timings(), silent, TimeBudget(None))
    audit = judged.run(find_version_range(names, last)) if memory is None else judged.go_on(memory, last)
    return audit, storage.reads


def remembered(table):
    audit, _ = judge(table)
    return AuditState.of(audit.state(), audit.commit_info, audit.findings(), "log", audit.facts())


def test_commits_that_only_add_files_are_read_once_and_no_other_is(on_disk):
    memory = remembered(on_disk)
    on_disk.others(lambda table: table.append().append())
    audit, reads = judge(on_disk, memory)
    assert reads == {commit_name(3): 1, commit_name(4): 1}
    assert (audit.version, audit.findings(), audit.live_files) == (4, [], 4)


def test_commits_that_remove_files_are_read_once_and_no_other_is(on_disk):
    memory = remembered(on_disk)
    on_disk.others(lambda table: table.append().delete(table.paths[0]).append())
    audit, reads = judge(on_disk, memory)
    assert reads == dict.fromkeys(map(commit_name, range(3, 6)), 1)
    assert (audit.version, audit.findings(), audit.live_files) == (5, [], 3)


def test_commits_that_remove_files_otherwise_than_remembered_are_read_once_after_those_of_before(on_disk):
    memory = remembered(on_disk)
    on_disk.others(lambda table: table.append().damaged(removed(size=7)).delete(table.paths[0]).append())
    audit, reads = judge(on_disk, memory)
    assert reads == dict.fromkeys(map(commit_name, range(6)), 1)
    assert (audit.version, audit.findings(), audit.live_files) == (5, [], 3)


@pytest.mark.parametrize("bound", ["_FEW", "_SMALL"])
def test_of_many_new_commits_not_all_are_looked_at_ahead(on_disk, monkeypatch, bound):
    monkeypatch.setattr(commit_file, bound, 1)
    memory = remembered(on_disk)
    on_disk.others(lambda table: table.append().append().append())
    audit, reads = judge(on_disk, memory)
    assert reads == dict.fromkeys(map(commit_name, range(6)), 1)
    assert (audit.version, audit.findings(), audit.live_files) == (5, [], 5)


def test_damage_behind_additions_is_told_as_the_whole_history_tells_it(on_disk):
    memory = remembered(on_disk)
    on_disk.others(lambda table: table.append().damaged(metadata(id="another")).set_properties(a="b"))
    audit, _ = judge(on_disk, memory)
    whole, _ = judge(on_disk)
    assert [finding.code for finding in audit.findings()] == ["MD08"]
    assert audit.findings() == whole.findings()
