"""The state of a feature in a table: absent, supported, suspended or enabled."""

from __future__ import annotations

from enum import Enum

from airflow_delta_provider.domain.delta.features.feature import Feature
from airflow_delta_provider.domain.delta.features.registry import feature_named
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_properties import is_true


class FeatureState(str, Enum):
    """State of one feature in a table."""

    ABSENT = "absent"
    """The protocol does not list it."""
    SUPPORTED = "supported"
    """The protocol lists it, the property that enables it is not set."""
    SUSPENDED = "suspended"
    """Row tracking only: listed, but writers assign no ids for now."""
    ENABLED = "enabled"
    """Listed, and in force. A feature without a property of its own is enabled once it is listed."""


def feature_state(feature: Feature, protocol: Protocol, metadata: Metadata) -> FeatureState:
    """Return the state of ``feature`` on a table with this protocol and metadata."""
    if not protocol.supports(feature):
        return FeatureState.ABSENT
    if feature.suspending_property and is_true(metadata.configuration.get(feature.suspending_property)):
        return FeatureState.SUSPENDED
    if feature.enabling_property is None or feature.is_enabled_by(metadata):
        return FeatureState.ENABLED
    return FeatureState.SUPPORTED


def feature_states(protocol: Protocol, metadata: Metadata) -> dict[str, str]:
    """Return the states of all features that a table supports, as JSON."""
    return {name: feature_state(feature_named(name), protocol, metadata).value for name in sorted(protocol.features)}


def is_active(feature: Feature, protocol: Protocol, metadata: Metadata) -> bool:
    """Return True if ``feature`` is in force: listed, enabled and not suspended."""
    return feature_state(feature, protocol, metadata) is FeatureState.ENABLED
