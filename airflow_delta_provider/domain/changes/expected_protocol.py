"""The protocol that a plan leads to.

Only the engine knows which features its release adds for a property or a type.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.changes.drop_features import protocol_after
from airflow_delta_provider.domain.changes.plan import Plan, check_upgrade, use_release_with
from airflow_delta_provider.domain.changes.steps import (
    ClusterBy,
    DropFeature,
    Step,
    each_step,
)
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.delta.data_type import PrimitiveType, StructField, StructType, all_columns
from airflow_delta_provider.domain.delta.features.feature import FeatureAccess
from airflow_delta_provider.domain.delta.features.log import CLUSTERING
from airflow_delta_provider.domain.delta.features.registry import feature_named
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE
from airflow_delta_provider.domain.engine.spark_library import Engine
from airflow_delta_provider.domain.report.report import Finding


def proposed_metadata(metadata: Mapping[str, Any], steps: Sequence[Step]) -> dict[str, Any] | None:
    """Return a metaData action with all properties and types that the steps introduce.

    None if the steps change neither. Each primitive type in an added or changed column gets a column of its own.

    :param metadata: current metaData action
    """
    each = list(each_step(steps))
    properties = {name: value for step in each for name, value in step.new_properties.items()}
    types = sorted(data_type.name for data_type in written_types(each))
    if not (properties or types):
        return None
    if not types:
        return {**metadata, "configuration": {**metadata.get("configuration", {}), **properties}}
    schema = json.loads(metadata["schemaString"])
    schema["fields"] += [
        {"name": f"c{uuid.uuid4().hex}", "type": name, "nullable": True, "metadata": {}} for name in types
    ]
    configuration = {**metadata.get("configuration", {}), **properties}
    return {**metadata, "configuration": configuration, "schemaString": json.dumps(schema)}


def one_at_a_time(metadata: Mapping[str, Any], proposed: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Split a proposed metaData action into the changes that an engine accepts one at a time.

    A change of the column mapping mode comes first, with the old schema; then the new schema, with the old mode.

    :param metadata: current metaData action
    """
    before, after = metadata.get("configuration", {}), proposed["configuration"]
    mode = before.get(COLUMN_MAPPING_MODE, "none")
    if after.get(COLUMN_MAPPING_MODE, mode) == mode or proposed["schemaString"] == metadata["schemaString"]:
        return (proposed,)
    return (
        {**proposed, "schemaString": metadata["schemaString"]},
        {**proposed, "configuration": {**after, COLUMN_MAPPING_MODE: mode}},
    )


def with_expected_protocol(
    plan: Plan, written: Protocol, engine: Engine, *, allow_upgrade: bool, allow_special: bool
) -> tuple[Plan, tuple[Finding, ...]]:
    """Return the plan with the protocol that the engine will write, and the resulting refusals.

    :param written: protocol that the engine gives the table for properties and types
    """
    table, expected = plan.table.text, plan.protocol_after.features
    written = _after_statements(written, plan.steps)
    real = replace(plan, protocol_after=written)
    unasked = sorted(written.features - expected)
    missing = sorted(expected - written.features)
    if missing:
        refused = requests.UNSUPPORTED_BY_ENGINE.found(
            "{engine} would not add {missing} to the protocol of {table}" + (", but {added}." if unasked else "."),
            remedy=use_release_with([name for name in missing if not engine.knows(name)])
            or "Use another release of Delta.",
            engine=engine,
            missing=missing,
            table=table,
            added=unasked,
        )
        return real, (refused,)
    special = [name for name in unasked if feature_named(name).access is FeatureAccess.SPECIAL]
    if special and not allow_special:
        return real, (_special(table, special, engine),)
    return real, tuple(check_upgrade(real, allowed=allow_upgrade)) if unasked else ()


def _after_statements(protocol: Protocol, steps: Sequence[Step]) -> Protocol:
    """Return the protocol after changes that come from neither properties nor types."""
    if any(isinstance(step, ClusterBy) and step.columns for step in steps):
        protocol = protocol.supporting([CLUSTERING.name])
    return protocol_after(protocol, [step for step in steps if isinstance(step, DropFeature)])


def _special(table: str, special: Sequence[str], engine: Engine) -> Finding:
    return requests.SPECIAL_FEATURE.found(
        "{engine} would add {features} to the protocol of {table}, which was not requested and which few engines "
        "support.",
        remedy=f"Use another release of Delta. {requests.SPECIAL_FEATURE.remedy}",
        engine=engine,
        features=special,
        table=table,
    )


def written_types(each: Iterable[Step]) -> frozenset[PrimitiveType]:
    """Return the primitive types, nested ones included, of columns that steps add or change."""
    new = StructType(tuple(StructField("c", parse_sql_type(name)) for step in each for name in step.new_types))
    return frozenset(c.data_type for c in all_columns(new) if isinstance(c.data_type, PrimitiveType))
