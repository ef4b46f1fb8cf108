"""The rules of column mapping: healthy tables, each broken in one place at a time."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.checks.column_mapping.names import PhysicalPaths, check_added_file
from airflow_delta_provider.domain.checks.column_mapping.state import MOST_FINDINGS
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, MapType, PrimitiveType, StructType
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding, Severity
from tests.unit import check_families as checks
from tests.unit.mapped_tables import (
    ID,
    MAX,
    MODE,
    NAME,
    NESTED,
    Json,
    added,
    as_json,
    at,
    configured,
    edited,
    fields_of,
    mapped,
    said,
    step,
    table,
    without,
)
from tests.unit.states import LEGACY, field, struct

LONG = PrimitiveType("long")
PLAIN = struct(
    field("id", "long"),
    field("a b", "string"),
    field("s", struct(field("x", "integer"), field("list", ArrayType(struct(field("z", "integer")))))),
    field("m", MapType(LONG, struct(field("k", "integer"), field("x", "date")))),
)
SCHEMA = mapped(PLAIN)  # id 1, a b 2, s 3, s.x 4, s.list 5, s.list.element.z 6, m 7, m.value.k 8, m.value.x 9
UPGRADED = mapped(PLAIN, lambda name, number: name)
LISTED = Protocol(2, 7, None, frozenset({"columnMapping", "clustering", "domainMetadata"}))
NEW_COLUMN = {"name": "n", "type": "long", "nullable": True, "metadata": {ID: 10, NAME: "col-10"}}


def check_state(state: TableState) -> list[Finding]:
    return checks.check_state(state, "CM")


def check_transition(transition: Transition) -> list[Finding]:
    return checks.check_change(transition, "CM")


def clustered(*columns: Any) -> dict[str, str]:
    return {"delta.clustering": json.dumps({"clusteringColumns": list(columns), "domainName": "delta.clustering"})}


HEALTHY = {
    "mapped by name": table(SCHEMA),
    "mapped by id": table(SCHEMA, configured(SCHEMA, "id")),
    "the mode in capitals": table(SCHEMA, configured(SCHEMA, "NAME")),
    "mapped after it was made": table(UPGRADED),
    "the feature listed": table(SCHEMA, protocol=LISTED),
    "the feature listed for readers": table(
        SCHEMA, protocol=Protocol(3, 7, frozenset({"columnMapping"}), frozenset({"columnMapping"}))
    ),
    "never mapped": table(as_json(PLAIN), {}, protocol=LEGACY),
    "no columns": table(as_json(struct()), {MODE: "name", MAX: "0"}),
    "dropped columns": table(SCHEMA, {MODE: "name", MAX: "99"}),
    "the same name in two structs": table(edited(SCHEMA, "m.value.x", {NAME: "col-4"})),
    "nested ids": table(edited(SCHEMA, "s.list", {NESTED: {"col-5.element": 10}}), {MODE: "name", MAX: "10"}),
    "clustered": table(SCHEMA, protocol=LISTED, domains=clustered(["col-1"], ["col-3", "col-4"])),
    "clustered, columns as texts": table(SCHEMA, protocol=LISTED, domains=clustered("col-1", "col-3.col-4")),
    "clustered by a name that is another's physical one": table(
        edited(SCHEMA, "a b", {NAME: "id"}), protocol=LISTED, domains=clustered(["id"])
    ),
    "clustering that is not JSON": table(SCHEMA, domains={"delta.clustering": "{"}),
    "clustering of nothing": table(SCHEMA, domains=clustered()),
    "clustered without mapping": table(as_json(PLAIN), {}, domains=clustered(["ID"], ["s", "x"])),
    "a schema that cannot be read": replace(table(SCHEMA), metadata=Metadata("id", "{", configuration={MODE: "name"})),
}


@pytest.mark.parametrize("state", HEALTHY.values(), ids=HEALTHY)
def test_healthy_mapping_has_no_finding(state: TableState) -> None:
    assert list(check_state(state)) == []


BROKEN = {
    "CM01 an old protocol": (table(SCHEMA, protocol=LEGACY), "CM01", None),
    "CM01 readers of version 1": (table(SCHEMA, protocol=Protocol(1, 7, None, LISTED.writer_features)), "CM01", None),
    "CM01 an orphan property": (table(as_json(PLAIN), {MODE: "name"}, protocol=LEGACY), "CM01", None),
    "CM02 no id": (table(edited(SCHEMA, "s.list.element.z", {ID: None})), "CM02", "s.list.element.z"),
    "CM02 a text": (table(edited(SCHEMA, "a b", {ID: "2"})), "CM02", "a b"),
    "CM02 a truth value": (table(edited(SCHEMA, "id", {ID: True})), "CM02", "id"),
    "CM02 more than 32 bits": (table(edited(SCHEMA, "id", {ID: 2**31}), configured(SCHEMA)), "CM02", "id"),
    "CM02 a nested id": (table(edited(SCHEMA, "s.list", {NESTED: {"col-5.element": 1.5}})), "CM02", "s.list"),
    "CM03 no name in a map": (table(edited(SCHEMA, "m.value.k", {NAME: None})), "CM03", "m.value.k"),
    "CM03 no name above others": (table(edited(SCHEMA, "s", {NAME: None})), "CM03", "s"),
    "CM03 a number": (table(edited(SCHEMA, "id", {NAME: 1})), "CM03", "id"),
    "CM04 twice": (table(edited(SCHEMA, "m.value.k", {ID: 4})), "CM04", "m.value.k"),
    "CM04 a nested id": (table(edited(SCHEMA, "s.list", {NESTED: {"col-5.element": 1}})), "CM04", "s.list"),
    "CM05 twice": (table(edited(SCHEMA, "a b", {NAME: "col-1"})), "CM05", "a b"),
    "CM05 in a struct": (table(edited(SCHEMA, "m.value.x", {NAME: "col-8"})), "CM05", "m.value.x"),
    "CM06 no maximum": (table(SCHEMA, {MODE: "name"}), "CM06", None),
    "CM06 no number": (table(SCHEMA, {MODE: "name", MAX: "nine"}), "CM06", None),
    "CM07 too low": (table(SCHEMA, {MODE: "id", MAX: "8"}), "CM07", "m.value.x"),
    "CM07 below a nested id": (
        table(edited(SCHEMA, "s.list", {NESTED: {"col-5.element": 10}}), configured(SCHEMA)),
        "CM07",
        "s.list",
    ),
    "CM08 mode none": (table(SCHEMA, {MODE: "none"}), "CM08", "id"),
    "CM08 no mode": (table(edited(as_json(PLAIN), "s.x", {ID: 3}), {}, protocol=LEGACY), "CM08", "s.x"),
    "CM17 logical": (table(SCHEMA, protocol=LISTED, domains=clustered(["s", "x"])), "CM17", "s.x"),
    "CM17 a text": (table(SCHEMA, protocol=LISTED, domains=clustered("a b")), "CM17", "a b"),
    "CM17 nobody's": (table(SCHEMA, protocol=LISTED, domains=clustered(["gone"])), "CM17", "gone"),
}


def test_clustering_column_that_has_no_name_without_mapping_weighs_less() -> None:
    (finding,) = check_state(table(as_json(PLAIN), {}, domains=clustered(["id"], ["col-2"])))
    assert (finding.code, finding.column, finding.severity) == ("CM17", "col-2", Severity.WARNING)


@pytest.mark.parametrize(("state", "code", "column"), BROKEN.values(), ids=BROKEN)
def test_broken_mapping_has_one_finding(state: TableState, code: str, column: str | None) -> None:
    findings = list(check_state(state))
    assert said(findings) == [(code, column)]
    assert findings[0].severity is RULES[code].severity
    assert findings[0].version == 3


def test_two_columns_in_one_place_are_said_once_though_all_below_them_collide() -> None:
    both = mapped(struct(field("s", struct(field("x", "long"))), field("t", struct(field("x", "long")))))
    same = edited(edited(edited(both, "t", {NAME: "col-1"}), "t.x", {NAME: "col-2"}), "t.x", {ID: 4})
    assert said(list(check_state(table(same)))) == [("CM05", "t")]


def test_many_columns_without_mapping_are_one_finding_a_rule() -> None:
    wide = as_json(struct(*(field(f"c{number}", "long") for number in range(MOST_FINDINGS + 1))))
    findings = list(check_state(table(wide, {MODE: "name", MAX: "0"})))
    assert said(findings) == [("CM02", "c0"), ("CM03", "c0")]
    assert all(f"{MOST_FINDINGS} more columns" in finding.message for finding in findings)


def test_left_metadata_is_a_warning_that_names_a_column_that_reads_null() -> None:
    half = edited(UPGRADED, "s.x", {NAME: "col-4"})
    (finding,) = check_state(table(half, {}))
    assert (finding.severity, finding.column) == (Severity.WARNING, "s.x")
    assert "NULL" in finding.message


RENAMED = copy.deepcopy(SCHEMA)
at(RENAMED, "s.x")["name"] = "y"
DROPPED = without(SCHEMA, "m")
WAS_MAPPED = table(SCHEMA)
HEALTHY_STEPS = {
    "nothing": step(WAS_MAPPED, WAS_MAPPED),
    "a column more": step(WAS_MAPPED, table(added(SCHEMA, NEW_COLUMN))),
    "a column renamed": step(WAS_MAPPED, table(RENAMED)),
    "a column dropped": step(WAS_MAPPED, table(DROPPED, configured(SCHEMA))),
    "a column dropped and added again": step(
        WAS_MAPPED,
        table(added(DROPPED, {**NEW_COLUMN, "name": "m"})),
    ),
    "two columns that swap their names": step(
        WAS_MAPPED,
        table(json.loads(json.dumps(SCHEMA).replace('"id"', '"?"').replace('"a b"', '"id"').replace('"?"', '"a b"'))),
    ),
    "mapping begun": step(table(as_json(PLAIN), {}, protocol=LEGACY), table(UPGRADED)),
    "mapping removed that changed no name": step(table(UPGRADED), table(as_json(PLAIN), {})),
    "mapping removed, files rewritten": step(WAS_MAPPED, table(as_json(PLAIN), {}), replaces_all=True),
    "mapping begun again over metadata that was left": step(table(SCHEMA, {}), WAS_MAPPED),
    "all replaced": step(
        WAS_MAPPED,
        table(mapped(PLAIN, lambda name, number: f"new-{number}"), {MODE: "id", MAX: "9"}),
        replaces_all=True,
    ),
    "an earlier version restored": step(table(DROPPED, configured(SCHEMA)), WAS_MAPPED, restores=True),
    "a schema that cannot be read": step(WAS_MAPPED, HEALTHY["a schema that cannot be read"]),
}


@pytest.mark.parametrize("transition", HEALTHY_STEPS.values(), ids=HEALTHY_STEPS)
def test_healthy_commit_has_no_finding(transition: Transition) -> None:
    assert list(check_transition(transition)) == []
    assert list(PhysicalPaths().apply_commit(transition)) == []


SWAPPED_IDS = edited(edited(SCHEMA, "id", {ID: 2}), "a b", {ID: 1})
SWAPPED_NAMES = edited(edited(SCHEMA, "id", {NAME: "col-2"}), "a b", {NAME: "col-1"})
BROKEN_STEPS = {
    "CM09 from none to id": (
        step(table(as_json(PLAIN), {}), table(UPGRADED, configured(UPGRADED, "id"))),
        [("CM09", None)],
    ),
    "CM09 from name to id": (step(WAS_MAPPED, table(SCHEMA, configured(SCHEMA, "id"))), [("CM09", None)]),
    "CM09 from id to name": (step(table(SCHEMA, configured(SCHEMA, "id")), WAS_MAPPED), [("CM09", None)]),
    "CM09 removed, nothing rewritten": (step(WAS_MAPPED, table(as_json(PLAIN), {})), [("CM09", "id")]),
    "CM09 removed, one column renamed": (
        step(table(edited(UPGRADED, "s.x", {NAME: "col-4"})), table(as_json(PLAIN), {})),
        [("CM09", "s.x")],
    ),
    "CM09 removed, metadata left": (step(table(UPGRADED), table(UPGRADED, {})), [("CM09", "id")]),
    "CM09 begun under other names": (step(table(as_json(PLAIN), {}), WAS_MAPPED), [("CM09", "id")]),
    "CM10 lowered": (
        step(table(SCHEMA, {MODE: "name", MAX: "12"}), table(SCHEMA, {MODE: "name", MAX: "11"})),
        [("CM10", None)],
    ),
    "CM11 another name": (
        step(WAS_MAPPED, table(edited(SCHEMA, "s.list.element.z", {NAME: "other"}))),
        [("CM11", "s.list.element.z")],
    ),
    "CM11 another name above others": (step(WAS_MAPPED, table(edited(SCHEMA, "s", {NAME: "other"}))), [("CM11", "s")]),
    "CM11 swapped": (step(WAS_MAPPED, table(SWAPPED_NAMES)), [("CM11", "id"), ("CM11", "a b")]),
    "CM12 another id": (step(WAS_MAPPED, table(edited(SCHEMA, "m.value.k", {ID: 10}))), [("CM12", "m.value.k")]),
    "CM12 swapped": (step(WAS_MAPPED, table(SWAPPED_IDS)), [("CM12", "id"), ("CM12", "a b")]),
    "CM13 an old id": (
        step(
            table(DROPPED, configured(SCHEMA) | {MODE: "id"}),
            table(added(DROPPED, {**NEW_COLUMN, "metadata": {ID: 8, NAME: "u"}}), configured(SCHEMA) | {MODE: "id"}),
        ),
        [("CM13", "n")],
    ),
}


@pytest.mark.parametrize(("transition", "expected"), BROKEN_STEPS.values(), ids=BROKEN_STEPS)
def test_broken_commit_has_its_finding(transition: Transition, expected: list[tuple[str, str | None]]) -> None:
    findings = list(check_transition(transition))
    assert said(findings) == expected
    assert {(f.version, f.engine, f.operation) for f in findings} == {(3, "writer", "WRITE")}
    assert {f.severity for f in findings} == {RULES[code].severity for code, _ in expected}
    assert list(check_transition(replace(transition, replaces_all=True))) == []
    assert list(check_transition(replace(transition, restores=True))) == []


@pytest.mark.parametrize(
    ("path", "changes", "code"),
    [
        ("a b", {ID: 1}, "CM04"),
        ("a b", {NAME: "col-1"}, "CM05"),
        ("id", {ID: None}, "CM02"),
        ("id", {NAME: None}, "CM03"),
    ],
)
def test_commit_that_breaks_the_state_is_not_said_twice(path: str, changes: dict[str, Any], code: str) -> None:
    after = table(edited(SCHEMA, path, changes))
    assert said(list(check_state(after))) == [(code, path)]
    assert list(check_transition(step(WAS_MAPPED, after))) == []
    assert list(PhysicalPaths().apply_commit(step(WAS_MAPPED, after))) == []


BACK = {"name": "again", "type": "string", "nullable": True, "metadata": {ID: 10, NAME: "col-2"}}
GONE = table(without(SCHEMA, "a b"), configured(SCHEMA))
REVIVED = table(added(without(SCHEMA, "a b"), BACK))


def test_physical_path_of_a_dropped_column_is_not_used_again() -> None:
    history = PhysicalPaths()
    assert list(history.apply_commit(step(WAS_MAPPED, GONE))) == []
    assert list(history.apply_commit(step(GONE, GONE))) == []
    assert list(check_transition(step(GONE, REVIVED))) == []
    assert said(list(history.apply_commit(step(GONE, REVIVED)))) == [("CM16", "again")]
    assert list(history.apply_commit(step(REVIVED, REVIVED))) == []


@pytest.mark.parametrize("known", [{"replaces_all": True}, {"restores": True}])
def test_physical_path_may_be_used_again_where_no_file_has_the_dropped_column(known: dict[str, bool]) -> None:
    history = PhysicalPaths()
    assert list(history.apply_commit(step(WAS_MAPPED, GONE))) == []
    assert list(history.apply_commit(step(GONE, REVIVED, **known))) == []


def test_ids_begin_anew_after_the_mapping_was_removed() -> None:
    history = PhysicalPaths()
    unmapped = table(as_json(struct(field("id", "long"), field("n", "long"))), {})
    mapped_again = table(mapped(struct(field("n", "long"), field("id", "long")), lambda name, number: name))
    first = table(
        mapped(struct(field("id", "long"), field("n", "long"), field("x", "long")), lambda name, number: name)
    )
    dropped = table(without(json.loads(first.metadata.schema_string), "x"), first.metadata.configuration)
    steps = [step(first, dropped), step(dropped, unmapped, replaces_all=True), step(unmapped, mapped_again)]
    assert [finding for each in steps for finding in history.apply_commit(each)] == []


def test_dropped_struct_that_comes_back_is_said_once() -> None:
    history = PhysicalPaths()
    gone = table(without(SCHEMA, "s"), configured(SCHEMA))
    back = copy.deepcopy(SCHEMA)
    for number, part in enumerate([at(back, "s"), *fields_of(at(back, "s")["type"])], start=20):
        part["metadata"][ID] = number
    assert list(history.apply_commit(step(WAS_MAPPED, gone))) == []
    assert said(list(history.apply_commit(step(gone, table(back))))) == [("CM16", "s")]


def add(stats: Any = None, **partition_values: str | None) -> Json:
    return {"path": "f", "partitionValues": partition_values, "stats": stats if stats is None else json.dumps(stats)}


def bounds(values: Json) -> Json:
    return {"numRecords": 1, "minValues": values, "maxValues": values, "nullCount": values}


NAMES = table(SCHEMA, partition_columns=()).metadata
PARTITIONED = table(SCHEMA, partition_columns=("a b",)).metadata
HEALTHY_ADDS = {
    "no statistics": (add(), NAMES),
    "statistics that are no JSON": ({**add(), "stats": '{"id"'}, NAMES),
    "statistics of another shape": (add([1, "id"]), NAMES),
    "physical names": (add(bounds({"col-1": 1, "col-3": {"col-4": 2, "col-5": 0}})), NAMES),
    "few columns": (add(bounds({"col-3": {}})), NAMES),
    "dropped columns and columns of row tracking": (add(bounds({"col-77": 1, "_row-id-col-5": 2})), NAMES),
    "paths inside a variant": (add(bounds({"col-1": {"$['id']": 1, "id": 3}})), NAMES),
    "below a map": (add(bounds({"col-7": {"k": 1}})), NAMES),
    "a dropped column that bore a later one's name": (
        add(bounds({"id": 1})),
        table(without(SCHEMA, "a b"), configured(SCHEMA)).metadata,
    ),
    "not mapped": (add(bounds({"id": 1})), table(as_json(PLAIN), {}).metadata),
    "not mapped, partitioned, in another case": (
        add(A="1"),
        table(as_json(struct(field("a", "long"))), {}, partition_columns=("a",)).metadata,
    ),
    "a schema that cannot be read": (add(bounds({"id": 1})), HEALTHY["a schema that cannot be read"].metadata),
    "partitioned": (add(**{"col-2": None}), PARTITIONED),
    "partitioned by an unknown column": (add(x="1"), table(SCHEMA, partition_columns=("nobody",)).metadata),
    "partitioned by a column without physical name": (
        add(**{"a b": "1"}),
        table(edited(SCHEMA, "a b", {NAME: None}), partition_columns=("a b",)).metadata,
    ),
}


@pytest.mark.parametrize(("body", "metadata"), HEALTHY_ADDS.values(), ids=HEALTHY_ADDS)
def test_healthy_file_has_no_finding(body: Json, metadata: Metadata) -> None:
    assert list(check_added_file(body, metadata, lambda: None)) == []


BROKEN_ADDS = {
    "CM14 logical": (add(**{"a b": "1"}), PARTITIONED, "CM14", "a b"),
    "CM14 none": (add(), PARTITIONED, "CM14", "a b"),
    "CM14 null": ({"path": "f", "partitionValues": None}, PARTITIONED, "CM14", "a b"),
    "CM14 one too many": (add(**{"col-2": "1", "x": "1"}), PARTITIONED, "CM14", "x"),
    "CM14 of a table without partitions": (add(x="1"), NAMES, "CM14", "x"),
    "CM15 logical": (add(bounds({"id": 1})), NAMES, "CM15", "id"),
    "CM15 in one of three": (add({"numRecords": 1, "minValues": {}, "nullCount": {"id": 0}}), NAMES, "CM15", "id"),
    "CM15 nested": (add(bounds({"col-1": 1, "col-3": {"x": 1}})), NAMES, "CM15", "s.x"),
    "CM15 more than were dropped": (
        add(bounds({"id": 1, "s": {"x": 1}, "m": 0})),
        table(without(SCHEMA, "a b"), configured(SCHEMA)).metadata,
        "CM15",
        "id",
    ),
    "CM15 a name that JSON escapes": (
        {**add(), "stats": '{"nullCount":{"\\u00fc":1}}'},
        table(mapped(struct(field("ü", "long")))).metadata,
        "CM15",
        "ü",
    ),
}


@pytest.mark.parametrize(("body", "metadata", "code", "column"), BROKEN_ADDS.values(), ids=BROKEN_ADDS)
def test_broken_file_has_one_finding(body: Json, metadata: Metadata, code: str, column: str) -> None:
    findings = list(check_added_file(body, metadata, lambda: None))
    assert said(findings) == [(code, column)]
    assert findings[0].path == "f"


def test_file_known_to_be_written_under_the_schema_has_no_dropped_columns() -> None:
    metadata = table(without(SCHEMA, "a b"), configured(SCHEMA)).metadata
    findings = list(check_added_file(add(bounds({"id": 1})), metadata, lambda: None, current=True))
    assert said(findings) == [("CM15", "id")]


@pytest.mark.parametrize(
    ("stored", "path", "expected"),
    [
        ({("id",)}, "f", []),
        ({("a b",)}, "f", [("CM15", "id")]),
        ({("col-3", "id")}, "f", [("CM15", "id")]),
        (None, "f", []),
        ({("a b",)}, "s3://elsewhere/f", []),
    ],
    ids=["stored", "another one", "within a struct", "unknown", "file from elsewhere"],
)
def test_logical_name_that_no_column_ever_had_in_files_is_wrong(
    stored: set[tuple[str, ...]] | None, path: str, expected: list[tuple[str, str]]
) -> None:
    metadata = table(without(SCHEMA, "a b"), configured(SCHEMA)).metadata
    paths = None if stored is None else frozenset(stored)
    body = {**add(bounds({"id": 1})), "path": path}
    assert said(list(check_added_file(body, metadata, lambda: paths))) == expected


leaves = st.sampled_from(["integer", "string", "decimal(10,2)", "timestamp"]).map(PrimitiveType)
names = st.lists(st.sampled_from(["a", "B", "c d", "é", "element", "x.y", "`"]), min_size=1, max_size=4, unique=True)


def _above(types: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    structs = names.flatmap(
        lambda chosen: st.tuples(*(types for _ in chosen)).map(lambda found: struct(*map(field, chosen, found)))
    )
    return structs | types.map(ArrayType) | st.builds(MapType, types, types)


types = st.recursive(leaves, _above, max_leaves=8)
schemas = names.flatmap(
    lambda chosen: st.tuples(*(types for _ in chosen)).map(lambda found: struct(*map(field, chosen, found)))
)


@given(schemas, st.sampled_from(["name", "id"]), st.booleans())
def test_schema_that_was_mapped_rightly_has_no_finding(schema: StructType, mode: str, upgraded: bool) -> None:
    wire = mapped(schema, (lambda name, number: name) if upgraded else (lambda name, number: f"col-{number}"))
    state = table(wire, configured(wire, mode))
    assert list(check_state(state)) == []
    assert (
        list(check_transition(step(table(as_json(schema), {}), state, replaces_all=not upgraded or mode == "id"))) == []
    )


@given(schemas, st.data())
def test_one_damage_has_its_code(schema: StructType, data: st.DataObject) -> None:
    wire = mapped(schema)
    before = table(wire)
    broken = copy.deepcopy(wire)
    every = fields_of(broken)
    hurt = data.draw(st.sampled_from(every))
    damage = data.draw(st.sampled_from(["CM02", "CM03", "CM04", "CM06", "CM07", "CM09", "CM11", "CM12"]))
    configuration = configured(wire)
    if damage == "CM02":
        del hurt["metadata"][ID]
    elif damage == "CM03":
        del hurt["metadata"][NAME]
    elif damage == "CM04" and len(every) > 1:
        hurt["metadata"][ID] = next(f["metadata"][ID] for f in every if f is not hurt)
    elif damage == "CM06":
        del configuration[MAX]
    elif damage == "CM07":
        configuration[MAX] = str(len(every) - 1)
    elif damage == "CM09":
        configuration = configured(wire, "id")
    elif damage == "CM11":
        hurt["metadata"][NAME] = "other"
    else:
        hurt["metadata"][ID] = len(every) + 1
        configuration[MAX] = str(len(every) + 1)
        damage = "CM12"
    after = table(broken, configuration)
    found = [*check_state(after), *check_transition(step(before, after))]
    due = ["CM07", "CM10"] if damage == "CM07" else [damage]
    assert [finding.code for finding in found] == due
