"""Which features a table makes use of: by its properties, its constraints and its columns."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.metadata.schema import readable_columns
from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.data_type import TIMESTAMP_NTZ, PrimitiveType
from airflow_delta_provider.domain.delta.features.state import is_enabled
from airflow_delta_provider.domain.delta.features.table import FEATURES
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.type_widening import TYPE_CHANGES_KEY

#: Metadata of a field by the feature that gives it its meaning.
_FIELD_METADATA = {
    "invariants": "delta.invariants",
    "generatedColumns": "delta.generationExpression",
    "identityColumns": "delta.identity.start",
    "allowColumnDefaults": "CURRENT_DEFAULT",
}
#: Types by the feature that they need.
FEATURE_TYPES = {"timestampNtz": TIMESTAMP_NTZ, "variantType": PrimitiveType("variant")}


def used_features(state: TableState) -> frozenset[str]:
    """Return the features that properties, constraints and columns of ``state`` make use of."""
    by_property = {feature.name for feature in FEATURES.values() if is_enabled(feature, state.metadata)}
    return frozenset(by_property) | needed_features(state).keys()


def needed_features(state: TableState) -> dict[str, tuple[str, str | None]]:
    """Return what needs a feature, and the column where it is one, by the feature: the first of each."""
    needed: dict[str, tuple[str, str | None]] = {}
    for name in state.metadata.check_constraints:
        needed.setdefault("checkConstraints", (f"The CHECK constraint {name}", None))
    for column in readable_columns(state.metadata) or ():
        for name, key in _FIELD_METADATA.items():
            if column.kinds[-1] == "field" and column.field.metadata.get(key) is not None:
                needed.setdefault(name, (f"The column {column}, with {key},", str(column)))
        for name, data_type in FEATURE_TYPES.items():
            if column.data_type == data_type and not _was_widened(column):
                needed.setdefault(name, (f"The column {column} of the type {data_type}", str(column)))
    return needed


def _was_widened(column: Column) -> bool:
    """Whether the type is from a widening, whose rules judge it."""
    return column.field.metadata.get(TYPE_CHANGES_KEY) is not None
