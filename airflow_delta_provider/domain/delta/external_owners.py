"""Other owners of a table besides its log: a catalog, or Iceberg metadata.

A catalog controls the commits; Iceberg metadata follows them.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_delta_provider.domain.delta.features.registry import CATALOG_MANAGED, FEATURES
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_properties import is_true

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
