"""Features that another feature, a property or a column needs and the protocol lacks: TF08, TF15 and TF22.

A table's properties, constraints and columns show the features that it uses. If a list of features is missing, these
rules report nothing. Other families check the properties of row tracking, type widening and column mapping.
"""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.protocol import ENABLE, FAMILY, TABLE_FEATURES
from airflow_delta_provider.domain.checks.rule import OR_BY_COMMIT, Prose, RepairMethod, Scope
from airflow_delta_provider.domain.delta.features.columns import (
    COLUMN_MAPPING,
    GENERATED_COLUMNS,
    IDENTITY_COLUMNS,
    INVARIANTS,
    TYPE_WIDENING,
    TYPE_WIDENING_PREVIEW,
    VARIANT_SHREDDING,
    enforced_columns,
)
from airflow_delta_provider.domain.delta.features.log import CHECKPOINT_PROTECTION, IN_COMMIT_TIMESTAMP, ROW_TRACKING
from airflow_delta_provider.domain.delta.features.owners import ICEBERG_COMPATS
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_named
from airflow_delta_provider.domain.delta.protocol import (
    WRITER_FEATURES_VERSION,
    has_feature,
    lacks_a_list,
    reader_features,
)
from airflow_delta_provider.domain.delta.table_properties import PROTECTED_BEFORE
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding, Severity

#: Features whose property the rules of other families check.
CHECKED_ELSEWHERE = (ROW_TRACKING, TYPE_WIDENING, TYPE_WIDENING_PREVIEW, COLUMN_MAPPING)
#: Features that Delta Spark requires, whatever the versions, before it writes a table with their property; for the
#: first, the protocol requires it. Without other features, Delta Spark writes the table if versions imply features, and
#: fails if features are listed.
_DEMANDED_BY_PROPERTY = {f.name for f in (VARIANT_SHREDDING, *ICEBERG_COMPATS, IN_COMMIT_TIMESTAMP)}
#: Features whose columns are ordinary ones below the writer version that implies the feature. Spark passes metadata of
#: columns on, so old engines created such tables; Delta Spark recognizes them by their version.
_ORDINARY_BELOW = {GENERATED_COLUMNS.name: "generate", IDENTITY_COLUMNS.name: "assign"}
_state = FAMILY.of(
    Scope.STATE,
    TABLE_FEATURES,
)

MISSING_DEPENDENCY = _state.error(
    8,
    "a feature's dependency is missing",
    name="feature-dependency-missing",
    effect="Engines refuse the table, or write it without the feature that this one relies on.",
    remedy="Write a protocol action that adds the required feature, as the next commit of the log: Delta Spark refuses "
    "the table.",
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_state(MISSING_DEPENDENCY)
def _dependencies(state: TableState) -> Iterator[Finding]:
    supported = state.protocol.features | reader_features(state.protocol)
    for name in () if lacks_a_list(state.protocol) else sorted(supported):
        feature = feature_named(name)
        missing = [required for required in feature.all_required if not has_feature(supported, required.name)]
        by_spec = [required for required in missing if required in feature.requires]
        for required in by_spec or missing:
            yield MISSING_DEPENDENCY.found(
                "The protocol supports {feature}, but not {required}, which it requires.",
                severity=None if by_spec else Severity.WARNING,
                feature=name,
                required=required.name,
            )


ORPHAN_PROPERTY = _state.error(
    15,
    "property of a feature that the table lacks",
    name="property-of-missing-feature",
    effect="Some engines follow the property and others the protocol, and some refuse the table.",
    remedy="Enable the feature with enable-feature (DeltaEnableFeatureOperator), or unset the property. "
    f"{OR_BY_COMMIT}",
    threads=("trinodb/trino#23622",),
    shows="metaData",
    repairs=(RepairMethod.EARLIER_VALUES, RepairMethod.LISTED_FEATURES, RepairMethod.UNSET_PROPERTY),
)


@on_state(ORPHAN_PROPERTY)
def _orphans(state: TableState) -> Iterator[Finding]:
    if lacks_a_list(state.protocol):
        return
    lacking: dict[str, str] = {}
    served: set[str] = set()
    for feature in FEATURES.values():
        key = feature.enabling_property
        if key is None or not feature.is_enabled_by(state.metadata):
            continue
        if feature in CHECKED_ELSEWHERE or state.protocol.supports(feature):
            served.add(key)
        else:
            lacking.setdefault(key, feature.name)
    are_listed = state.protocol.min_writer_version >= WRITER_FEATURES_VERSION
    for key, name in lacking.items():
        if key not in served:
            yield ORPHAN_PROPERTY.found(
                "The property {property} is {value!r}, but the protocol ({protocol}) does not have {feature}.",
                property=key,
                severity=None if are_listed or name in _DEMANDED_BY_PROPERTY else Severity.WARNING,
                effect="Delta Spark fails to open the table; others follow the property, or the protocol."
                if are_listed
                else None,
                value=state.metadata.configuration[key],
                protocol=str(state.protocol),
                feature=name,
            )


@on_state(ORPHAN_PROPERTY)
def _unprotected(state: TableState) -> Iterator[Finding]:
    """Yield a finding if a property protects checkpoints without the feature: only the feature binds writers."""
    protected = state.metadata.properties.protected_before
    if protected and not lacks_a_list(state.protocol) and not state.protocol.supports(CHECKPOINT_PROTECTION):
        yield ORPHAN_PROPERTY.found(
            "The property {property} is {value!r}, but the protocol ({protocol}) does not have {feature}.",
            severity=Severity.WARNING,
            effect=f"Writers may remove checkpoints before version {protected}, which the property is to protect.",
            property=PROTECTED_BEFORE,
            value=state.metadata.configuration[PROTECTED_BEFORE],
            protocol=str(state.protocol),
            feature=CHECKPOINT_PROTECTION.name,
        )


FEATURE_NEEDED = _state.error(
    22,
    "column or constraint that needs a feature the table lacks",
    name="column-or-constraint-needs-missing-feature",
    effect="Some engines refuse the table, others do not enforce the rules of the column or constraint.",
    remedy=ENABLE,
    threads=("delta-io/delta-kernel-rs#2189", "trinodb/trino#20898", "delta-io/delta-rs#2882"),
    shows="metaData",
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_state(FEATURE_NEEDED)
def _needs(state: TableState) -> Iterator[Finding]:
    if lacks_a_list(state.protocol):
        return
    listed = state.protocol.features
    by_version = state.protocol.min_writer_version < WRITER_FEATURES_VERSION
    for name, (what, column) in sorted(needed_features(state).items()):
        if has_feature(listed, name) or any(map(feature_named(name).is_alias, listed)):
            continue
        ordinary = _ORDINARY_BELOW.get(name) if by_version else None
        yield FEATURE_NEEDED.found(
            "{what} needs the feature {feature}, which the protocol ({protocol}) does not have.",
            severity=Severity.WARNING if ordinary else None,
            effect=f"Delta Spark treats the column as an ordinary one; other engines may {ordinary} its values."
            if ordinary
            else None,
            column=column,
            what=Prose(what),
            feature=name,
            protocol=str(state.protocol),
        )


@on_state(FEATURE_NEEDED)
def _needs_invariants(state: TableState) -> Iterator[Finding]:
    """Yield a finding for a NOT NULL column if features are listed without ``invariants``.

    Delta Spark derives the feature from such columns.
    """
    if lacks_a_list(state.protocol) or state.protocol.min_writer_version < WRITER_FEATURES_VERSION:
        return
    column = next(enforced_columns(state.metadata), None)
    if column is None or state.protocol.supports(INVARIANTS) or INVARIANTS.name in needed_features(state):
        return
    yield FEATURE_NEEDED.found(
        "The column {column} is NOT NULL, which Delta Spark counts as the feature {feature}, and the protocol "
        "({protocol}) does not list it.",
        effect="Delta Spark cannot open the table (DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH). Others read it.",
        remedy="Add the feature with an engine that opens the table. With deltalake: "
        "DeltaTable(path).alter.add_feature(TableFeatures.Invariants, allow_protocol_versions_increase=True).",
        column=column,
        feature=INVARIANTS.name,
        protocol=str(state.protocol),
    )


_BY_FIELD = {feature.name: feature.field_key for feature in FEATURES.values() if feature.field_key}
_BY_TYPE = {feature.name: feature.column_type for feature in FEATURES.values() if feature.column_type}


def used_features(state: TableState) -> frozenset[str]:
    """Return the features that properties, constraints and columns of ``state`` use."""
    by_property = {feature.name for feature in FEATURES.values() if feature.is_enabled_by(state.metadata)}
    return frozenset(by_property) | needed_features(state).keys()


def needed_features(state: TableState) -> dict[str, tuple[str, str | None]]:
    """Return the first use of each needed feature, by feature: a phrase, and the column if the use is one."""
    needed: dict[str, tuple[str, str | None]] = {}
    for feature in FEATURES.values():
        for what in feature.used_by(state.metadata) if feature.used_by else ():
            needed.setdefault(feature.name, (what, None))
    for column in state.metadata.readable_columns or ():
        for name, key in _BY_FIELD.items():
            if column.kinds[-1] == "field" and column.field.metadata.get(key) is not None:
                needed.setdefault(name, (f"The column {column}, with {key},", str(column)))
        for name, data_type in _BY_TYPE.items():
            if column.data_type == data_type:
                needed.setdefault(name, (f"The column {column} of the type {data_type}", str(column)))
    return needed
