"""The columns of a data file whose statistics are compared: their places in the file, and the form of their bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from airflow_delta_provider.domain.checks.data_files.stored_bounds import BoundKind, Packing, bound_kind, packing_of
from airflow_delta_provider.domain.delta.column_statistics import ColumnKind, Columns, columns_of
from airflow_delta_provider.domain.delta.metadata import Metadata, physical_name
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.formats.parquet.schema import Schema
from airflow_delta_provider.domain.formats.parquet.statistics import encoded_path


class StoredColumn(NamedTuple):
    """A column with statistics.

    :param names: names in the statistics, from the top-level column down
    :param ordinal: place in row groups; None if the file lacks the column, so that all its values are NULL
    :param path: path in the file, as encoded in row groups
    :param bounds: None if they cannot be compared
    :param packing: functions that encode bounds of a top-level column as files do; None if that is not possible
    :param problem: the reason why the column was not found in the file
    """

    kind: ColumnKind
    names: tuple[str, ...]
    ordinal: int | None
    path: bytes
    bounds: BoundKind | None
    packing: Packing | None = None
    problem: str | None = None


def _have_decimals(columns: Columns) -> bool:
    return any(
        kind.decimal is not None if kind.below is None else _have_decimals(kind.below) for kind in columns.values()
    )


#: Names of the groups and columns in a file, by the path above them and by lower case.
_Names = dict[tuple[str, ...], dict[str, dict[str, None]]]
#: Paths of the columns in a file by field id.
_ById = dict[int, list[tuple[str, ...]]]
_NO_COLUMN = "the file has no single column of the name or field id"
_VARIANT = "variants are not compared"


class StoredColumns:
    """Finds the columns of a table in files. Files that share a schema share the result.

    :param metadata: metadata of the table
    """

    def __init__(self, metadata: Metadata) -> None:
        self._columns = columns_of(metadata)
        mode = metadata.properties.mapping_mode
        self._by_id = mode is MappingMode.ID
        fields = metadata.schema.fields if self._columns is not None else ()
        self._partition_columns = {physical_name(f, mode) for f in fields if f.name in metadata.partition_columns}
        self.have_decimals = _have_decimals(self._columns or Columns())
        """True if a column is a decimal, whose statistics need all digits."""
        self._last: tuple[Schema | None, tuple[StoredColumn, ...]] = (None, ())

    @property
    def are_known(self) -> bool:
        """Return True if the table's schema can be read."""
        return self._columns is not None

    def of_file(self, layout: Schema) -> tuple[StoredColumn, ...]:
        """Return the columns of files with a schema."""
        last, leaves = self._last
        if last is not layout:
            stored: _Names = {}
            by_id: _ById = {}
            for path, (_, element) in layout.leaves.items():
                for depth, name in enumerate(path):
                    stored.setdefault(path[:depth], {}).setdefault(name.lower(), {})[name] = None
                if self._by_id and element.field_id is not None:
                    by_id.setdefault(element.field_id, []).append(path)
            leaves = tuple(self._walk(layout, stored, by_id, self._columns or Columns(), (), ()))
            self._last = layout, leaves
        return leaves

    def _walk(
        self,
        layout: Schema,
        stored: _Names,
        by_id: _ById,
        columns: Columns,
        names: tuple[str, ...],
        above: tuple[str, ...],
    ) -> Iterator[StoredColumn]:
        here = stored.get(above, {})
        for name, kind in columns.items():
            alike = here.get(name.lower(), {})
            path = (*above, name if name in alike or len(alike) != 1 else next(iter(alike)))
            if kind.below is not None:
                yield from self._walk(layout, stored, by_id, kind.below, (*names, name), path)
                continue
            if not kind.counted:
                continue
            if self._by_id:
                paths = by_id.get(kind.id, []) if isinstance(kind.id, int) else []
                path, is_missing = (paths[0], False) if len(paths) == 1 else ((), bool(by_id) and not paths)
            else:
                is_missing = not alike
            problem = _VARIANT if kind.type_name == "variant" else None if is_missing else _NO_COLUMN
            if path in layout.leaves:
                ordinal, element = layout.leaves[path]
                is_ordered_otherwise = kind.type_name == "string" and kind.value is None
                bounds = None if is_ordered_otherwise else bound_kind(element, kind.type_name)
                packing = None if bounds is None or above else packing_of(element, kind.type_name)
                yield StoredColumn(kind, (*names, name), ordinal, encoded_path(path), bounds, packing)
            elif names or problem is not None or name not in self._partition_columns:
                yield StoredColumn(kind, (*names, name), None, b"", None, problem=problem)
