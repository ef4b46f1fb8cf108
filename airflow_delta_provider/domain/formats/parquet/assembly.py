"""Assembly of records from the columns that store them.

parquet-format, ``README.md`` (Nested Encoding). A field has a *slot* for each occurrence of its parent: one per row, or
one per item of a list. All slots of a field are filled at once, and levels are filtered as bytes: this is many times as
fast as going from record to record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import compress, islice, repeat
from typing import Any, NamedTuple

from airflow_delta_provider.domain.formats.parquet.field_tree import Field, Leaf, Listing, Struct
from airflow_delta_provider.domain.formats.parquet.pages import Column
from airflow_delta_provider.domain.formats.parquet.parquet_error import ParquetError

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

    :param columns: columns below the field, with only the entries where the field's parent is not null
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
    present = _there(struct, columns, struct.definition) if struct.optional else columns
    if most is not None:
        present = {leaf.path: _first(most, leaf, present[leaf.path], struct.repetition) for leaf in struct.leaves()}
    slots = {field.name: assembled(field, present) for field in struct.fields}
    count = _one_count(slots.values())
    return count, {name: found.values for name, found in slots.items()}


def _structs(struct: Struct, columns: Columns) -> Slots:
    count, fields = fields_of(struct, columns)
    names = tuple(fields)
    rows = zip(*[_all(Slots(count, values)) for values in fields.values()])
    there = _marked(_heads(struct, columns), struct.definition)
    return _with_nulls([dict(zip(names, row)) for row in rows], there)


def _lists(listing: Listing, columns: Columns) -> Slots:
    items = assembled(listing.items[0], _there(listing, columns, listing.item_definition))
    return _grouped(
        listing, columns, items.length, repeat(None, items.length) if items.values is None else items.values
    )


def _maps(listing: Listing, columns: Columns) -> Slots:
    key, value = listing.items
    if not isinstance(key, Leaf):
        raise ParquetError(f"its schema has a map {listing.name} whose keys are not single values")
    below = _there(listing, columns, listing.item_definition)
    keys, values = assembled(key, below), assembled(value, below)
    count = _one_count((keys, values))
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


def _with_nulls(values: Sequence[Any], there: bytes) -> Slots:
    """Put values into the marked slots, and None into the others."""
    count = len(there)
    if there.count(1) != len(values):
        raise ParquetError("the levels of a column do not fit its values")
    if not values:
        return Slots(count, None)
    if len(values) == count:
        return Slots(count, values)
    remaining = iter(values)
    return Slots(count, [next(remaining) if mark else None for mark in there])


def _there(field: Field, columns: Columns, definition: int) -> Columns:
    """Return the columns below a field, without entries below a definition level."""
    found: dict[tuple[str, ...], Column] = {}
    for leaf in field.leaves():
        definitions, repetitions, values = columns[leaf.path]
        if repetitions:
            there = _marked(definitions, definition)
            if there.count(1) < len(there):
                repetitions = bytes(compress(repetitions, there))
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


def _heads(field: Field, columns: Columns) -> bytes:
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


def _one_count(slots: Iterable[Slots]) -> int:
    counts = {found.length for found in slots}
    if len(counts) != 1:
        raise ParquetError(f"its columns do not have the same number of values, but {sorted(counts)}")
    return counts.pop()


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
