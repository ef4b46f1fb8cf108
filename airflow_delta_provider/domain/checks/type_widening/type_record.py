"""A table's information about changed types: the feature, and the record of each field. PROTOCOL.md, Type Widening."""

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

#: Types that Parquet stores in the same way. Engines without the feature widen among them when they merge schemas.
_STORED_AS_INT32 = (BYTE, SHORT, INTEGER)
#: Types of a column without values, which can be changed to any type.
VOID = (PrimitiveType("void"), PrimitiveType("null"))


@dataclass(frozen=True)
class TypeRecord:
    """The recorded type changes of one struct field.

    :param changes: the changes; None if the record is malformed
    """

    column: Column
    raw: Any
    changes: tuple[TypeChange, ...] | None

    @property
    def chains(self) -> dict[str | None, list[TypeChange]]:
        """The changes by ``fieldPath``, except those between strings."""
        chains: dict[str | None, list[TypeChange]] = {}
        for change in self.changes or ():
            if not between_texts(named_type(change.from_type), named_type(change.to_type)):
                chains.setdefault(change.field_path, []).append(change)
        return chains


def is_enabled(metadata: Metadata) -> bool:
    """Return True if the property that allows widening is true; see :func:`is_supported`."""
    return metadata.properties.type_widening


def is_supported(protocol: Protocol) -> bool:
    """Return True if the protocol lists the feature or its preview."""
    return protocol.supports(TYPE_WIDENING) or protocol.supports(TYPE_WIDENING_PREVIEW)


def is_required_of_readers(protocol: Protocol) -> bool:
    """Return True if the protocol excludes readers without support for the feature or its preview."""
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
    """Return the changes that the nearest field records; None if the record is malformed."""
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
    """Return the type with a name in a record; an unknown name gives a primitive type of that name."""
    try:
        return type_from_json(name)
    except ValueError:  # a decimal with more digits than Python reads
        return PrimitiveType(name)


def stored_alike(old: DataType, new: DataType) -> bool:
    """Return True if ``new`` is wider and files need no conversion."""
    return old in _STORED_AS_INT32 and new in _STORED_AS_INT32 and can_widen(old, new)


def between_texts(old: DataType, new: DataType) -> bool:
    """Return True if both are strings of some kind, whose changes need no feature: delta-io/delta#3744."""
    return is_text(old) and is_text(new)


def is_text(data_type: DataType) -> bool:
    """Return True if a type is a string of some kind."""
    return isinstance(data_type, PrimitiveType) and (
        data_type.name == "string" or data_type.name.startswith(("char(", "varchar(", "string "))
    )
