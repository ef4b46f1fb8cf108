"""Features of a table: their state, the needs of its metadata, and owners beside the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from airflow_delta_provider.domain.delta.features.columns import (
    ALLOW_COLUMN_DEFAULTS,
    INVARIANTS,
    TYPE_WIDENING,
    TYPE_WIDENING_PREVIEW,
    TypeChange,
    enforced_columns,
    recorded_changes,
)
from airflow_delta_provider.domain.delta.features.feature import Feature
from airflow_delta_provider.domain.delta.features.registry import (
    CATALOG_MANAGED,
    FEATURES,
    feature_meant_by,
    feature_named,
)
from airflow_delta_provider.domain.delta.metadata import Metadata, field_metadata
from airflow_delta_provider.domain.delta.protocol import (
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    Protocol,
    lacks_a_list,
    reader_features,
)
from airflow_delta_provider.domain.delta.table_properties import is_true

if TYPE_CHECKING:
    from airflow_delta_provider.domain.engine.access import Demands


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


def demands_of(
    protocol: Protocol,
    metadata: Metadata | None = None,
    planned: Iterable[TypeChange] = (),
    used: Iterable[str] = (),
    renamed: Iterable[tuple[str, ...]] = (),
) -> Demands:
    """Return the requirements of a table.

    :param metadata: metadata; without it, every feature counts as used
    :param planned: type changes that are planned
    :param used: features that will be used, regardless of the metadata
    :param renamed: paths of columns that are renamed or added, so that their names in data files will differ
    :raises ValueError: if the record of type changes is malformed
    """
    # late: they load the profiles of engines
    from airflow_delta_provider.domain.delta.engine_conditions import traits_of
    from airflow_delta_provider.domain.engine.access import Demands

    reader, writer = _named(reader_features(protocol)), _named(protocol.features) | _of_legacy_version(protocol)
    planned = [*planned]
    changes = planned if metadata is None else [*_recorded(metadata), *planned]
    return Demands(
        reader=reader,
        writer=writer | reader,
        implied_reader=reader - _named(protocol.reader_features or ()),
        implied_writer=(writer | reader) - _named(protocol.writer_features or ()),
        unused=frozenset()
        if metadata is None
        else frozenset(name for name in writer if _is_unused(name, metadata)) - _named(used),
        type_changes=tuple(dict.fromkeys((change.from_type, change.to_type) for change in changes)),
        widening=frozenset({TYPE_WIDENING.name, TYPE_WIDENING_PREVIEW.name}),
        unlisted=frozenset() if metadata is None else unlisted_features(protocol, metadata),
        is_readable=not lacks_a_list(protocol)
        and protocol.min_reader_version <= READER_FEATURES_VERSION
        and protocol.min_writer_version <= WRITER_FEATURES_VERSION,
        traits=None if metadata is None else traits_of(protocol, metadata, planned, renamed),
    )


def unlisted_features(protocol: Protocol, metadata: Metadata) -> frozenset[str]:
    """Return features that metadata uses but that the protocol's feature lists do not contain.

    Delta Spark does not open such a table: ``DeltaLog.assertTableFeaturesMatchMetadata`` of v4.4.0. A feature is not
    reported if its property also belongs to a listed feature, such as its preview.
    """
    if protocol.min_writer_version < WRITER_FEATURES_VERSION or lacks_a_list(protocol):
        return frozenset()
    in_use = {name: feature for name, feature in FEATURES.items() if _derives(feature, metadata)}
    served = {_marks(feature) for name, feature in FEATURES.items() if protocol.supports(feature)}
    return frozenset(
        name
        for name, feature in in_use.items()
        if not protocol.supports(feature) and not any(set(mark) <= set(_marks(feature)) for mark in served if mark)
    )


def _marks(feature: Feature) -> tuple[object, ...]:
    """Return the marks in metadata that show that a feature is in use."""
    return tuple(filter(None, (feature.enabling_property, feature.column_type)))


def _derives(feature: Feature, metadata: Metadata) -> bool:
    """Return True if Delta Spark considers a feature in use because of metadata alone."""
    if feature is ALLOW_COLUMN_DEFAULTS:  # only its own name adds it
        return False
    if feature is INVARIANTS and any(True for _ in enforced_columns(metadata)):
        return True
    return _shows(feature, metadata)


def _named(names: Iterable[str]) -> frozenset[str]:
    return frozenset(feature_meant_by(name).name for name in names)


def _of_legacy_version(protocol: Protocol) -> frozenset[str]:
    """Return the features that engines require because of a legacy writer version, for any reader version."""
    version = protocol.min_writer_version
    if version >= WRITER_FEATURES_VERSION:
        return frozenset()
    return frozenset(name for name, feature in FEATURES.items() if (feature.legacy_writer or version + 1) <= version)


def _recorded(metadata: Metadata) -> Iterator[TypeChange]:
    for column in metadata.columns:
        yield from recorded_changes(field_metadata(column.field))


def _is_unused(name: str, metadata: Metadata) -> bool:
    """Return True if metadata shows that a feature is unused; False if metadata alone cannot show it."""
    feature = feature_meant_by(name)
    shown = (feature.enabling_property, feature.field_key, feature.column_type, feature.used_by)
    removal = feature.removal
    elsewhere = removal is not None and (removal.left_in_file or removal.left_in_domains or removal.in_action)
    return any(shown) and not elsewhere and not _shows_use(feature, metadata)


def _shows_use(feature: Feature, metadata: Metadata) -> bool:
    removal = feature.removal
    return _shows(feature, metadata) or (
        removal is not None and removal.in_metadata is not None and removal.in_metadata(metadata)
    )


def _shows(feature: Feature, metadata: Metadata) -> bool:
    columns = metadata.columns
    return (
        feature.is_enabled_by(metadata)
        or any(feature.field_key and feature.field_key in field_metadata(column.field) for column in columns)
        or any(feature.column_type is not None and feature.column_type == column.data_type for column in columns)
        or (feature.used_by is not None and any(True for _ in feature.used_by(metadata)))
    )


_COORDINATION = "delta.coordinatedcommits."
_UNIFORM = "delta.universalformat.enabledformats"
_ICEBERG = frozenset(
    (feature.enabling_property or "").casefold() for feature in FEATURES.values() if feature.keeps_iceberg
)


def managing(protocol: Protocol, configuration: Mapping[str, str]) -> list[str]:
    """Return the features and properties that send commits through a catalog or a coordinator."""
    features = sorted(protocol.features.intersection(CATALOG_MANAGED))
    return features + sorted(name for name in configuration if name.casefold().startswith(_COORDINATION))


def iceberg_settings(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that keep the table also as an Iceberg table, with their values."""
    return {name: value for name, value in sorted(configuration.items()) if _keeps_iceberg(name.casefold(), value)}


def _keeps_iceberg(name: str, value: str) -> bool:
    return bool(value.strip()) if name == _UNIFORM else name in _ICEBERG and is_true(value)
