"""Checks declare the fields that they read: a check that a pattern cannot stand for is not skipped."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from airflow_delta_provider.domain.audit.fast_path import lines as known_lines
from airflow_delta_provider.domain.audit.fast_path.open_fields import is_within, open_fields
from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.checks.check import (
    Fields,
    on_action,
    on_commit,
    on_demand,
    on_file,
    on_tracked,
    on_transition,
)
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import RuleFamily, Scope
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.table_state import Replay, Transition
from airflow_delta_provider.domain.report.report import Finding
from tests.unit.audit.test_audit_history import damaged
from tests.unit.audit.test_audit_matched_lines import sound
from tests.unit.audit.test_audit_routine_commits import compared, judged
from tests.unit.damages import CASES
from tests.unit.damages.histories import exact, partitioned, plain
from tests.unit.log_builder import Action, Actions, History, Table
from tests.unit.recorded_reads import Reads

SKIPPED = (on_action, on_file, on_commit, on_transition, on_tracked)
ODD = RuleFamily("ZZ", "odd", "A rule of a test.").of(Scope.COMMIT).warning(1, "odd", name="odd-value-of-a-test")


@pytest.fixture(autouse=True)
def learns_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_lines, "FEW", 0)


# -- declarations --------------------------------------------------------------------------------------


def test_checks_declare_the_fields_that_they_read(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = Reads(monkeypatch, *SKIPPED)
    for case in CASES:
        for table in (damaged(case)[0], sound(case)):
            audit = HistoryAudit(Replay(with_files=True), log=History(table.commits), shortcuts=False)
            for version, actions in enumerate(table.commits):
                audit.take(version, actions)
    missing = {
        f"{check.check.__name__} of {check.rules[0].code}": undeclared
        for check, fields in reads.fields.items()
        if check.reads is not None
        if (undeclared := sorted(field for field in fields if not declares(check.reads, field)))
    }
    assert missing == {}, "reads=(…) of these checks lacks fields"
    assert sum(map(len, reads.fields.values())) > 150


def declares(reads: Fields, field: str) -> bool:
    """Return True if a declaration covers a field, or for a kind of action any field of it."""
    return any(is_within(field, name) or is_within(name, field) for name in reads)


def test_no_check_of_today_keeps_patterns_from_leaving_fields_open() -> None:
    """A check that fails this test makes audits several times slower: declare its fields, or add a counterpart."""
    fields = open_fields()
    assert fields.commits
    assert {"add.path", "remove.path", "add.stats", "txn.version"} <= fields.in_lines
    assert {"commitInfo.timestamp", "commitInfo.operationParameters"} <= fields.in_info


def test_checks_of_commits_are_registered_where_the_fast_path_sees_them() -> None:
    """A check that an audit calls for each commit is ``on_file`` or ``on_tracked``, not ``on_demand``."""
    of_commits = {rule for rule in on_demand.rules if rule.scope in (Scope.COMMIT, Scope.PAIR)}
    assert {rule.code for rule in of_commits} == {"LG09"}  # commits that cannot be read
    assert of_commits <= set(RULES.values())


def test_fields_that_are_one_string_are_refused() -> None:
    with pytest.raises(TypeError, match=r"reads=\('cdc',\)"):
        on_commit(ODD, reads="cdc")(_odd_path)


# -- rules that are new --------------------------------------------------------------------------------


def _odd_path(commit: Commit) -> Iterator[Finding]:
    yield from (ODD.found("Odd: {path}.", path=file.path) for file in commit.adds if "odd" in file.path)


def _odd_action(action: Action) -> Iterator[Finding]:
    if "odd" in action.get("add", {}).get("path", ""):
        yield ODD.found("Odd: {path}.", path=action["add"]["path"])


def _odd_transition(transition: Transition) -> Iterator[Finding]:
    return _odd_path(transition.commit)


def _odd_note(commit: Commit) -> Iterator[Finding]:
    if commit.info.get("userMetadata") == "odd":
        yield ODD.found("Odd.")


def _odd_tags(action: Action) -> Iterator[Finding]:
    if action.get("add", {}).get("tags") == {"a": "odd"}:
        yield ODD.found("Odd: {path}.", path=action["add"]["path"])


def _path(actions: Actions, *, is_odd: bool) -> None:
    if is_odd:
        actions[1]["add"]["path"] += ".odd"


def _note(actions: Actions, *, is_odd: bool) -> None:
    actions[0]["commitInfo"]["userMetadata"] = "odd" if is_odd else "plain"


def _tags(actions: Actions, *, is_odd: bool) -> None:
    actions[1]["add"]["tags"] = {"a": "odd" if is_odd else "plain"}


@pytest.mark.parametrize(
    ("registry", "check", "reads", "change", "together"),
    [
        (on_action, _odd_action, None, _path, False),
        (on_action, _odd_action, ("add.path",), _path, False),
        (on_action, _odd_tags, ("add.tags",), _tags, True),
        (on_commit, _odd_path, None, _path, False),
        (on_commit, _odd_path, ("add.path",), _path, False),
        (on_commit, _odd_note, ("commitInfo.userMetadata",), _note, True),
        (on_transition, _odd_transition, None, _path, False),
        (on_transition, _odd_transition, ("add",), _path, False),
    ],
)
def test_rule_that_patterns_do_not_stand_for_is_found(
    registry: Any,
    check: Callable[..., Iterator[Finding]],
    reads: Fields | None,
    change: Callable[..., None],
    together: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Commits of a pattern stay one if their values are those of earlier ones, and the field can be fixed."""
    table = plain()
    for _ in range(9):
        table.append()
    for actions in table.commits[3:]:
        change(actions, is_odd=False)
    commits = copy.deepcopy(table.commits)
    change(commits[-2], is_odd=True)
    assert compared(commits) > 5
    with monkeypatch.context() as patch:
        for each in SKIPPED:
            patch.setattr(each, "declared", [*each.declared])
        registry(ODD, reads=reads)(check)
        audit, routine = judged(commits)
        assert [(finding.code, finding.version) for finding in audit.findings()] == [("ZZ01", len(commits) - 2)]
        compared(commits)
    assert (routine > 3) == together


# -- commits that no pattern stands for ----------------------------------------------------------------


def _of_partition(table: Table, value: str) -> Action:
    (add,) = table._written([10])
    add["add"]["partitionValues"] = {"p": value}
    return add


@pytest.mark.parametrize("rewrites_line", [False, True])
def test_overwrite_of_another_partition_than_its_predicate_names_is_found(rewrites_line: bool) -> None:
    table = partitioned()
    for value in "12" * 6:
        table.commit("WRITE", _of_partition(table, value), mode="Overwrite", predicate=f'["(p = {value})"]')
    commits = copy.deepcopy(table.commits)
    if rewrites_line:
        commits[-2][1]["add"]["partitionValues"] = {"p": "2"}
    else:
        commits[-2][0]["commitInfo"]["operationParameters"]["predicate"] = '["(p = 2)"]'
    compared(table.commits)
    compared(commits)
    assert [finding.code for finding in judged(commits)[0].findings()] == ["AC28"]


def test_appends_become_no_overwrites() -> None:
    table = partitioned()
    for _ in range(6):
        table.commit("WRITE", _of_partition(table, "1"), mode="Append", predicate='["(p = 2)"]')
    assert compared(table.commits) > 3
    table.commit("WRITE", _of_partition(table, "1"), mode="Overwrite", predicate='["(p = 2)"]')
    compared(table.commits)
    assert [finding.code for finding in judged(table.commits)[0].findings()] == ["AC28"]


def test_values_past_the_mark_of_an_identity_column_are_found_in_rewrites() -> None:
    table = exact().append(20)
    for path in table.paths[:14]:
        table.update(path)
    commits = copy.deepcopy(table.commits)
    for number, actions in enumerate(commits[3:], start=4):
        add = next(action["add"] for action in actions if "add" in action)
        most = 25 if number == len(commits) - 1 else 19
        bounds = {"minValues": {"number": 1}, "maxValues": {"number": most}, "nullCount": {"number": 0}}
        add["stats"] = json.dumps({**json.loads(add["stats"]), **bounds})
    compared(commits)
    assert [finding.code for finding in judged(commits)[0].findings()] == ["MD35"]
