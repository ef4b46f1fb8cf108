"""Data files of tables with Iceberg compatibility: TF30, from their footers.

PROTOCOL.md, Writer Requirements for IcebergCompatV1 and V2. The first version binds all files of the table, the second
the files that are written while it is enabled: :meth:`IcebergFiles.bound` tells whether a file had to be free of a
problem when it was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.checks.data_files.schema_walk import SchemaProblem, SchemaWalk, said_name
from airflow_delta_provider.domain.checks.protocol.outcomes import NOT_WRITTEN_FOR_ICEBERG
from airflow_delta_provider.domain.delta.column import Column, children
from airflow_delta_provider.domain.delta.data_type import DataType, PrimitiveType
from airflow_delta_provider.domain.delta.features.feature import Feature
from airflow_delta_provider.domain.delta.features.owners import ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2
from airflow_delta_provider.domain.delta.features.state import is_active
from airflow_delta_provider.domain.delta.file_tree import ChildrenByName, FileNode
from airflow_delta_provider.domain.delta.mapped_schema import ID, NESTED_IDS, MappedSchema, field_metadata, is_id
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.formats.parquet.schema import PhysicalType
from airflow_delta_provider.domain.report.finding import Finding

_TIMESTAMPS = frozenset({"timestamp", "timestamp_ntz"})


class IcebergFiles:
    """A table's requirements on its files for Iceberg compatibility.

    :param metadata: metadata of the table
    :param protocol: protocol of the table
    """

    def __init__(self, metadata: Metadata, protocol: Protocol) -> None:
        self._active: tuple[Feature, ...] = tuple(
            compat for compat in (ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2) if is_active(compat, protocol, metadata)
        )
        self._mode = metadata.properties.mapping_mode
        self._columns: Sequence[Column] = ()
        self._partitions: Sequence[Column] = ()
        self._nested: Mapping[str, Any] = {}
        columns = metadata.readable_columns
        if self._active and columns is not None and self._mode is not MappingMode.NONE:  # TF25 reports mode none
            names = {str(name).lower() for name in metadata.partition_columns}
            self._columns = [column for column in columns if len(column.parts) == 1]
            self._partitions = [column for column in self._columns if column.parts[0].lower() in names]
            self._nested = {
                key: of for field in MappedSchema.of(metadata).fields for key, of in field.nested_ids.items()
            }

    def problems(self, root: FileNode) -> Iterator[SchemaProblem]:
        """Yield the requirements that a file does not meet."""
        if not self._columns:
            return
        for compat in self._active:
            yield from self._without_partitions(compat, root)
        if ICEBERG_COMPAT_V2 in self._active:
            walk = _SecondVersion(self._mode)
            walk.struct(self._columns, root)
            yield from walk.problems

    def _without_partitions(self, compat: Feature, root: FileNode) -> Iterator[SchemaProblem]:
        partitions = [(column, self._place(column, root)) for column in self._partitions]
        wrong = next((column for column, place in partitions if place is None), None)
        evidence = "{path} lacks the partition column {column}; {subject} requires that files hold it."
        if wrong is None and compat == ICEBERG_COMPAT_V1:
            data = [self._place(column, root) for column in self._columns if column not in self._partitions]
            last = max((place for place in data if place is not None), default=-1)
            wrong = next((column for column, place in partitions if place is not None and place < last), None)
            evidence = (
                "{path} holds the partition column {column} before a data column; {subject} requires that it comes "
                "after them."
            )
        if wrong is not None:
            yield _problem(evidence, compat, wrong, name=said_name(wrong))

    def _place(self, column: Column, root: FileNode) -> int | None:
        number = field_metadata(column.field).get(ID)
        found = ChildrenByName(root.children).find(said_name(column) or "")
        for place, node in enumerate(root.children):
            if node is found or (is_id(number) and node.element.field_id == number):
                return place
        return None

    def bound(self, finding: Finding) -> bool:
        """Return True if a file written under this metadata had to be free of a problem.

        :param finding: finding about the file, under the same or later metadata
        """
        facts = finding.facts or {}
        if not any(compat.name == finding.subject for compat in self._active):
            return False
        if "name" in facts:
            return any(said_name(column) == facts["name"] for column in self._partitions)
        return "id" not in facts or self._nested.get(facts["key"]) == facts["id"]


class _SecondVersion(SchemaWalk):
    """Checks only timestamps and nested ids."""

    def _leaf(self, column: Column, node: FileNode) -> None:
        data_type = column.data_type
        is_timestamp = isinstance(data_type, PrimitiveType) and data_type.name in _TIMESTAMPS
        if is_timestamp and node.element.physical_type is PhysicalType.INT96:
            evidence = "{path} stores {column} as INT96, and {subject} requires INT64."
            self.problems.append(_problem(evidence, ICEBERG_COMPAT_V2, column))

    def _below(self, column: Column, nodes: Sequence[FileNode]) -> None:
        nested = field_metadata(column.field).get(NESTED_IDS)
        for child, node in zip(children(column), nodes):
            key = ".".join((said_name(child) or "", *child.field_path))
            number = nested.get(key) if isinstance(nested, Mapping) else None
            if is_id(number) and node.element.field_id != number:  # TF25 reports a missing id
                evidence = "{path} holds {column} " + (
                    "without a field id" if node.element.field_id is None else "with field id {stored}"
                )
                self.problems.append(
                    _problem(
                        f"{evidence}; {{subject}} requires {{id}}, the id that the schema gives it.",
                        ICEBERG_COMPAT_V2,
                        child,
                        key=key,
                        id=number,
                        stored=node.element.field_id,
                    )
                )
        super()._below(column, nodes)

    def _wrong_type(self, column: Column, node: FileNode, types: Sequence[DataType]) -> None:
        """Do nothing: TW16 reports it."""


def _problem(evidence: str, compat: Feature, column: Column, **facts: Any) -> SchemaProblem:
    return SchemaProblem(NOT_WRITTEN_FOR_ICEBERG, evidence, {"column": column, "subject": compat.name, **facts})
