"""Planning to enable table features, and verifying the result."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from airflow_delta_provider.domain.changes.plan import (
    Draft,
    Planned,
    check_needed,
    check_table,
    check_upgrade,
    unknown_feature,
    use_release_with,
)
from airflow_delta_provider.domain.changes.steps import SetProperties
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.protocol.changes import FEATURE_NOT_ENABLED, PROPERTY_NOT_SET
from airflow_delta_provider.domain.checks.protocol.iceberg_compat import refused_by_engine
from airflow_delta_provider.domain.checks.protocol.missing_features import MISSING_DEPENDENCY
from airflow_delta_provider.domain.checks.row_tracking.live_files import MISSING_ROW_IDS
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.features.feature import SUPPORT_PREFIX, Feature, FeatureAccess, FeatureKind
from airflow_delta_provider.domain.delta.features.log import ROW_TRACKING, lacks_row_ids
from airflow_delta_provider.domain.delta.features.registry import FEATURES, WRITER_OWNED_PROPERTIES, feature_named
from airflow_delta_provider.domain.delta.table_features import FeatureState, feature_state
from airflow_delta_provider.domain.delta.table_properties import (
    CONSTRAINT_PREFIX,
    ENABLE_ROW_TRACKING,
    RESERVED_PROPERTIES,
    ROW_TRACKING_SUSPENDED,
    is_true,
    shorter_log,
    why_not_set,
)
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.spark_library import Engine, version_of
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.request.change_options import EnableFeatureOptions
from airflow_delta_provider.domain.table_name import TableName

#: Maximum number of files that get row ids in one backfill commit (spark.databricks.delta.backfill.maxNumFiles).
BACKFILL_FILES = 22_000
#: The Delta Spark release that began to compare both retentions.
_COMPARES_RETENTIONS = (4, 1)
_FOLDED_OWNED = {name.casefold() for name in WRITER_OWNED_PROPERTIES}
_VERSION_PROPERTIES = {"delta.minreaderversion", "delta.minwriterversion"}


def plan_enabling(
    table: TableName, options: EnableFeatureOptions, state: TableState, engine: Engine, by_name: Collection[str] = ()
) -> Planned:
    """Plan to enable the features in one statement. Suspended row tracking is resumed first.

    :param state: state of the table, with its files if row tracking is requested
    :param by_name: features that this engine adds only if they are also named; for the property alone it adds another
        feature
    """
    draft = Draft(table, state, engine)
    draft.refusals += check_table(table.text, state.protocol, engine) or check_enabling(options, state, engine)
    if draft.refusals:
        return draft.planned()
    statements, features = enabling_statements(options, state, by_name)
    draft.take(*statements)
    draft.support(features)
    draft.refusals += check_needed(draft.state.protocol.features, engine)
    properties = {name: value for step in statements for name, value in step.properties}
    configuration = {**state.metadata.configuration, **properties}
    draft.refusals += check_iceberg(
        state, replace(draft.state, metadata=replace(state.metadata, configuration=configuration))
    )
    if draft.refusals:
        return draft.planned()
    plan = draft.plan()
    return Planned(plan, tuple(check_upgrade(plan, allowed=options.allow_protocol_upgrade)))


def check_enabling(options: EnableFeatureOptions, state: TableState, engine: Engine) -> tuple[Finding, ...]:
    """Return reasons why the features cannot be enabled or the properties cannot be set."""
    features = [feature_named(name) for name in options.features]
    return (
        *(refusal for feature in features for refusal in _check_feature(feature, options, state, engine)),
        *_check_properties(options, features, state),
        *_check_retentions(options, state, engine),
    )


#: Remedies before a table is made compatible with Iceberg, by the first words of the reason against it.
_BEFORE_ICEBERG = {
    "deletion vectors": "In a change before this one, set delta.enableDeletionVectors to false and run REORG TABLE … "
    "APPLY (PURGE); or leave the other feature disabled.",
    "the column mapping": "Enable the feature columnMapping in a change before this one.",
    "row tracking is not": "List rowTracking too: one statement has to enable both.",
    "row tracking is enabled": "Set delta.enableRowTracking to false in a change before this one, then enable "
    "rowTracking and icebergCompatV3 together.",
    "it is enabled": "Write the rows to a new table without it.",
}


def check_iceberg(before: TableState, after: TableState) -> Iterator[Finding]:
    """Yield conflicts between a change and compatibility with Iceberg.

    :param after: state of the table after the change
    """
    if before.protocol == after.protocol and before.metadata == after.metadata:
        return
    for compat, why in refused_by_engine(before, after):
        yield requests.WOULD_BREAK_RULES.found(
            "Delta Spark refuses this change because of {subject}: {why}.",
            remedy=next((remedy for begins, remedy in _BEFORE_ICEBERG.items() if why.startswith(begins)), None),
            subject=compat.name,
            why=Prose(why),
        )


def enabling_statements(
    options: EnableFeatureOptions, state: TableState, by_name: Collection[str] = ()
) -> tuple[list[SetProperties], list[str]]:
    """Return the statements that enable the features, with all requested and implied features.

    :param by_name: features to name, see :func:`plan_enabling`
    """
    features = [feature_named(name) for name in options.features]
    properties = _properties_to_set(features, options, state)
    properties |= {feature_named(name).support_property: "supported" for name in by_name}
    asked = [feature.name for feature in features]
    supported = asked + _implied(properties, state.protocol.features.union(asked))
    statements: list[SetProperties] = []
    if FeatureState.SUSPENDED in (feature_state(feature, state.protocol, state.metadata) for feature in features):
        statements.append(SetProperties(((ROW_TRACKING_SUSPENDED, "false"),)))
    if properties:
        added = sorted(state.protocol.supporting(supported).features - state.protocol.features)
        statements.append(
            SetProperties(tuple(sorted(properties.items())), tuple(added), commits=_commits(properties, state))
        )
    return statements, supported


def verify_enabled(options: EnableFeatureOptions, state: TableState) -> tuple[Finding, ...]:
    """Return a finding for each requested feature or property that is not enabled."""
    features = [feature_named(name) for name in options.features]
    return (
        *(finding for feature in features for finding in _verify(feature, state)),
        *_verify_properties(options, state),
    )


def reads_files(options: EnableFeatureOptions) -> bool:
    """Return True if planning and verifying need the live files: row tracking assigns ids to each."""
    features = [feature_named(name) for name in options.features]
    features += [feature for name in options.properties for feature in enabled_by(name)]
    return any(feature.incomplete_file for feature in features)


@on_demand(FEATURE_NOT_ENABLED, MISSING_DEPENDENCY)
def _verify(feature: Feature, state: TableState) -> Iterator[Finding]:
    current = feature_state(feature, state.protocol, state.metadata)
    if current is not FeatureState.ENABLED:
        yield FEATURE_NOT_ENABLED.found(
            "{feature} is {state}, not enabled, at version {version}.",
            feature=feature.name,
            state=current.value,
            version=state.version,
        )
    missing = [required.name for required in feature.all_required if not state.protocol.supports(required)]
    if current is not FeatureState.ABSENT and missing:
        yield MISSING_DEPENDENCY.found(
            "The protocol supports {feature}, but not {required}, which it requires.",
            feature=feature.name,
            required=missing,
            version=state.version,
        )
    if feature.incomplete_file and current is FeatureState.ENABLED:
        yield from _verify_row_ids(state)


@on_demand(PROPERTY_NOT_SET)
def _verify_properties(options: EnableFeatureOptions, state: TableState) -> Iterator[Finding]:
    for name, value in _spelled(options.properties, state).items():
        actual = state.metadata.configuration.get(name)
        if actual != value:
            yield PROPERTY_NOT_SET.found(
                "The property {property} is {actual!r}, not {wanted!r}, at version {version}.",
                property=name,
                actual=actual,
                wanted=value,
                version=state.version,
            )


def _verify_row_ids(state: TableState) -> Iterator[Finding]:
    unidentified = files_without_row_ids(state)
    if unidentified:
        yield MISSING_ROW_IDS.found(
            "Row tracking is enabled, but {files} of {live:live file} lack baseRowId or defaultRowCommitVersion, the "
            "first is {path}.",
            version=state.version,
            path=unidentified[0],
            files=len(unidentified),
            live=len(state.files or ()),
        )


def files_without_row_ids(state: TableState) -> list[str]:
    """Return the paths of live files that lack row-tracking fields, sorted."""
    return sorted(file.path for file in state.live_files if lacks_row_ids(file))


def _check_feature(
    feature: Feature, options: EnableFeatureOptions, state: TableState, engine: Engine
) -> Iterator[Finding]:
    if feature.kind is FeatureKind.UNKNOWN and not engine.knows(feature.name):
        yield unknown_feature(feature.name, engine)
    elif feature.access is FeatureAccess.OTHER_WAY:
        yield requests.SPECIAL_FEATURE.found(
            "{feature} is not enabled by a property.", remedy=feature.instead, feature=feature.name
        )
    elif feature.access is FeatureAccess.SPECIAL and not options.allow_special:
        yield requests.SPECIAL_FEATURE.found(
            "Few engines support {feature}, or it changes who owns the table.", feature=feature.name
        )
    elif not engine.knows(feature.name):
        yield requests.UNSUPPORTED_BY_ENGINE.found(
            "{engine} does not support the table feature {feature}.",
            remedy=use_release_with([feature.name]),
            engine=engine,
            feature=feature.name,
        )
    elif not state.protocol.supports(feature) and (since := engine.enabled_since(feature.name)):
        yield requests.UNSUPPORTED_BY_ENGINE.found(
            "{engine} cannot enable {feature} on a table that exists.",
            remedy=f"Use Delta {since} or later.",
            engine=engine,
            feature=feature.name,
        )


def _check_properties(options: EnableFeatureOptions, features: list[Feature], state: TableState) -> Iterator[Finding]:
    for name, value in options.properties.items():
        if problem := _property_problem(name, value, features, options, state):
            why, remedy = problem
            yield requests.PROPERTY_NOT_ALLOWED.found(
                "properties has {property!r}: {why}", remedy=remedy, property=name, why=Prose(why)
            )
        elif accepted := why_not_set(name, value):
            yield requests.VALUE_NOT_ACCEPTED.found(
                "Delta Spark does not set {property} to {value!r}: it accepts {accepted}.",
                property=name,
                value=value,
                accepted=accepted,
            )


def _check_retentions(options: EnableFeatureOptions, state: TableState, engine: Engine) -> Iterator[Finding]:
    configuration = state.metadata.configuration
    pending = {
        name: value for name, value in _spelled(options.properties, state).items() if configuration.get(name) != value
    }
    shorter = shorter_log(pending) if version_of(engine.delta) >= _COMPARES_RETENTIONS else None
    if shorter is not None:
        yield requests.VALUE_NOT_ACCEPTED.found(
            "Delta Spark refuses delta.logRetentionDuration ({log}) that is shorter than "
            "delta.deletedFileRetentionDuration ({file}). A retention that a statement does not set counts with its "
            "default, 30 days and 7 days.",
            remedy="Set both retentions in one statement of SQL, the log's at least as long as the files'.",
            log=shorter[0],
            file=shorter[1],
        )


def _property_problem(
    name: str, value: str, features: list[Feature], options: EnableFeatureOptions, state: TableState
) -> tuple[str, str | None] | None:
    """Return why a property cannot be set, and a remedy if omitting it is not the remedy."""
    if name in RESERVED_PROPERTIES:
        return f"SQL does not store this name as a property: {RESERVED_PROPERTIES[name]}", None
    folded = name.casefold()
    if folded in _FOLDED_OWNED:
        return "writers maintain this property themselves, and setting it directly damages the table.", None
    if folded.startswith(SUPPORT_PREFIX):
        return "it adds a feature.", f"List the feature under features instead: {name[len(SUPPORT_PREFIX) :]!r}."
    if folded in _VERSION_PROPERTIES:
        return "versions follow from the features.", "Omit it and list the features that you need."
    if folded.startswith(CONSTRAINT_PREFIX):
        return "it is a CHECK constraint.", "Use ALTER TABLE … ADD CONSTRAINT, which checks the data."
    for feature in enabled_by(name):
        if problem := feature.unreachable and feature.unreachable(value, state.metadata):
            return problem, None
        if feature in features and not feature.is_enabling(value):
            return f"{value!r} contradicts features, which has {feature.name}.", "Omit one of them."
    alike = [feature for feature in enabled_by(name) if feature.is_enabling(value)]
    asked = any(feature in features or state.protocol.supports(feature) for feature in alike)
    if alike and alike[0].access is FeatureAccess.SPECIAL and not (options.allow_special or asked):
        return f"it enables {alike[0].name}, which needs allow_special=True (--allow-special).", None
    return None


def enabled_by(property_name: str) -> list[Feature]:
    """Return the features that a property can enable, the one it adds by itself first.

    The property's name may be in any case.
    """
    enabled = [
        feature
        for feature in FEATURES.values()
        if (feature.enabling_property or "").casefold() == property_name.casefold()
    ]
    return sorted(enabled, key=lambda feature: (feature.asked_by_name, feature.access is FeatureAccess.SPECIAL))


def _spelled(properties: Mapping[str, str], state: TableState) -> dict[str, str]:
    """Return the properties in Delta's own spelling: Delta accepts its own properties in any case."""
    known = [*state.metadata.configuration, *(f.enabling_property for f in FEATURES.values() if f.enabling_property)]
    spelling = {name.casefold(): name for name in reversed(known) if name.casefold().startswith("delta.")}
    return {spelling.get(name.casefold(), name): value for name, value in properties.items()}


def _properties_to_set(features: list[Feature], options: EnableFeatureOptions, state: TableState) -> dict[str, str]:
    configuration = state.metadata.configuration
    wanted: dict[str, str] = {}
    for feature in features:
        current = feature_state(feature, state.protocol, state.metadata)
        if current is FeatureState.ENABLED:
            continue
        if feature.enabling_property is None or feature.asked_by_name or feature.access is FeatureAccess.SPECIAL:
            wanted[feature.support_property] = "supported"
        if feature.enabling_property is not None:
            wanted[feature.enabling_property] = feature.enabled_values[0]
    asked = _spelled(options.properties, state).items()
    return wanted | {name: value for name, value in asked if configuration.get(name) != value}


def _implied(properties: Mapping[str, str], present: frozenset[str]) -> list[str]:
    """Return the features that setting ``properties`` adds by itself to the ``present`` ones."""
    enabled = [[f for f in enabled_by(name) if f.is_enabling(value)] for name, value in properties.items()]
    return [alike[0].name for alike in enabled if alike and present.isdisjoint(feature.name for feature in alike)]


def _commits(properties: Mapping[str, str], state: TableState) -> int:
    if not is_true(properties.get(ENABLE_ROW_TRACKING)):
        return 1
    upgrade = 0 if state.protocol.supports(ROW_TRACKING) else 1
    backfills = -(-len(files_without_row_ids(state)) // BACKFILL_FILES)
    return upgrade + backfills + 1
