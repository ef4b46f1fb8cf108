"""Commits that are read as lines known to be right: the findings are those of commits that are parsed and judged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.audit.fast_path import lines as known_lines
from airflow_delta_provider.domain.audit.fast_path.lines import CommitLines
from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.delta.commit import Commit, parse_commit, read_actions
from airflow_delta_provider.domain.delta.data_type import PrimitiveType
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_state import Replay, Transition
from airflow_delta_provider.domain.report.report import Finding
from tests.unit.audit.test_audit_history import damaged, each_case
from tests.unit.audits_in_parts import content_of
from tests.unit.damages.case import Case
from tests.unit.log_builder import Actions, History, Table, audited
from tests.unit.states import field, struct


@pytest.fixture(autouse=True)
def learns_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_lines, "FEW", 0)


def read(commits: Sequence[Actions]) -> tuple[list[Finding], int]:
    """Judge a history that is read line by line; return the findings, and how many lines were known."""
    audit, known = HistoryAudit(Replay(with_files=True), log=History(commits)), 0
    for version, actions in enumerate(commits):
        lines = audit.read(f"{version}", content_of(actions))
        if isinstance(lines, CommitLines):
            known += len(lines) - len(lines.unmatched)
            assert list(lines) == actions
        audit.take(version, lines)
    return audit.findings(), known


def sound(case: Case) -> Table:
    """The history of a case without its damage."""
    table = case.before()
    case.step(table)
    return table.append().append()


@each_case
def test_damage_is_found_in_lines_like_those_before_it(case: Case) -> None:
    table, _ = damaged(case)
    parsed = audited(table.commits)
    assert read(table.commits)[0] == parsed
    read(sound(case).commits)
    assert read(table.commits)[0] == parsed


VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 1,
    "sizeInBytes": 40,
    "cardinality": 6,
}
STATS = {
    "numRecords": 7,
    "tightBounds": True,
    "minValues": {
        "k": -3,
        "d": "2026-01-01",
        "v": 0.5,
        "s": "a",
        "t": "2026-01-01T00:00:00.000Z",
        "b": False,
        "i": 1,
        "n": {"x": 1},
    },
    "maxValues": {
        "k": 30,
        "d": "2026-01-31",
        "v": 12.0,
        "s": "b",
        "t": "2026-01-02T00:00:00.000Z",
        "b": True,
        "i": 9,
        "n": {"x": 2},
    },
    "nullCount": {"k": 0, "d": 1, "v": 6, "s": 0, "t": 0, "b": 0, "i": 0, "n": {"x": 1}},
}
TYPES = {"k": "long", "d": "date", "v": "double", "s": "string", "t": "timestamp", "b": "boolean", "i": "byte"}
ADD = {
    "path": "p=1/part-0.parquet",
    "partitionValues": {"p": "1"},
    "size": 10,
    "modificationTime": 1_790_000_000_000,
    "dataChange": True,
    "stats": json.dumps(STATS, separators=(",", ":")),
    "tags": {"a": "b"},
    "deletionVector": VECTOR,
    "baseRowId": 0,
    "defaultRowCommitVersion": 1,
    "clusteringProvider": "liquid",
}
REMOVE = {
    **{key: ADD[key] for key in ("path", "partitionValues", "size", "stats", "deletionVector", "baseRowId", "tags")},
    "deletionTimestamp": 1_790_000_000_000,
    "dataChange": True,
    "extendedFileMetadata": True,
}
NUMBERS = [-1, 0, 8, 300, 1 << 62, 1 << 63, 10**18, 0.5, -1e300, 1e16]
TEXTS = ["", "1", "a b", "x%20y", "%", "ü", '"', "\\", "\n", "a:b", "2026-02-30", "2026-06-01", "zz", "~", "true", "{}"]
VALUES = st.one_of(st.sampled_from([None, True, False, [], {}, {"p": "x"}, *NUMBERS, *TEXTS]), st.integers(), st.text())


def judge() -> HistoryAudit:
    """An audit that knows lines such as :data:`ADD` and :data:`REMOVE`."""
    columns = [field(name, PrimitiveType(kind)) for name, kind in TYPES.items()]
    columns.append(field("n", struct(field("x", PrimitiveType("integer")))))
    table = Table(*columns, field("p", PrimitiveType("integer")), features=["deletionVectors"], partition_by=["p"])
    audit = HistoryAudit(Replay(with_files=True))
    for version, actions in enumerate([*table.commits, [{"add": ADD}], [{"remove": REMOVE}]]):
        audit.take(version, audit.read(f"{version}", content_of(actions)))
    return audit


def known(audit: HistoryAudit, line: str) -> Any:
    """What is known of a line; None where it has to be parsed."""
    try:
        lines = audit.read("7.json", line.encode(errors="surrogatepass"))
    except BrokenLogError:
        return None
    return None if not isinstance(lines, CommitLines) or lines.unmatched else lines.values("")


def places(body: Any) -> list[tuple[str, ...]]:
    """The keys that lead to each value, those of statistics, too."""
    inner = json.loads(body["stats"])
    found: list[tuple[str, ...]] = [(key,) for key in body]
    found += [(key, below) for key in ("partitionValues", "tags", "deletionVector") for below in body.get(key, {})]
    found += [("stats", key) for key in inner]
    return found + [("stats", key, below) for key in inner if isinstance(inner[key], dict) for below in inner[key]]


def put(body: Any, keys: tuple[str, ...], value: Any) -> Any:
    """Change one value of an action, or take it away."""
    if len(keys) > 1:
        is_text = keys[0] == "stats"
        inner = put(json.loads(body["stats"]) if is_text else body[keys[0]], keys[1:], value)
        value = json.dumps(inner, separators=(",", ":")) if is_text else inner
    return {**body, keys[0]: value} if value is not ... else {key: body[key] for key in body if key != keys[0]}


def learned() -> HistoryAudit:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_lines, "FEW", 0)
        return judge()


AUDIT = learned()


@settings(max_examples=1500)
@given(data=st.data())
def test_line_that_is_known_is_what_it_is_taken_for_and_nothing_is_wrong_with_it(data: st.DataObject) -> None:
    kind, body = data.draw(st.sampled_from([("add", ADD), ("remove", REMOVE)]))
    if data.draw(st.booleans()):
        body = put(body, data.draw(st.sampled_from(places(body))), data.draw(VALUES | st.just(...)))
    line = json.dumps({kind: body}, ensure_ascii=data.draw(st.booleans()))
    if data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(line)))
        line = (
            line[:place]
            + data.draw(st.sampled_from(["", "0", '"', "\\", ",", "}", " ", "\t", "\x1f", "9"]))
            + line[place + data.draw(st.integers(0, 1)) :]
        )
    check(line)


@pytest.mark.parametrize("body", [ADD, REMOVE], ids=["add", "remove"])
def test_lines_like_those_before_are_known(body: Any) -> None:
    kind = "add" if body is ADD else "remove"
    for change in (
        {"path": "p=1/another"},
        {"size": 11, "deletionVector": {**VECTOR, "offset": 99}},
        {"tags": {"a": "c"}},
    ):
        assert check(json.dumps({kind: {**body, **change}}))


def check(line: str) -> bool:
    """Compare what is known of a line with what it says; return whether it is known."""
    values = known(AUDIT, line)
    if values is not None:
        (action,) = parse_commit("7.json", line.encode())
        assert values == list(read_actions([action]))
        again = Transition(AUDIT.state(), Commit(7), AUDIT.state(), {})
        assert list(AUDIT._transitions.descriptions([action], again, ())) == []
    return values is not None


MARK = r'{"domainMetadata":{"domain":"delta.rowTracking","configuration":"{\"rowIdHighWaterMark\":7}","removed":false}}'


@pytest.mark.parametrize(
    ("old", "new", "is_known"),
    [
        ("7", "8", True),
        ("7", "0", True),
        ("7", "-1", False),
        ("7", "07", False),
        ("7", "7.0", False),
        ("7", "9" * 19, False),
        ("7", "null", False),
        ("false", "true", False),
        ("rowTracking", "clustering", False),
        ("rowId", "rowid", False),
        (":{", ": {", False),
    ],
)
def test_high_water_mark_that_is_known_is_what_it_is_taken_for(old: str, new: str, is_known: bool) -> None:
    audit = HistoryAudit(Replay(with_files=True))
    commits = [*Table(features=["rowTracking"]).commits, parse_commit("1.json", MARK.encode())]
    for version, actions in enumerate(commits):
        audit.take(version, audit.read(f"{version}", content_of(actions)))
    audit.take(len(commits), audit.read("2.json", MARK.encode()))
    line = MARK.replace(old, new)
    values = known(audit, line)
    assert values == (list(read_actions(parse_commit("7.json", line.encode()))) if is_known else None)
