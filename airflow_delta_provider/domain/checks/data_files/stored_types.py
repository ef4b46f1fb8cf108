"""Parquet types that store Delta types, and timestamps with a contradicting annotation: DF11.

PROTOCOL.md, Delta Data Type to Parquet Type Mappings; parquet-format, ``LogicalTypes.md``; and types that engines are
known to write, even if the protocol does not name them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from airflow_delta_provider.domain.checks.data_files import FAMILY
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.checks.type_widening.changes import is_text
from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, DecimalType, PrimitiveType, StructType
from airflow_delta_provider.domain.formats.parquet.schema import (
    LogicalKind,
    PhysicalType,
    Repetition,
    SchemaElement,
    TimeUnit,
)
from airflow_delta_provider.domain.report.report import Severity


class FileNode(NamedTuple):
    element: SchemaElement
    children: tuple[FileNode, ...]

    @property
    def kind(self) -> LogicalKind | None:
        """The logical type in the file's schema."""
        return None if self.element.logical_type is None else self.element.logical_type.kind

    @property
    def has_ids(self) -> bool:
        """Return True if any node below it has a field id."""
        return any(child.element.field_id is not None or child.has_ids for child in self.children)


class ChildrenByName:
    """The children of a group by name, ignoring case if that is unambiguous."""

    def __init__(self, nodes: Iterable[FileNode]) -> None:
        self.exact: dict[str, FileNode] = {}
        self._folded: dict[str, list[FileNode]] = {}
        for node in nodes:
            self.exact.setdefault(node.element.name, node)
            self._folded.setdefault(node.element.name.lower(), []).append(node)

    def find(self, name: str) -> FileNode | None:
        """Return the child with that name; None if there is none, or if several match."""
        alike = self._folded.get(name.lower(), [])
        return self.exact.get(name) or (alike[0] if len(alike) == 1 else None)


def file_tree(elements: Sequence[SchemaElement]) -> FileNode:
    """Return the root of a schema.

    :param elements: elements of one tree, depth-first, the root first
    """
    rest = iter(elements)

    def read() -> FileNode:
        element = next(rest)
        return FileNode(element, tuple([read() for _ in range(element.num_children)]))

    return read()


def list_element(node: FileNode, data_type: ArrayType) -> list[FileNode]:
    """Return the element of a list in any of its forms; an empty list if the form is unknown."""
    if len(node.children) != 1 or node.children[0].element.repetition is not Repetition.REPEATED:
        return []
    repeated = node.children[0]
    names = ("array", f"{node.element.name}_tuple")
    if repeated.element.is_leaf or len(repeated.children) != 1 or repeated.element.name in names:
        return [without_repetition(repeated)]
    (only,) = repeated.children
    if only.element.repetition is Repetition.REPEATED or (
        only.element.is_leaf and isinstance(data_type.element, StructType)
    ):
        return [without_repetition(repeated)]  # two levels, whose elements are structs with one field
    return [only]


def key_and_value(node: FileNode) -> Sequence[FileNode]:
    """Return key and value of a map, whatever their names; empty if it has another form."""
    if len(node.children) != 1 or node.children[0].element.repetition is not Repetition.REPEATED:
        return ()
    pair = node.children[0].children
    return pair if len(pair) == 2 else ()


def without_repetition(node: FileNode) -> FileNode:
    """Return a repeated node as the element that it repeats, which is not a list itself."""
    item = node.element
    element = SchemaElement(
        item.name, item.physical_type, None, item.num_children, item.field_id, item.type_length, item.logical_type
    )
    return FileNode(element, node.children)


#: Parquet types of Delta types: physical types with their logical types.
_INT32 = {(PhysicalType.INT32, None), (PhysicalType.INT32, LogicalKind.INTEGER)}
_TIMESTAMP = {(PhysicalType.INT96, None), (PhysicalType.INT64, LogicalKind.TIMESTAMP)}
_STORED: dict[str, set[tuple[PhysicalType, LogicalKind | None]]] = {
    "boolean": {(PhysicalType.BOOLEAN, None)},
    "byte": _INT32,
    "short": _INT32,
    "integer": _INT32,
    "long": {(PhysicalType.INT64, None), (PhysicalType.INT64, LogicalKind.INTEGER)},
    "float": {(PhysicalType.FLOAT, None)},
    "double": {(PhysicalType.DOUBLE, None)},
    "date": {(PhysicalType.INT32, None), (PhysicalType.INT32, LogicalKind.DATE)},
    "timestamp": _TIMESTAMP,
    "timestamp_ntz": _TIMESTAMP,
}
_BYTES = (PhysicalType.BYTE_ARRAY, PhysicalType.FIXED_LEN_BYTE_ARRAY)


def is_checked(data_type: DataType) -> bool:
    """Return True if the Parquet types of a Delta type are known."""
    if isinstance(data_type, PrimitiveType):
        return data_type.name in _STORED or data_type.name == "binary" or is_text(data_type)
    return isinstance(data_type, DecimalType)


def may_be(element: SchemaElement, data_type: DataType) -> bool:
    """Return True if a leaf of a file may hold values of a type that is checked."""
    logical = element.logical_type
    kind = None if logical is None else logical.kind
    if isinstance(data_type, DecimalType):
        if logical is None or kind is not LogicalKind.DECIMAL:
            return False
        annotated = (logical.precision, logical.scale or 0)
        return logical.precision is None or annotated == (data_type.precision, data_type.scale)
    assert isinstance(data_type, PrimitiveType)
    if logical is not None and kind is LogicalKind.TIMESTAMP and logical.unit is TimeUnit.NANOS:
        return False  # Spark refuses to read nanoseconds
    if data_type.name in _STORED:
        return (element.physical_type, kind) in _STORED[data_type.name]
    return element.physical_type in _BYTES and kind is not LogicalKind.DECIMAL


def described(element: SchemaElement) -> str:
    """Return the type of a file's column, for people."""
    logical = element.logical_type
    physical = "a group" if element.physical_type is None else element.physical_type.name
    if logical is None:
        return physical
    meaning = logical.kind.value
    if logical.kind is LogicalKind.DECIMAL:
        meaning = f"decimal({logical.precision},{logical.scale or 0})"
    elif logical.unit is TimeUnit.NANOS:
        meaning = f"{meaning} in nanoseconds"
    return f"{physical} ({meaning})"


OTHER_TIMESTAMP = FAMILY.of(Scope.DATA).error(
    11,
    "timestamps stored with the wrong isAdjustedToUTC",
    name="timestamps-with-wrong-utc-adjustment",
    effect="Spark before 4.0 refuses to read the column, and readers that rely on the type in the file take local "
    "times for instants.",
    remedy="Rewrite the file with an engine that writes isAdjustedToUTC as the protocol says, for example with an "
    "UPDATE in Delta Spark 4 that leaves its rows as they are.",
    source="PROTOCOL.md, Primitive Types",
)
#: Required values of ``isAdjustedToUTC`` in files.
_ADJUSTED = {"timestamp": True, "timestamp_ntz": False}
#: Trino writes timestamps like this, and Spark and deltalake read them correctly.
_HARMLESS: Mapping[str, Any] = {
    "severity": Severity.WARNING,
    "effect": "Delta Spark and deltalake read the values right; readers that rely on the type in the file take "
    "instants for local times.",
}


def is_other_timestamp(element: SchemaElement, data_type: DataType) -> bool:
    """Return True if a leaf's ``isAdjustedToUTC`` contradicts the column's type.

    False for files that do not state it: those with INT96, or with only the converted type.
    """
    logical, adjusted = element.logical_type, _ADJUSTED.get(str(data_type))
    if logical is None or logical.kind is not LogicalKind.TIMESTAMP or logical.inferred or adjusted is None:
        return False
    return logical.adjusted_to_utc is (not adjusted)


def other_timestamp(data_type: DataType) -> tuple[str, Mapping[str, Any]]:
    """Return the evidence of a finding about a column of that type, and its further fields."""
    adjusted = _ADJUSTED[str(data_type)]
    evidence = "{path} stores {column}, a {type}, with isAdjustedToUTC {stored}; it must be {adjusted}."
    stored, right = (str(value).lower() for value in (not adjusted, adjusted))
    return evidence, {"type": str(data_type), "stored": stored, "adjusted": right, **(_HARMLESS if adjusted else {})}
