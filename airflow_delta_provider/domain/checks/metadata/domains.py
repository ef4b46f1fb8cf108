"""Metadata domains that Delta defines: MD28 to MD30, and MD33. PROTOCOL.md, Domain Metadata and Clustered Table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from airflow_delta_provider.domain.checks.actions.domains import DOMAIN_WITHOUT_FEATURE
from airflow_delta_provider.domain.checks.check import on_state, on_transition
from airflow_delta_provider.domain.checks.healing import Details, Healing
from airflow_delta_provider.domain.checks.metadata.family import CLUSTERED, FAMILY, MOST_TEXT
from airflow_delta_provider.domain.checks.protocol.changes import FEATURE_VANISHED, VERSION_LOWERED
from airflow_delta_provider.domain.checks.protocol.lists import LISTS
from airflow_delta_provider.domain.checks.row_tracking import state as row_tracking
from airflow_delta_provider.domain.checks.rule import Need, Scope, causes
from airflow_delta_provider.domain.delta.clustering import CLUSTERING as CLUSTERING_DOMAIN
from airflow_delta_provider.domain.delta.clustering import (
    clustering_columns,
    field_called,
    fields_by_name,
    fields_by_path,
    is_clustering,
)
from airflow_delta_provider.domain.delta.data_type import VARIANT, ArrayType, MapType
from airflow_delta_provider.domain.delta.features.data_files import CLUSTERING
from airflow_delta_provider.domain.delta.features.lists import has_feature, lacks_a_list
from airflow_delta_provider.domain.delta.features.row_tracking import DOMAIN as ROW_TRACKING_DOMAIN
from airflow_delta_provider.domain.delta.features.row_tracking import ROW_TRACKING
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.report.finding import Finding

_FEATURES = {CLUSTERING_DOMAIN: CLUSTERING, ROW_TRACKING_DOMAIN: ROW_TRACKING}
_state = FAMILY.of(Scope.STATE, CLUSTERED)


def _is_still_without(later: Transition, finding: Finding, _: Details) -> bool:
    domain = finding.subject or ""
    return domain in later.after.domains and not _has_feature_of(domain, later.after)


DOMAIN_OF_MISSING_FEATURE = FAMILY.of(Scope.COMMIT).error(
    28,
    "metadata domain of a feature that the table lacks",
    effect="Writers that do not know the domain leave it as it is while they change the table, so it becomes wrong.",
    remedy="Add the feature to the protocol, or remove the domain with the engine that owns it.",
    source="PROTOCOL.md, Writer Requirements for Domain Metadata",
    follows_from=causes(
        FEATURE_VANISHED,
        VERSION_LOWERED,
        DOMAIN_WITHOUT_FEATURE,
        row_tracking.ENABLED_WITHOUT_FEATURE,
        *LISTS,
        later=True,
    ),
    healing=Healing(_is_still_without),
    shows="domainMetadata",
)


@on_transition(DOMAIN_OF_MISSING_FEATURE)
def _without_feature(transition: Transition) -> Iterator[Finding]:
    after = transition.after
    for domain in dict.fromkeys(domain.domain for domain in transition.commit.domains if not domain.removed):
        if domain in _FEATURES and not _has_feature_of(domain, after) and not lacks_a_list(after.protocol):
            yield DOMAIN_OF_MISSING_FEATURE.found(
                "The commit sets the metadata domain {subject}, but the protocol ({protocol}) does not have {feature}.",
                subject=domain,
                protocol=str(after.protocol),
                feature=_FEATURES[domain].name,
            )


def _has_feature_of(domain: str, state: TableState) -> bool:
    feature = _FEATURES[domain]
    return state.protocol.supports(feature) or has_feature(state.protocol.features, feature.name)


BROKEN_CLUSTERING = _state.error(
    29,
    "invalid clustering columns",
    effect="Engines fail to cluster the table, or no longer do so.",
    remedy="Set the columns again: ALTER TABLE … CLUSTER BY (…).",
    shows="domainMetadata",
    follows_from=causes("MD28"),
)


@on_state(BROKEN_CLUSTERING)
def _clustering(state: TableState) -> Iterator[Finding]:
    configuration = state.domains.get(CLUSTERING_DOMAIN)
    if configuration is None:
        return
    if not is_clustering(configuration):
        yield BROKEN_CLUSTERING.found(
            "The configuration of {subject} has no list of clusteringColumns: {configuration}.",
            subject=CLUSTERING_DOMAIN,
            configuration=configuration[:MOST_TEXT],
        )
    elif state.metadata.readable_columns is not None:
        yield from _columns(configuration, MappedSchema.of(state.metadata))


def _columns(configuration: str, schema: MappedSchema) -> Iterator[Finding]:
    fields = fields_by_path(schema) if schema.is_mapped else fields_by_name(schema)
    found = [field for parts in clustering_columns(configuration) if (field := field_called(parts, fields))]
    for column, times in Counter(field.column for field in found).items():
        if times > 1:
            yield BROKEN_CLUSTERING.found(
                "The table is clustered by {column} {times} times.", column=column, times=times
            )
        if column.data_type == VARIANT or isinstance(column.data_type, (ArrayType, MapType)):
            yield BROKEN_CLUSTERING.found(
                "The table is clustered by {column}, whose type {type} has no order.",
                column=column,
                type=str(column.data_type),
            )


def _is_still_gone(later: Transition, _: Finding, __: Details) -> bool:
    if later.replaces_all and later.commit.metadata:
        return False
    return CLUSTERING_DOMAIN not in later.after.domains and later.after.protocol.supports(CLUSTERING)


CLUSTERING_LOST = FAMILY.of(Scope.PAIR, CLUSTERED).error(
    30,
    "clustering columns removed from a clustered table",
    effect="Engines no longer know how the table is clustered.",
    remedy="Set the columns again: ALTER TABLE … CLUSTER BY (…); to end clustering, CLUSTER BY NONE.",
    healing=Healing(_is_still_gone),
    needs=(Need.STATE, Need.VERSIONS),
    shows="domainMetadata",
)


@on_transition(CLUSTERING_LOST)
def _removed(transition: Transition) -> Iterator[Finding]:
    commit = transition.commit
    if not any(domain.removed and domain.domain == CLUSTERING_DOMAIN for domain in commit.domains):
        return
    if transition.restores or (transition.replaces_all and commit.metadata):
        return
    if CLUSTERING_DOMAIN in transition.before.domains and transition.after.protocol.supports(CLUSTERING):
        yield CLUSTERING_LOST.found(
            "The commit removes {subject}, but the protocol still has clustering.", subject=CLUSTERING_DOMAIN
        )


def _stays_open(_: Transition, __: Finding, ___: Details) -> bool:
    """Return True: the finding is about the commit itself, which no later commit changes."""
    return True


def _are_alike(one: str, other: str) -> bool:
    """Return True if two configurations are equal as JSON: Delta Spark reformats the configurations of its domains."""
    try:
        return one == other or bool(parse_json(one) == parse_json(other))
    except ValueError:
        return False


OTHER_IMAGE = FAMILY.of(Scope.PAIR).warning(
    33,
    "domain removed with another configuration than it had",
    effect="Readers are unaffected; programs that follow the log do not see the removed configuration.",
    remedy="Update the engine that wrote the commit.",
    source="PROTOCOL.md, Domain Metadata",
    healing=Healing(_stays_open),
    needs=(Need.STATE,),
    shows="domainMetadata",
)


@on_transition(OTHER_IMAGE)
def _other_image(transition: Transition) -> Iterator[Finding]:
    for domain in transition.commit.domains:
        was = transition.before.domains.get(domain.domain) if domain.removed else None
        if was is not None and not _are_alike(was, domain.configuration):
            yield OTHER_IMAGE.found(
                "The commit removes {subject} as {configuration!r}, but it was {was!r}.",
                subject=domain.domain,
                configuration=domain.configuration[:MOST_TEXT],
                was=was[:MOST_TEXT],
            )
