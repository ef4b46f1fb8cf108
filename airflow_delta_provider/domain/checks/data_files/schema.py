"""The schemas of data files, from their footers, compared with the table's.

PROTOCOL.md, Writer Requirements for IcebergCompatV1 and V2. The first version binds all files of the table, the second
the files that are written while it is enabled: :meth:`IcebergFiles.bound` tells whether a file had to be free of a
problem when it was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.column_mapping.names import NOT_FOUND_IN_FILE, StoredPaths, never_stored
from airflow_delta_provider.domain.checks.data_files.schema_walk import SchemaProblem, SchemaWalk, mapped_name
from airflow_delta_provider.domain.checks.data_files.stored_types import (
    OTHER_TIMESTAMP,
    ChildrenByName,
    FileNode,
    file_tree,
)
from airflow_delta_provider.domain.checks.protocol.changes import NOT_WRITTEN_FOR_ICEBERG, SHREDDED_WITHOUT_FEATURE
from airflow_delta_provider.domain.checks.type_widening.changes import UNREACHABLE_TYPE
from airflow_delta_provider.domain.delta.data_type import Column, DataType, PrimitiveType, children
from airflow_delta_provider.domain.delta.features.columns import VARIANT_SHREDDING, VARIANT_SHREDDING_PREVIEW
from airflow_delta_provider.domain.delta.features.feature import Feature
from airflow_delta_provider.domain.delta.features.log import MATERIALIZE_PARTITION_COLUMNS
from airflow_delta_provider.domain.delta.features.owners import ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V3, ICEBERG_COMPATS
from airflow_delta_provider.domain.delta.log_files import is_absolute
from airflow_delta_provider.domain.delta.metadata import ID, NESTED_IDS, MappedSchema, Metadata, field_metadata, is_id
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_features import is_active
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.formats.parquet.schema import PhysicalType, SchemaElement
from airflow_delta_provider.domain.report.report import Finding

_TIMESTAMPS = frozenset({"timestamp", "timestamp_ntz"})
#: Field ids that Iceberg reserves for the ids of rows, and for the versions that changed them.
_ROW_ID, _ROW_COMMIT_VERSION = 2147483540, 2147483539


class IcebergFiles:
    """A table's requirements on its files for Iceberg compatibility.

    :param metadata: metadata of the table
    :param protocol: protocol of the table
    """

    def __init__(self, metadata: Metadata, protocol: Protocol) -> None:
        self._active: tuple[Feature, ...] = tuple(
            compat for compat in ICEBERG_COMPATS if is_active(compat, protocol, metadata)
        )
        if not self._active and protocol.supports(MATERIALIZE_PARTITION_COLUMNS):
            self._active = (MATERIALIZE_PARTITION_COLUMNS,)
        self._mode = metadata.properties.mapping_mode
        self._columns: Sequence[Column] = ()
        self._partitions: Sequence[Column] = ()
        self._nested: Mapping[str, Any] = {}
        properties = metadata.properties
        self._reserved = {properties.row_id_column: _ROW_ID, properties.row_commit_version_column: _ROW_COMMIT_VERSION}
        columns = metadata.readable_columns
        if self._active and columns is not None:
            names = {str(name).lower() for name in metadata.partition_columns}
            self._columns = [column for column in columns if len(column.parts) == 1]
            self._partitions = [column for column in self._columns if column.parts[0].lower() in names]
            self._nested = {key: of for field in metadata.mapped_schema.fields for key, of in field.nested_ids.items()}

    def problems(self, root: FileNode) -> Iterator[SchemaProblem]:
        """Yield the requirements that a file does not meet."""
        if not self._columns:
            return
        for compat in self._active:
            if self._mode is not MappingMode.NONE or compat not in ICEBERG_COMPATS:  # TF25 reports mode none
                yield from self._without_partitions(compat, root)
        later = next((compat for compat in self._active if compat in ICEBERG_COMPATS[1:]), None)
        if later is not None and self._mode is not MappingMode.NONE:
            walk = _LaterVersion(self._mode, later)
            walk.struct(self._columns, root)
            yield from walk.problems
        if ICEBERG_COMPAT_V3 in self._active:
            yield from self._with_other_ids(root)

    def _with_other_ids(self, root: FileNode) -> Iterator[SchemaProblem]:
        for node in root.children:
            reserved = self._reserved.get(node.element.name)
            if reserved is not None and node.element.field_id != reserved:
                yield _problem(
                    "{path} holds {column} with field id {stored}; {subject} requires {reserved} for the column of row "
                    "tracking.",
                    ICEBERG_COMPAT_V3,
                    node.element.name,
                    stored="none" if node.element.field_id is None else node.element.field_id,
                    reserved=reserved,
                )

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
            yield _problem(evidence, compat, wrong, name=_name_in_files(wrong, self._mode))

    def _place(self, column: Column, root: FileNode) -> int | None:
        number = field_metadata(column.field).get(ID)
        found = ChildrenByName(root.children).find(_name_in_files(column, self._mode))
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
            return any(_name_in_files(column, self._mode) == facts["name"] for column in self._partitions)
        return "id" not in facts or self._nested.get(facts["key"]) == facts["id"]


def _name_in_files(column: Column, mode: MappingMode) -> str:
    return column.field.name if mode is MappingMode.NONE else mapped_name(column) or ""


class _LaterVersion(SchemaWalk):
    """Checks only timestamps and nested ids, for version 2 or 3."""

    def __init__(self, mode: MappingMode, compat: Feature) -> None:
        super().__init__(mode)
        self._compat = compat

    def _leaf(self, column: Column, node: FileNode) -> None:
        data_type = column.data_type
        is_timestamp = isinstance(data_type, PrimitiveType) and data_type.name in _TIMESTAMPS
        if is_timestamp and node.element.physical_type is PhysicalType.INT96:
            evidence = "{path} stores {column} as INT96, and {subject} requires INT64."
            self.problems.append(_problem(evidence, self._compat, column))

    def _below(self, column: Column, nodes: Sequence[FileNode]) -> None:
        nested = field_metadata(column.field).get(NESTED_IDS)
        for child, node in zip(children(column), nodes):
            key = ".".join((mapped_name(child) or "", *child.field_path))
            number = nested.get(key) if isinstance(nested, Mapping) else None
            if is_id(number) and node.element.field_id != number:  # TF25 reports a missing id
                evidence = "{path} holds {column} " + (
                    "without a field id" if node.element.field_id is None else "with field id {stored}"
                )
                self.problems.append(
                    _problem(
                        f"{evidence}; {{subject}} requires {{id}}, the id that the schema gives it.",
                        self._compat,
                        child,
                        key=key,
                        id=number,
                        stored=node.element.field_id,
                    )
                )
        super()._below(column, nodes)

    def _wrong_type(self, column: Column, node: FileNode, types: Sequence[DataType]) -> None:
        """Do nothing: TW16 reports it."""


def _problem(evidence: str, compat: Feature, column: Column | str, **facts: Any) -> SchemaProblem:
    if compat == MATERIALIZE_PARTITION_COLUMNS:
        facts |= {
            "effect": "Readers of the file alone, and Iceberg readers, lack the column.",
            "remedy": "Write the file again with an engine that supports the feature, and update the engine that wrote "
            "it.",
        }
    return SchemaProblem(NOT_WRITTEN_FOR_ICEBERG, evidence, {"column": column, "subject": compat.name, **facts})


#: The features that allow shredded variants.
_SHREDDING = {VARIANT_SHREDDING.name, VARIANT_SHREDDING_PREVIEW.name}
#: Maximum number of cached file schemas.
_MOST_SCHEMAS = 1000


class FileSchemas:
    """Compares the schemas of a table's files with the table's own.

    :param metadata: metadata of the table
    :param protocol: protocol of the table
    :param stored_paths: returns the paths that columns ever had in files, in lower case; None if not all are known
    """

    def __init__(self, metadata: Metadata, protocol: Protocol, stored_paths: StoredPaths = lambda: None) -> None:
        self._stored_paths = stored_paths
        self._iceberg = IcebergFiles(metadata, protocol)
        self._may_shred = bool(_SHREDDING & protocol.features)
        self._known: dict[tuple[bool, tuple[SchemaElement, ...]], tuple[SchemaProblem, ...]] = {}
        self._last: tuple[tuple[SchemaElement, ...], bool, tuple[SchemaProblem, ...]] = ((), False, ())
        self._schema: MappedSchema | None = None
        self._columns: tuple[Column, ...] = ()
        columns = metadata.readable_columns
        if columns is not None:
            partitions = {str(name).lower() for name in metadata.partition_columns}
            self._schema = metadata.mapped_schema
            self._columns = tuple(c for c in columns if len(c.parts) == 1 and c.parts[0].lower() not in partitions)

    @on_demand(NOT_FOUND_IN_FILE, UNREACHABLE_TYPE, SHREDDED_WITHOUT_FEATURE, OTHER_TIMESTAMP, NOT_WRITTEN_FOR_ICEBERG)
    def check(self, elements: tuple[SchemaElement, ...], path: str) -> list[Finding]:
        """Return findings about the schema of a file.

        Columns that the file lacks are fine, and so are columns that the table lacks.

        :param elements: elements of the file's schema, depth-first, the root first, forming one tree
        :param path: path of the file, as in the log
        """
        return [found.rule.found(found.evidence, path=path, **found.known) for found in self._problems(elements, path)]

    def _problems(self, elements: tuple[SchemaElement, ...], path: str) -> tuple[SchemaProblem, ...]:
        last, was_absolute, problems = self._last
        absolute = is_absolute(path)
        if last is elements and was_absolute is absolute:
            return problems
        found = self._known.get((absolute, elements))
        if found is None:
            root = file_tree(elements)
            compared = () if self._schema is None else self._compare(self._schema, root, path)
            found = (*compared, *self._iceberg.problems(root))
            if len(self._known) >= _MOST_SCHEMAS:
                self._known.clear()
            self._known[absolute, elements] = found
        self._last = elements, absolute, found
        return found

    def _compare(self, schema: MappedSchema, root: FileNode, path: str) -> Iterator[SchemaProblem]:
        if schema.mode is MappingMode.ID and not root.has_ids:
            names = {child.element.name.lower() for child in root.children}
            if any({column.field.name.lower(), str(mapped_name(column)).lower()} & names for column in self._columns):
                yield SchemaProblem(
                    NOT_FOUND_IN_FILE,
                    "{path} has no field ids, by which readers find columns in mapping mode id.",
                    {"effect": "Readers refuse the file, or read NULL in all its columns."},
                )
            return
        walk = SchemaWalk(schema.mode, may_shred=self._may_shred)
        walk.struct(self._columns, root)
        yield from walk.problems
        dropped = schema.dropped_count if schema.max_column_id is not None else len(schema.fields)
        places = {column.parts for column in walk.foreign}
        foreign = [field for field in schema.fields if field.column.parts in places]
        if len(foreign) <= dropped:
            foreign = never_stored(foreign, self._stored_paths, path)
        if foreign:
            first = foreign[0].column
            yield SchemaProblem(
                NOT_FOUND_IN_FILE,
                "{path} has {columns:column} under logical names, the first one {column}, whose physical name {name!r} "
                "it lacks.",
                {
                    "column": first,
                    "columns": len(foreign),
                    "name": mapped_name(first),
                    "effect": "Readers, which search by physical name, read NULL for its rows.",
                },
            )
