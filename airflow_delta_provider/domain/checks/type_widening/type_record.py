"""What a table says of changed types: the feature, and the record of each field. PROTOCOL.md, Type Widening."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.column import Column, all_columns
from airflow_delta_provider.domain.delta.data_type import BYTE, INTEGER, SHORT, DataType, PrimitiveType, type_from_json
from airflow_delta_provider.domain.delta.features.lists import reader_features
from airflow_delta_provider.domain.delta.features.types import TYPE_WIDENING, TYPE_WIDENING_PREVIEW
from airflow_delta_provider.domain.delta.mapped_schema import field_metadata
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.type_widening import TYPE_CHANGES_KEY, TypeChange, can_widen, recorded_changes

#: Types that Parquet stores alike. Engines without the feature widen among them when they merge schemas.
_STORED_AS_INT32 = (BYTE, SHORT, INTEGER)
#: A column without values, which may become of any type.
VOID = (PrimitiveType("void"), PrimitiveType("null"))


@dataclass(frozen=True)
class TypeRecord:
    """What one struct field records of its types.

    :param changes: None where the record is malformed
    """

    column: Column
    raw: Any
    changes: tuple[TypeChange, ...] | None

    @property
    def chains(self) -> dict[str | None, list[TypeChange]]:
        """The changes by the place that they are about, those between texts left out."""
        chains: dict[str | None, list[TypeChange]] = {}
        for change in self.changes or ():
            if not between_texts(named_type(change.from_type), named_type(change.to_type)):
                chains.setdefault(change.field_path, []).append(change)
        return chains


def is_enabled(metadata: Metadata) -> bool:
    """Whether the property that allows widening is true; see :func:`is_supported`."""
    return metadata.properties.type_widening


def is_supported(protocol: Protocol) -> bool:
    """Whether the protocol lists the feature or its preview."""
    return protocol.supports(TYPE_WIDENING) or protocol.supports(TYPE_WIDENING_PREVIEW)


def is_required_of_readers(protocol: Protocol) -> bool:
    """Whether the protocol keeps readers out that do not know the feature or its preview."""
    required = reader_features(protocol)
    return TYPE_WIDENING.name in required or TYPE_WIDENING_PREVIEW.name in required


def records_of(metadata: Metadata) -> list[TypeRecord]:
    """Return the records of all fields that have one.

    :raises BrokenLogError: if the schema string is not a struct
    """
    return [
        TypeRecord(column, field_metadata(column.field)[TYPE_CHANGES_KEY], changes_of(column))
        for column in all_columns(metadata.schema)
        if not column.field_path and TYPE_CHANGES_KEY in field_metadata(column.field)
    ]


def changes_of(column: Column) -> tuple[TypeChange, ...] | None:
    """Return what the nearest field records, None where that is malformed."""
    metadata = field_metadata(column.field)
    if not isinstance(metadata.get(TYPE_CHANGES_KEY, []), list):
        return None
    try:
        changes = recorded_changes(metadata)
    except ValueError:
        return None
    return (
        changes if all(change.field_path is None or isinstance(change.field_path, str) for change in changes) else None
    )


def named_type(name: str) -> DataType:
    """Return the type of a name in a record; a name that is not a type stands for itself."""
    try:
        return type_from_json(name)
    except ValueError:  # a decimal with more digits than Python reads
        return PrimitiveType(name)


def stored_alike(old: DataType, new: DataType) -> bool:
    """Whether ``new`` is wider, and files need no conversion."""
    return old in _STORED_AS_INT32 and new in _STORED_AS_INT32 and can_widen(old, new)


def between_texts(old: DataType, new: DataType) -> bool:
    """Whether both are strings of some kind, whose changes need no feature: delta-io/delta#3744."""
    return is_text(old) and is_text(new)


def is_text(data_type: DataType) -> bool:
    """Whether it is a string of some kind."""
    return isinstance(data_type, PrimitiveType) and (
        data_type.name == "string" or data_type.name.startswith(("char(", "varchar(", "string "))
    )
