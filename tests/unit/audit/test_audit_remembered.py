"""Audits that go on from what an earlier one remembered: what stands is what the whole history says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.saved_state import AuditState
from airflow_delta_provider.domain.delta.derived_files import checksum_name
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.report.report import Finding
from tests.unit.audit.test_audit_history import HEALS, damaged, named, of_each_kind
from tests.unit.audits_in_parts import Kept, audited_in_parts, told
from tests.unit.damages import CASES, edits, histories
from tests.unit.damages.case import Case
from tests.unit.damages.edits import added, metadata
from tests.unit.log_builder import History, Table

THEN: dict[str, Callable[[Case, Table, int], Any]] = {"carry on": lambda case, table, version: None, **HEALS}


def standing(findings: Sequence[Finding]) -> set[Finding]:
    return {finding for finding in findings if finding.healed_version is None}


@pytest.mark.parametrize(
    ("case", "then"),
    [of_each_kind(case, then) for case in CASES for then in THEN if then != "undo" or then in case.healed_by],
    ids=lambda value: value if isinstance(value, str) else named(value),
)
def test_what_stands_after_audits_in_parts_is_what_stands_after_one_of_the_whole(case: Case, then: str) -> None:
    table, version = damaged(case, None if then == "carry on" else lambda table: table)
    grown = table.version
    THEN[then](case, table, version)
    whole, _, _ = told(Kept(table.commits))
    for end in {version, grown}:
        found = audited_in_parts(table.commits, end)
        assert standing(found) == standing(whole)
        assert {f for f in found if (f.healed_version or 0) > end} == {
            f for f in whole if (f.healed_version or 0) > end
        }


def test_commit_that_puts_right_what_is_known_is_no_damage_itself() -> None:
    table = histories.mapped()
    sound = table.now.metadata
    table.damaged(metadata(id="another")).set_properties(a="b")
    known = table.version
    table.commit("REPAIR", {"metaData": sound})
    (finding,) = audited_in_parts(table.commits, known)
    assert (finding.code, finding.version, finding.healed_version) == ("MD08", known, known + 1)


def test_what_is_wrong_with_many_files_stands_until_the_last_of_them_is_gone() -> None:
    table = histories.mapped_partitions()
    table.damaged(edits.both(*(added(number, partitionValues={"id": "1"}) for number in (0, 1)))).append(2)
    version, (first, second) = table.version, table.paths[-2:]
    table.delete(first)
    (finding,) = audited_in_parts(table.commits, version)
    assert (finding.code, finding.version, finding.healed_version) == ("CM14", version, None)
    table.delete(second)
    (finding,) = audited_in_parts(table.commits, version, version + 1)
    assert (finding.code, finding.version, finding.healed_version) == ("CM14", version, version + 2)


def test_high_water_mark_that_was_lost_stays_lost_while_engines_begin_anew() -> None:
    table = histories.tracked()
    before = table.version
    table.drop_row_tracking().optimize().restore(before)
    lost = table.version
    table.append().append()
    for ends in ([lost], [lost + 1], [lost, lost + 1]):
        assert ("RT10", lost) in {(f.code, f.version) for f in standing(audited_in_parts(table.commits, *ends))}


def test_high_water_mark_that_was_lost_before_the_oldest_version_stays_lost_in_later_audits() -> None:
    table = histories.tracked()
    before = table.version
    table.drop_row_tracking().optimize().restore(before)
    lost = table.version
    replay = Replay(with_files=True)
    for actions in table.commits:
        replay.take(actions)
    audit = HistoryAudit(replay, replay.state(lost), History(table.commits))
    memory = AuditState.of(audit.state(), {}, audit.findings(), "log", audit.facts())
    table.append().append()
    again, _, _ = told(Kept(table.commits), memory)
    assert [(f.version, f.at_or_before, f.healed_version) for f in again if f.code == "RT10"] == [(lost, True, None)]


def test_what_was_healed_before_the_earlier_audit_is_not_told_again() -> None:
    table = histories.tracked()
    table.damaged(added(baseRowId=None)).append()
    table.damaged(metadata(id="another")).set_properties(a="b").delete(table.paths[-1])
    found = audited_in_parts(table.append().commits, table.version - 1)
    assert [(f.code, f.healed_version) for f in found] == [("MD08", None)]


def test_what_stands_is_known_by_the_same_fingerprint_when_the_table_gets_another_id() -> None:
    table = histories.tracked()
    table.damaged(added(baseRowId=None)).append()
    before, _, _ = told(Kept(table.commits))
    known = table.version
    table.damaged(metadata(id="another")).set_properties(a="b")
    after = {finding.code: finding.fingerprint for finding in audited_in_parts(table.commits, known)}
    whole = {finding.code: finding.fingerprint for finding in audited_in_parts(table.commits)}
    assert after == whole
    assert {finding.fingerprint for finding in before} == {after["RT05"]}


def test_only_what_is_new_counts_as_judged() -> None:
    table = histories.tracked()
    table.damaged(metadata(id="another")).set_properties(a="b")
    _, memory, _ = told(Kept(table.commits))
    _, _, run = told(Kept(table.append().commits), memory)
    assert (run.first, run.commits) == (table.version, 1)


@pytest.mark.parametrize("name", [checksum_name(2), "_last_checkpoint"])
def test_file_beside_the_commits_is_wrong_as_long_as_it_is_there(name: str) -> None:
    storage = Kept(histories.plain().commits)
    storage.files[name] = b"{"
    found, memory, _ = told(storage)
    assert [finding.path for finding in found] == [f"_delta_log/{name}"]
    assert standing(told(storage, memory)[0]) == standing(found)
    del storage.files[name]
    assert told(storage, memory)[0] == []


def test_pointer_that_is_damaged_after_an_audit_is_told_by_the_next() -> None:
    storage = Kept(histories.plain().commits)
    _, memory, _ = told(storage)
    storage.files["_last_checkpoint"] = b"{"
    assert [finding.code for finding in told(storage, memory)[0]] == ["LG11"]


def test_what_an_older_release_told_by_a_code_that_is_no_longer_is_kept() -> None:
    storage = Kept(histories.plain().commits)
    _, memory, _ = told(storage)
    wire = memory.to_json()
    wire["findings"] = [{"code": "XX99", "severity": "ERROR", "message": "x", "version": 1, "fingerprint": "f"}]
    assert [finding.code for finding in told(storage, AuditState.from_json(wire))[0]] == ["XX99"]
