"""Whatever a log holds, the audit ends with findings: no other exception, and no unbounded time."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.past import find_version_range
from airflow_delta_provider.domain.audit.saved_state import AuditState
from airflow_delta_provider.domain.checks.log.checksums import check_pointer
from airflow_delta_provider.domain.checks.log.files import damaged_commit
from airflow_delta_provider.domain.delta.commit import parse_commit, read_actions
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.rendering.text import render_log
from airflow_delta_provider.domain.report.report import Finding, JobReport, TableReport
from airflow_delta_provider.jobs.audit.derived_files import check_checksum_of
from tests.unit.report_contract import violations

ID, NAME = "delta.columnMapping.id", "delta.columnMapping.physicalName"


def field(name: str, data_type: Any, number: int, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": data_type, "nullable": True, "metadata": {ID: number, NAME: f"c{number}", **metadata}}


WIDENED = {"delta.typeChanges": [{"fromType": "short", "toType": "integer"}]}
INNER = {"type": "struct", "fields": [field("x", "integer", 4), field("y", "decimal(5,2)", 5)]}
LEAF = {"type": "struct", "fields": [field("z", "string", 8)]}
SCHEMA = {
    "type": "struct",
    "fields": [
        field("id", "integer", 1, **WIDENED),
        field("p", "string", 2),
        field("s", INNER, 3),
        field("a", {"type": "array", "elementType": "long", "containsNull": True}, 6),
        field("m", {"type": "map", "keyType": "string", "valueType": LEAF, "valueContainsNull": True}, 7),
    ],
}
FEATURES = ["columnMapping", "typeWidening", "deletionVectors"]
WRITER = [*FEATURES, "rowTracking", "domainMetadata", "inCommitTimestamp", "clustering", "appendOnly", "invariants"]
CONFIGURATION = {
    "delta.columnMapping.mode": "name",
    "delta.columnMapping.maxColumnId": "8",
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row_id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row_version",
    "delta.enableTypeWidening": "true",
    "delta.enableInCommitTimestamps": "true",
    "delta.enableDeletionVectors": "true",
}
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 1,
}


def info(version: int, operation: str) -> dict[str, Any]:
    body = {
        "inCommitTimestamp": 1_700_000_000_000 + version,
        "timestamp": 1_700_000_000_000 + version,
        "operation": operation,
        "operationParameters": {"mode": "Append", "version": "1"},
        "engineInfo": "Apache-Spark/4.0.0 Delta-Lake/4.0.0",
        "tags": {"delta.rowTracking.preserved": "true"},
        "txnId": f"t{version}",
    }
    return {"commitInfo": body}


def add(number: int, version: int, **known: Any) -> dict[str, Any]:
    stats = {"numRecords": 10, "minValues": {"c1": 1}, "maxValues": {"c1": 9}, "nullCount": {"c1": 0}}
    body = {
        "path": f"f{number}.parquet",
        "partitionValues": {"c2": "a"},
        "size": 100,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
        "stats": json.dumps(stats),
        "tags": {"x": "y"},
        "baseRowId": number * 10,
        "defaultRowCommitVersion": version,
        **known,
    }
    return {"add": body}


def remove(number: int, version: int, **known: Any) -> dict[str, Any]:
    body = add(number, version, **known)["add"]
    return {"remove": {**body, "deletionTimestamp": 1_700_000_000_000, "extendedFileMetadata": True}}


def mark(number: int) -> dict[str, Any]:
    text = json.dumps({"rowIdHighWaterMark": number})
    return {"domainMetadata": {"domain": "delta.rowTracking", "configuration": text, "removed": False}}


def metadata(**configuration: str) -> dict[str, Any]:
    body = {
        "id": "the-table",
        "name": "t",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(SCHEMA),
        "partitionColumns": ["p"],
        "configuration": CONFIGURATION | configuration,
        "createdTime": 1_700_000_000_000,
    }
    return {"metaData": body}


CLUSTERING = {
    "domain": "delta.clustering",
    "configuration": json.dumps({"clusteringColumns": []}),  # of a table with partitions
    "removed": False,
}
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": FEATURES, "writerFeatures": WRITER}
HISTORY: list[list[dict[str, Any]]] = [
    [info(0, "CREATE TABLE"), {"protocol": PROTOCOL}, metadata(), {"domainMetadata": CLUSTERING}],
    [info(1, "WRITE"), add(0, 1), add(1, 1), mark(19), {"txn": {"appId": "stream", "version": 1}}],
    [info(2, "DELETE"), remove(0, 1), add(0, 1, deletionVector=VECTOR)],
    [info(3, "SET TBLPROPERTIES"), metadata(team="a")],
    [info(4, "OPTIMIZE"), remove(1, 1, dataChange=False), add(2, 4, dataChange=False), mark(29)],
    [info(5, "RESTORE"), remove(2, 4), add(1, 1)],
    [info(6, "WRITE"), {"protocol": PROTOCOL}, metadata(team="b"), add(3, 6), mark(39)],
]
TIME = "2026-01-01T00:00:00.000+00:00"
#: Texts of the log that hold JSON themselves.
TEXTS = ("schemaString", "configuration", "stats")


def content_of(actions: list[Any]) -> bytes:
    return "".join(json.dumps(action) + "\n" for action in actions).encode()


def judge(contents: list[bytes], audit: HistoryAudit | None = None) -> list[Finding]:
    """Judge commits as the job does, and return what it finds, having been through the report and the memory."""
    audit = audit or HistoryAudit(Replay(with_files=True))
    for version, content in enumerate(contents):
        try:
            actions = parse_commit(commit_name(version), content)
            list(read_actions(actions, where=f" of version {version}"))
        except BrokenLogError as error:
            audit.note(damaged_commit(version, error))
            break
        audit.take(version, actions)
    findings = audit.findings()
    report = TableReport.of_findings("t", *findings, version=audit.version if audit.version >= 0 else None)
    wire = JobReport("audit", TIME, TIME, (report,), {"spark": "4", "delta": "4"}).to_json()
    assert violations(wire) == []
    assert json.loads(json.dumps(wire, ensure_ascii=False, allow_nan=False).encode()) == wire
    assert render_log(JobReport.from_json(wire)).encode()
    if audit.is_readable:
        memory = AuditState.of(audit.state(), audit.commit_info, findings, "log", audit.facts())
        assert AuditState.from_json(json.loads(json.dumps(memory.to_json()))).version == audit.version
    return findings


def codes(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value below ``value``, going into texts that hold JSON."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))
    elif isinstance(value, str) and path[-1] in TEXTS:
        yield from places(json.loads(value), path)


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return ``value`` with what is at ``path`` replaced; taken away where ``new`` is the class itself."""
    if not path:
        return new
    if isinstance(value, str):
        return json.dumps(replaced(json.loads(value), path, new))
    value = copy.copy(value)
    if new is Any and len(path) == 1:
        del value[path[0]]
    else:
        value[path[0]] = replaced(value[path[0]], path[1:], new)
    return value


PLACES = [
    (version, number, path)
    for version, actions in enumerate(HISTORY)
    for number, action in enumerate(actions)
    for path in dict.fromkeys(places(action))
]
ODD = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    -(2**63) - 1,
    2**63 - 1,
    float("nan"),
    float("inf"),
    1e308,
    "",
    "5",
    "x",
    "NaN",
    "\ud800",
    "a\0b",
    "a`b.c",
    "é" * 1000,
    [],
    {},
    [[]],
    [1],
    ["x"],
    {"x": 1},
    {"": None},
    [None],
    [{}],
    {"a": {"b": {"c": []}}},
    "{",
    "[]",
    "[" * 5000,
    Any,
]
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=8,
)


def damaged(version: int, number: int, path: tuple[Any, ...], new: Any) -> list[bytes]:
    history = [list(actions) for actions in HISTORY]
    history[version][number] = replaced(history[version][number], path, new)
    return [content_of(actions) for actions in history]


def test_sound_history_has_nothing_wrong():
    assert judge([content_of(actions) for actions in HISTORY]) == []


@pytest.mark.parametrize("path", [("configuration",), ("format", "options")])
def test_empty_list_is_no_map(path):
    assert "AC16" in codes(judge(damaged(3, 1, ("metaData", *path), [])))


@pytest.mark.parametrize("apart", [60, pytest.param(20, marks=pytest.mark.soak)])
@pytest.mark.parametrize("number", range(len(ODD)))
def test_no_odd_value_in_place_of_another_stops_the_audit(number, apart):
    for place in PLACES[number % apart :: apart]:  # each value elsewhere: all of them everywhere take minutes
        try:
            judge(damaged(*place, ODD[number]))
        except Exception as error:
            raise AssertionError(f"{ODD[number]!r:.50} at {place}") from error


@settings(max_examples=200)
@given(place=st.sampled_from(PLACES), new=ANY | st.sampled_from(ODD))
def test_no_json_in_place_of_any_value_stops_the_audit(place, new):
    judge(damaged(*place, new))


@given(
    version=st.integers(0, 6), action=ANY, kind=st.sampled_from(["add", "remove", "metaData", "protocol", "txn", "x"])
)
def test_no_action_stops_the_audit(version, action, kind):
    for odd in (action, {kind: action}):
        history = [list(actions) for actions in HISTORY]
        history[version].append(odd)
        judge([content_of(actions) for actions in history])


@given(version=st.integers(0, 6), content=st.binary() | st.text().map(str.encode))
def test_no_bytes_stop_the_audit(version, content):
    contents = [content_of(actions) for actions in HISTORY]
    for damage in (content, contents[version] + content, contents[version][: len(content)]):
        judge([*contents[:version], damage, *contents[version + 1 :]])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("\0\0\0", "not JSON"),
        ('{"add"', "not JSON"),
        ("[1]", "line 1 of commit 00000000000000000000.json is no action"),
        ("null", "is no action"),
        ("[" * 100_000, "nested too deeply"),
        ('{"x":' + "[" * 300 + "]" * 300 + "}", "nested deeper than 200 levels"),
        ('{"add":{"path":"a","path":"b"}}', 'has the key "path" twice'),
        ('{"add":{"size":NaN}}', "NaN is not JSON"),
        ('{"x":"\\ud83d"}', "half of a character"),
        ('{"x":' + "9" * 5000 + "}", "a number of thousands of digits"),
        (
            '{"add":{"path":"a","size":"12"}}',
            'an add action of version 0 is malformed: its size is "12", not an integer',
        ),
        ('{"add":{"path":"a","size":1.0}}', "its size is 1.0, not an integer of 64 bits"),
        ('{"add":{"path":"a","size":1000000000000000000000}}', "its size is 1000000000000000000000, not an integer"),
        ('{"add":{"size":12}}', "it has no path"),
        ('{"add":{"path":{},"size":12}}', "its path is a map, not a string"),
        ('{"add":{"path":"a","size":1,"partitionValues":["x"]}}', "its partitionValues is a list, not a map"),
        ('{"protocol":{"minReaderVersion":1,"minWriterVersion":true}}', "its minWriterVersion is true, not an integer"),
        ('{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":"v2"}}', "not a list of strings"),
        ('{"metaData":{"schemaString":{}}}', "its schemaString is a map, not a string"),
        ('{"domainMetadata":{"domain":"d","configuration":{}}}', "its configuration is a map, not a string"),
        ('{"commitInfo":"x"}', "a commitInfo action of version 0 is malformed: it is not a map"),
        ('{"txn":{"appId":"a","version":1},"remove":{"path":"a"}}', "it holds remove and txn, though a line is one"),
    ],
    ids=range(24),
)
def test_damaged_commit_says_what_is_wrong_where(line, problem):
    (finding,) = judge([line.encode()])
    assert (finding.code, finding.version) == ("LG09", 0)
    assert finding.path == "_delta_log/00000000000000000000.json"
    assert problem[0].upper() + problem[1:] in finding.message or problem in finding.message
    is_damaged = any(text in finding.message for text in ("truncated", "not UTF-8"))
    assert (finding.remedy is None) == is_damaged  # a backup of any other has the same line


def test_keys_beside_an_action_that_hold_nothing_or_that_nobody_knows_are_no_damage():
    contents = [content_of(actions) for actions in HISTORY]
    contents[3] = contents[3].replace(b'{"commitInfo"', b'{"add": null, "fancy": {}, "commitInfo"', 1)
    assert judge(contents) == []


def test_key_twice_in_what_users_add_to_a_commit_is_no_damage():
    contents = [content_of(actions) for actions in HISTORY]
    contents[3] = contents[3].replace(b'"operation"', b'"operation": "x", "operation"', 1)
    assert judge(contents) == []


def nested(levels: int, wrap: str) -> str:
    """Return a schema string of one column, its type nested so deep."""
    begin, end = {
        "struct": ('{"type":"struct","fields":[{"name":"x","nullable":true,"metadata":{},"type":', "}]}"),
        "array": ('{"type":"array","containsNull":true,"elementType":', "}"),
        "map": ('{"type":"map","keyType":"string","valueContainsNull":true,"valueType":', "}"),
    }[wrap]
    inner = begin * levels + '"long"' + end * levels
    return f'{{"type":"struct","fields":[{{"name":"deep","nullable":true,"metadata":{{}},"type":{inner}}}]}}'


@pytest.mark.parametrize("wrap", ["struct", "array", "map"])
@pytest.mark.parametrize("levels", [60, 70, 250, 10_000])
def test_schema_nested_however_deep_is_judged_or_said_to_be_damaged(wrap, levels):
    history = copy.deepcopy(HISTORY)
    for actions in history:
        for body in (action["metaData"] for action in actions if "metaData" in action):
            body["schemaString"] = nested(levels, wrap)
            body["partitionColumns"] = []
            body["configuration"] = {}
    found = codes(judge([content_of(actions) for actions in history]))
    assert ("MD02" in found) == (levels > 64)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "cannot be read"),
        (b"{", "cannot be read"),
        (b"[]", "cannot be read"),
        (b"[" * 10_000, "cannot be read"),
        (b"\xff", "cannot be read"),
        (b"{}", "cannot be read"),
        (b'{"version":null}', "cannot be read"),
        (b'{"version":true}', "cannot be read"),
        (b'{"version":"4"}', "cannot be read"),
        (b'{"version":4.0}', "cannot be read"),
        (b'{"version":9e99}', "cannot be read"),
        (b'{"version":-1}', "points to version -1"),
        (b'{"version":5}', "points to version 5"),
        (b'{"version":9223372036854775807}', "points to version 9223372036854775807"),
        (b'{"version":1' + b"0" * 30 + b"}", "cannot be read"),
    ],
)
def test_wrong_pointer_is_said(content, problem):
    (finding,) = check_pointer(content, {1: [], 4: []})
    assert (finding.code, finding.path) == ("LG11", "_delta_log/_last_checkpoint")
    assert problem in finding.message
    assert list(check_pointer(b'{"version":4,"size":7}', {1: [], 4: []})) == []


def whole() -> HistoryAudit:
    audit = HistoryAudit(Replay(with_files=True))
    for version, actions in enumerate(HISTORY):
        audit.take(version, actions)
    return audit


CHECKSUM = {
    "txnId": "t6",
    "tableSizeBytes": 300,
    "numFiles": 3,
    "numMetadata": 1,
    "numProtocol": 1,
    "inCommitTimestampOpt": 1700000000006,
    "protocol": PROTOCOL,
    "metadata": metadata(team="b")["metaData"],
}


def test_right_checksum_is_silent():
    assert list(check_checksum_of(whole(), json.dumps(CHECKSUM).encode())) == []


@pytest.mark.parametrize("odd", ODD, ids=lambda value: repr(value)[:20])
def test_no_wrong_checksum_stops_the_audit(odd):
    audit = whole()
    for path in places(CHECKSUM):
        content = json.dumps(replaced(CHECKSUM, path, odd)).encode()
        for finding in check_checksum_of(audit, content):
            assert finding.code == "LG08"
            assert len(finding.message) < 10_000


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"5", b"\xff", b"{}", b"[" * 10_000, b"\0"])
def test_checksum_that_is_garbage_is_said(content):
    assert codes(list(check_checksum_of(whole(), content))) == ["LG08"]


@given(
    versions=st.lists(st.integers(0, 12) | st.sampled_from([10**6, 10**19, 10**20 - 1]), unique=True, min_size=1),
    checkpoints=st.lists(st.integers(0, 12) | st.just(10**19), unique=True),
    since=st.none() | st.integers(-1, 14),
)
def test_no_set_of_names_stops_the_search_for_what_can_be_judged(versions, checkpoints, since):
    names = [commit_name(version) for version in versions]
    names += [f"{version:020d}.checkpoint.parquet" for version in checkpoints]
    names += ["_last_checkpoint", "x", f"{0:020d}.{3:020d}.compacted.json", f"{2:020d}.checkpoint.1.2.parquet"]
    newest = max([*versions, *checkpoints])
    try:
        span = find_version_range(names, newest, since)
    except BrokenLogError:
        return
    assert span.first <= span.last + 1 <= newest + 1
    assert span.last - span.first < len(names)


def test_log_that_starts_late_without_checkpoint_is_told_at_once():
    names = [commit_name(version) for version in range(5, 50_000)]
    with pytest.raises(BrokenLogError, match="no checkpoint to start from"):
        find_version_range(names, 49_999)
