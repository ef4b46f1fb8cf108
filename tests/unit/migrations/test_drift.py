"""How a table differs from its spec, that a plan is empty where it does not, and which commit is to blame."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.drift import DriftHistory, differences
from airflow_delta_provider.domain.migrations.planner import plan_migration
from airflow_delta_provider.domain.spec.table_spec import ColumnSpec, TableSpec, struct_of
from airflow_delta_provider.domain.spec.writing import describe
from tests.unit.migrations.declared import after, col
from tests.unit.spec.random_specs import SCHEMAS
from tests.unit.spec.random_specs import specs as any_specs
from tests.unit.states import ENGINE, LEGACY, TABLE, field, state_of, struct

MAPPED = LEGACY.supporting(["columnMapping", "typeWidening", "allowColumnDefaults", "checkConstraints", "clustering"])
ON = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}


def table(*fields: Any, **known: Any) -> TableState:
    configuration = {**ON, **known.pop("configuration", {})}
    fields = fields or (field("id", "long"), field("qty", "integer"))
    mapped = [
        replace(
            each,
            metadata={
                "delta.columnMapping.id": number,
                "delta.columnMapping.physicalName": each.name,
                **each.metadata,
            },
        )
        for number, each in enumerate(fields, start=1)
    ]
    configuration["delta.columnMapping.maxColumnId"] = str(len(fields))
    state = state_of(struct(*mapped), protocol=MAPPED, configuration=configuration)
    metadata = {name: known.pop(name) for name in ("description", "partition_columns") if name in known}
    return replace(state, metadata=replace(state.metadata, **metadata), files={}, **known)


def said(spec: TableSpec, state: TableState) -> list[tuple[str, str | None, Any, Any]]:
    return [(d.rule.code, d.column or d.subject, d.wanted, d.actual) for d in differences(spec, state)]


def spec(*columns: ColumnSpec, **known: Any) -> TableSpec:
    return TableSpec(columns=columns, **known)


ID, QTY = field("id", "long"), field("qty", "integer")
NESTED = field("customer", struct(field("name", "string"), field("fax", "string")))
CLUSTERED = {"delta.clustering": json.dumps({"clusteringColumns": [["qty"]]})}

CASES: list[tuple[TableSpec, TableState, list[tuple[str, str | None, Any, Any]]]] = [
    (spec(table_id="other", comment="x"), table(), [("DR01", None, "other", "id")]),
    (spec(col("note", "string")), table(), [("DR02", "note", "string", None)]),
    (spec(col("note", "string", comment="x", default="'a'")), table(), [("DR02", "note", "string", None)]),
    (spec(col("id"), col("note", "string"), col("qty")), table(), [("DR02", "note", "string", None)]),
    (spec(col("note")), table(), [("DR02", "note", "of any type", None)]),
    (spec(ColumnSpec(name="s", data_type=struct_of(()))), table(), [("DR02", "s", "struct<>", None)]),
    (
        spec(ColumnSpec(name="s", data_type=struct_of((ColumnSpec(name="x", comment="a"),)))),
        table(),
        [("DR02", "s.x", "of any type", None)],
    ),
    (spec(col("customer", "struct<mail:string>")), table(NESTED), [("DR02", "customer.mail", "string", None)]),
    (spec(col("pieces", "int", renamed_from="qty")), table(), [("DR03", "pieces", "pieces", "qty")]),
    (spec(col("id", "bigint"), exact=True), table(), [("DR04", "qty", None, "int")]),
    (spec(drop=(("qty",),)), table(), [("DR04", "qty", None, "int")]),
    (spec(drop=(("customer", "fax"),)), table(NESTED), [("DR04", "customer.fax", None, "string")]),
    (spec(col("qty", "bigint")), table(), [("DR05", "qty", "bigint", "int")]),
    (spec(col("id", "int")), table(), [("DR05", "id", "int", "bigint")]),
    (spec(col("id", "array<int>")), table(), [("DR05", "id", "array<int>", "bigint")]),
    (
        spec(col("pieces", "bigint", renamed_from="qty")),
        table(),
        [("DR03", "pieces", "pieces", "qty"), ("DR05", "pieces", "bigint", "int")],
    ),
    (spec(col("qty", nullable=False)), table(), [("DR06", "qty", "NOT NULL", "nullable")]),
    (
        spec(col("qty", nullable=True)),
        table(ID, replace(QTY, nullable=False)),
        [("DR06", "qty", "nullable", "NOT NULL")],
    ),
    (spec(col("qty"), col("id")), table(), [("DR07", None, ("qty", "id"), ("id", "qty"))]),
    (
        spec(col("customer", "struct<fax:string,name:string>")),
        table(NESTED),
        [("DR07", "customer", ("fax", "name"), ("name", "fax"))],
    ),
    (spec(col("qty", comment="pieces")), table(), [("DR08", "qty", "pieces", None)]),
    (
        spec(col("qty", comment=None)),
        table(ID, field("qty", "integer", comment="pieces")),
        [("DR08", "qty", None, "pieces")],
    ),
    (spec(col("qty", default="1")), table(), [("DR09", "qty", "1", None)]),
    (
        spec(col("pieces", default="1", renamed_from="qty")),
        table(ID, field("qty", "integer", CURRENT_DEFAULT="0")),
        [("DR03", "pieces", "pieces", "qty"), ("DR09", "pieces", "1", "0")],
    ),
    (spec(col("qty", generated="id + 1")), table(), [("DR10", "qty", "id + 1", None)]),
    (spec(properties={"team": "a"}), table(), [("DR11", "team", "a", None)]),
    (spec(properties={"team": "a"}), table(configuration={"team": "b"}), [("DR11", "team", "a", "b")]),
    (spec(properties={"team": None}), table(configuration={"team": "b"}), [("DR11", "team", None, "b")]),
    (spec(features=("deletionVectors",)), table(), [("DR12", "deletionVectors", "enabled", None)]),
    (
        spec(features=("deletionVectors",)),
        table(protocol=MAPPED.supporting(["deletionVectors"])),
        [("DR12", "deletionVectors", "enabled", "supported")],
    ),
    (spec(drop_features=("checkConstraints",)), table(), [("DR13", "checkConstraints", None, "supported")]),
    (spec(constraints={"positive": "qty > 0"}), table(), [("DR14", "positive", "qty > 0", None)]),
    (
        spec(constraints={"Positive": "qty > 0"}),
        table(configuration={"delta.constraints.positive": "qty > 1"}),
        [("DR14", "Positive", "qty > 0", "qty > 1")],
    ),
    (
        spec(constraints={"positive": None}),
        table(configuration={"delta.constraints.positive": "qty > 1"}),
        [("DR14", "positive", None, "qty > 1")],
    ),
    (spec(partition_by=("qty",)), table(), [("DR15", None, ("qty",), ())]),
    (spec(partition_by=()), table(partition_columns=("qty",)), [("DR15", None, (), ("qty",))]),
    (spec(cluster_by=(("id",),)), table(domains=CLUSTERED), [("DR16", None, ("id",), ("qty",))]),
    (spec(cluster_by=()), table(domains=CLUSTERED), [("DR16", None, (), ("qty",))]),
    (spec(comment="orders"), table(), [("DR17", None, "orders", None)]),
    (spec(comment=None), table(description="orders"), [("DR17", None, None, "orders")]),
]
NO_DRIFT: list[tuple[TableSpec, TableState]] = [
    (spec(), table()),
    (spec(table_id="id"), table()),
    (spec(col("ID", "bigint"), col("qty", "int", nullable=True, comment=None, default=None)), table()),
    (spec(col("id", "bigint"), col("qty", "int"), exact=True), table()),
    (spec(col("qty", "int", renamed_from="pieces")), table()),
    (spec(drop=(("fax",),)), table()),
    (spec(features=("typeWidening",), drop_features=("rowTracking",)), table()),
    (spec(constraints={"p": "qty>0"}), table(configuration={"delta.constraints.p": "QTY > 0"})),
    (spec(cluster_by=(("QTY",),)), table(domains=CLUSTERED)),
    (spec(partition_by=("Qty",)), table(partition_columns=("qty",))),
    (spec(properties={"DELTA.enabletypewidening": "true", "gone": None}), table()),
    (spec(comment=""), table()),
]


@pytest.mark.parametrize(("declared", "state", "expected"), CASES)
def test_what_differs_is_named(declared: TableSpec, state: TableState, expected: list[Any]):
    assert said(declared, state) == expected


@pytest.mark.parametrize(("declared", "state"), NO_DRIFT)
def test_what_is_as_declared_is_no_drift(declared: TableSpec, state: TableState):
    assert said(declared, state) == []


def is_empty(declared: TableSpec, state: TableState) -> bool:
    planned = plan_migration(TABLE, declared, state, ENGINE)
    return planned.plan is not None and not planned.plan.steps


@pytest.mark.parametrize(("declared", "state"), [*((declared, state) for declared, state, _ in CASES), *NO_DRIFT])
def test_a_plan_is_empty_where_there_is_no_drift_and_only_there(declared: TableSpec, state: TableState):
    assert is_empty(declared, state) is (said(declared, state) == [])


@pytest.mark.parametrize(("declared", "state"), [(declared, state) for declared, state, _ in CASES])
def test_there_is_no_drift_after_the_plan(declared: TableSpec, state: TableState):
    plan = plan_migration(TABLE, declared, state, ENGINE).plan
    if plan is not None and declared.cluster_by is None:
        assert said(declared, after(plan)) == []


NAMES = st.sampled_from(["id", "ID", "qty", "note", "customer"])
TYPES = st.sampled_from(
    ["int", "bigint", "string", "struct<a:int,b:string>", "struct<b:string,a:bigint>", "array<int>"]
)


@st.composite
def specs(draw: st.DrawFn) -> TableSpec:
    names = draw(st.lists(NAMES, unique_by=str.lower, max_size=4))
    columns = []
    for name in names:
        renamed = draw(st.sampled_from([None, None, "qty", "note"]))
        known: dict[str, Any] = {"renamed_from": renamed} if renamed not in (None, *names) else {}
        if draw(st.booleans()):
            known["comment"] = draw(st.sampled_from([None, "x", ""]))
        if draw(st.booleans()):
            known["nullable"] = draw(st.booleans())
        columns.append(col(name, draw(st.one_of(st.none(), TYPES)), **known))
    sources = [column.renamed_from for column in columns if isinstance(column.renamed_from, str)]
    if len(set(sources)) < len(sources):
        columns = [replace(column, renamed_from=None) for column in columns]
    return TableSpec(
        columns=tuple(columns),
        exact=draw(st.booleans()) and bool(columns),
        rewrite=draw(st.booleans()),
        properties=draw(st.dictionaries(st.sampled_from(["team", "owner_team"]), st.sampled_from([None, "a", "b"]))),
        features=tuple(draw(st.sets(st.sampled_from(["typeWidening", "deletionVectors", "appendOnly"])))),
        comment=draw(st.sampled_from([None, "orders", ""])),
        partition_by=draw(st.sampled_from([None, None, (), ("qty",)])),
    )


@given(specs())
def test_random_specs_have_an_empty_plan_exactly_where_there_is_no_drift(declared: TableSpec):
    state = table(ID, QTY, field("Note", "string", comment="x"), configuration={"team": "a"}, description="orders")
    assert is_empty(declared, state) is (said(declared, state) == [])


@settings(max_examples=100, deadline=None)
@given(SCHEMAS, SCHEMAS, st.booleans())
def test_of_any_two_schemas_the_plan_is_empty_exactly_where_there_is_no_drift(one: Any, other: Any, exact: bool):
    state = replace(state_of(one), files={})
    declared = replace(describe(replace(state_of(other), files={})).spec, exact=exact)
    assert said(describe(state).spec, state) == []
    assert is_empty(declared, state) is (said(declared, state) == [])


@settings(max_examples=100, deadline=None)
@given(any_specs())
def test_of_any_spec_the_plan_is_empty_exactly_where_there_is_no_drift(declared: TableSpec):
    declared = replace(declared, like=None, table_id=None, only_additive=False)
    state = table()
    assert is_empty(declared, state) is (said(declared, state) == [])


def wider(state: TableState, version: int, *fields: Any, **known: Any) -> TableState:
    return replace(table(*fields, **known), version=version)


BY_MERGE = {
    "operation": "MERGE",
    "engine": "Apache-Spark/4.2.0 Delta-Lake/4.4.0",
    "user": "etl",
    "timestamp": "2026-05-01T10:00:00.000+00:00",
}


def history(declared: TableSpec, base: TableState | None, *states: TableState, **by: Mapping[str, Any]) -> list[Any]:
    found = DriftHistory(declared, differences(declared, states[-1]), base)
    for state in states:
        found.take(state, by.get("by", BY_MERGE))
    return list(found.findings())


LONG_QTY = field("qty", "long")


def test_the_commit_that_brought_the_difference_is_named():
    declared = spec(col("qty", "int"))
    first, later = wider(table(), 0, ID, QTY), wider(table(), 41, ID, LONG_QTY)
    (finding,) = history(declared, None, first, later, wider(table(), 50, ID, LONG_QTY, description="x"))
    assert (finding.version, finding.operation, finding.user) == (41, "MERGE", "etl")
    assert finding.at_or_before is None
    assert finding.evidence == (
        "qty is bigint since version 41 (MERGE by Apache-Spark/4.2.0 Delta-Lake/4.4.0, user etl, "
        "2026-05-01T10:00:00.000+00:00), but int is declared."
    )
    assert finding.facts == {"wanted": "int", "actual": "bigint"}


def test_a_difference_that_was_gone_for_a_while_is_of_the_commit_that_brought_it_back():
    states = [wider(table(), number, ID, qty) for number, qty in enumerate([LONG_QTY, QTY, LONG_QTY])]
    (finding,) = history(spec(col("qty", "int")), None, *states)
    assert finding.version == 2


def test_another_type_is_of_the_commit_that_brought_that_type():
    states = [wider(table(), number, ID, field("qty", name)) for number, name in enumerate(["string", "long"])]
    (finding,) = history(spec(col("qty", "int")), None, *states)
    assert finding.version == 1


def test_what_was_there_before_the_log_is_kept_is_at_or_before():
    found = DriftHistory(
        spec(col("qty", "int")), differences(spec(col("qty", "int")), table(ID, LONG_QTY)), table(ID, LONG_QTY)
    )
    (finding,) = found.findings()
    assert (finding.version, finding.at_or_before, finding.operation) == (3, True, None)
    assert finding.evidence == "qty is bigint since version 3 or earlier, but int is declared."
    assert not found.is_complete


def test_a_table_that_never_was_as_declared_is_of_its_first_commit():
    (finding,) = history(spec(col("note", "string")), None, wider(table(), 0, ID), wider(table(), 4, ID, QTY))
    assert finding.version == 0
    assert finding.evidence.startswith("note (string) is not in the table since the table was created (MERGE by ")


def test_a_state_that_cannot_be_read_is_passed_over():
    broken = table()
    broken = replace(broken, version=1, metadata=replace(broken.metadata, schema_string="{"))
    (finding,) = history(spec(col("qty", "int")), broken, wider(table(), 2, ID, LONG_QTY))
    assert finding.version == 2


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (1, "note (string) is not in the table."),
        (8, "pieces is called qty."),
        (9, "qty (int) is in the table, and should not be."),
        (18, "The order is id, qty, but qty, id is declared."),
        (20, "qty has no comment, but 'pieces' is declared."),
        (21, "The comment of qty is 'pieces', but none is declared."),
        (25, "The property team is not set, but 'a' is declared."),
        (28, "The feature deletionVectors is not in the protocol, but should be enabled."),
        (31, "There is no constraint positive, but CHECK (qty > 0) is declared."),
        (34, "The table is partitioned by nothing, but qty is declared."),
        (38, "The table has no comment, but 'orders' is declared."),
    ],
)
def test_the_sentence_says_what_is_declared_and_what_is_there(number: int, sentence: str):
    declared, state, _ = CASES[number]
    (finding,) = DriftHistory(declared, differences(declared, state), None).findings()
    assert finding.evidence == sentence


@pytest.mark.parametrize(("declared", "state"), [(declared, state) for declared, state, _ in CASES])
def test_each_difference_has_a_sentence(declared: TableSpec, state: TableState):
    findings = DriftHistory(declared, differences(declared, state), state).findings()
    assert all(finding.evidence.endswith(".") for finding in findings)
    assert all(" since version 3 or earlier" in finding.evidence for finding in findings)
