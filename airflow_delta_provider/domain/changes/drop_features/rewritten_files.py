"""The data files that Delta Spark rewrites when a feature is dropped, by their schemas.

``ReorgTableHelper.scala`` of Delta Spark v4.4.0: dropping type widening rewrites files that have another type for a
column than the table. Dropping deletion vectors rewrites files that have one, and files with columns that the table no
longer has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.checks.data_files.schema_walk import SchemaWalk
from airflow_delta_provider.domain.checks.data_files.stored_types import is_checked, may_be
from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.data_type import DataType, PrimitiveType
from airflow_delta_provider.domain.delta.file_tree import FileNode, file_tree
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.formats.parquet.schema import LogicalKind, PhysicalType, SchemaElement

#: Bit widths of integers that are stored as 32 bits. The width distinguishes them in a file.
_BITS = {"byte": 8, "short": 16, "integer": 32}


@dataclass(frozen=True)
class FileDifference:
    """The differences between the schemas of a file and its table.

    :param types: True if a column has another type
    :param columns: True if the file has columns that the table no longer has
    """

    types: bool
    columns: bool


class FileDifferences:
    """Compares the schemas of files with the table's own.

    :param metadata: metadata of the table
    """

    def __init__(self, metadata: Metadata) -> None:
        self._schema = MappedSchema.of(metadata)
        partitions = {name.lower() for name in metadata.partition_columns}
        columns = metadata.readable_columns or ()
        self._columns = [c for c in columns if len(c.parts) == 1 and c.parts[0].lower() not in partitions]
        self._partitions = [c for c in columns if len(c.parts) == 1 and c.parts[0].lower() in partitions]
        self._materialized = frozenset(metadata.properties.materialized_columns)
        self._known: dict[tuple[SchemaElement, ...], FileDifference] = {}

    def of(self, elements: tuple[SchemaElement, ...]) -> FileDifference:
        """Return the differences of a file.

        :param elements: elements of its schema, from the footer
        """
        if elements not in self._known:
            walk = _Differences(self._schema.mode)
            walk.struct([*self._columns, *self._partitions], file_tree(elements))
            extra = [name for name in walk.extra if name not in self._materialized]
            self._known[elements] = FileDifference(walk.differs, bool(extra))
        return self._known[elements]


class _Differences(SchemaWalk):
    """Notes each difference, even harmless ones."""

    def __init__(self, mode: MappingMode) -> None:
        super().__init__(mode)
        self.differs = False
        self.extra: list[str] = []

    def _leaf(self, column: Column, node: FileNode) -> None:
        data_type = column.data_type
        if is_checked(data_type) and (not may_be(node.element, data_type) or _other_width(node.element, data_type)):
            self.differs = True

    def _wrong_type(self, column: Column, node: FileNode, types: Sequence[DataType]) -> None:
        del column, node, types
        self.differs = True

    def _others(self, nodes: Sequence[FileNode]) -> None:
        self.extra += [node.element.name for node in nodes]


def _other_width(element: SchemaElement, data_type: DataType) -> bool:
    """Return True if an integer of the file has another width than the column.

    An integer without a declared width has 32 bits.
    """
    if not isinstance(data_type, PrimitiveType) or data_type.name not in _BITS:
        return False
    logical = element.logical_type
    said = logical.bit_width if logical is not None and logical.kind is LogicalKind.INTEGER else None
    return element.physical_type is PhysicalType.INT32 and (said or 32) != _BITS[data_type.name]
