"""Commits that do what others did are judged together: the findings are those of commits that are judged one by one."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.audit.fast_path import lines as known_lines
from airflow_delta_provider.domain.audit.fast_path.routine_commits import RoutineCommit
from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.delta.derived_files import checksum_name
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.report.report import Finding
from tests.unit.audit.test_audit_history import damaged, each_case
from tests.unit.audit.test_audit_log_files import OF_CHECKSUM, checksum
from tests.unit.audit.test_audit_matched_lines import sound
from tests.unit.audit.test_audit_random import OPERATIONS, Model, append, mark_deleted, update
from tests.unit.audits_in_parts import Kept, content_of, told
from tests.unit.checkpoint_builder import as_parquet, classic_name, reconciled
from tests.unit.damages.case import Case
from tests.unit.damages.histories import (
    append_only,
    fed,
    mapped,
    partitioned,
    plain,
    timed,
    tracked,
    tracked_vectors,
    vectors_off,
    with_vectors,
)
from tests.unit.log_builder import ENGINE, Actions, History, Table
from tests.unit.states import field

#: Commits that are looked at together.
WIDTH = 3


@pytest.fixture(autouse=True)
def learns_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_lines, "FEW", 0)


def judged(commits: Sequence[Actions]) -> tuple[HistoryAudit, int]:
    """Judge a history, commits together where that can be; return the audit, and how many were."""
    contents = [content_of(actions) for actions in commits]
    audit, together = HistoryAudit(Replay(with_files=True), log=History(commits)), 0
    while (version := audit.version + 1) < len(commits):
        if taken := len(list(audit.take_routine(contents[version : version + WIDTH]))):
            together += taken
        else:
            audit.take(version, audit.read(f"{version}", contents[version]))
    return audit, together


def compared(commits: Sequence[Actions]) -> int:
    """Compare a history with the same one, judged one by one; return how many commits were judged together."""
    audit, together = judged(commits)
    alone = HistoryAudit(Replay(with_files=True), log=History(commits))
    for version, actions in enumerate(commits):
        alone.take(version, actions)
    assert audit.findings() == alone.findings()
    assert audit.facts() == alone.facts()
    assert audit.commit_info == alone.commit_info
    if alone.is_readable:
        assert audit.state() == alone.state()
        assert audit.live_counts((0, 100)) is not None
        assert vars(audit.live_counts((0, 100))) == vars(alone.live_counts((0, 100)))
    return together


def of_one_engine(commits: Sequence[Actions]) -> list[Actions]:
    """A history in which no commit says that another engine wrote it."""
    alike = copy.deepcopy(list(commits))
    for actions in alike:
        for action in actions:
            if isinstance(info := action.get("commitInfo"), dict) and "engineInfo" in info:
                info["engineInfo"] = ENGINE
    return alike


@each_case
def test_damage_is_found_in_commits_like_those_before_them(case: Case) -> None:
    compared(of_one_engine(sound(case).commits))
    compared(of_one_engine(damaged(case)[0].commits))


STARTS: dict[str, Callable[[], Table]] = {
    "plain": plain,
    "partitioned": partitioned,
    "timed": timed,
    "mapped": mapped,
    "tracked": tracked,
    "vectors": with_vectors,
    "tracked, vectors": tracked_vectors,
    "vectors that were enabled once": vectors_off,
    "change data feed": fed,
    "append only": append_only,
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_appends_are_judged_together(start: Callable[[], Table]) -> None:
    table = start()
    for _ in range(9):
        table.append(2)
    assert compared(table.commits) >= 8


def test_deletions_by_vectors_are_judged_together() -> None:
    table = with_vectors()
    for path in table.append(9).paths:
        table.mark_deleted(path)
        table.mark_deleted(path).append()
    assert compared(table.commits) > 20


@pytest.mark.parametrize(
    "start", [start for name, start in STARTS.items() if name not in ("change data feed", "append only")]
)
def test_rewrites_are_judged_together(start: Callable[[], Table]) -> None:
    table = start().append(8)
    for path in table.paths[:6]:
        table.update(path)
    table.append()
    for path in table.paths[-4:]:
        table.update(path)
    assert compared(table.commits) >= 8


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_rewrites_are_judged_one_by_one_where_they_break_a_rule(start: Callable[[], Table]) -> None:
    table = start().append(8)
    for path in table.paths[:6]:
        table.update(path)
    compared(table.commits)


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("back", [0, 2])
def test_file_that_a_rewrite_brings_back_is_looked_at(start: Callable[[], Table], back: int) -> None:
    table = start().append(9)
    first = table.paths[0]
    for path in table.paths[:6]:
        table.update(path)
    commits = copy.deepcopy(table.commits)
    add = next(action["add"] for action in commits[-1] if "add" in action)
    other = [action["remove"]["path"] for actions in commits for action in actions if "remove" in action][back]
    add["path"] = first if back == 0 else other
    compared(commits)


@pytest.mark.parametrize("name", ["twice", "not live", "all", "other ids", "no data change"])
@pytest.mark.parametrize("start", [plain, tracked, mapped], ids=["plain", "tracked", "mapped"])
def test_odd_removal_by_a_rewrite_is_found(start: Callable[[], Table], name: str) -> None:
    table = start().append(9)
    for path in table.paths[:6]:
        table.update(path)
    commits = copy.deepcopy(table.commits)
    remove = next(action["remove"] for action in commits[-1] if "remove" in action)
    if name == "twice":
        commits[-1].append({"remove": dict(remove)})
    elif name == "not live":
        remove["path"] = "part-of-nothing"
    elif name == "all":
        commits[-1] += [{"remove": {**remove, "path": path}} for path in table.paths[:-1]]
    elif name == "other ids":
        remove |= {"baseRowId": 7, "defaultRowCommitVersion": 1}
    else:
        remove["dataChange"] = False
    compared(commits)


def test_file_that_was_wrong_is_no_longer_once_a_rewrite_removes_it() -> None:
    table = plain().append(9)
    for path in table.paths[:5]:
        table.update(path)
    commits = copy.deepcopy(table.commits)
    wrong = next(action["add"] for action in commits[-1] if "add" in action)
    wrong["size"] = -1
    later = Table.of(table.commits)
    for path in later.paths[1:4]:
        later.update(path)
    later.update(wrong["path"])
    for path in later.paths[:2]:
        later.update(path)
    commits += later.commits[len(commits) :]
    audit, _ = judged(commits)
    assert [finding.is_open for finding in audit.findings()] == [False]
    compared(commits)


def test_file_that_comes_back_without_its_vector_is_live_twice() -> None:
    table = with_vectors().append(9)
    for path in table.paths[:6]:
        table.mark_deleted(path)
    vectors = {action["add"]["path"]: action["add"] for action in table.commits[-1] if "add" in action}
    ((_, add),) = vectors.items()
    again = {key: value for key, value in add.items() if key != "deletionVector"}
    table.commit("WRITE", {"add": again})
    audit, together = judged(table.commits)
    (finding,) = audit.findings()
    assert (together > 2, finding.code) == (True, "LG04")
    assert finding.message.startswith(
        f"The commit adds {add['path']} without a deletion vector while the file is live with one."
    )
    compared(table.commits)


# -- histories of usual commits, of which one is changed ---------------------------------------------

#: Changes a line of a commit; given a number to choose by, and the paths that the history names.
Change = Callable[[Any, int, list[str]], Any]


def _put(*keys: str) -> Callable[[Any], Change]:
    def to(value: Any) -> Change:
        def change(body: Any, number: int, paths: list[str]) -> Any:
            inner = body
            for key in keys[:-1]:
                if not isinstance(inner.get(key), dict):
                    return body
                inner = inner[key]
            inner[keys[-1]] = value(inner.get(keys[-1]), number, paths) if callable(value) else value
            return body

        return change

    return to


def _near(value: Any, number: int, _: list[str]) -> Any:
    return value + number - 2 if isinstance(value, int) else number


def _offset(value: Any, number: int, paths: list[str]) -> Any:
    return abs(_near(value, number, paths))  # an action with a negative one is malformed


def _stats(body: Any, number: int, _: list[str]) -> Any:
    stats = json.loads(body.get("stats") or "{}")
    stats["numRecords"] = number * 5
    return {**body, "stats": json.dumps(stats)}


CHANGES: dict[str, list[Change]] = {
    "add": [
        _put("path")(lambda _, number, paths: paths[number % len(paths)]),
        _put("path")(lambda path, number, _: [f"./{path}", f"_x/{path}", f"p=1/{path}", f"%70{path[1:]}"][number % 4]),
        *(_put(name)(_near) for name in ("size", "baseRowId", "defaultRowCommitVersion")),
        _put("dataChange")(value=False),
        _put("deletionVector", "cardinality")(lambda _, number, __: number * 4),
        _put("deletionVector", "offset")(_offset),
        _put("deletionVector")(None),
        _stats,
        lambda body, _, __: {key: value for key, value in body.items() if key != "stats"},
    ],
    "remove": [
        _put("path")(lambda _, number, paths: paths[number % len(paths)]),
        *(_put(name)(_near) for name in ("baseRowId", "defaultRowCommitVersion")),
        _put("dataChange")(value=False),
        _put("deletionVector")(None),
        _put("deletionVector", "offset")(_offset),
    ],
    "commitInfo": [
        _put("inCommitTimestamp")(lambda value, number, _: (value or 1_790_000_000_000) - 3000 * number),
        _put("operation")(lambda _, number, __: ["OPTIMIZE", "UPDATE", "RESTORE", "WRITE"][number % 4]),
        _put("txnId")(""),
        _put("operationParameters")({"mode": "Overwrite"}),
    ],
    "domainMetadata": [
        _put("configuration")(lambda _, number, __: json.dumps({"rowIdHighWaterMark": 13 * number})),
        _put("removed")(value=True),
    ],
}


@st.composite
def changed(draw: st.DrawFn) -> list[Actions]:
    table = STARTS[draw(st.sampled_from(sorted(STARTS)))]()
    model = Model(table)
    usual = st.sampled_from([append, append, mark_deleted, mark_deleted, update, update, update, *OPERATIONS])
    for operation, number in draw(st.lists(st.tuples(usual, st.integers(0, 20)), min_size=4, max_size=9)):
        operation(model, number)
        model.restorable.append(table.version)
    table.append().append()
    commits = copy.deepcopy(table.commits)
    named = [action[kind]["path"] for actions in commits for action in actions for kind in ("add",) if kind in action]
    for _ in range(draw(st.integers(0, 2))):
        actions = commits[draw(st.integers(1, len(commits) - 1))]
        place, number = draw(st.integers(0, len(actions) - 1)), draw(st.integers(0, 6))
        how = draw(st.sampled_from(["change", "change", "change", "drop", "twice", "move"]))
        action = actions[place]
        if how == "change":
            (kind,) = action
            if kind in CHANGES:
                action[kind] = draw(st.sampled_from(CHANGES[kind]))(action[kind], number, named)
        elif how == "drop" and len(actions) > 1:
            del actions[place]
        elif how == "twice":
            actions.append(copy.deepcopy(action))
        else:
            actions.insert(number % len(actions), actions.pop(place))
    return commits


@settings(max_examples=400)
@given(changed())
def test_history_of_usual_commits_of_which_one_is_changed(commits: list[Actions]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_lines, "FEW", 0)
        compared(commits)


@pytest.mark.soak
@settings(max_examples=20_000)
@given(changed())
def test_many_histories_of_usual_commits_of_which_one_is_changed(commits: list[Actions]) -> None:
    test_history_of_usual_commits_of_which_one_is_changed.hypothesis.inner_test(commits)  # type: ignore[attr-defined]  # as hypothesis keeps it


def test_second_vector_of_a_file_is_found_after_the_first_was_judged_with_others() -> None:
    """The first vector is known from commits that are judged together: a second one leaves the file live twice."""
    table = with_vectors()
    for path in table.paths * 2:
        table.mark_deleted(path)
    commits = table.commits
    first = next(version for version, actions in enumerate(commits) if any("remove" in action for action in actions))
    del commits[-1][next(place for place, action in enumerate(commits[-1]) if "remove" in action)]

    for _ in range(3):  # until the forms of its lines are known
        compared(commits)
    audit, together = judged(commits)

    assert together > len(commits) - first - 2
    assert [(finding.code, finding.version) for finding in audit.findings()] == [("LG04", len(commits) - 1)]


# -- what is compared with commits that are judged together -------------------------------------------


def streamed() -> Table:
    """Appends of a stream, after which rows are deleted by vectors."""
    table = Table(field("id", "long"), features=["deletionVectors"], properties={"delta.enableDeletionVectors": "true"})
    for batch in range(12):
        transactions = [{"txn": {"appId": name, "version": batch, "lastUpdated": 1_790_000_000_000}} for name in "ab"]
        table.commit("STREAMING UPDATE", *table._written([3, 4]), *transactions[: 1 + (batch < 2)])
    for path in table.paths[:4]:
        table.mark_deleted(path)
    return table


def both_ways(storage: Kept, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Finding], int]:
    """Audit a log, commits together and one by one; return what is found, and how many were judged together."""
    taken: list[RoutineCommit] = []
    take_routine = HistoryAudit.take_routine

    def counted(audit: HistoryAudit, contents: Sequence[bytes]) -> Iterator[RoutineCommit]:
        for commit in take_routine(audit, contents):
            taken.append(commit)
            yield commit

    monkeypatch.setattr(HistoryAudit, "take_routine", counted)
    findings, memory, _ = told(storage)
    monkeypatch.setattr(HistoryAudit, "take_routine", lambda *_: iter(()))
    alone, remembered, _ = told(storage)
    assert findings == alone
    assert memory == remembered
    return findings, len(taken)


@pytest.mark.parametrize("lists_files", [False, True])
@pytest.mark.parametrize("name", OF_CHECKSUM)
@pytest.mark.parametrize("version", [8, 15])
def test_checksum_files_of_commits_that_are_judged_together(
    name: str, version: int, lists_files: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = streamed()
    storage = Kept(table.commits)
    for each in range(table.version + 1):
        wire = checksum(table, each)
        wire |= OF_CHECKSUM[name](wire) if each == version and (wire["domainMetadata"] or "domain" not in name) else {}
        if not lists_files and not name.startswith("file"):
            del wire["allFiles"]
        storage.files[checksum_name(each)] = json.dumps(wire, separators=(",", ":")).encode()
    findings, together = both_ways(storage, monkeypatch)
    assert lists_files or name.startswith("file") or together > 5
    assert all(finding.code == "LG08" for finding in findings)


@pytest.mark.parametrize("every", [1, 4, 7])
def test_checkpoints_of_commits_that_are_judged_together(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = streamed()
    storage = Kept(table.commits)
    for version in range(every, table.version + 1, every):
        storage.files[classic_name(version)] = as_parquet(reconciled(table.commits[: version + 1]))
    findings, together = both_ways(storage, monkeypatch)
    assert findings == []
    assert together > 5 or every == 1
    lost = reconciled(table.commits[: table.version])  # a commit is missing in it
    storage.files[classic_name(table.version)] = as_parquet(lost)
    findings, _ = both_ways(storage, monkeypatch)
    assert [finding.code for finding in findings] == ["LG07"]
