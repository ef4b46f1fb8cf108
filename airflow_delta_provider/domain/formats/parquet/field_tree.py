"""The fields of a schema as a tree: structs, lists and maps, with the levels at which they exist.

parquet-format, ``LogicalTypes.md`` (Nested Types, with the rules for lists and maps of older writers).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from airflow_delta_provider.domain.formats.parquet.parquet_error import ParquetError
from airflow_delta_provider.domain.formats.parquet.schema import LogicalKind, Repetition, SchemaElement

#: Maximum nesting depth of fields; checkpoints need about ten levels.
_MOST_LEVELS = 100
#: Names below a column, as a schema shows them: without the groups that lists and maps insert.
Names = tuple[str, ...]


@dataclass(frozen=True)
class Field:
    """One field of a record.

    :param definition: lowest definition level at which it is not null
    :param repetition: number of lists and maps around it
    :param optional: True if it can be null
    """

    name: str
    definition: int
    repetition: int
    optional: bool

    def leaves(self) -> Iterator[Leaf]:
        """Yield the columns in its storage, depth-first."""
        raise NotImplementedError

    def groups(self) -> Iterator[Field]:
        """Yield the structs, lists and maps in this subtree, itself included."""
        raise NotImplementedError


@dataclass(frozen=True)
class Leaf(Field):
    """A column.

    :param path: path in the file, with the groups that lists and maps insert
    """

    path: tuple[str, ...]
    element: SchemaElement

    def leaves(self) -> Iterator[Leaf]:
        yield self

    def groups(self) -> Iterator[Field]:
        return iter(())


@dataclass(frozen=True)
class Struct(Field):
    """Named fields, one value each."""

    fields: tuple[Field, ...]

    def leaves(self) -> Iterator[Leaf]:
        for field in self.fields:
            yield from field.leaves()

    def groups(self) -> Iterator[Field]:
        yield self
        for field in self.fields:
            yield from field.groups()

    def only(self, wanted: Collection[Names]) -> Struct:
        """Return the struct with only the given fields and everything below them.

        Missing fields are ignored.

        :raises ParquetError: if two fields have one of the names
        """
        found: dict[str, Field] = {}
        for field in self.fields:
            below = {names[1:] for names in wanted if names and names[0] == field.name}
            if not below:
                continue
            if field.name in found:
                raise ParquetError(f"it has two fields of the name {field.name}")
            if () in below:
                found[field.name] = field
            elif isinstance(field, Struct):
                found[field.name] = field.only(below)
        return replace(self, fields=tuple([field for field in found.values() if any(field.leaves())]))


@dataclass(frozen=True)
class Listing(Field):
    """A list, or a map.

    :param items: one field for a list; key and value for a map
    """

    items: tuple[Field, ...]

    @property
    def item_definition(self) -> int:
        """The lowest definition level at which it has items."""
        return self.definition + 1

    @property
    def is_map(self) -> bool:
        return len(self.items) > 1

    def leaves(self) -> Iterator[Leaf]:
        for item in self.items:
            yield from item.leaves()

    def groups(self) -> Iterator[Field]:
        yield self
        for item in self.items:
            yield from item.groups()


def field_tree(elements: tuple[SchemaElement, ...]) -> Struct:
    """Return the fields of a schema, below a struct that represents a row.

    :param elements: elements of a consistent tree, depth-first, the root first
    :raises ParquetError: if a list or a map has an invalid form
    """
    return Struct("", 0, 0, False, _Builder(elements).fields(elements[0].num_children, 0, 0, ()))


class _Builder:
    def __init__(self, elements: tuple[SchemaElement, ...]) -> None:
        self._elements = elements
        self._position = 1

    def fields(self, count: int, definition: int, repetition: int, path: Names) -> tuple[Field, ...]:
        """Read fields; groups without any column are skipped."""
        if len(path) > _MOST_LEVELS:
            raise ParquetError(f"its schema nests more than {_MOST_LEVELS} levels")
        found = [self._field(definition, repetition, path) for _ in range(count)]
        return tuple([field for field in found if any(field.leaves())])

    def _field(self, definition: int, repetition: int, path: Names) -> Field:
        element = self._elements[self._position]
        if element.repetition is None:
            raise ParquetError(f"its schema does not say how often {element.name} occurs in a record")
        if element.repetition is Repetition.REPEATED:  # a list without a group around it
            item = self._body(definition + 1, repetition + 1, path, optional=False)
            return Listing(element.name, definition, repetition, False, (item,))
        optional = element.repetition is Repetition.OPTIONAL
        return self._body(definition + optional, repetition, path, optional=optional)

    def _body(self, definition: int, repetition: int, path: Names, *, optional: bool) -> Field:
        """Read a field whose own repetition was already handled."""
        element = self._elements[self._position]
        self._position += 1
        path = (*path, element.name)
        if element.is_leaf:
            return Leaf(element.name, definition, repetition, optional, path, element)
        kind = element.logical_type.kind if element.logical_type is not None else None
        if kind is LogicalKind.LIST or kind is LogicalKind.MAP:
            items = self._items(element, definition + 1, repetition + 1, path)
            return Listing(element.name, definition, repetition, optional, items)
        fields = self.fields(element.num_children, definition, repetition, path)
        return Struct(element.name, definition, repetition, optional, fields)

    def _items(self, group: SchemaElement, definition: int, repetition: int, path: Names) -> tuple[Field, ...]:
        repeated = self._elements[self._position] if group.num_children == 1 else None
        if repeated is None or repeated.repetition is not Repetition.REPEATED:
            raise ParquetError(f"its schema has a list or map {group.name} without one repeated field")
        assert group.logical_type is not None
        if group.logical_type.kind is LogicalKind.MAP and repeated.num_children == 2:
            self._position += 1
            items = self.fields(2, definition, repetition, (*path, repeated.name))
            if len(items) != 2:
                raise ParquetError(f"its schema has a map {group.name} whose key or value holds no column")
            return items
        if self._is_item(group, repeated):
            return (self._body(definition, repetition, path, optional=False),)
        self._position += 1
        return self.fields(1, definition, repetition, (*path, repeated.name))

    def _is_item(self, group: SchemaElement, repeated: SchemaElement) -> bool:
        """Return True if the repeated field of a list is the item itself, as in files of older writers."""
        if repeated.num_children != 1 or repeated.name in ("array", f"{group.name}_tuple"):
            return True
        if repeated.logical_type is not None and repeated.logical_type.kind in (LogicalKind.LIST, LogicalKind.MAP):
            return True
        return self._elements[self._position + 1].repetition is Repetition.REPEATED
