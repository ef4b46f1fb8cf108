"""What events say of a change, and which events there are."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_events import (
    MOST_LISTED,
    EventKind,
    Position,
    Progress,
    TableEvent,
    events_since,
    head_changes,
)
from airflow_delta_provider.domain.delta.table_head import NOTHING, TableHead, changed_partitions

Field = dict[str, Any]
LEGACY = Protocol(1, 2)


def field(
    name: str, data_type: Any = "long", number: int | None = None, *, nullable: bool = True, **more: Any
) -> Field:
    mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"p{number}"} if number else {}
    return {"name": name, "type": data_type, "nullable": nullable, "metadata": {**mapping, **more}}


def struct(*fields: Field) -> Field:
    return {"type": "struct", "fields": list(fields)}


def head(version: int, *fields: Field, protocol: Protocol = LEGACY, table_id: str = "a", **info: Any) -> TableHead:
    mapped = any("delta.columnMapping.id" in one["metadata"] for one in fields)
    configuration = {"delta.columnMapping.mode": "name"} if mapped else {}
    metadata = Metadata(table_id, json.dumps(struct(*fields)), configuration=configuration)
    return TableHead(version, protocol, metadata, {"version": version, **info})


def columns(before: TableHead | None, after: TableHead) -> list[Any]:
    return list(head_changes(before, after)["schema"]["columns"])


ARRAY = {"type": "array", "containsNull": True}


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ([field("a")], [field("a"), field("b", "string")], [{"change": "added", "column": "b", "type": "string"}]),
        ([field("a"), field("b")], [field("b")], [{"change": "dropped", "column": "a", "type": "bigint"}]),
        (
            [field("a", "integer")],
            [field("a", "decimal(12,2)")],
            [{"change": "retyped", "column": "a", "from": "int", "to": "decimal(12,2)"}],
        ),
        ([field("a", number=1)], [field("b", number=1)], [{"change": "renamed", "column": "a", "to": "b"}]),
        (
            [field("a", number=1)],
            [field("a", number=2)],
            [
                {"change": "dropped", "column": "a", "type": "bigint"},
                {"change": "added", "column": "a", "type": "bigint"},
            ],
        ),
        ([field("a", nullable=False)], [field("a")], [{"change": "nullable", "column": "a"}]),
        ([field("a")], [field("a", nullable=False)], [{"change": "not null", "column": "a"}]),
        ([field("a")], [field("a", comment="x")], [{"change": "metadata", "column": "a", "keys": ["comment"]}]),
        (
            [field("s", struct(field("x")))],
            [field("s", struct(field("x"), field("y")))],
            [{"change": "added", "column": "s.y", "type": "bigint"}],
        ),
        (
            [field("s", {**ARRAY, "elementType": struct(field("x", "integer"))})],
            [field("s", {**ARRAY, "elementType": struct(field("x"))})],
            [{"change": "retyped", "column": "s.element.x", "from": "int", "to": "bigint"}],
        ),
        (
            [field("s", {**ARRAY, "elementType": "integer"})],
            [field("s", {**ARRAY, "elementType": "long"})],
            [{"change": "retyped", "column": "s", "from": "array<int>", "to": "array<bigint>"}],
        ),
        ([], [field("s", struct(field("x")))], [{"change": "added", "column": "s", "type": "struct<x:bigint>"}]),
        ([field("a"), field("b")], [field("b"), field("a")], []),
    ],
)
def test_columns_that_change(before: list[Field], after: list[Field], changes: list[Any]) -> None:
    assert columns(head(1, *before), head(2, *after)) == changes


def test_what_is_listed_is_bounded() -> None:
    wide = head(2, *(field(f"c{number}") for number in range(1000)))
    said = head_changes(head(1), wide)["schema"]
    assert (len(said["columns"]), said["more"]) == (MOST_LISTED, 1000 - MOST_LISTED)


def test_schema_that_cannot_be_read_is_not_compared() -> None:
    damaged = TableHead(2, Protocol(1, 2), Metadata("a", "no JSON"))
    assert head_changes(head(1, field("a")), damaged)["schema"]["compared"] is False


def events(kind: str, since: Position, *heads: TableHead, before: TableHead | None = None, **more: bool) -> list[Any]:
    found = events_since(EventKind(kind), "/t", since, Progress(heads, **more), before)
    return [(event.payload["from_version"], event.payload["to_version"]) for event in map(_checked, found)]


def _checked(event: TableEvent) -> TableEvent:
    json.dumps(event.payload)
    assert event.position.version == event.payload["to_version"]
    assert Position.from_json(json.loads(json.dumps(event.position.to_json()))) == event.position
    return event


PLAIN, WIDE, UPGRADED = head(1, field("a")), head(2, field("a"), field("b")), Protocol(1, 4)


@pytest.mark.parametrize("kind", ["commit", "schema", "protocol"])
def test_versions_that_are_known_are_no_event(kind: str) -> None:
    assert events(kind, Position.of(PLAIN), PLAIN) == []


def test_changes_of_a_kind_are_an_event_each() -> None:
    later = [WIDE, head(3, field("a"), field("b")), head(4, field("a")), head(5, field("a"), protocol=UPGRADED)]
    since = Position.of(PLAIN)
    assert events("commit", since, PLAIN, *later) == [(1, 5)]
    assert events("schema", since, PLAIN, *later) == [(1, 2), (2, 4)]
    assert events("protocol", since, PLAIN, *later) == [(1, 5)]


def test_first_version_of_a_table_is_an_event_of_every_kind() -> None:
    for kind in ("commit", "schema", "protocol"):
        assert events(kind, Position(NOTHING), PLAIN) == [(None, 1)]


def test_another_table_is_an_event_of_every_kind_though_its_version_is_the_same() -> None:
    other = head(1, field("a"), table_id="b")
    for kind in ("commit", "schema", "protocol"):
        assert events(kind, Position.of(PLAIN), other, recreated=True) == [(1, 1)]


def test_gap_is_told_by_the_state_that_it_led_to() -> None:
    for kind, told in (("commit", [(1, 9)]), ("schema", [(1, 9)]), ("protocol", [])):
        assert events(kind, Position.of(PLAIN), head(9, field("x")), gap=True) == told
    (event,) = events_since(
        EventKind.SCHEMA, "/t", Position.of(PLAIN), Progress([head(9, field("x"))], gap=True), PLAIN
    )
    assert [change["change"] for change in event.payload["schema"]["columns"]] == ["dropped", "added"]


@pytest.mark.parametrize(
    ("found", "fits"),
    [
        (head(1, field("a")), True),
        (head(1, field("a"), user="another"), False),
        (head(1, field("a"), table_id="b"), False),
        (head(1, field("b")), False),
        (TableHead(1, PLAIN.protocol, PLAIN.metadata), True),  # its commit was cleaned up
    ],
)
def test_table_is_the_one_that_was_known(found: TableHead, fits: bool) -> None:
    assert Position.of(PLAIN).fits(found) is fits


class TestPartitions:
    MAPPED = Metadata(
        "a",
        json.dumps(struct(field("Day", "string", 1), field("v", "long", 2))),
        ("day",),
        configuration={"delta.columnMapping.mode": "name"},
    )

    def test_names_are_those_of_the_columns_and_rewrites_do_not_count(self) -> None:
        actions = [
            {"commitInfo": {}},
            {"add": {"path": "x", "partitionValues": {"p1": "1"}, "dataChange": True}},
            {"remove": {"path": "y", "partitionValues": {"p1": None}, "dataChange": True}},
            {"add": {"path": "z", "partitionValues": {"p1": "3"}, "dataChange": False}},
        ]
        assert changed_partitions(actions, self.MAPPED) == {(("day", "1"),), (("day", None),)}
        assert changed_partitions(actions, head(1, field("v")).metadata) is None

    @pytest.mark.parametrize(
        "action",
        [
            {"remove": {"path": "y", "dataChange": True}},
            {"add": {"path": "x", "partitionValues": {"p2": "1"}}},
            {"add": {"path": "x", "partitionValues": {"p1": {}}}},
            {"add": []},
        ],
    )
    def test_what_the_log_does_not_say_is_not_known(self, action: dict[str, Any]) -> None:
        assert changed_partitions([action], self.MAPPED) is None

    def test_many_are_counted_and_one_unknown_commit_makes_all_unknown(self) -> None:
        many = frozenset((("day", f"{number:03}"),) for number in range(MOST_LISTED + 5))
        heads = [head(0), replace(head(1), partitions=many), replace(head(2), partitions=frozenset())]
        (event,) = events_since(EventKind.COMMIT, "/t", Position.of(heads[0]), Progress(heads))
        assert (len(event.payload["partitions"]["changed"]), event.payload["partitions"]["more"]) == (MOST_LISTED, 5)
        (event,) = events_since(EventKind.COMMIT, "/t", Position.of(heads[0]), Progress([*heads, head(3)]))
        assert event.payload["partitions"] is None
