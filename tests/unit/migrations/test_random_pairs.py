"""Random tables and random declarations of them: a plan leads to what is declared, or is refused for a known reason."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, reject, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    parse_type,
)
from airflow_delta_provider.domain.delta.metadata import ID, PHYSICAL_NAME
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.plan import MigrationPlan
from airflow_delta_provider.domain.spec.problem import SpecError
from airflow_delta_provider.domain.spec.table_spec import ColumnSpec, TableSpec, struct_of
from airflow_delta_provider.domain.spec.writing import describe
from tests.unit.mapped_tables import MAPPING, configured, mapped
from tests.unit.mapped_tables import table as mapped_table
from tests.unit.migrations.declared import after, planned
from tests.unit.states import WIDENING_ON

NAMES = ["a", "b", "C", "d", "x y", "é", "f.g"]
TYPES = ["tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "string", "date", "boolean"]
#: Why a random pair may be refused: renames that collide, a drop that may be a rename, types that widening does not
#: reach, a struct or the table that would lose its last column.
KNOWN = {"RQ11", "RQ50", "RQ51", "RQ52", "RQ60", "RQ61"}

names = st.sampled_from(NAMES)
leaves = st.sampled_from(TYPES).map(parse_type)


def structs(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[StructType]:
    fields = st.lists(st.tuples(names, inner), min_size=1, max_size=4, unique_by=lambda pair: pair[0].lower())
    return fields.map(lambda pairs: StructType(tuple(StructField(name, each) for name, each in pairs)))


types = st.recursive(
    leaves,
    lambda inner: st.one_of(
        structs(inner), inner.map(ArrayType), st.tuples(leaves, inner).map(lambda pair: MapType(*pair))
    ),
    max_leaves=6,
)
tables = structs(types)


def table_of(schema: StructType) -> TableState:
    wire = mapped(schema)
    protocol = MAPPING.supporting(["typeWidening", "timestampNtz"])
    return replace(mapped_table(wire, configured(wire) | WIDENING_ON, protocol=protocol), files={})


def declared(data_type: DataType, draw: Any) -> DataType:
    if isinstance(data_type, ArrayType):
        return ArrayType(declared(data_type.element, draw))
    if isinstance(data_type, MapType):
        return MapType(declared(data_type.key, draw), declared(data_type.value, draw))
    if isinstance(data_type, StructType):
        return struct_of(columns_of(data_type, draw))
    return data_type


def columns_of(struct: StructType, draw: Any) -> list[ColumnSpec]:
    said = st.fixed_dictionaries(
        {},
        optional={
            "comment": st.none() | st.just("said"),
            "nullable": st.just(True),
            "renamed_from": st.none() | st.sampled_from(NAMES),
        },
    )
    return [ColumnSpec(name=f.name, data_type=declared(f.data_type, draw), **draw(said)) for f in struct.fields]


@st.composite
def declarations(draw: Any) -> TableSpec:
    columns = columns_of(draw(tables), draw)
    drop = draw(st.lists(st.sampled_from(NAMES).map(lambda name: (name,)), max_size=2, unique=True))
    named = {column.name.lower() for column in columns}
    spec = TableSpec(
        columns=tuple(columns),
        drop=tuple(path for path in drop if path[0].lower() not in named),
        exact=draw(st.booleans()),
        comment=draw(st.none() | st.just("whole")),
    )
    try:
        return TableSpec.from_json(spec.to_json())
    except SpecError:  # which no file can declare
        reject()


def as_engine_leaves_it(plan: MigrationPlan) -> TableState:
    """The table after a plan, with ids and physical names of new columns."""
    state = after(plan)
    schema = json.loads(state.metadata.schema_string)
    highest = int(state.metadata.configuration["delta.columnMapping.maxColumnId"])

    def assign(wire: Any) -> None:
        nonlocal highest
        if isinstance(wire, dict):
            for field in wire.get("fields", ()):
                if ID not in field["metadata"]:
                    highest += 1
                    field["metadata"] |= {ID: highest, PHYSICAL_NAME: f"col-{highest}"}
                assign(field["type"])
            for key in ("elementType", "keyType", "valueType"):
                assign(wire.get(key))

    assign(schema)
    known = {**state.metadata.configuration, "delta.columnMapping.maxColumnId": str(highest)}
    metadata = replace(state.metadata, schema_string=json.dumps(schema), configuration=known)
    return replace(state, metadata=metadata)


@settings(max_examples=100, deadline=None)
@given(tables, declarations())
def test_a_plan_leads_to_what_is_declared(schema: StructType, spec: TableSpec) -> None:
    before = table_of(schema)
    known = {key: value for key, value in vars(spec).items() if key != "columns"}
    found = planned(before, *spec.columns, **known)
    if found.plan is None:
        assert {finding.code for finding in found.refusals} <= KNOWN
        return
    again = planned(as_engine_leaves_it(found.plan), *spec.columns, **known)
    assert again.refusals == ()
    assert again.plan is not None
    assert again.plan.steps == ()
    wire = found.plan.to_json()
    assert bool(wire["diff"]) == bool(wire["steps"])


@settings(max_examples=100, deadline=None)
@given(tables)
def test_the_spec_of_a_table_plans_nothing(schema: StructType) -> None:
    state = table_of(schema)
    spec = describe(state).spec
    for exact in (False, True):
        found = planned(
            state, *spec.columns, **{k: v for k, v in vars(spec).items() if k != "columns"} | {"exact": exact}
        )
        assert found.refusals == ()
        assert found.plan is not None
        assert found.plan.steps == ()


@settings(max_examples=60, deadline=None)
@given(tables, tables)
def test_a_table_becomes_another_or_the_reason_is_known(one: StructType, other: StructType) -> None:
    spec = describe(table_of(other)).spec
    known = {k: v for k, v in vars(spec).items() if k != "columns"} | {"exact": True}
    columns = [replace(column, renamed_from=None) for column in spec.columns]
    found = planned(table_of(one), *columns, **known)
    if found.plan is None:
        assert {finding.code for finding in found.refusals} <= KNOWN
        return
    result = as_engine_leaves_it(found.plan).metadata.schema
    assert lowered_text(result) == lowered_text(other)


def lowered_text(schema: StructType) -> str:
    return str(schema).lower()
