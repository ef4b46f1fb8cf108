"""Repairs of damaged histories: what they fix, at which price, and that nothing gets worse."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from deltalake import write_deltalake

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.repair.corrections import visible_columns
from airflow_delta_provider.domain.repair.logged_table import (
    LoggedTable,
    changes_between,
    copy_name,
    rows_text,
    set_back,
)
from airflow_delta_provider.domain.repair.plan import RepairPlan, why_left
from airflow_delta_provider.domain.repair.planner import Outcome, identity_of
from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.repair.planning import Planning
from tests.unit.audit.test_audit_history import damaged, each_case
from tests.unit.command_line.tables import write
from tests.unit.damages import CASES, FIRST
from tests.unit.damages.case import Case
from tests.unit.damages.histories import plain
from tests.unit.damages.steps import carry_on
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Actions, audited
from tests.unit.repair.repairing import commit_of_repair, logged, repaired

#: Share of the damages that a plan has to fix with the same rows as before the damage.
SHARE = 0.7


def outcome_of(case: Case) -> tuple[list[Actions], Outcome]:
    return _outcome(CASES.index(case))


@cache
def _outcome(number: int) -> tuple[list[Actions], Outcome]:
    case = CASES[number]
    table, _ = damaged(case)
    sound = case.before()
    case.step(sound)
    (case.then or carry_on)(sound)
    return table.commits, repaired(table.commits, sound.commits)


def rows_of(table: LoggedTable) -> list[tuple[str, str]]:
    """The live files with their vectors; a copy of a file has its rows."""
    return sorted(key for key in table.files if key not in table.removed)


def keeps_rows(case: Case, commits: list[Actions], outcome: Outcome) -> bool:
    """Return True if the repair removes no row, and no column that the table had before the damage."""
    _, version = damaged(case)
    now = logged(commits)
    twice = {
        other["path"] for each in outcome.repaired for key in each.correction.removed for other in [now.files[key]]
    }
    lost = set(rows_of(now)) - set(rows_of(outcome.table))
    if any(key[0] not in twice for key in lost):
        return False
    before = visible_columns(logged(commits[:version]).metadata)
    after = visible_columns(outcome.table.metadata)
    return before.keys() & visible_columns(now.metadata).keys() <= after.keys()


def test_most_damages_are_repaired_with_the_same_rows() -> None:
    healed = [case for case in CASES if not outcome_of(case)[1].open and keeps_rows(case, *outcome_of(case))]
    assert len(healed) >= SHARE * len(CASES)


@each_case
def test_no_repair_leaves_more_open_than_before(case: Case) -> None:
    commits, outcome = outcome_of(case)
    before = {finding.code for finding in audited(commits) if finding.is_open}
    if not outcome.repaired:
        return
    repair = commit_of_repair(commits, logged(commits), outcome.table)
    after = [finding for finding in audited([*commits, repair]) if finding.is_open]
    assert {finding.code for finding in after} <= before
    assert len(after) < len([finding for finding in audited(commits) if finding.is_open])
    assert sorted(finding.code for finding in after) == sorted(finding.code for finding in outcome.open)


@each_case
def test_a_repaired_table_can_be_written_by_the_next_commits(case: Case) -> None:
    commits, outcome = outcome_of(case)
    if not outcome.repaired:
        return
    repair = commit_of_repair(commits, logged(commits), outcome.table)
    found = [finding for finding in audited([*commits, repair]) if finding.version == len(commits)]
    assert found == []


def planned(case: Case, folder: Path, *permit: str, level: str = "log") -> RepairPlan:
    table, _ = damaged(case)
    OnDisk(folder / "t", table)
    session = python_session()
    made = Planning(session, session.open_table(str(folder / "t")), level, permit).plan()
    assert isinstance(made, RepairPlan), made
    return made


@pytest.mark.parametrize("code", ["CM07", "AC18", "TF07", "TW09", "RT11", "MD26"])
def test_the_job_plans_what_the_planner_finds(code: str, tmp_path: Path) -> None:
    plan = planned(FIRST[code], tmp_path / "0")
    permit: list[str] = []
    while more := [f.fingerprint or "" for f, why in plan.left if "--permit" in why and f.fingerprint not in permit]:
        permit += more
        plan = planned(FIRST[code], tmp_path / str(len(permit)), *permit)
    assert plan.left == ()
    assert any(code in text for step in plan.to_json()["steps"] for text in step["heals"])


def test_a_correction_that_loses_information_needs_the_permission_of_its_finding(tmp_path: Path) -> None:
    case = FIRST["RT15"]
    plan = planned(case, tmp_path / "without")
    assert plan.steps == ()
    (permitted, *_) = [finding for finding, _ in plan.left if finding.code == "RT15"]
    said = plan.to_json()["left_open"]
    assert any(f"--permit {permitted.fingerprint}" in each["why"] for each in said)
    allowed = planned(case, tmp_path / "with", permitted.fingerprint or "")
    assert allowed.left == ()
    assert [path for path, _ in allowed.copied] == [permitted.path]
    assert any("0 to 9 become 60 to 69" in lost for lost in allowed.loses)


def test_a_permission_that_no_finding_needs_is_named_and_not_asked_for_again(tmp_path: Path) -> None:
    for number, code in enumerate(["RT15", "CM07"]):
        notes = planned(FIRST[code], tmp_path / str(number), "0123456789abcdef").to_json()["notes"]
        (said,) = [note for note in notes if "0123456789abcdef" in note]
        assert said.startswith("No open finding of this table has the fingerprint")
    plan = planned(FIRST["RT15"], tmp_path / "2")
    allowed = planned(FIRST["RT15"], tmp_path / "3", *plan.needed)
    assert not any("No open finding" in note for note in allowed.to_json()["notes"])
    sound = Planning(python_session(), python_session().open_table(str(write(tmp_path / "s", plain()))), "log", ("f",))
    assert any("fingerprint f," in note for note in sound.plan().to_json()["notes"])


def test_fields_that_are_null_are_no_part_of_a_correction(tmp_path: Path) -> None:
    table = plain().append(files=5)
    nothing = {"dataChange": False, "tags": None, "clusteringProvider": None}
    files = [{**add, **nothing} for add in table.now.files.values()]
    table.commit("COMPUTE STATS", *({"add": {**add, "size": add["size"] + 1}} for add in files))
    place = write(tmp_path / "t", table)
    for add in files:
        (place / add["path"]).write_bytes(b"x" * add["size"])
    session = python_session()
    plan = Planning(session, session.open_table(str(place)), "log", ()).plan()
    assert isinstance(plan, RepairPlan)
    (correction,) = plan.corrections
    assert {change.place[-1] for change in correction.changes} == {"size"}
    assert len(correction.changes) == len(files)
    assert plan.left == ()


def test_partition_values_that_readers_see_again_are_named(tmp_path: Path) -> None:
    place = tmp_path / "t"
    write_deltalake(place, pyarrow.table({"id": [1, 2], "p": ["a b", "50%"]}), partition_by=["p"])
    first = place / "_delta_log" / f"{0:020d}.json"
    adds = [action["add"] for action in map(json.loads, first.read_text().splitlines()) if "add" in action]
    info = {"timestamp": adds[0]["modificationTime"] + 1, "operation": "WRITE", "engineInfo": "an engine"}
    damage = [{"commitInfo": info}, *({"add": {**add, "partitionValues": {}, "dataChange": False}} for add in adds)]
    first.with_name(f"{1:020d}.json").write_text("".join(f"{json.dumps(action)}\n" for action in damage))
    session = python_session()
    plan = Planning(session, session.open_table(str(place)), "log", ()).plan()
    assert isinstance(plan, RepairPlan)
    assert [step.get("sees") for step in plan.to_json()["steps"]] == [["These columns then have other values: p."]]
    assert "Readers see the same rows as before." not in plan.to_json()["notes"]


def test_a_plan_is_the_same_after_commits_that_do_not_concern_it(tmp_path: Path) -> None:
    case = FIRST["CM07"]
    table, _ = damaged(case)
    disk = OnDisk(tmp_path / "t", table)
    session = python_session()

    def plan() -> Any:
        return Planning(session, session.open_table(str(tmp_path / "t")), "log", ()).plan()

    before = plan()
    disk.others(lambda other: other.append())
    after = plan()
    assert after.state.version == before.state.version + 1
    assert after.digest == before.digest


def test_history_that_cannot_be_changed_stays_open_and_says_so(tmp_path: Path) -> None:
    plan = planned(FIRST["AC01"], tmp_path)
    ((finding, why),) = plan.left
    assert finding.code == "AC01"
    assert why == (
        "A commit that is written cannot be changed. The log cannot be repaired; update the engine that wrote the "
        "commit."
    )


@each_case
def test_each_finding_that_stays_open_has_its_reason_and_its_remedy(case: Case) -> None:
    _, outcome = outcome_of(case)
    for finding in outcome.open:
        why = why_left(finding, hindrance=outcome.hindered[identity_of(finding)])
        reason = why.removesuffix(finding.remedy or str(RULES[finding.code].remedy))
        assert reason != why
        assert reason.count(".") >= 1


def test_a_plan_names_all_permissions_that_the_whole_repair_needs(tmp_path: Path) -> None:
    for code in ("RT15", "AC12", "AC21"):
        first = planned(FIRST[code], tmp_path / code / "0")
        assert first.needed
        given = " ".join(f"--permit {each}" for each in first.needed)
        assert any(note.endswith(f": {given}") for note in first.to_json()["notes"])
        whole = planned(FIRST[code], tmp_path / code / "1", *first.needed)
        assert (whole.needed, [why for _, why in whole.left if "--permit" in why]) == ((), [])
        assert len(whole.left) < len(first.left)


def test_lost_rows_are_named_by_number_partition_and_bounds() -> None:
    schema = {
        "type": "struct",
        "fields": [{"name": n, "type": "long", "nullable": True, "metadata": {}} for n in "abp"],
    }
    metadata = {"schemaString": json.dumps(schema), "partitionColumns": ["p"], "configuration": {}}
    stats = {"numRecords": 3, "minValues": {"a": 0, "b": 1.50}, "maxValues": {"a": 9, "b": 2.25}}
    add = {"path": "p=1/x.parquet", "partitionValues": {"p": None}, "stats": json.dumps(stats)}
    assert rows_text(add, metadata) == "3 rows of p=1/x.parquet (p=NULL, a from 0 to 9, b from 1.5 to 2.25)"
    assert rows_text({"path": "x", "stats": "no JSON"}, metadata) == "all rows of x"
    many = {f"c{number}": "v" * 99 for number in range(1000)}
    wide = {"path": "x", "stats": json.dumps({"numRecords": 1, "minValues": many, "maxValues": many})}
    said = rows_text(wide, metadata)
    assert said.startswith("1 row of x (c0 from vvv")
    assert said.endswith(", bounds of 995 more columns)")
    assert len(said) < 600


def test_a_sound_table_needs_no_repair(tmp_path: Path) -> None:
    table = FIRST["AC18"].before()
    carry_on(table)
    OnDisk(tmp_path / "t", table)
    session = python_session()
    plan = Planning(session, session.open_table(str(tmp_path / "t")), "log", ()).plan()
    assert isinstance(plan, RepairPlan)
    assert (plan.steps, plan.left) == ((), ())
    assert plan.to_json()["notes"][0] == "There is nothing to repair."


def test_a_damaged_commit_is_refused_as_audits_refuse_it(tmp_path: Path) -> None:
    table = FIRST["AC18"].before()
    carry_on(table)
    disk = OnDisk(tmp_path / "t", table)
    (disk.log / f"{0:020d}.json").write_text("{")
    session = python_session()
    report = Planning(session, session.open_table(str(tmp_path / "t")), "log", ()).plan()
    assert isinstance(report, TableReport)
    assert report.verdict is Verdict.REFUSED


@pytest.mark.parametrize("name", ["00000000000000000002.crc", "00000000000000000099.json.tmp.checkpoint.parquet"])
def test_a_derived_file_is_moved_only_if_the_audit_without_it_is_better(name: str, tmp_path: Path) -> None:
    table = FIRST["AC18"].before()
    carry_on(table)
    disk = OnDisk(tmp_path / "t", table)
    (disk.log / name).write_text(json.dumps({"tableSizeBytes": 1, "numFiles": 99, "numMetadata": 1, "numProtocol": 1}))
    session = python_session()
    plan = Planning(session, session.open_table(str(tmp_path / "t")), "log", ()).plan()
    assert isinstance(plan, RepairPlan)
    assert (disk.log / name).exists()  # a plan changes nothing
    assert plan.left == ()
    if plan.steps:
        assert plan.moved == (name,)


def with_wrong_checksums(folder: Path, *versions: int) -> Planning:
    table = FIRST["AC18"].before()
    carry_on(table)
    disk = OnDisk(folder / "t", table)
    wrong = json.dumps({"tableSizeBytes": 1, "numFiles": 99, "numMetadata": 1, "numProtocol": 1})
    for version in versions:
        (disk.log / f"{version:020d}.crc").write_text(wrong)
    session = python_session()
    return Planning(session, session.open_table(str(folder / "t")), "log", ())


def test_all_wrong_checksums_are_moved_although_an_audit_names_one(tmp_path: Path) -> None:
    plan = with_wrong_checksums(tmp_path, 1, 2, 3).plan()
    assert isinstance(plan, RepairPlan)
    assert plan.left == ()
    assert plan.moved == tuple(f"{version:020d}.crc" for version in (1, 2, 3))


def test_a_derived_file_that_cannot_be_moved_stays_open_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_delta_provider.jobs.repair.planning._MOST_MOVED", 1)
    plan = with_wrong_checksums(tmp_path, 1, 2).plan()
    assert isinstance(plan, RepairPlan)
    ((finding, why),) = plan.left
    assert (finding.code, plan.steps) == ("LG08", ())
    assert why.startswith("No correction was found")


def test_values_that_somebody_changed_since_are_not_set_back() -> None:
    earlier, broken, now = {"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 2, "b": 3}
    assert [change.place for change in set_back(earlier, broken, now)] == [("a",)]


def test_a_column_is_set_back_by_its_name() -> None:
    def schema(*names: str) -> dict[str, Any]:
        fields = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in names]
        return LoggedTable({}, {"schemaString": json.dumps({"type": "struct", "fields": fields})}).values()

    back = list(set_back(schema("a", "b"), schema("b"), schema("b", "c")))
    table = LoggedTable({}, {"schemaString": json.dumps({"type": "struct", "fields": []})})
    assert [change.place[-1] for change in back] == ["a", "order of columns"]
    assert back[1].after == (["a", "b", "c"],)
    assert list(changes_between(table.values(), table.values())) == []


def test_a_copy_is_beside_its_file_unless_readers_overlook_the_folder() -> None:
    assert copy_name("p=1/part-0-abc.parquet").startswith("p=1/part-repaired-")
    assert "/" not in copy_name("_hidden/part-1.parquet")
    assert copy_name("a/x-1.parquet") != copy_name("b/x-1.parquet")


def test_every_rule_names_cures_that_exist() -> None:
    from airflow_delta_provider.domain.checks.rule import RepairMethod
    from airflow_delta_provider.domain.repair import file_corrections
    from airflow_delta_provider.domain.repair.corrections import _PROPOSALS

    assert file_corrections
    assert set(RepairMethod) - {RepairMethod.DERIVED_FILE} == set(_PROPOSALS)
    assert all(set(rule.all_repairs) <= set(RepairMethod) for rule in RULES.values())


def test_the_audit_takes_a_file_that_is_committed_again_with_right_values_as_fixed() -> None:
    table, version = damaged(FIRST["AC18"])
    wrong = next(finding for finding in audited(table.commits) if finding.code == "AC18")
    add = next(a["add"] for a in table.commits[version] if a.get("add", {}).get("path") == wrong.path)
    again = {**add, "stats": '{"numRecords":10}', "dataChange": False}
    table.commit("COMPUTE STATS", {"add": again})
    (fixed,) = [finding for finding in audited(table.commits) if finding.code == "AC18"]
    assert fixed.healed_version == table.version


def test_the_audit_still_finds_a_file_that_is_committed_again_with_wrong_values() -> None:
    table, version = damaged(FIRST["AC18"])
    wrong = next(finding for finding in audited(table.commits) if finding.code == "AC18")
    add = next(a["add"] for a in table.commits[version] if a.get("add", {}).get("path") == wrong.path)
    table.commit("COMPUTE STATS", {"add": {**add, "stats": "[]", "dataChange": False}})
    found = [finding for finding in audited(table.commits) if finding.code == "AC18"]
    assert [(finding.version, finding.healed_version) for finding in found] == [(version, None)]
