"""Conditions on protocol and metadata: what they mean, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_delta_provider.domain.delta.head_condition import (
    HeadCondition,
    HeadConditionError,
    TypeCondition,
    TypeConditionError,
)
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_head import HeadMark, TableHead

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "Id", "type": "long", "nullable": False, "metadata": {}},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "elementType": {
                    "type": "struct",
                    "fields": [{"name": "price", "type": "decimal(12,2)", "nullable": True, "metadata": {}}],
                },
                "containsNull": False,
            },
            "nullable": True,
            "metadata": {},
        },
    ],
}
PROTOCOL = Protocol(3, 7, frozenset({"typeWidening"}), frozenset({"typeWidening", "appendOnly"}))


def head(
    version: int = 5,
    protocol: Protocol = PROTOCOL,
    schema: Any = SCHEMA,
    table_id: str = "a",
    **properties: str,
) -> TableHead:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return TableHead(
        version, protocol, Metadata(table_id, text, configuration={"delta.appendOnly": "true", **properties})
    )


def is_met(condition: Any, now: TableHead, before: TableHead | None = None) -> bool:
    since = None if before is None else HeadMark.of(before)
    return not HeadCondition.parse(condition).open_clauses(now, HeadMark.of(now), since)


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ({"protocol": {"equals": {"minReaderVersion": 3}}}, True),
        ({"protocol": {"equals": {"writerFeatures": ["typeWidening", "appendOnly"]}}}, True),
        ({"protocol": {"equals": {"minReaderVersion": 3, "minWriterVersion": 6}}}, False),
        ({"features": {"contains": "TYPEWIDENING"}}, True),
        ({"features": {"contains": ["typeWidening", "rowTracking"]}}, False),
        ({"features": {"equals": ["typeWidening", "appendOnly"]}}, True),
        ({"features": {"equals": ["typeWidening"]}}, False),
        ({"properties": {"contains": {"delta.appendOnly": True}}}, True),
        ({"properties": {"contains": {"delta.appendOnly": None}}}, True),
        ({"properties": {"contains": {"delta.appendOnly": "false"}}}, False),
        ({"properties": {"contains": {"owner": None}}}, False),
        ({"properties": {"equals": {"delta.appendOnly": "true"}}}, True),
        ({"properties": {"equals": {}}}, False),
        ({"schema": {"contains": "id"}}, True),
        ({"schema": {"contains": ["id", "lines.element.price"]}}, True),
        ({"schema": {"contains": {"id": "bigint", "lines.element.price": "decimal(12,2)"}}}, True),
        ({"schema": {"contains": {"lines": "array<struct<price:decimal(12,2)>>"}}}, True),
        ({"schema": {"contains": {"id": "int"}}}, False),
        ({"schema": {"contains": ["lines.element.sku"]}}, False),
        ({"schema": {"equals": {"id": "bigint", "lines": "array<struct<price:decimal(12,2)>>"}}}, True),
        ({"schema": {"equals": {"id": "bigint"}}}, False),
        ({"schema": {"contains": "id"}, "features": {"contains": "rowTracking"}}, False),
    ],
)
def test_condition_on_a_head(condition: Any, met: bool) -> None:
    assert is_met(condition, head()) is met


@pytest.mark.parametrize(
    ("after", "changed"),
    [
        (head(6), []),
        (head(6, schema=json.dumps(SCHEMA, indent=4)), []),
        (head(6, owner="me"), ["properties"]),
        (head(6, schema={"type": "struct", "fields": []}), ["schema"]),
        (head(6, protocol=Protocol(1, 2)), ["protocol", "features"]),
        # The same features, listed by name: another protocol.
        (head(6, protocol=Protocol(3, 7, PROTOCOL.reader_features, PROTOCOL.features)), []),
        (head(6, table_id="b"), ["table"]),
        (head(6, schema="no JSON"), ["schema"]),
    ],
)
def test_what_changed_between_two_heads(after: TableHead, changed: list[str]) -> None:
    before, now = HeadMark.of(head()), HeadMark.of(after)
    assert now.changed_since(before) == changed
    assert now.changed_since(HeadMark.from_json(json.loads(json.dumps(before.to_json())))) == changed
    for subject in ("protocol", "features", "properties", "schema"):
        assert is_met({subject: "changed"}, after, head()) is (subject in changed or "table" in changed)


def test_what_was_never_seen_counts_as_changed() -> None:
    assert is_met({"schema": "changed", "protocol": "changed"}, head())


@pytest.mark.parametrize(
    ("condition", "remedy"),
    [
        ({}, "give a mapping of 'protocol', 'features', 'properties' or 'schema'"),
        ("changed", "give a mapping"),
        ({"shema": "changed"}, "Did you mean 'schema'"),
        ({"schema": "change"}, "Did you mean 'changed'"),
        ({"schema": {"contain": ["id"]}}, "Did you mean 'contains'"),
        ({"schema": {"contains": ["id"], "equals": {}}}, "with one of"),
        ({"schema": {"contains": {"id": "bigit"}}}, "Did you mean 'bigint'"),
        ({"schema": {"contains": [3]}}, "not the path of a column"),
        ({"schema": {"equals": ["id"]}}, "has no type. Give one, or use contains"),
        ({"protocol": {"contains": {}}}, "a mapping with one of 'equals'"),
        ({"protocol": {"equals": {"minReader": 3}}}, "Did you mean 'minReaderVersion'"),
        ({"features": {"contains": ["rowTraking"]}}, "Did you mean 'rowTracking'"),
        ({"features": {"contains": 3}}, "a list of names"),
        ({"properties": {"equals": {"owner": None}}}, "use contains"),
        ({"properties": {"contains": ["owner"]}}, "give a mapping"),
    ],
)
def test_condition_that_cannot_be_is_refused_with_the_remedy(condition: Any, remedy: str) -> None:
    with pytest.raises(HeadConditionError, match=remedy):
        HeadCondition.parse(condition)


@pytest.mark.parametrize("wire", [None, 3, {}, {"version": "x"}, {"version": 1, "digests": [1]}])
def test_mark_that_is_none_is_refused(wire: Any) -> None:
    with pytest.raises(ValueError, match="does not say which version"):
        HeadMark.from_json(wire)


@pytest.mark.parametrize(
    ("path", "wanted", "found", "missing"),
    [
        ("Id", "bigint", "bigint", None),
        ("id", "INT", "bigint", None),
        ("id", "tinyint", "bigint", None),
        ("id", "decimal(20,0)", "bigint", "id is bigint; wanted: decimal(20,0) or wider."),
        ("lines.element.price", "decimal(12,2)", "decimal(12,2)", None),
        ("lines.element.price", "decimal(10,1)", "decimal(12,2)", None),
        ("lines.element.price", "int", "decimal(12,2)", None),
        ("lines.element.price", "decimal(13,2)", "decimal(12,2)", "decimal(13,2) or wider."),
        ("lines.element.prize", "int", None, "Did you mean 'lines.element.price'"),
    ],
)
def test_column_has_at_least_a_type_if_it_has_it_or_was_widened_further(
    path: str, wanted: str, found: str | None, missing: str | None
) -> None:
    name, said = TypeCondition.parse({path: wanted}).states(head())[path]
    assert name == found
    assert (missing in said) if missing and said else (missing is said)


@pytest.mark.parametrize(
    ("path", "wanted", "remedy"),
    [
        ("id", "double", "no widening leads from there to double .possible are decimal"),
        ("id", "string", "no widening leads from there to string"),
        ("id", "decimal(19,0)", "no widening leads"),
        ("lines.element.price", "decimal(12,3)", "no widening leads"),
        ("lines.element.price", "bigint", "no widening leads"),
        ("lines", "int", "array<struct<price:decimal"),
    ],
)
def test_type_that_widening_never_reaches_is_not_waited_for(path: str, wanted: str, remedy: str) -> None:
    with pytest.raises(TypeConditionError, match=remedy):
        TypeCondition.parse({path: wanted}).states(head())


def test_path_that_names_two_columns_is_not_waited_for() -> None:
    fields = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in ("a.b", "a")]
    fields[1]["type"] = {"type": "struct", "fields": [{**fields[0], "name": "b"}]}
    with pytest.raises(TypeConditionError, match="is ambiguous: write"):
        TypeCondition.parse({"a.b": "bigint"}).states(head(schema={"type": "struct", "fields": fields}))


@pytest.mark.parametrize(
    ("columns", "remedy"),
    [
        ({}, "give the types of columns by path"),
        ("bigint", "give the types of columns by path"),
        ({"": "int"}, "not the path of a column"),
        ({"id": "bigintt"}, "Did you mean 'bigint'"),
        ({"id": "array<int>"}, "name the parts, as in lines.element.price"),
    ],
)
def test_wrong_types_are_refused(columns: Any, remedy: str) -> None:
    with pytest.raises(TypeConditionError, match=remedy):
        TypeCondition.parse(columns)
