"""Comparison of the schemas of data files with the table's schema.

It checks types (TW16), the names or ids that readers find columns by (CM18), whether timestamps are instants (DF11),
whether the table's features allow the form of variants (TF29), and the requirements of Iceberg, if enabled (TF30).
PROTOCOL.md, Reader Requirements for Type Widening and for Column Mapping, and Delta Data Type to Parquet Type Mappings;
parquet-format, ``LogicalTypes.md``. Types that engines are known to write are never a violation, even if the protocol
does not name them; only a type that no reader can read as the column's type is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.column_mapping.file_names import NOT_FOUND_IN_FILE
from airflow_delta_provider.domain.checks.data_files.iceberg_files import IcebergFiles
from airflow_delta_provider.domain.checks.data_files.schema_walk import SchemaProblem, SchemaWalk, said_name
from airflow_delta_provider.domain.checks.data_files.stored_types import OTHER_TIMESTAMP
from airflow_delta_provider.domain.checks.protocol.outcomes import NOT_WRITTEN_FOR_ICEBERG, SHREDDED_WITHOUT_FEATURE
from airflow_delta_provider.domain.checks.type_widening.changes import UNREACHABLE_TYPE
from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.features.types import VARIANT_SHREDDING, VARIANT_SHREDDING_PREVIEW
from airflow_delta_provider.domain.delta.file_tree import FileNode, file_tree
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.formats.parquet.schema import SchemaElement
from airflow_delta_provider.domain.report.finding import Finding

#: The features that allow shredded variants.
_SHREDDING = {VARIANT_SHREDDING.name, VARIANT_SHREDDING_PREVIEW.name}
#: Maximum number of cached file schemas.
_MOST_SCHEMAS = 1000


class FileSchemas:
    """Compares the schemas of a table's files with the table's own.

    :param metadata: metadata of the table
    :param protocol: protocol of the table
    """

    def __init__(self, metadata: Metadata, protocol: Protocol) -> None:
        self._iceberg = IcebergFiles(metadata, protocol)
        self._may_shred = bool(_SHREDDING & protocol.features)
        self._known: dict[tuple[SchemaElement, ...], tuple[SchemaProblem, ...]] = {}
        self._last: tuple[tuple[SchemaElement, ...], tuple[SchemaProblem, ...]] = ((), ())
        self._schema: MappedSchema | None = None
        self._columns: tuple[Column, ...] = ()
        columns = metadata.readable_columns
        if columns is not None:
            partitions = {str(name).lower() for name in metadata.partition_columns}
            self._schema = MappedSchema.of(metadata)
            self._columns = tuple(c for c in columns if len(c.parts) == 1 and c.parts[0].lower() not in partitions)

    @on_demand(NOT_FOUND_IN_FILE, UNREACHABLE_TYPE, SHREDDED_WITHOUT_FEATURE, OTHER_TIMESTAMP, NOT_WRITTEN_FOR_ICEBERG)
    def check(self, elements: tuple[SchemaElement, ...], path: str) -> list[Finding]:
        """Return findings about the schema of a file.

        Columns that the file lacks are fine, and so are columns that the table lacks.

        :param elements: elements of the file's schema, depth-first, the root first, forming one tree
        :param path: path of the file, as in the log
        """
        return [found.rule.found(found.evidence, path=path, **found.known) for found in self._problems(elements)]

    def _problems(self, elements: tuple[SchemaElement, ...]) -> tuple[SchemaProblem, ...]:
        last, problems = self._last
        if last is elements:
            return problems
        found = self._known.get(elements)
        if found is None:
            root = file_tree(elements)
            compared = () if self._schema is None else _compare(self._schema, self._columns, root, self._may_shred)
            found = (*compared, *self._iceberg.problems(root))
            if len(self._known) >= _MOST_SCHEMAS:
                self._known.clear()
            self._known[elements] = found
        self._last = elements, found
        return found


def _compare(
    schema: MappedSchema, columns: Sequence[Column], root: FileNode, may_shred: bool
) -> Iterator[SchemaProblem]:
    if schema.mode is MappingMode.ID and not root.has_ids:
        names = {child.element.name.lower() for child in root.children}
        if any({column.field.name.lower(), str(said_name(column)).lower()} & names for column in columns):
            yield SchemaProblem(
                NOT_FOUND_IN_FILE,
                "{path} has no field ids, by which readers find columns in mapping mode id.",
                {"effect": "Readers refuse the file, or read NULL in all its columns."},
            )
        return
    walk = SchemaWalk(schema.mode, may_shred=may_shred)
    walk.struct(columns, root)
    yield from walk.problems
    dropped = schema.gone if schema.max_column_id is not None else len(schema.fields)
    if len(walk.foreign) > dropped:
        first = walk.foreign[0]
        yield SchemaProblem(
            NOT_FOUND_IN_FILE,
            "{path} has {columns:column} under logical names, the first one {column}, whose physical name {name!r} it "
            "lacks.",
            {
                "column": first,
                "columns": len(walk.foreign),
                "name": said_name(first),
                "effect": "Readers, which search by physical name, read NULL for its rows.",
            },
        )
