"""Table features: enabling declared or needed ones first, dropping unwanted ones last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.changes.drop_features.plan import plan_drop
from airflow_delta_provider.domain.changes.enable_features import check_enabling, enabled_by, enabling_statements
from airflow_delta_provider.domain.changes.preconditions import check_needed
from airflow_delta_provider.domain.changes.schema_string import map_by_name
from airflow_delta_provider.domain.changes.widen_types import widening_preparation
from airflow_delta_provider.domain.delta.column import all_columns
from airflow_delta_provider.domain.delta.data_type import StructField, StructType, parse_type
from airflow_delta_provider.domain.delta.features.columns import ALLOW_COLUMN_DEFAULTS, CHECK_CONSTRAINTS
from airflow_delta_provider.domain.delta.features.feature import FeatureAccess
from airflow_delta_provider.domain.delta.features.lists import has_feature
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_named
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_properties import ROW_TRACKING_SUSPENDED
from airflow_delta_provider.domain.migrations.difference.table import new_constraints, new_properties
from airflow_delta_provider.domain.migrations.draft import MigrationDraft
from airflow_delta_provider.domain.request.change_options import DropFeatureOptions, EnableFeatureOptions
from airflow_delta_provider.domain.request.names import FeatureNames
from airflow_delta_provider.domain.request.option import option


@dataclass(frozen=True, kw_only=True)
class _Declared(EnableFeatureOptions):
    """Features and properties that a spec declares; properties alone are allowed."""

    features: tuple[str, ...] = option(FeatureNames(), "declared features")


def enable_features(draft: MigrationDraft) -> None:
    """Enable declared features, and features that other changes need, in statements of the engine."""
    properties = new_properties(draft.state.metadata, draft.spec)
    enabling = {name: value for name, value in properties.items() if _enables(name, value)}
    declared = [feature_named(name).name for name in draft.spec.features]
    special = any(feature_named(name).access is FeatureAccess.SPECIAL for name in declared)
    options = _Declared(features=(*declared, *_needed_features(draft)), properties=enabling, allow_special=special)
    draft.refusals += check_enabling(replace(options, properties=properties), draft.state, draft.engine)
    if draft.refusals:
        return
    statements, supported = enabling_statements(options, draft.state)
    prepared, needed = widening_preparation(
        [parse_type(w.new) for w in draft.columns.widenings], draft.state, draft.engine
    )
    was_mapped = draft.state.metadata.properties.is_mapped
    draft.take(*_merged_properties([*statements, *prepared]))
    draft.support([*supported, *needed])
    draft.refusals += check_needed(draft.state.protocol.features, draft.engine)
    if draft.state.metadata.properties.is_mapped and not was_mapped:
        _map_columns(draft)


def _map_columns(draft: MigrationDraft) -> None:
    """Continue with a table whose columns are mapped, each to its own name."""
    metadata = draft.state.metadata
    schema, properties = map_by_name(metadata.schema_string)
    mapped = replace(metadata, schema_string=schema, configuration={**metadata.configuration, **properties})
    draft.state = replace(draft.state, metadata=Metadata.from_json(mapped.to_json()))


def _needed_features(draft: MigrationDraft) -> list[str]:
    """Return the features that the other changes need and the table does not have."""
    found = []
    if draft.columns.defaults:
        found.append(ALLOW_COLUMN_DEFAULTS)
    if new_constraints(draft.state.metadata, draft.spec):
        found.append(CHECK_CONSTRAINTS)
    types = [parse_sql_type(text) for text in _new_types(draft)]
    inside = [c.data_type for t in types for c in all_columns(StructType((StructField("c", t),)))]
    found += [
        feature
        for feature in FEATURES.values()
        if feature.column_type in inside and feature.access is not FeatureAccess.SPECIAL
    ]
    return [f.name for f in found if not has_feature(draft.state.protocol.features, f.name)]


def _new_types(draft: MigrationDraft) -> Iterator[str]:
    yield from (add.type for add in draft.columns.adds)
    yield from (cast.new for cast in draft.columns.casts)


def drop_features(draft: MigrationDraft) -> None:
    """Drop features, after all changes that may still need them."""
    names = tuple(feature_named(name).name for name in draft.spec.drop_features)
    if not names or not set(names) & draft.state.protocol.features:
        return
    draft.files()
    options = DropFeatureOptions(
        features=names, allow_protocol_upgrade=True, allow_rewrite=True, acknowledge_row_id_loss=True
    )
    now = datetime.now(timezone.utc)
    planned = plan_drop(draft.table, options, draft.state, draft.engine, draft.survey, now)
    draft.refusals += planned.refusals
    if planned.plan is not None:
        draft.take(*planned.plan.steps)
        draft.state = replace(draft.state, protocol=planned.plan.protocol_after)
        draft.notes += planned.plan.notes


def _enables(name: str, value: str) -> bool:
    return any(feature.is_enabling(value) for feature in enabled_by(name))


def _merged_properties(statements: Sequence[steps.SetProperties]) -> Iterator[steps.SetProperties]:
    """Yield statements that resume row tracking first, then all others merged into one."""
    resuming = [s for s in statements if dict(s.properties).get(ROW_TRACKING_SUSPENDED) == "false"]
    others = [s for s in statements if s not in resuming]
    yield from resuming
    if others:
        properties = {name: value for step in others for name, value in step.properties}
        enables = sorted({name for step in others for name in step.enables})
        commits = max(step.commits for step in others)
        yield steps.SetProperties(tuple(sorted(properties.items())), tuple(enables), commits=commits)
