"""The declared state of one table, as values.

Anything that a spec does not name is left alone, unless the spec is ``exact``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any, Union

from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
)
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


class Undeclared(Enum):
    """A marker for a value that a spec does not declare; None would declare its removal."""

    UNDECLARED = "undeclared"


UNDECLARED = Undeclared.UNDECLARED
#: A string, None to remove the value, or UNSAID to leave it alone.
Text = Union[str, None, Undeclared]


@dataclass(frozen=True, kw_only=True)
class ColumnSpec:
    """The declaration of a column, or of a field of a struct.

    :param name: declared name
    :param data_type: type, whose structs have the declared fields (:func:`struct_of`); None to leave any type alone
    :param nullable: True if the column may contain NULL; None to leave that alone
    :param comment: comment; None for no comment
    :param default: SQL expression; None for no default
    :param generated: SQL expression that generates the column; None if not declared
    :param renamed_from: earlier name in the same struct; None declares a new column
    :param rewrite: True if data may be rewritten for a type that widening cannot reach, or for NOT NULL
    :param null_on_loss: True if values that a cast loses become NULL; otherwise they are refused
    """

    name: str
    data_type: DataType | None = None
    nullable: bool | None = None
    comment: Text = UNDECLARED
    default: Text = UNDECLARED
    generated: str | None = None
    renamed_from: Text = UNDECLARED
    rewrite: bool = False
    null_on_loss: bool = False


@dataclass(frozen=True, eq=False)
class DeclaredField(StructField):
    """A field of a struct in a declared type. Fields that the struct does not name are left alone."""

    spec: ColumnSpec = ColumnSpec(name="")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeclaredField) and self.spec == other.spec

    def __hash__(self) -> int:
        return hash(self.spec)


#: The type of a field that may have any type.
_ANY = PrimitiveType("any")


def struct_of(columns: Iterable[ColumnSpec]) -> StructType:
    """Return the struct that declares these fields."""
    return StructType(
        tuple(
            DeclaredField(
                column.name,
                _ANY if column.data_type is None else column.data_type,
                column.nullable is not False,
                spec=column,
            )
            for column in columns
        )
    )


def fields_in(struct: StructType) -> tuple[ColumnSpec, ...]:
    """Return the declared fields of a struct."""
    return tuple(field.spec for field in struct.fields if isinstance(field, DeclaredField))


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
    comment: Text = UNDECLARED
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


def plain_type(declared: DataType) -> DataType:
    """Return the type that a declaration gives a new column.

    Fields without a declared type are left out.
    """
    if isinstance(declared, ArrayType):
        return ArrayType(plain_type(declared.element))
    if isinstance(declared, MapType):
        return MapType(plain_type(declared.key), plain_type(declared.value))
    if isinstance(declared, StructType):
        typed = (field for field in declared.fields if field.data_type is not _ANY)
        return StructType(tuple(StructField(f.name, plain_type(f.data_type), f.nullable) for f in typed))
    return declared


def outermost_structs(declared: DataType | None, at: Path = ()) -> Iterator[tuple[Path, StructType]]:
    """Yield the structs of a type that are in no other struct, each with the path to it."""
    if isinstance(declared, StructType):
        yield at, declared
    elif isinstance(declared, ArrayType):
        yield from outermost_structs(declared.element, (*at, "element"))
    elif isinstance(declared, MapType):
        yield from outermost_structs(declared.key, (*at, "key"))
        yield from outermost_structs(declared.value, (*at, "value"))


def all_specs(columns: tuple[ColumnSpec, ...], above: Path = ()) -> Iterator[tuple[Path, ColumnSpec]]:
    """Yield every declared column and nested field, parents first, each with its path."""
    for named in columns:
        path = (*above, named.name)
        yield path, named
        for at, struct in outermost_structs(named.data_type, path):
            yield from all_specs(fields_in(struct), at)
