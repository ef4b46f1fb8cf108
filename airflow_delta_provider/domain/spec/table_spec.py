"""The declared state of one table, as values.

Anything that a spec does not name is left alone, unless the spec is ``exact``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any, Union

from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, MapType, StructField, StructType
from airflow_delta_provider.domain.delta.features.feature import SUPPORT_PREFIX
from airflow_delta_provider.domain.delta.features.registry import FEATURES, WRITER_OWNED_PROPERTIES
from airflow_delta_provider.domain.delta.table_properties import (
    CHECKPOINT_POLICY,
    COLUMN_MAPPING_MODE,
    CONSTRAINT_PREFIX,
    FORMS,
    RESERVED_PROPERTIES,
    STATISTICS_COLUMNS,
)

_OWNED = {name.casefold() for name in WRITER_OWNED_PROPERTIES}
_VERSIONS = {"delta.minreaderversion", "delta.minwriterversion"}
_KNOWN = {
    name.casefold(): name
    for name in (
        *FORMS,
        *filter(None, (feature.enabling_property for feature in FEATURES.values())),
        CHECKPOINT_POLICY,
        COLUMN_MAPPING_MODE,
        STATISTICS_COLUMNS,
    )
}
#: Minimum similarity of a mistyped name and the known one (:func:`difflib.get_close_matches`).
_ALIKE = 0.9


def why_not_settable(name: str) -> str | None:
    """Return why a spec cannot set a property, with the alternative; None if it can."""
    folded = name.casefold()
    if name in RESERVED_PROPERTIES:
        return f"SQL does not store {name} as a property: {RESERVED_PROPERTIES[name]}"
    if folded in _OWNED:
        return f"writers maintain {name} themselves, and setting it damages the table"
    if folded.startswith(SUPPORT_PREFIX):
        return f"{name} adds a feature. List {name[len(SUPPORT_PREFIX) :]!r} under features"
    if folded in _VERSIONS:
        return f"{name} follows from the features. List those under features"
    if folded.startswith(CONSTRAINT_PREFIX):
        return f"{name} is a CHECK constraint. Write {name[len(CONSTRAINT_PREFIX) :]!r} under constraints"
    if folded.startswith("delta.") and folded not in _KNOWN and (meant := _meant(folded)):
        return f"there is no property {name!r}. Did you mean {meant!r}?"
    return None


def _meant(folded: str) -> str | None:
    """Return the property whose name was mistyped; None if there is none.

    A name that differs from a known one only by a trailing number is not a typing error.
    """
    near = difflib.get_close_matches(folded, _KNOWN, n=1, cutoff=_ALIKE)
    if not near or near[0].rstrip("0123456789") == folded.rstrip("0123456789"):
        return None
    return _KNOWN[near[0]]


#: A column's names from the top-level column down, with ``element``, ``key`` and ``value`` on the way.
Path = tuple[str, ...]


class Unsaid(Enum):
    """A marker for a value that a spec does not declare; None would declare its removal."""

    UNSAID = "unsaid"


UNSAID = Unsaid.UNSAID
#: A string, None to remove the value, or UNSAID to leave it alone.
Text = Union[str, None, Unsaid]


@dataclass(frozen=True)
class Leaf:
    """A type without inner types."""

    data_type: DataType


@dataclass(frozen=True)
class Struct:
    """A struct with its declared fields. Other fields are left alone."""

    fields: tuple[ColumnSpec, ...]


@dataclass(frozen=True)
class Array:
    element: Shape


@dataclass(frozen=True)
class Map:
    key: Shape
    value: Shape


#: The declaration of a type.
Shape = Union[Leaf, Struct, Array, Map]


@dataclass(frozen=True, kw_only=True)
class ColumnSpec:
    """The declaration of a column, or of a field of a struct.

    :param name: declared name
    :param shape: type; None to leave any type alone
    :param nullable: True if the column may contain NULL; None to leave that alone
    :param comment: comment; None for no comment
    :param default: SQL expression; None for no default
    :param generated: SQL expression that generates the column; None if not declared
    :param renamed_from: earlier name in the same struct; None declares a new column
    :param rewrite: True if data may be rewritten for a type that widening cannot reach, or for NOT NULL
    :param null_on_loss: True if values that a cast loses become NULL; otherwise they are refused
    """

    name: str
    shape: Shape | None = None
    nullable: bool | None = None
    comment: Text = UNSAID
    default: Text = UNSAID
    generated: str | None = None
    renamed_from: Text = UNSAID
    rewrite: bool = False
    null_on_loss: bool = False


@dataclass(frozen=True)
class View:
    """A view that reads a table.

    :param columns: columns that it reads, by their current names; None for all
    """

    name: str
    columns: tuple[Path, ...] | None = None


@dataclass(frozen=True)
class Rows:
    """Bounds of the number of rows of a table; at least one of them is given.

    :param least: fewest rows
    :param most: most rows
    """

    least: int | None = None
    most: int | None = None

    def __str__(self) -> str:
        if self.least is None or self.most is None:
            return f"at least {self.least:,}" if self.least is not None else f"at most {self.most:,}"
        return f"{self.least:,} to {self.most:,}"


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """The declaration of a table.

    :param table: path, URI or catalog name; None if the request names it
    :param table_id: id that the table must have
    :param columns: columns, in their order
    :param drop: columns to drop
    :param properties: values by name; None to remove a property
    :param features: table features to enable
    :param drop_features: table features to drop
    :param constraints: expressions of CHECK constraints by name; None to drop a constraint
    :param partition_by: partition columns, in their order; None to leave them alone
    :param cluster_by: clustering columns; empty for none, None to leave them alone
    :param comment: comment of the table; None for no comment
    :param like: table whose columns this one also gets
    :param after: tables that are migrated first
    :param views: views that read the table
    :param freshness: greatest age of the last commit that changed data
    :param rows: bounds of the number of rows
    :param only_additive: True to refuse everything but additions
    :param exact: True to drop unnamed columns, properties and constraints
    :param rewrite: True to allow rewriting every column, see :class:`ColumnSpec`, and other partition columns
    :param null_on_loss: True to set it for every column, see :class:`ColumnSpec`
    :param time_zone: time zone in a rewrite for casts between timestamps and local dates or times
    :param places: places where values were written, for messages, by ``like`` and ``constraints.NAME``; the empty key
        is the whole spec, and an unknown place is left out
    """

    table: str | None = None
    table_id: str | None = None
    columns: tuple[ColumnSpec, ...] = ()
    drop: tuple[Path, ...] = ()
    properties: Mapping[str, str | None] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    drop_features: tuple[str, ...] = ()
    constraints: Mapping[str, str | None] = field(default_factory=dict)
    partition_by: tuple[str, ...] | None = None
    cluster_by: tuple[Path, ...] | None = None
    comment: Text = UNSAID
    like: str | None = None
    after: tuple[str, ...] = ()
    views: tuple[View, ...] = ()
    freshness: timedelta | None = None
    rows: Rows | None = None
    only_additive: bool = False
    exact: bool = False
    rewrite: bool = False
    null_on_loss: bool = False
    time_zone: str | None = None
    places: Mapping[str, str] = field(default_factory=dict, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return the spec as plain values, as in a file; values equal to the defaults are left out."""
        from airflow_delta_provider.domain.spec.writing import plain_of  # late: it makes texts of these values

        return plain_of(self)

    @classmethod
    def from_json(cls, wire: Any) -> TableSpec:
        """Read plain values.

        :raises SpecError: if they cannot be used
        """
        from airflow_delta_provider.domain.spec.reading import read_spec  # late: it makes these values

        return read_spec(wire)


def data_type_of(shape: Shape) -> DataType:
    """Return the type that a shape declares on its own.

    Fields that it does not name, or that have no declared type, are left out.
    """
    if isinstance(shape, Leaf):
        return shape.data_type
    if isinstance(shape, Array):
        return ArrayType(data_type_of(shape.element))
    if isinstance(shape, Map):
        return MapType(data_type_of(shape.key), data_type_of(shape.value))
    return StructType(
        tuple(
            StructField(named.name, data_type_of(named.shape), named.nullable is not False)
            for named in shape.fields
            if named.shape is not None
        )
    )


def nested(shape: Shape | None) -> Iterator[tuple[Path, ColumnSpec]]:
    """Yield the fields of the outermost structs in a shape.

    Each comes with the path from the shape to its struct.
    """
    if isinstance(shape, Struct):
        yield from (((), named) for named in shape.fields)
    elif isinstance(shape, Array):
        yield from ((("element", *path), named) for path, named in nested(shape.element))
    elif isinstance(shape, Map):
        yield from ((("key", *path), named) for path, named in nested(shape.key))
        yield from ((("value", *path), named) for path, named in nested(shape.value))


def all_specs(columns: tuple[ColumnSpec, ...], above: Path = ()) -> Iterator[tuple[Path, ColumnSpec]]:
    """Yield every declared column and nested field, parents first, each with its path."""
    for named in columns:
        path = (*above, named.name)
        yield path, named
        for steps, below in nested(named.shape):
            yield from all_specs((below,), (*path, *steps))
