"""The rows of a Parquet file, one row group after another.

parquet-format, ``README.md``. It is for what is read where nothing faster is installed: 100,000 rows with ten columns
take about a second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.formats.parquet.assembly import Columns, assembled, fields_of
from airflow_delta_provider.domain.formats.parquet.budget import Budget
from airflow_delta_provider.domain.formats.parquet.codecs import STANDARD_CODECS, Codec
from airflow_delta_provider.domain.formats.parquet.field_tree import Field, Leaf, Names, Struct, field_tree
from airflow_delta_provider.domain.formats.parquet.footer import FooterError, StoredChunk, parse_footer
from airflow_delta_provider.domain.formats.parquet.pages import Column, read_column
from airflow_delta_provider.domain.formats.parquet.parquet_error import ParquetError


class ParquetFile:
    """A file of which rows are read.

    :param content: the whole file
    :param codecs: by their names in ``parquet.thrift``
    :raises ParquetError: if its footer or its schema is damaged or encrypted
    """

    def __init__(self, content: bytes, codecs: Mapping[str, Codec] = STANDARD_CODECS) -> None:
        self._content = content
        self._codecs = codecs
        try:
            self._footer = parse_footer(content)
            self._row_counts = self._footer.row_counts
        except FooterError as error:
            raise ParquetError(str(error)) from None
        if sum(self._row_counts) != self._footer.num_rows:
            rows = sum(self._row_counts)
            raise ParquetError(f"its footer says {self._footer.num_rows} rows, and its row groups have {rows}")
        self._root = field_tree(self._footer.schema)

    @property
    def fields(self) -> tuple[Field, ...]:
        """Its columns, as a schema shows them."""
        return self._root.fields

    def row_groups(self, wanted: Collection[Names]) -> Iterator[RowGroup]:
        """Yield the row groups.

        :param wanted: columns, or fields of structs by their names from the column on; what is not there is left out
        :raises ParquetError: if two fields have one of the names, or the footer is damaged
        """
        root = self._root.only(wanted)
        try:
            chunks = {leaf.path: self._footer.stored_chunks(leaf.path) for leaf in root.leaves()}
        except FooterError as error:
            raise ParquetError(str(error)) from None
        reader = _ColumnReader(self._content, self._codecs)
        for index, count in enumerate(self._row_counts):
            yield RowGroup(count, root, {path: found[index] for path, found in chunks.items()}, reader)


class RowGroup:
    """Rows of a file, of which columns are read when they are asked for."""

    def __init__(
        self, num_rows: int, root: Struct, chunks: Mapping[tuple[str, ...], StoredChunk], reader: _ColumnReader
    ) -> None:
        self._num_rows = num_rows
        self._wanted = {field.name: field for field in root.fields}
        self._chunks = chunks
        self._reader = reader

    def values(self, name: str) -> Sequence[Any] | None:
        """Return the values of a column, one per row; None where all are null, or it is none that is wanted.

        A struct is a dict of all its wanted fields, a map a dict, a list a list.

        :raises ParquetError: if the column is damaged
        """
        field = self._wanted.get(name)
        return None if field is None else assembled(field, self._columns(field)).values

    def fields(self, name: str) -> tuple[int, dict[str, Sequence[Any] | None]]:
        """Return in how many rows a struct is not null, and the values that its wanted fields have there.

        Of a field that is null in all of these rows, the values are None.

        :raises ParquetError: if the column is damaged
        """
        field = self._wanted.get(name)
        return fields_of(field, self._columns(field)) if isinstance(field, Struct) else (0, {})

    def _columns(self, field: Field) -> Columns:
        return {leaf.path: self._reader.read(leaf, self._chunks[leaf.path], self._num_rows) for leaf in field.leaves()}


class _ColumnReader:
    """Reads columns, all of them from different bytes of a file."""

    def __init__(self, content: bytes, codecs: Mapping[str, Codec]) -> None:
        self._content = content
        self._codecs = codecs
        self._budget = Budget(len(content))
        self._unread = len(content)

    def read(self, leaf: Leaf, chunk: StoredChunk, num_rows: int) -> Column:
        self._unread -= max(chunk.size, 0)
        if self._unread < 0:
            raise ParquetError("its footer places several columns at the same bytes")
        column = read_column(self._content, chunk, leaf, self._codecs, self._budget)
        rows = column.repetitions.count(0) if leaf.repetition else len(column.definitions)
        if rows != num_rows:
            raise ParquetError(f"column {'.'.join(leaf.path)} has {rows} rows in a row group of {num_rows}")
        return column
