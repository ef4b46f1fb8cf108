"""The rules of type widening: healthy tables, each broken in one place at a time."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from tests.unit import check_families as checks
from tests.unit.mapped_tables import ID, MAX, MODE, NAME, Json, at, edited, fields_of, said, step, table
from tests.unit.states import LEGACY, WIDENING, WIDENING_ON

CHANGES = "delta.typeChanges"
PREVIEW = Protocol(3, 7, frozenset({"typeWidening-preview"}), frozenset({"typeWidening-preview"}))
NTZ = WIDENING.supporting(["timestampNtz"])
ICEBERG = WIDENING.supporting(["icebergCompatV2"])
ICEBERG_ON = WIDENING_ON | {"delta.enableIcebergCompatV2": "true"}


def column(name: str, data_type: Any, *changes: tuple[str, ...]) -> Json:
    """A field; each change is from, to and perhaps the fieldPath."""
    recorded = [dict(zip(("fromType", "toType", "fieldPath"), change)) for change in changes]
    return {
        "name": name,
        "type": data_type,
        "nullable": True,
        "metadata": {CHANGES: recorded} if recorded else {},
    }


def struct_of(*fields: Json) -> Json:
    return {"type": "struct", "fields": list(fields)}


def array(element: Any) -> Json:
    return {"type": "array", "elementType": element, "containsNull": True}


def map_of(key: Any, value: Any) -> Json:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def widened(*fields: Json, protocol: Protocol = WIDENING, configuration: dict[str, str] | None = None) -> TableState:
    return table(struct_of(*fields), WIDENING_ON if configuration is None else configuration, protocol=protocol)


CHAIN = column("e", "long", ("short", "integer"), ("integer", "long"))
DEEP = column(
    "m",
    map_of("double", array("decimal(10,4)")),
    ("float", "double", "key"),
    ("decimal(6, 2)", "decimal(8,3)", "value.element"),
    ("decimal(8,3)", "decimal(10,4)", "value.element"),
)
INNER = column("s", struct_of(column("list", array(struct_of(column("z", "long", ("integer", "long")))))))
HEALTHY = {
    "no record": widened(column("a", "long")),
    "two changes": widened(CHAIN),
    "nested changes": widened(DEEP, INNER),
    "kept after widening was turned off": widened(CHAIN, configuration={}),
    "the preview": widened(
        edited(struct_of(CHAIN), "e", {CHANGES: [{"fromType": "short", "toType": "long", "tableVersion": 1}]})[
            "fields"
        ][0],
        protocol=PREVIEW,
    ),
    "texts of some length": widened(
        column("t", "string", ("char(5)", "varchar(10)"), ("varchar(20)", "string"), ("string", "char(3)"))
    ),
    "a change that is none": widened(column("t", "integer", ("integer", "integer"))),
    "widened among what Parquet stores alike, unrecorded": widened(column("a", "integer", ("byte", "short"))),
    "such a change between two": widened(column("a", "long", ("byte", "short"), ("integer", "long"))),
    "to a timestamp": widened(column("d", "timestamp_ntz", ("date", "timestamp_ntz")), protocol=NTZ),
    "what Iceberg takes": widened(CHAIN, protocol=ICEBERG, configuration=ICEBERG_ON),
    "a null for no fieldPath": widened(
        edited(struct_of(CHAIN), "e", {CHANGES: [{"fromType": "integer", "toType": "long", "fieldPath": None}]})[
            "fields"
        ][0]
    ),
    "an empty record": widened(edited(struct_of(CHAIN), "e", {CHANGES: []})["fields"][0]),
    "a schema that cannot be read": replace(
        widened(CHAIN), metadata=Metadata("id", CHANGES, configuration=WIDENING_ON)
    ),
}


@pytest.mark.parametrize("state", HEALTHY.values(), ids=HEALTHY)
def test_healthy_record_has_no_finding(state: TableState) -> None:
    assert list(checks.check_state(state, "TW")) == []


def recording(value: Any) -> TableState:
    return table(edited(struct_of(CHAIN), "e", {CHANGES: value}), WIDENING_ON, protocol=WIDENING)


LEFT = [{"fromType": "integer", "toType": "long", "tableVersion": 1}]
BROKEN = {
    "TW01 enabled only": (widened(column("a", "long"), protocol=LEGACY), "TW01", None),
    "TW02 a record": (widened(CHAIN, protocol=LEGACY, configuration={}), "TW02", "e"),
    "TW03 no list": (recording({"fromType": "integer", "toType": "long"}), "TW03", "e"),
    "TW03 a text": (recording("integer"), "TW03", "e"),
    "TW03 a number for a type": (recording([{"fromType": 1, "toType": "long"}]), "TW03", "e"),
    "TW03 no toType": (recording([{"fromType": "integer"}]), "TW03", "e"),
    "TW03 a list for a path": (
        recording([{"fromType": "integer", "toType": "long", "fieldPath": ["element"]}]),
        "TW03",
        "e",
    ),
    "TW04 narrower": (widened(column("a", "integer", ("long", "integer"))), "TW04", "a"),
    "TW04 other": (widened(column("a", "string", ("integer", "string"))), "TW04", "a"),
    "TW04 unknown": (widened(column("a", "long", ("inttt", "long"))), "TW04", "a"),
    "TW04 deep": (widened(column("a", array("double"), ("long", "double", "element"))), "TW04", "a"),
    "TW05 key of an array": (widened(column("a", array("long"), ("integer", "long", "key"))), "TW05", "a"),
    "TW05 no such step": (
        widened(
            column("e", array(map_of("string", "decimal(10,4)")), ("decimal(6,2)", "decimal(10,4)", "element.keys"))
        ),
        "TW05",
        "e",
    ),
    "TW05 path of a simple field": (widened(column("a", "long", ("integer", "long", "element"))), "TW05", "a"),
    "TW05 no path of an array": (widened(column("a", array("long"), ("integer", "long"))), "TW05", "a"),
    "TW05 across a struct": (
        widened(column("s", struct_of(column("x", "long")), ("integer", "long", "x"))),
        "TW05",
        "s",
    ),
    "TW06 a gap": (widened(column("a", "decimal(20,0)", ("byte", "short"), ("long", "decimal(20,0)"))), "TW06", "a"),
    "TW06 a gap deep down": (
        widened(
            column(
                "s",
                struct_of(
                    column(
                        "x", array("decimal(20,0)"), ("byte", "short", "element"), ("long", "decimal(20,0)", "element")
                    )
                ),
            )
        ),
        "TW06",
        "s.x",
    ),
    "TW07 another type": (widened(column("a", "decimal(20,0)", ("integer", "long"))), "TW07", "a"),
    "TW07 the RFC's third example": (
        widened(
            column("e", array(map_of("string", "decimal(10,4)")), ("decimal(6,2)", "decimal(10,4)", "element.key"))
        ),
        "TW07",
        "e",
    ),
    "TW10 left from the preview": (recording(LEFT), "TW10", "e"),
    "TW13 what Iceberg lacks": (
        widened(column("a", "double", ("integer", "double")), protocol=ICEBERG, configuration=ICEBERG_ON),
        "TW13",
        "a",
    ),
    "TW14 a timestamp": (widened(column("d", "timestamp_ntz", ("date", "timestamp_ntz"))), "TW14", "d"),
}


@pytest.mark.parametrize(("state", "code", "name"), BROKEN.values(), ids=BROKEN)
def test_broken_record_has_one_finding(state: TableState, code: str, name: str | None) -> None:
    findings = list(checks.check_state(state, "TW"))
    assert said(findings) == [(code, name)]
    assert findings[0].severity is RULES[code].severity
    assert findings[0].version == 3


NARROW = widened(column("a", "integer"), column("b", "string"))
WIDE = column("a", "long", ("integer", "long"))
TEXT = column("b", "string")
MAPPED = {**WIDENING_ON, MODE: "name", MAX: "3"}


def mapped_column(field: Json, number: int, name: str | None = None) -> Json:
    return {
        **field,
        "metadata": {**field["metadata"], ID: number, NAME: f"col-{number}"},
        "name": name or field["name"],
    }


MAPPED_NARROW = widened(mapped_column(column("a", "integer"), 1), mapped_column(TEXT, 2), configuration=MAPPED)
ONCE_WIDE = widened(WIDE, TEXT)
TWICE = column("a", "decimal(20,0)", ("integer", "long"), ("long", "decimal(20,0)"))
HEALTHY_STEPS = {
    "nothing": step(NARROW, NARROW),
    "widened": step(NARROW, ONCE_WIDE),
    "widened in two steps": step(
        widened(column("a", "byte")), widened(column("a", "long", ("byte", "integer"), ("integer", "long")))
    ),
    "widened again": step(ONCE_WIDE, widened(TWICE, TEXT)),
    "widened deep down": step(widened(column("m", map_of("float", array("decimal(6,2)")))), widened(DEEP)),
    "widened and enabled at once": step(widened(column("a", "integer"), configuration={}), widened(WIDE)),
    "renamed and widened": step(
        MAPPED_NARROW,
        widened(mapped_column(WIDE, 1, "x"), mapped_column(TEXT, 2), configuration=MAPPED),
    ),
    "dropped and added with another type": step(
        MAPPED_NARROW,
        widened(mapped_column(column("a", "string"), 3), mapped_column(TEXT, 2), configuration=MAPPED),
    ),
    "dropped with its record": step(ONCE_WIDE, widened(TEXT)),
    "a column without values gets a type": step(widened(column("v", "void")), widened(column("v", "string"))),
    "bytes to integers by an engine without the feature": step(
        table(struct_of(column("a", array("byte"))), {}), table(struct_of(column("a", array("integer"))), {})
    ),
    "texts": step(widened(column("a", "varchar(5)")), widened(column("a", "string"))),
    "nullable": step(
        widened(column("a", array("long"))),
        widened(column("a", {**array("long"), "containsNull": False})),
    ),
    "the feature dropped": step(
        widened(column("e", "long"), configuration={}), table(struct_of(column("e", "long")), {})
    ),
    "a schema that cannot be read": step(NARROW, HEALTHY["a schema that cannot be read"]),
}


@pytest.mark.parametrize("transition", HEALTHY_STEPS.values(), ids=HEALTHY_STEPS)
def test_healthy_commit_has_no_finding(transition: Transition) -> None:
    assert list(checks.check_change(transition, "TW")) == []


BROKEN_STEPS = {
    "TW08 narrower": (step(ONCE_WIDE, widened(column("a", "integer", ("integer", "long")), TEXT)), "TW08", "a"),
    "TW08 another kind": (step(NARROW, widened(column("a", "integer"), column("b", "long"))), "TW08", "b"),
    "TW08 without the feature": (
        step(table(struct_of(TEXT), {}), table(struct_of(column("b", "integer")), {})),
        "TW08",
        "b",
    ),
    "TW08 nested for simple": (step(NARROW, widened(column("a", struct_of(column("x", "long"))), TEXT)), "TW08", "a"),
    "TW08 the element of an array": (
        step(widened(column("l", array("long"))), widened(column("l", array("integer")))),
        "TW08",
        "l.element",
    ),
    "TW08 by id": (
        step(
            MAPPED_NARROW,
            widened(mapped_column(column("a", "string"), 1, "x"), mapped_column(TEXT, 2), configuration=MAPPED),
        ),
        "TW08",
        "x",
    ),
    "TW09 unrecorded": (step(NARROW, widened(column("a", "long"), TEXT)), "TW09", "a"),
    "TW09 recorded elsewhere": (
        step(widened(column("l", array("integer"))), widened(column("l", array("long"), ("integer", "long")))),
        "TW09",
        "l.element",
    ),
    "TW09 another change recorded": (step(NARROW, widened(column("a", "long", ("short", "long")), TEXT)), "TW09", "a"),
    "TW09 the second change unrecorded": (
        step(ONCE_WIDE, widened(column("a", "decimal(20,0)", ("integer", "long")), TEXT)),
        "TW09",
        "a",
    ),
    "TW09 deep in a struct": (
        step(
            widened(column("s", struct_of(column("x", map_of("string", "float"))))),
            widened(column("s", struct_of(column("x", map_of("string", "double"))))),
        ),
        "TW09",
        "s.x.value",
    ),
    "TW11 widening off": (
        step(widened(column("a", "integer"), configuration={}), widened(WIDE, configuration={})),
        "TW11",
        "a",
    ),
    "TW11 without the feature": (
        step(table(struct_of(column("a", "integer")), {}), table(struct_of(column("a", "long")), {})),
        "TW11",
        "a",
    ),
    "TW12 removed": (step(ONCE_WIDE, widened(column("a", "long"), TEXT)), "TW12", "a"),
    "TW12 removed of one column, widening off": (
        step(widened(CHAIN, WIDE, configuration={}), widened(CHAIN, column("a", "long"), configuration={})),
        "TW12",
        "a",
    ),
    "TW12 rewritten": (step(widened(CHAIN), widened(column("e", "long", ("byte", "long")))), "TW12", "e"),
    "TW12 shortened": (step(widened(CHAIN), widened(column("e", "long", ("integer", "long")))), "TW12", "e"),
    "TW12 of a nested field": (
        step(widened(INNER), widened(column("s", struct_of(column("list", array(struct_of(column("z", "long")))))))),
        "TW12",
        "s.list.element.z",
    ),
}


@pytest.mark.parametrize(("transition", "code", "name"), BROKEN_STEPS.values(), ids=BROKEN_STEPS)
def test_broken_commit_has_one_finding(transition: Transition, code: str, name: str) -> None:
    (finding,) = checks.check_change(transition, "TW")
    assert (finding.code, finding.column) == (code, name)
    assert (finding.version, finding.engine, finding.operation) == (3, "writer", "WRITE")
    assert finding.severity is RULES[code].severity
    assert list(checks.check_change(replace(transition, replaces_all=True), "TW")) == []
    assert list(checks.check_change(replace(transition, restores=True), "TW")) == []


@pytest.mark.parametrize(
    ("after", "name"),
    [
        (table(struct_of(CHAIN), {}, protocol=LEGACY), "e"),
        (table(struct_of(column("e", "long")), WIDENING_ON, protocol=LEGACY), None),
    ],
)
def test_feature_that_is_dropped_takes_its_traces_along(after: TableState, name: str | None) -> None:
    transition = step(widened(CHAIN), after, replaces_all=True)
    assert said(list(checks.check_change(transition, "TW"))) == [("TW15", name)]
    assert list(checks.check_change(replace(transition, before=after), "TW")) == []


CHAINS = {
    "integers": ["byte", "short", "integer", "long", "decimal(20,0)", "decimal(25,5)"],
    "floats": ["float", "double"],
    "decimals": ["decimal(4,1)", "decimal(6,2)", "decimal(9,2)"],
    "small": ["short", "double"],
}


@st.composite
def histories(draw: st.DrawFn) -> list[Json]:
    """Schemas of one table from version to version: a place is widened and recorded, in each."""
    places = draw(st.lists(st.sampled_from(sorted(CHAINS)), min_size=1, max_size=4))
    shapes = draw(st.lists(st.sampled_from(["", "element", "key", "value.element", "struct"]), min_size=len(places)))
    reached = [0] * len(places)
    fields = [column(f"c{i}", shaped(shape, CHAINS[place][0])) for i, (place, shape) in enumerate(zip(places, shapes))]
    versions = [struct_of(*fields)]
    for which in draw(st.lists(st.integers(0, len(places) - 1), min_size=1, max_size=6)):
        chain, shape = CHAINS[places[which]], shapes[which]
        if reached[which] + 1 == len(chain):
            continue
        to = draw(st.integers(reached[which] + 1, len(chain) - 1))
        schema = copy.deepcopy(versions[-1])
        field = at(schema, f"c{which}.x" if shape == "struct" else f"c{which}")
        change = {"fromType": chain[reached[which]], "toType": chain[to]}
        if shape not in ("", "struct"):
            change["fieldPath"] = shape
        field["metadata"].setdefault(CHANGES, []).append(change)
        field["type"] = chain[to] if shape == "struct" else shaped(shape, chain[to])
        reached[which] = to
        versions.append(schema)
    return versions


def shaped(shape: str, leaf: str) -> Any:
    if shape == "struct":
        return struct_of(column("x", leaf), column("y", "string"))
    return {
        "": leaf,
        "element": array(leaf),
        "key": map_of(leaf, "string"),
        "value.element": map_of("string", array(leaf)),
    }[shape]


def widenings(versions: list[Json]) -> list[Transition]:
    states = [table(schema, WIDENING_ON, protocol=WIDENING, version=v) for v, schema in enumerate(versions)]
    return [step(before, after) for before, after in itertools.pairwise(states)]


@given(histories())
def test_history_that_records_what_it_widens_has_no_finding(versions: list[Json]) -> None:
    for transition in widenings(versions):
        assert list(checks.check_state(transition.after, "TW")) == []
        assert list(checks.check_change(transition, "TW")) == []


@given(histories().filter(lambda versions: len(versions) > 1), st.data())
def test_one_damage_has_its_code(versions: list[Json], data: st.DataObject) -> None:
    last = copy.deepcopy(versions[-1])
    hurt = data.draw(st.sampled_from([f for f in fields_of(last) if CHANGES in f["metadata"]]))
    damage = data.draw(st.sampled_from(["TW03", "TW04", "TW05", "TW12"]))
    changes = hurt["metadata"][CHANGES]
    if damage == "TW03":
        del data.draw(st.sampled_from(changes))["toType"]
    elif damage == "TW04":
        data.draw(st.sampled_from(changes))["fromType"] = "binary"
    elif damage == "TW05":
        data.draw(st.sampled_from(changes))["fieldPath"] = "nowhere"
    else:
        del changes[:]
    before, after = (table(schema, WIDENING_ON, protocol=WIDENING) for schema in (versions[-1], last))
    found = {
        finding.code for finding in [*checks.check_state(after, "TW"), *checks.check_change(step(before, after), "TW")]
    }
    # A record that is rewritten is lost as well, unless nobody can read it.
    assert damage in found
    assert found <= {damage, "TW12", "TW06", "TW07"} if damage == "TW05" else found <= {damage, "TW12"}
