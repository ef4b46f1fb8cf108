"""Log compaction files against their commits: LG12."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.checks.log.checkpoints import check_compaction
from airflow_delta_provider.domain.delta.log_files import (
    CompactionFile,
    checkpoint_versions,
    commit_versions,
    compaction_files,
    newest_version,
)

Json = dict[str, Any]
NAME = "00000000000000000004.00000000000000000006.compacted.json"
FILE = CompactionFile(4, 6, NAME)
PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
METADATA = {"metaData": {"id": "t", "schemaString": "{}", "configuration": {"a": "b"}}}
VECTOR = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "sizeInBytes": 4, "cardinality": 1}


def add(path: str, **known: Any) -> Json:
    return {"add": {"path": path, "size": 1, "dataChange": True, **known}}


def remove(path: str, **known: Any) -> Json:
    return {"remove": {"path": path, "deletionTimestamp": 7, "dataChange": True, **known}}


def txn(version: int, application: str = "a") -> Json:
    return {"txn": {"appId": application, "version": version}}


def domain(configuration: str | None, name: str = "d") -> Json:
    return {"domainMetadata": {"domain": name, "configuration": configuration or "", "removed": configuration is None}}


#: As in PROTOCOL.md, and an action of every other kind.
COMMITS: list[list[Json]] = [
    [{"commitInfo": {}}, add("f2"), remove("f1"), PROTOCOL, domain("1")],
    [{"commitInfo": {}}, add("f3"), add("f4", baseRowId=4), txn(4389), METADATA],
    [remove("f3"), txn(4390), domain("2"), domain(None, "gone"), remove("f5"), add("f5", deletionVector=VECTOR)],
]
COMPACTED: list[Json] = [
    PROTOCOL,
    METADATA,
    domain("2"),
    domain(None, "gone"),
    txn(4390),
    add("f2", dataChange=False),
    add("f4", baseRowId=4),
    add("f5", deletionVector=VECTOR),
    remove("f1"),
    remove("f3"),
    remove("f5"),
]


def check(actions: list[Json]) -> list[str]:
    content = "".join(json.dumps(action) + "\n" for action in actions).encode()
    findings = list(check_compaction(FILE, content, COMMITS))
    assert all((f.code, f.version, f.path) == ("LG12", 6, f"_delta_log/{NAME}") for f in findings)
    return [finding.message for finding in findings]


def test_right_one_is_silent_in_any_order():
    assert check(COMPACTED) == check(COMPACTED[::-1]) == []


def test_what_was_made_and_went_in_between_may_be_left_out():
    assert check([action for action in COMPACTED if action != remove("f3")]) == []


@pytest.mark.parametrize("left_out", [action for action in COMPACTED if action != remove("f3")], ids=str)
def test_action_that_is_left_out_is_said(left_out):
    (message,) = check([action for action in COMPACTED if action is not left_out])
    assert "it lacks the " in message


@pytest.mark.parametrize(
    ("number", "action", "said"),
    [
        (0, {"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}}, "it differs in the protocol action"),
        (1, {"metaData": {**METADATA["metaData"], "configuration": {}}}, "it differs in the metaData action"),
        (2, domain("1"), "it differs in the domainMetadata of d"),
        (2, domain(None), "it differs in the domainMetadata of d"),
        (4, txn(4389), "it differs in the txn of a"),
        (5, add("f2", size=2), "it differs in the file f2"),
        (5, remove("f2"), "it differs in the file f2"),
        (6, add("f4", baseRowId=5), "it differs in the file f4"),
        (6, add("f4", baseRowId=4, partitionValues={"p": "1"}), "it differs in the file f4"),
        (6, add("f4", baseRowId=4, modificationTime=1), "it differs in the file f4"),
        (8, remove("f1", deletionTimestamp=1), "it differs in the file f1"),
        (8, add("f1"), "it differs in the file f1"),
        (9, add("f3"), "it differs in the file f3"),
    ],
)
def test_action_that_says_something_else_is_said(number, action, said):
    actions = [*COMPACTED]
    actions[number] = action
    (message,) = check(actions)
    assert said in message


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (add("f9"), "only it has the file f9"),
        (add("f5"), "it differs in the file f5"),
        (txn(1, "b"), "only it has the txn of b"),
        (domain("1", "x"), "only it has the domainMetadata of x"),
        (add("f2"), "it has twice the file f2"),
        ({"commitInfo": {}}, "it preserves commitInfo actions"),
    ],
)
def test_action_too_many_is_said(extra, said):
    (message,) = check([*COMPACTED, extra])
    assert said in message


@pytest.mark.parametrize("content", [b"", b"{", b"\0", b"[]", b'{"add":5}', b'{"add":{"path":5}}'])
def test_one_that_cannot_be_read_is_said(content):
    (finding,) = check_compaction(FILE, content, COMMITS)
    assert "cannot be read" in finding.message


@given(st.integers(0, len(COMPACTED) - 1), st.recursive(st.none() | st.integers() | st.text(), st.lists))
def test_whatever_it_holds_is_judged(number, odd):
    actions: list[Any] = [*COMPACTED]
    kind = next(iter(actions[number]))
    actions[number] = {kind: {**actions[number][kind], "path": odd, "domain": odd, "appId": odd}}
    check(actions)


def test_it_is_neither_commit_nor_checkpoint():
    names = [NAME, f"{4:020d}.json", f"{2:020d}.{1:020d}.compacted.json", "x.compacted.json"]
    assert compaction_files(names) == [FILE]
    assert (commit_versions(names), checkpoint_versions(names), newest_version(names)) == ([4], [], 4)
