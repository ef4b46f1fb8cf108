"""The schema of a data file as a tree, to compare with the table's schema.

parquet-format, ``LogicalTypes.md`` (Lists, Maps): lists and maps have groups between them and their elements, in
several forms. The names of these groups have no meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.data_type import ArrayType, StructType
from airflow_delta_provider.domain.formats.parquet.schema import LogicalKind, Repetition, SchemaElement


@dataclass(frozen=True)
class FileNode:
    element: SchemaElement
    children: tuple[FileNode, ...]

    @property
    def kind(self) -> LogicalKind | None:
        """The logical type in the file's schema."""
        return None if self.element.logical_type is None else self.element.logical_type.kind

    @property
    def has_ids(self) -> bool:
        """Return True if any node below it has a field id."""
        return any(child.element.field_id is not None or child.has_ids for child in self.children)


class ChildrenByName:
    """The children of a group by name, ignoring case if that is unambiguous."""

    def __init__(self, nodes: Iterable[FileNode]) -> None:
        self.exact: dict[str, FileNode] = {}
        self._folded: dict[str, list[FileNode]] = {}
        for node in nodes:
            self.exact.setdefault(node.element.name, node)
            self._folded.setdefault(node.element.name.lower(), []).append(node)

    def find(self, name: str) -> FileNode | None:
        """Return the child with that name; None if there is none, or if several match."""
        alike = self._folded.get(name.lower(), [])
        return self.exact.get(name) or (alike[0] if len(alike) == 1 else None)


def file_tree(elements: Sequence[SchemaElement]) -> FileNode:
    """Return the root of a schema.

    :param elements: elements of one tree, depth-first, the root first
    """
    rest = iter(elements)

    def read() -> FileNode:
        element = next(rest)
        return FileNode(element, tuple([read() for _ in range(element.num_children)]))

    return read()


def list_element(node: FileNode, data_type: ArrayType) -> list[FileNode]:
    """Return the element of a list in any of its forms; an empty list if the form is unknown."""
    if len(node.children) != 1 or node.children[0].element.repetition is not Repetition.REPEATED:
        return []
    repeated = node.children[0]
    names = ("array", f"{node.element.name}_tuple")
    if repeated.element.is_leaf or len(repeated.children) != 1 or repeated.element.name in names:
        return [without_repetition(repeated)]
    (only,) = repeated.children
    if only.element.repetition is Repetition.REPEATED or (
        only.element.is_leaf and isinstance(data_type.element, StructType)
    ):
        return [without_repetition(repeated)]  # two levels, whose elements are structs with one field
    return [only]


def key_and_value(node: FileNode) -> Sequence[FileNode]:
    """Return key and value of a map, whatever their names; empty if it has another form."""
    if len(node.children) != 1 or node.children[0].element.repetition is not Repetition.REPEATED:
        return ()
    pair = node.children[0].children
    return pair if len(pair) == 2 else ()


def without_repetition(node: FileNode) -> FileNode:
    """Return a repeated node as the element that it repeats, which is not a list itself."""
    said = node.element
    element = SchemaElement(
        said.name, said.physical_type, None, said.num_children, said.field_id, said.type_length, said.logical_type
    )
    return FileNode(element, node.children)
