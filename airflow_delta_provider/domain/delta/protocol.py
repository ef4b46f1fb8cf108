"""The protocol action, and its changes when more features are supported.

PROTOCOL.md, Protocol Evolution and Table Features. Legacy versions imply features; from reader version 3 and writer
version 7 on, features are listed by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from airflow_delta_provider.domain.delta.features.feature import Feature, FeatureKind, stable_name
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_named, with_requirements
from airflow_delta_provider.domain.formats.json_values import integer_of, texts_of

READER_FEATURES_VERSION = 3
WRITER_FEATURES_VERSION = 7


@dataclass(frozen=True)
class Protocol:
    """A protocol action; a feature list is None if the action has none."""

    min_reader_version: int
    min_writer_version: int
    reader_features: frozenset[str] | None = None
    writer_features: frozenset[str] | None = None

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> Protocol:
        """Read the action's JSON.

        :raises KeyError: if it lacks a version
        :raises ValueError: if a value is not of its type
        """
        reader, writer = texts_of(wire, "readerFeatures"), texts_of(wire, "writerFeatures")
        return cls(
            integer_of(wire, "minReaderVersion", 32),
            integer_of(wire, "minWriterVersion", 32),
            None if reader is None else frozenset(reader),
            None if writer is None else frozenset(writer),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the action's JSON, lists sorted."""
        wire: dict[str, Any] = {
            "minReaderVersion": self.min_reader_version,
            "minWriterVersion": self.min_writer_version,
        }
        if self.reader_features is not None:
            wire["readerFeatures"] = sorted(self.reader_features)
        if self.writer_features is not None:
            wire["writerFeatures"] = sorted(self.writer_features)
        return wire

    def __str__(self) -> str:
        versions = f"reader {self.min_reader_version}, writer {self.min_writer_version}"
        listed = sorted((self.reader_features or frozenset()) | (self.writer_features or frozenset()))
        return f"{versions} [{', '.join(listed)}]" if listed else versions

    @cached_property
    def features(self) -> frozenset[str]:
        """Every supported feature: listed features, and features that a legacy version implies."""
        listed = (self.reader_features or frozenset()) | (self.writer_features or frozenset())
        return listed | frozenset(name for name, feature in FEATURES.items() if self._implies(feature))

    def _implies(self, feature: Feature) -> bool:
        if feature.legacy_writer is None or self.min_writer_version >= WRITER_FEATURES_VERSION:
            return False
        if feature.legacy_reader is not None and not (
            feature.legacy_reader <= self.min_reader_version < READER_FEATURES_VERSION
        ):
            return False
        return feature.legacy_writer <= self.min_writer_version

    def supports(self, feature: Feature) -> bool:
        """Return True if the feature is supported, by name or by version."""
        return feature.name in self.features

    def supporting(self, names: Iterable[str]) -> Protocol:
        """Return the weakest protocol that supports this one's features, ``names`` and their requirements.

        It is the same protocol if nothing is missing. Like Delta Spark, it uses a legacy pair of versions if one
        implies exactly the wanted features.
        """
        wanted = with_requirements(self.features | frozenset(names))
        if wanted == self.features:
            return self
        return weakest_protocol(wanted)


def weakest_protocol(features: frozenset[str]) -> Protocol:
    """Return the lowest protocol that supports exactly ``features``; unknown ones are writer features."""
    known = [feature_named(name) for name in features]
    if all(feature.is_legacy for feature in known):
        legacy = Protocol(
            max((feature.legacy_reader or 1 for feature in known), default=1),
            max((feature.legacy_writer or 1 for feature in known), default=1),
        )
        if legacy.features == features:
            return legacy
    reader_writer = frozenset(f.name for f in known if f.kind is FeatureKind.READER_WRITER)
    native_reader = any(f.kind is FeatureKind.READER_WRITER and f.legacy_reader is None for f in known)
    if native_reader:
        return Protocol(READER_FEATURES_VERSION, WRITER_FEATURES_VERSION, reader_writer, features)
    reader = max((feature.legacy_reader or 1 for feature in known), default=1)
    return Protocol(reader, WRITER_FEATURES_VERSION, None, features)


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
