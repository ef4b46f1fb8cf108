"""The spec of a table as it is: a migration to it finds nothing to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from airflow_delta_provider.domain.delta.clustering import clustering_of
from airflow_delta_provider.domain.delta.column import path_text
from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    UnknownTypeError,
    parse_type,
    sql_name,
)
from airflow_delta_provider.domain.delta.features.columns import (
    ALLOW_COLUMN_DEFAULTS,
    GENERATED_COLUMNS,
    IDENTITY_COLUMNS,
)
from airflow_delta_provider.domain.delta.features.feature import FeatureAccess
from airflow_delta_provider.domain.delta.features.registry import feature_named
from airflow_delta_provider.domain.delta.features.state import FeatureState, feature_state
from airflow_delta_provider.domain.delta.property_values import FORMS
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.spec.property_names import CONSTRAINT_PREFIX, why_not_settable
from airflow_delta_provider.domain.spec.table_spec import (
    UNSAID,
    Array,
    ColumnSpec,
    Leaf,
    Map,
    Path,
    Shape,
    Struct,
    TableSpec,
)

#: Key of a column's metadata that holds its comment.
_COMMENT = "comment"
_CHAR_OR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"


@dataclass(frozen=True)
class Described:
    """The spec of a table.

    :param left_out: what of the table it does not say, in sentences
    """

    spec: TableSpec
    left_out: tuple[str, ...] = ()


def describe(state: TableState, table: str | None = None) -> Described:
    """Return the spec of a table as it is, without its id: the same spec may be of a table elsewhere.

    :param table: how it is named
    :raises BrokenLogError: if its schema cannot be read
    """
    return _Describing(state).run(table)


class _Describing:
    def __init__(self, state: TableState) -> None:
        self._state = state
        self._left_out: list[str] = []

    def run(self, table: str | None) -> Described:
        """Return the spec."""
        metadata = self._state.metadata
        features = tuple(sorted(self._features()))
        spec = TableSpec(
            table=table,
            columns=tuple(self._column(field, ()) for field in metadata.schema.fields),
            properties=dict(self._properties(features)),
            features=features,
            constraints=dict(self._constraints()),
            partition_by=tuple(metadata.partition_columns) or None,
            cluster_by=tuple(clustering_of(metadata, self._state.domains)) or None,
            comment=metadata.description if isinstance(metadata.description, str) and metadata.description else UNSAID,
        )
        return Described(spec, tuple(self._left_out))

    def _column(self, field: StructField, above: Path) -> ColumnSpec:
        path = (*above, field.name)
        column = ColumnSpec(
            name=field.name,
            shape=self._shape(field.data_type, path),
            nullable=None if field.nullable else False,
            comment=_text(field, _COMMENT) or UNSAID,
        )
        if _text(field, _CHAR_OR_VARCHAR):
            self._left_out.append(
                f"{path_text(path)} is {_text(field, _CHAR_OR_VARCHAR)}, which Delta stores as string."
            )
        if field.metadata.get(IDENTITY_COLUMNS.field_key) is not None:
            self._left_out.append(f"{path_text(path)} is an identity column.")
        if above:
            return column
        generated = _text(field, GENERATED_COLUMNS.field_key)
        default = None if generated else _text(field, ALLOW_COLUMN_DEFAULTS.field_key)
        return replace(column, generated=generated, default=default or UNSAID)

    def _shape(self, data_type: DataType, path: Path) -> Shape | None:
        if isinstance(data_type, StructType):
            return Struct(tuple(self._column(field, path) for field in data_type.fields))
        if isinstance(data_type, ArrayType):
            element = self._shape(data_type.element, (*path, "element"))
            return None if element is None else Array(element)
        if isinstance(data_type, MapType):
            key, value = self._shape(data_type.key, (*path, "key")), self._shape(data_type.value, (*path, "value"))
            return None if key is None or value is None else Map(key, value)
        if _is_known(data_type):
            return Leaf(data_type)
        self._left_out.append(f"{path_text(path)} has the type {data_type}, which specs do not know.")
        return None

    def _features(self) -> Iterator[str]:
        """Yield the features that a property enables; the others follow from what the table has, or from these."""
        protocol, metadata = self._state.protocol, self._state.metadata
        for feature in map(feature_named, protocol.features):
            enabled = feature_state(feature, protocol, metadata) is FeatureState.ENABLED
            if enabled and feature.enabling_property is not None and feature.access is FeatureAccess.OPEN:
                yield feature.name

    def _properties(self, features: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Yield the properties, without what follows from the features and what writers keep for themselves."""
        implied = {feature_named(name).enabling_property for name in features}
        for name, value in sorted(self._state.metadata.configuration.items()):
            if name in implied and value.lower() == "true":
                continue
            if not name or (name in FORMS and not FORMS[name].fits(value)):
                self._left_out.append(f"The property {name!r} has the value {value!r}, which engines do not take.")
            elif why_not_settable(name) is None:
                yield name, value

    def _constraints(self) -> Iterator[tuple[str, str]]:
        for name, expression in sorted(self._state.metadata.check_constraints.items()):
            if name and expression:
                yield name, expression
            else:
                self._left_out.append(f"The property {CONSTRAINT_PREFIX}{name} is no constraint.")


def _is_known(data_type: DataType) -> bool:
    try:
        return parse_type(sql_name(data_type)) == data_type
    except UnknownTypeError:
        return False


def _text(field: StructField, key: str) -> str | None:
    value = field.metadata.get(key)
    return value if isinstance(value, str) else None
