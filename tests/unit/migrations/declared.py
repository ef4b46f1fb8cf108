"""Specs in one call, and tables as a plan leaves them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.changes.steps import InOneCommit, Step
from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, MapType, StructType
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.plan import MigrationPlan
from airflow_delta_provider.domain.migrations.planner import PlanningResult, plan_migration
from airflow_delta_provider.domain.spec.table_spec import ColumnSpec, TableSpec, struct_of
from tests.unit.states import ENGINE, TABLE


def declared(data_type: DataType) -> DataType:
    if isinstance(data_type, ArrayType):
        return ArrayType(declared(data_type.element))
    if isinstance(data_type, MapType):
        return MapType(declared(data_type.key), declared(data_type.value))
    if isinstance(data_type, StructType):
        return struct_of(ColumnSpec(name=f.name, data_type=declared(f.data_type)) for f in data_type.fields)
    return data_type


def col(name: str, sql: str | None = None, **known: Any) -> ColumnSpec:
    return ColumnSpec(name=name, data_type=None if sql is None else declared(parse_sql_type(sql)), **known)


def planned(state: TableState, *columns: ColumnSpec, **known: Any) -> PlanningResult:
    return plan_migration(TABLE, TableSpec(columns=columns, **known), state, ENGINE)


def steps(state: TableState, *columns: ColumnSpec, **known: Any) -> tuple[Step, ...]:
    """Return the steps of a plan that is not refused."""
    found = planned(state, *columns, **known)
    assert found.refusals == ()
    assert found.plan is not None
    return found.plan.steps


def refused(state: TableState, *columns: ColumnSpec, **known: Any) -> list[tuple[str, str | None]]:
    found = planned(state, *columns, **known)
    assert found.plan is None
    return [(finding.code, finding.column) for finding in found.refusals]


def flat(found: tuple[Step, ...]) -> list[Step]:
    return [each for step in found for each in (step.steps if isinstance(step, InOneCommit) else (step,))]


def after(plan: MigrationPlan) -> TableState:
    """Return the table as a plan leaves it, but for what the engine assigns."""
    metadata = Metadata.from_json(plan.metadata_after.to_json())
    kept = {k: v for k, v in metadata.configuration.items() if not k.startswith("delta.feature.")}
    return replace(plan.before, metadata=replace(metadata, configuration=kept), protocol=plan.protocol_after)
