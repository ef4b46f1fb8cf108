from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings

from airflow_delta_provider.domain.delta.clustering import CLUSTERING
from airflow_delta_provider.domain.delta.data_type import ArrayType, PrimitiveType, StructField
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.planner import plan_migration
from airflow_delta_provider.domain.spec.of_table import Described, describe
from airflow_delta_provider.domain.spec.spec_file import parse_file
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.domain.spec.writing import Written, file_text
from tests.unit.spec.random_specs import SCHEMAS
from tests.unit.states import TABLE, field, state_of, struct


def plans_nothing(state: TableState, spec: TableSpec) -> None:
    planned = plan_migration(TABLE, spec, state)
    assert planned.refusals == ()
    assert planned.plan is not None
    assert planned.plan.steps == ()


def of_file(state: TableState) -> tuple[Described, TableSpec]:
    """Return what is said of a table, and the spec that its file has."""
    described = describe(state, TABLE.text)
    written = Written(described.spec.to_json(), state.version, state.metadata.id, described.left_out)
    (spec,) = parse_file(file_text([written]), "t.yaml")
    assert parse_file(file_text([written], as_json=True), "t.json") == (spec,)
    assert spec == described.spec
    return described, spec


@settings(max_examples=200, deadline=None)
@given(SCHEMAS)
def test_spec_of_any_schema_plans_nothing(schema):
    state = state_of(schema)
    plans_nothing(state, of_file(state)[1])


def test_spec_of_a_table_with_everything_plans_nothing():
    schema = struct(
        field("id", "long", comment="Order number"),
        field("amount", "double", CURRENT_DEFAULT="0.0"),
        field("day", "date", delta__generationExpression="CAST(t AS DATE)"),
        field("t", "timestamp"),
        StructField("code", PrimitiveType("string"), metadata={"__CHAR_VARCHAR_TYPE_STRING": "varchar(5)"}),
        field("lines", ArrayType(struct(field("sku", "string", comment="x"), field("at", PrimitiveType("point"))))),
    )
    features = ("rowTracking", "changeDataFeed", "checkConstraints", "allowColumnDefaults", "generatedColumns")
    configuration = {
        "delta.enableRowTracking": "true",
        "delta.enableChangeDataFeed": "true",
        "delta.enableDeletionVectors": "false",
        "delta.rowTracking.materializedRowIdColumnName": "_row-id",
        "delta.constraints.positive": "amount > 0",
        "delta.checkpointInterval": "none",
        "delta.feature.x": "supported",
        "team": "Größe: 5",
    }
    protocol = Protocol(1, 2).supporting([*features, "deletionVectors", "clustering"])
    state = state_of(schema, protocol=protocol, configuration=configuration)
    domains = {CLUSTERING: json.dumps({"clusteringColumns": [["id"]]})}
    state = replace(state, domains=domains, metadata=replace(state.metadata, description="All\norders"))
    described, spec = of_file(state)
    assert spec.to_json() == {
        "table": "/lake/t",
        "comment": "All\norders",
        "columns": [
            {"name": "id", "type": "bigint", "comment": "Order number"},
            {"name": "amount", "type": "double", "default": "0.0"},
            {"name": "day", "type": "date", "generated": "CAST(t AS DATE)"},
            {"name": "t", "type": "timestamp"},
            {"name": "code", "type": "string"},
            {
                "name": "lines",
                "type": "array<struct>",
                "fields": [{"name": "sku", "type": "string", "comment": "x"}, {"name": "at"}],
            },
        ],
        "cluster_by": ["id"],
        "features": ["changeDataFeed", "rowTracking"],
        "properties": {"delta.enableDeletionVectors": "false", "team": "Größe: 5"},
        "constraints": {"positive": "amount > 0"},
    }
    assert described.left_out == (
        "code is varchar(5), which Delta stores as string.",
        "lines.element.at has the type point, which specs do not know.",
        "The property 'delta.checkpointInterval' has the value 'none', which engines do not take.",
    )
    plans_nothing(state, spec)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapping_is_declared_with_its_mode(mode):
    schema = struct(field("a", "long", delta__columnMapping__id=1, delta__columnMapping__physicalName="col-1"))
    configuration = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "1"}
    state = state_of(schema, protocol=Protocol(2, 5), configuration=configuration)
    domains = {CLUSTERING: json.dumps({"clusteringColumns": [["col-1"]]})}
    spec = of_file(replace(state, domains=domains))[1]
    assert (spec.properties, spec.features) == ({"delta.columnMapping.mode": mode}, ("columnMapping",))
    assert spec.cluster_by == (("a",),)
    plans_nothing(replace(state, domains=domains), spec)


def test_file_of_several_tables_is_read_back():
    tables = [Written({"table": f"/lake/{name}", "columns": [{"name": name}]}, 3, "x") for name in ("no", "b")]
    assert [spec.table for spec in parse_file(file_text(tables), "a.yaml")] == ["/lake/no", "/lake/b"]
