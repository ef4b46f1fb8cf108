"""Shortcuts of an audit: they take any table, none can fail the audit, and threads share them."""

from __future__ import annotations

import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from airflow_delta_provider.domain.audit import routine_audit
from airflow_delta_provider.domain.audit.fast_path import json_pattern, lines, patterns, routine_commits
from airflow_delta_provider.domain.audit.fast_path.json_pattern import LinePatterns
from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.live_files import LiveFileTracker
from airflow_delta_provider.domain.audit.restore_detection import RestoreDetector
from airflow_delta_provider.domain.audit.row_tracking import RowTrackingAudit
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.report.report import JobReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.audit.derived_files import CheckpointAudit
from airflow_delta_provider.jobs.delta.session import DeltaSession, python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from tests.unit.audits_in_parts import Kept, content_of
from tests.unit.damages.edits import added, extra
from tests.unit.damages.histories import tracked_vectors
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Action, Table
from tests.unit.states import field

TYPES = ("long", "double", "string")
#: Tags that Databricks gives to files.
TAGS = {
    "INSERTION_TIME": "1790000000000000",
    "MIN_INSERTION_TIME": "1790000000000000",
    "MAX_INSERTION_TIME": "1790000000000000",
    "OPTIMIZE_TARGET_SIZE": "268435456",
    "ZCUBE_ZORDER_BY": '["c0"]',
}


def audit(*tables: Path, session: DeltaSession | None = None, say: Callable[[str], None] = print) -> JobReport:
    return run(JobRequest(tuple(map(str, tables)), AuditOptions()), session or python_session(), say)


def found(report: JobReport) -> list[Any]:
    return [[finding.to_json() for finding in table.findings] for table in report.tables]


@pytest.fixture(autouse=True)
def knows_nothing() -> Iterator[None]:
    """Let no test know what another has learned."""
    lines._patterns_of.cache_clear()
    yield
    lines._patterns_of.cache_clear()


def plainly(table: Path) -> list[Any]:
    """What an audit finds that parses all lines, and judges all commits one by one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines.TablePatterns, "learn", lambda *_: None)
        patch.setattr(HistoryAudit, "take_routine", lambda *_: iter(()))
        return found(audit(table))


# -- tables of any width -------------------------------------------------------------------------------


def wide_add(columns: int, number: int) -> Action:
    """A file of seven rows, as Databricks describes it."""
    bounds = [
        {
            f"c{place}": [number + upper, number + upper + 0.5, f"v{upper}{number}"][place % 3]
            for place in range(columns)
        }
        for upper in (0, 1)
    ]
    nulls = {f"c{place}": 0 for place in range(columns)}
    stats = {"numRecords": 7, "minValues": bounds[0], "maxValues": bounds[1], "nullCount": nulls}
    return {
        "add": {
            "path": f"part-{number}.parquet",
            "partitionValues": {},
            "size": 1000 + number,
            "modificationTime": 1_790_000_000_000,
            "dataChange": True,
            "stats": json.dumps(stats, separators=(",", ":")),
            "tags": {**TAGS, "INSERTION_TIME": str(1_790_000_000_000_000 + number)},
        }
    }


def wide_table(folder: Path, columns: int, appends: int) -> Path:
    """A table of many columns; its last file has more nulls in its last column than rows."""
    fields = [field(f"c{place}", TYPES[place % 3]) for place in range(columns)]
    table = Table(*fields)
    for number in range(appends):
        add = wide_add(columns, number)
        if number == appends - 1:
            stats = json.loads(add["add"]["stats"])
            stats["nullCount"][f"c{columns - 1}"] = 8
            add["add"]["stats"] = json.dumps(stats, separators=(",", ":"))
        table.commit("WRITE", add)
    OnDisk(folder, table)
    return folder


@pytest.mark.parametrize("columns", [1, 32, 60, 200, 2000])
def test_table_of_many_columns_is_judged_as_without_shortcuts(tmp_path: Path, columns: int) -> None:
    table, said = wide_table(tmp_path / "t", columns, lines.FEW + 6), list[str]()
    report = audit(table, say=said.append)
    assert report.verdict is not Verdict.FAULT
    assert len(report.tables[0].findings) == 1
    assert found(report) == plainly(table)
    assert not any("shortcut" in line for line in said)


@pytest.mark.parametrize("columns", [1, 32, 200])
def test_lines_of_wide_tables_are_known(columns: int) -> None:
    table = Table(*(field(f"c{place}", TYPES[place % 3]) for place in range(columns)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "FEW", 0)
        judged = HistoryAudit(Replay(with_files=True))
        for version, actions in enumerate([*table.commits, *([wide_add(columns, each)] for each in range(3))]):
            read = judged.read(str(version), content_of(actions))
            judged.take(version, read)
        assert isinstance(read, lines.CommitLines)
        assert not read.unmatched


def test_pattern_of_very_many_values_is_not_made() -> None:
    document = json.dumps({f"c{place}": place for place in range(json_pattern.MOST_OPEN + 1)})
    with pytest.raises(json_pattern.NoPatternError):
        json_pattern.JsonPattern(document, lambda keys, _: json_pattern.Open.NATURAL if keys else None)


def seconds_to_match(kind: type, values: int) -> float:
    """The least time that it took to match a line with so many numbers."""
    form = json_pattern.Open.NUMBER if kind is float else json_pattern.Open.INTEGER
    line = json.dumps({f"c{place}": kind(place) for place in range(values)})
    match = LinePatterns([json_pattern.JsonPattern(line, lambda keys, _: form if keys else None)]).rows
    assert match(f"{line}\n")[0][0] == line.split(":")[1].split(",")[0].strip()
    times = []
    for _ in range(7):
        started = time.process_time()
        match(f"{line}\n" * 10)
        times.append(time.process_time() - started)
    return min(times)


def test_fractions_do_not_take_the_longer_the_more_values_precede_them() -> None:
    """The regular expression engine copies all values found so far for each repetition of a group."""
    values = json_pattern.MOST_OPEN
    assert seconds_to_match(float, values) < 8 * seconds_to_match(int, values)


# -- errors within shortcuts ---------------------------------------------------------------------------


def history(folder: Path) -> Path:
    """Most of what shortcuts are about, with damage before it, among it and after it."""
    table = tracked_vectors().append()
    added(dataChange="true")(table.append().commits[-1])
    for batch in range(6):
        table.commit("STREAMING UPDATE", *table._written([3, 4]), {"txn": {"appId": "a", "version": batch}})
    for _ in range(6):
        table.append()
    for path in table.paths[:6]:
        table.mark_deleted(path)
    for path in table.paths[6:12]:
        table.update(path)
    extra({"sidecar": {"path": "s.parquet"}})(table.append().commits[-1])
    for _ in range(4):
        table.append()
    stats: dict[str, str] = {}
    for actions in table.commits:
        stats |= {action["add"]["path"]: action["add"]["stats"] for action in actions if "add" in action}
        for action in actions:
            if "remove" in action:
                action["remove"]["stats"] = stats[action["remove"]["path"]]
    OnDisk(folder, table)
    kept = Kept(table.commits)
    for version in (9, table.version - 1):
        name = kept.checkpoint(table, version)
        (folder / "_delta_log" / name).write_bytes(kept.files[name])
    return folder


#: Where shortcuts begin that are written elsewhere.
ELSEWHERE = [
    (HistoryAudit, "take_routine"),
    (LiveFileTracker, "take_routine"),
    (LiveFileTracker, "may_be_live"),
    (RowTrackingAudit, "take_routine"),
    (RestoreDetector, "change_files"),
    (Replay, "change_files"),
    (CheckpointAudit, "take_routine"),
]
#: What nothing in a history without surprises calls.
UNUSED = {"InfoPattern.timestamp"}


def functions(owner: Any, module: ModuleType) -> Iterator[tuple[Any, str]]:
    for name, value in vars(owner).items():
        inner = value.fget if isinstance(value, property) else getattr(value, "func", value)
        inner = getattr(inner, "__wrapped__", inner)
        if isinstance(inner, FunctionType) and inner.__module__ == module.__name__:
            yield owner, name
        elif inspect.isclass(value) and value.__module__ == module.__name__ and owner is module:
            yield from functions(value, module)


def entries() -> list[tuple[Any, str]]:
    """Every function of the shortcuts, with the class or the module that has it."""
    modules = (routine_commits, patterns, lines, json_pattern, routine_audit)
    found = [entry for module in modules for entry in functions(module, module)]
    shortcuts = [entry for entry in found if entry[0] is not routine_audit.PartialReplay]  # the checks use it, too
    return [entry for entry in (*shortcuts, *ELSEWHERE) if not entry[1].startswith("__")]


def label(entry: Any) -> str:
    owner, name = entry
    return f"{owner.__name__.rpartition('.')[2]}.{name}"


class Failing:
    """Replaces a function by one that fails from its n-th call on."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: Any, name: str, after: int, error: Exception) -> None:
        self.failed = 0
        self._left = after
        whole = vars(owner)[name]

        def failing(call: Callable[..., Any]) -> Callable[..., Any]:
            def called(*arguments: Any, **named: Any) -> Any:
                self._left -= 1
                if self._left < 0:
                    self.failed += 1
                    raise error
                return call(*arguments, **named)

            return called

        if isinstance(whole, property):
            patch.setattr(owner, name, property(failing(whole.fget)))
        elif hasattr(whole, "attrname"):  # a cached property
            patch.setattr(owner, name, property(failing(whole.func)))
        elif inspect.isclass(owner):
            patch.setattr(owner, name, failing(whole))
        else:
            for module in [each for key, each in sys.modules.items() if key.startswith("airflow_delta_provider")]:
                if vars(module).get(name) is whole:
                    patch.setattr(module, name, failing(whole))


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    table = history(tmp_path_factory.mktemp("shortcuts") / "t")
    expected = plainly(table)
    assert {finding["code"] for finding in expected[0]} == {"AC16", "AC17"}
    return table, expected


@pytest.mark.parametrize("entry", entries(), ids=label)
def test_error_in_a_shortcut_changes_no_finding(
    entry: tuple[Any, str], audited: tuple[Path, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    table, expected = audited
    monkeypatch.setattr(lines, "FEW", 0)
    for after, error in enumerate([RecursionError("too deep"), IndexError("out of range"), MemoryError()]):
        lines._patterns_of.cache_clear()
        with monkeypatch.context() as patch:
            failing = Failing(patch, *entry, after, error)
            report = audit(table)
        assert failing.failed or after or label(entry) in UNUSED
        assert found(report) == expected


# -- threads -------------------------------------------------------------------------------------------


class Elsewhere(LocalStorage):
    """Files that are taken to be far away, so that several tables are audited at once."""

    def is_local(self, location: str) -> bool:
        return False


def test_alike_tables_are_audited_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "FEW", 0)
    table = tracked_vectors()
    for number in range(60):
        table.append(1 + number % 2)
        if number % 5 == 4:
            table.mark_deleted(table.paths[-1])
    tables = [tmp_path / f"t{number}" for number in range(8)]
    for each in tables:
        OnDisk(each, table)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    said = list[str]()
    try:
        for _ in range(3):
            lines._patterns_of.cache_clear()
            report = audit(*tables, session=DeltaSession(Elsewhere()), say=said.append)
            assert [each.verdict for each in report.tables] == [Verdict.PASS] * 8
    finally:
        sys.setswitchinterval(interval)
    assert not any("shortcut" in line for line in said)


def test_lines_are_read_right_while_another_table_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[Callable[[], object]] = []

    class Interrupted(LinePatterns):
        """Lets others go on when lines are matched."""

        def __init__(self, patterns: Sequence[json_pattern.JsonPattern]) -> None:
            super().__init__(patterns)
            match = self.rows

            def rows(text: str) -> list[tuple[str, ...]]:
                matched = match(text)
                while waiting:
                    waiting.pop()()
                return matched

            self.rows = rows

    monkeypatch.setattr(lines, "FEW", 0)
    monkeypatch.setattr(lines, "LinePatterns", Interrupted)
    table = Table(field("id", "long")).append().append()
    add = table.commits[-1][-1]["add"]
    others = [[{"add": {**add, "path": f"another-{key}", "tags": {key: "x"}}}] for key in "ab"]

    def begun(*more: list[Action]) -> HistoryAudit:
        judged = HistoryAudit(Replay(with_files=True))
        for version, actions in enumerate([*table.commits, *more]):
            judged.take(version, judged.read(str(version), content_of(actions)))
        return judged

    reading, version = begun(), table.version + 1
    waiting.append(lambda: begun(*others))
    actions = table.append().commits[-1]
    read = reading._fast_path.read(str(version), content_of(actions), reading.state())
    assert not waiting
    assert list(read) == actions
    assert isinstance(read, lines.CommitLines)
    assert len(read.unmatched) == 1  # the commitInfo
