"""The rows of a Parquet file, one row group after another.

parquet-format, ``README.md``. It is for small reads in environments without a faster library: 100,000 rows with ten
columns take a few seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.domain.formats.parquet.assembly import Columns, assembled, fields_of
from airflow_delta_provider.domain.formats.parquet.codecs import STANDARD_CODECS, Codec
from airflow_delta_provider.domain.formats.parquet.field_tree import Field, Leaf, Struct, field_tree
from airflow_delta_provider.domain.formats.parquet.footer import Footer, FooterError, StoredChunk, parse_footer
from airflow_delta_provider.domain.formats.parquet.pages import Column, charge_column, read_column
from airflow_delta_provider.domain.formats.parquet.parquet_error import ParquetError

#: Bytes of a small Python dict.
_DICT_SIZE = 232


class ParquetFile:
    """A file whose rows are read.

    :param content: content of the whole file
    :param codecs: codecs by their names in ``parquet.thrift``
    :param budget: memory limit for its values; by default, a limit that depends on its size
    :raises ParquetError: if its footer or its schema is damaged or encrypted
    """

    def __init__(
        self, content: bytes, codecs: Mapping[str, Codec] = STANDARD_CODECS, budget: Budget | None = None
    ) -> None:
        try:
            footer = parse_footer(content)
            self._row_counts = footer.row_counts
        except FooterError as error:
            raise ParquetError(str(error)) from None
        rows = sum(self._row_counts)
        if rows != footer.num_rows:
            raise ParquetError(f"its footer says {footer.num_rows} rows, and its row groups have {rows}")
        self._root = field_tree(footer.schema)
        self._columns = _ColumnReader(content, footer, codecs, budget or Budget(len(content)))

    @property
    def fields(self) -> tuple[Field, ...]:
        """Its columns, as a schema shows them."""
        return self._root.fields

    def row_groups(self) -> Iterator[RowGroup]:
        for index, count in enumerate(self._row_counts):
            yield RowGroup(self._columns, index, count)


class RowGroup:
    """Rows of a file. Columns are read when they are requested, each once.

    :param num_rows: number of rows
    """

    def __init__(self, columns: _ColumnReader, index: int, num_rows: int) -> None:
        self.num_rows = num_rows
        self._reader = columns
        self._index = index

    def values(self, field: Field) -> Sequence[Any] | None:
        """Return the values of a column, one per row; None if all are null.

        A struct or map is a dict, a list a list; for others see :mod:`values`.

        :raises ParquetError: if the column is damaged
        :raises TooLargeError: if it exceeds the budget
        """
        return assembled(field, self._columns(field)).values

    def fields(self, struct: Struct, most: int | None = None) -> tuple[int, dict[str, Sequence[Any] | None]]:
        """Return the number of rows where a column is not null, and the values of its fields in these rows.

        The values of a field are None if it is null in all of these rows.

        :param struct: the column, or a part of it: :meth:`Struct.only`
        :param most: maximum number of these rows; None for all
        :raises ParquetError: if the column is damaged
        :raises TooLargeError: if it exceeds the budget
        """
        return fields_of(struct, self._columns(struct), most)

    def charge(self, field: Field) -> None:
        """Charge the budget for a column, if possible without reading the column.

        :raises ParquetError: if the column is damaged
        :raises TooLargeError: if it exceeds the budget
        """
        for leaf in field.leaves():
            self._reader.charge(leaf, self._index)

    def _columns(self, field: Field) -> Columns:
        columns = {leaf.path: self._reader.read(leaf, self._index, self.num_rows) for leaf in field.leaves()}
        for group in field.groups():
            leaf = min(group.leaves(), key=lambda leaf: leaf.repetition)
            self._reader.take_objects(columns[leaf.path].definitions, group.definition)
        return columns


class _ColumnReader:
    """Reads columns of a file, and refuses columns that overlap."""

    def __init__(self, content: bytes, footer: Footer, codecs: Mapping[str, Codec], budget: Budget) -> None:
        self._content = content
        self._footer = footer
        self._codecs = codecs
        self._budget = budget
        self._unread = len(content)
        self._chunks: dict[tuple[str, ...], tuple[StoredChunk, ...]] = {}

    def read(self, leaf: Leaf, group: int, num_rows: int) -> Column:
        chunk = self._chunks_of(leaf)[group]
        self._unread -= max(chunk.size, 0)
        if self._unread < 0:
            raise ParquetError("its footer places several columns at the same bytes")
        column = read_column(self._content, chunk, leaf, self._codecs, self._budget)
        rows = column.repetitions.count(0) if leaf.repetition else len(column.definitions)
        if rows != num_rows:
            raise ParquetError(f"column {'.'.join(leaf.path)} has {rows} rows in a row group of {num_rows}")
        return column

    def charge(self, leaf: Leaf, group: int) -> None:
        charge_column(self._content, self._chunks_of(leaf)[group], leaf, self._codecs, self._budget)

    def take_objects(self, definitions: bytes, definition: int) -> None:
        """Charge the budget for a field's dicts or lists: a few bytes can expand to many."""
        self._budget.take(_DICT_SIZE * len(definitions.translate(None, bytes(range(definition)))))

    def _chunks_of(self, leaf: Leaf) -> tuple[StoredChunk, ...]:
        if leaf.path not in self._chunks:
            try:
                self._chunks[leaf.path] = self._footer.stored_chunks(leaf.path)
            except FooterError as error:
                raise ParquetError(str(error)) from None
        return self._chunks[leaf.path]
