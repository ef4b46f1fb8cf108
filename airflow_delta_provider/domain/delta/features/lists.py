"""The feature lists in a protocol action: their content, and checks that they are complete."""

from __future__ import annotations

from collections.abc import Collection

from airflow_delta_provider.domain.delta.features.feature import stable_name
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.protocol import READER_FEATURES_VERSION, WRITER_FEATURES_VERSION, Protocol


def lacks_a_list(protocol: Protocol) -> bool:
    """Return True if a feature list is missing, so the table's features are unknown."""
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    return (
        (reader >= READER_FEATURES_VERSION and protocol.reader_features is None)
        or (writer >= WRITER_FEATURES_VERSION and protocol.writer_features is None)
        or (reader >= READER_FEATURES_VERSION and writer < WRITER_FEATURES_VERSION)
    )


def contradicts_itself(protocol: Protocol) -> bool:
    """Return True if a list is missing, or exists although the versions do not allow one."""
    return (
        lacks_a_list(protocol)
        or (protocol.min_reader_version < READER_FEATURES_VERSION and protocol.reader_features is not None)
        or (protocol.min_writer_version < WRITER_FEATURES_VERSION and protocol.writer_features is not None)
    )


def reader_features(protocol: Protocol) -> frozenset[str]:
    """Return the features that the protocol requires of readers: reader version 2 is column mapping."""
    version = protocol.min_reader_version
    implied = {feature.name for feature in FEATURES.values() if feature.legacy_reader == version}
    return (protocol.reader_features or frozenset()) | implied


def has_feature(features: Collection[str], name: str) -> bool:
    """Return True if a feature is among ``features``, possibly as a preview."""
    return any(stable_name(feature) == stable_name(name) for feature in features)


def listing(names: Collection[str]) -> str:
    """Return names of features as one string."""
    return ", ".join(sorted(names)) or "none"
