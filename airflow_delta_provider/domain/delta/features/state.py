"""Whether a table has a feature: absent, supported, suspended or enabled are four answers."""

from __future__ import annotations

from enum import Enum

from airflow_delta_provider.domain.delta.features.table import Feature
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol


class FeatureState(str, Enum):
    """State of one feature on one table."""

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
    if not protocol.supports(feature.name):
        return FeatureState.ABSENT
    if feature.name == "rowTracking" and metadata.properties.row_tracking_suspended:
        return FeatureState.SUSPENDED
    if feature.enabling_property is None or is_enabled(feature, metadata):
        return FeatureState.ENABLED
    return FeatureState.SUPPORTED


def is_enabled(feature: Feature, metadata: Metadata) -> bool:
    """Whether the feature's property puts it in force, whatever the protocol supports."""
    return feature.enabling_property is not None and is_enabling(
        feature, metadata.configuration.get(feature.enabling_property)
    )


def is_enabling(feature: Feature, value: str | None) -> bool:
    """Whether ``value`` of the feature's property puts it in force."""
    if value is None:
        return False
    if feature.name == "columnMapping":
        return value.lower() in ("name", "id")
    return value.lower() == feature.enabled_value.lower()
