"""Assembly of records from the columns that store them.

parquet-format, ``README.md`` (Nested Encoding). A field has a *slot* for each occurrence of its parent: one per row, or
one per item of a list. All slots of a field are filled at once, and levels are filtered as bytes: this is many times as
fast as going from record to record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import compress, islice, repeat
from typing import Any, NamedTuple

from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.domain.formats.parquet.footer import Content, Footer, FooterError, StoredChunk, read_footer
from airflow_delta_provider.domain.formats.parquet.pages import (
    STANDARD_CODECS,
    Codec,
    Column,
    charge_column,
    read_column,
)
from airflow_delta_provider.domain.formats.parquet.schema import Field, Leaf, Listing, Struct, field_tree
from airflow_delta_provider.domain.formats.parquet.thrift import ParquetError

#: Columns by their paths.
Columns = Mapping[tuple[str, ...], Column]


class Slots(NamedTuple):
    """The slots of a field.

    :param values: values of the slots; None if all of them are null
    """

    length: int
    values: Sequence[Any] | None


def assembled(field: Field, columns: Columns) -> Slots:
    """Return the slots of a field with their values.

    :param columns: columns below the field, only with entries whose parent is not null
    :raises ParquetError: if they do not fit together
    """
    if isinstance(field, Leaf):
        column = columns[field.path]
        return _with_nulls(column.values, _marked(column.definitions, field.definition))
    if isinstance(field, Struct):
        return _structs(field, columns)
    assert isinstance(field, Listing)
    return _maps(field, columns) if field.is_map else _lists(field, columns)


def fields_of(struct: Struct, columns: Columns, most: int | None = None) -> tuple[int, dict[str, Sequence[Any] | None]]:
    """Return the number of non-null slots of a struct, and its fields' values in these slots.

    :param columns: see :func:`assembled`
    :param most: maximum number of these slots to read; None for all
    :raises ParquetError: if they do not fit together
    """
    present = _present(struct, columns, struct.definition) if struct.optional else columns
    if most is not None:
        present = {leaf.path: _first(most, leaf, present[leaf.path], struct.repetition) for leaf in struct.leaves()}
    slots = {field.name: assembled(field, present) for field in struct.fields}
    count = _common_length(slots.values())
    return count, {name: found.values for name, found in slots.items()}


def _structs(struct: Struct, columns: Columns) -> Slots:
    count, fields = fields_of(struct, columns)
    names = tuple(fields)
    rows = zip(*[_all(Slots(count, values)) for values in fields.values()])
    present = _marked(_first_levels(struct, columns), struct.definition)
    return _with_nulls([dict(zip(names, row)) for row in rows], present)


def _lists(listing: Listing, columns: Columns) -> Slots:
    items = assembled(listing.items[0], _present(listing, columns, listing.item_definition))
    return _grouped(
        listing, columns, items.length, repeat(None, items.length) if items.values is None else items.values
    )


def _maps(listing: Listing, columns: Columns) -> Slots:
    key, value = listing.items
    if not isinstance(key, Leaf):
        raise ParquetError(f"its schema has a map {listing.name} whose keys are not single values")
    below = _present(listing, columns, listing.item_definition)
    keys, values = assembled(key, below), assembled(value, below)
    count = _common_length((keys, values))
    if count and (keys.values is None or (key.optional and None in keys.values)):
        raise ParquetError(f"a map {listing.name} has a key that is null")
    slots = _grouped(listing, columns, count, zip(keys.values or (), _all(values)))
    return slots if slots.values is None else Slots(slots.length, [_map(listing, found) for found in slots.values])


def _map(listing: Listing, pairs: list[tuple[Any, Any]] | None) -> dict[Any, Any] | None:
    if pairs is None:
        return None
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ParquetError(f"a map {listing.name} has a key twice")
    return found


def _grouped(listing: Listing, columns: Columns, count: int, items: Iterable[Any]) -> Slots:
    """Group the items of lists.

    :param count: number of items
    """
    column = columns[_shallowest(listing).path]
    deepest = listing.repetition + 1
    definitions, repetitions = column.definitions, column.repetitions
    if repetitions and max(repetitions) > deepest:
        first = _marked(repetitions, deepest + 1).translate(_SWAPPED)
        definitions, repetitions = bytes(compress(definitions, first)), bytes(compress(repetitions, first))
    if _marked(definitions, listing.item_definition).count(1) != count:
        raise ParquetError(f"the columns of {listing.name} do not have the same number of items")
    if not definitions or max(definitions) < listing.definition:
        return Slots(len(definitions), None)
    if len(definitions) == count and not repetitions.count(deepest):
        return Slots(count, [[item] for item in items])
    found: list[list[Any] | None] = []
    items = iter(items)
    current: list[Any] | None = None
    for definition, repetition in zip(definitions, repetitions):
        item_is_there = definition > listing.definition
        if repetition == deepest:
            if current is None or not item_is_there:
                raise ParquetError(f"a list {listing.name} continues where none began")
            current.append(next(items))
        else:
            current = [next(items)] if item_is_there else None
            found.append(current if definition != listing.definition else [])
    return Slots(len(found), found)


def _with_nulls(values: Sequence[Any], marks: bytes) -> Slots:
    """Put values into the slots that are marked with 1, and None into the others."""
    count = len(marks)
    if marks.count(1) != len(values):
        raise ParquetError("the levels of a column do not fit its values")
    if not values:
        return Slots(count, None)
    if len(values) == count:
        return Slots(count, values)
    remaining = iter(values)
    return Slots(count, [next(remaining) if mark else None for mark in marks])


def _present(field: Field, columns: Columns, definition: int) -> Columns:
    """Return the columns below a field, only with entries of at least a definition level."""
    found: dict[tuple[str, ...], Column] = {}
    for leaf in field.leaves():
        definitions, repetitions, values = columns[leaf.path]
        if repetitions:
            marks = _marked(definitions, definition)
            if marks.count(1) < len(marks):
                repetitions = bytes(compress(repetitions, marks))
        found[leaf.path] = Column(definitions.translate(None, _below(definition)), repetitions, values)
    return found


def _first(most: int, leaf: Leaf, column: Column, repetition: int) -> Column:
    """Return the entries of the first slots of a struct."""
    definitions, repetitions, values = column
    end = most
    if repetitions:
        heads = (index for index, level in enumerate(repetitions) if level <= repetition)
        end = next(islice(heads, most, None), len(definitions))
    definitions = definitions[:end]
    return Column(definitions, repetitions[:end], values[: definitions.count(leaf.definition)])


def _first_levels(field: Field, columns: Columns) -> bytes:
    """Return the definition level of the first entry of each slot of a field."""
    leaf = _shallowest(field)
    definitions, repetitions, _ = columns[leaf.path]
    if leaf.repetition == field.repetition:
        return definitions
    return bytes(compress(definitions, _marked(repetitions, field.repetition + 1).translate(_SWAPPED)))


def _shallowest(field: Field) -> Leaf:
    """Return the column below a field that has the fewest entries per slot."""
    return min(field.leaves(), key=lambda leaf: leaf.repetition)


def _all(slots: Slots) -> Iterable[Any]:
    return repeat(None, slots.length) if slots.values is None else slots.values


def _common_length(slots: Iterable[Slots]) -> int:
    counts = {found.length for found in slots}
    if len(counts) != 1:
        raise ParquetError(f"its columns do not have the same number of values, but {sorted(counts)}")
    return counts.pop()


#: Translation of marks: ones become zeros, and zeros ones.
_SWAPPED = bytes((1, 0)).ljust(256, b"\x00")


@cache
def _marks(level: int) -> bytes:
    return bytes(int(found >= level) for found in range(256))


def _marked(levels: bytes, level: int) -> bytes:
    """Return a one for each level of at least ``level``, and a zero for each other level."""
    return levels.translate(_marks(level))


@cache
def _below(level: int) -> bytes:
    return bytes(range(level))


#: Bytes of a small Python dict.
_DICT_SIZE = 232


class ParquetFile:
    """A file whose rows are read.

    :param content: the whole file
    :param codecs: codecs by their names in ``parquet.thrift``
    :param budget: memory limit for its values; by default, a limit that depends on its size
    :raises ParquetError: if its footer or its schema is damaged or encrypted
    """

    def __init__(
        self, content: Content, codecs: Mapping[str, Codec] = STANDARD_CODECS, budget: Budget | None = None
    ) -> None:
        try:
            footer = read_footer(content)
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

    def fields(self, struct: Struct) -> tuple[int, dict[str, Sequence[Any] | None]]:
        """Return the number of rows where a column is not null, and the values of its fields in these rows.

        The values of a field are None if it is null in all of these rows.

        :param struct: the column, or a part of it: :meth:`Struct.only`
        :raises ParquetError: if the column is damaged
        :raises TooLargeError: if it exceeds the budget
        """
        return fields_of(struct, self.columns(struct))

    def charge(self, field: Field) -> None:
        """Charge the budget for a column, if possible without reading the column.

        :raises ParquetError: if the column is damaged
        :raises TooLargeError: if it exceeds the budget
        """
        for leaf in field.leaves():
            self._reader.charge(leaf, self._index)

    def columns(self, field: Field) -> Columns:
        """Return the columns below a field, for :func:`fields_of`.

        :raises ParquetError: if one is damaged
        :raises TooLargeError: if it exceeds the budget
        """
        columns = {leaf.path: self._reader.read(leaf, self._index, self.num_rows) for leaf in field.leaves()}
        for group in field.groups():
            leaf = min(group.leaves(), key=lambda leaf: leaf.repetition)
            self._reader.take_objects(columns[leaf.path].definitions, group.definition)
        return columns


class _ColumnReader:
    """Reads columns of a file, and refuses columns that overlap."""

    def __init__(self, content: Content, footer: Footer, codecs: Mapping[str, Codec], budget: Budget) -> None:
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
