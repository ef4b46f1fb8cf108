"""Which features a table uses: by its properties, its constraints and its columns."""

from __future__ import annotations

from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.table_state import TableState

_BY_FIELD = {feature.name: feature.field_key for feature in FEATURES.values() if feature.field_key}
_BY_TYPE = {feature.name: feature.column_type for feature in FEATURES.values() if feature.column_type}


def used_features(state: TableState) -> frozenset[str]:
    """Return the features that properties, constraints and columns of ``state`` use."""
    by_property = {feature.name for feature in FEATURES.values() if feature.is_enabled_by(state.metadata)}
    return frozenset(by_property) | needed_features(state).keys()


def needed_features(state: TableState) -> dict[str, tuple[str, str | None]]:
    """Return what needs a feature, and the column where it is one, by the feature: the first of each."""
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
