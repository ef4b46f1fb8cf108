"""Comparison of the columns of data files, from footers, with the table's columns.

``TableColumns(metadata).compare(footer)`` returns ``FileColumns``: the paths of the table's columns in the file, and
the file's other columns (``foreign``). A ``FooterSurvey`` holds the results for all live files. ``count_nulls`` adds up
the null counts of the footers by column.

These columns do not count as foreign, although the table does not have them: materialized row ids and row commit
versions, empty columns of the change data feed, and the column that marks change data while engines write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_delta_provider.domain.changes.schema import CHANGE_DATA_NAMES
from airflow_delta_provider.domain.checks.data_files.stored_types import (
    ChildrenByName,
    FileNode,
    file_tree,
    key_and_value,
    list_element,
    without_repetition,
)
from airflow_delta_provider.domain.delta.data_type import ArrayType, Column, DataType, MapType, StructType, children
from airflow_delta_provider.domain.delta.metadata import ID, Metadata, PhysicalPath, field_metadata, physical_name
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.formats.parquet.footer import EncryptedFooterError, Footer, FooterError
from airflow_delta_provider.domain.formats.parquet.schema import Repetition, SchemaElement

#: A leaf's path in the footer, including the groups of lists and maps.
LeafPath = tuple[str, ...]

#: Delta Spark marks change data with this column while writing. ``UPDATE`` and ``MERGE`` leave it in data files.
_WRITERS_OWN = "__is_cdc"
#: Names that engines generate for materialized columns, also for earlier row tracking.
_MATERIALIZED = re.compile(r"_row-(id|commit-version)-col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class FileColumns:
    """The columns of a file.

    :param leaves: paths in the file of the table's leaf columns, by their parts
    :param foreign: topmost paths of columns that the table does not have
    """

    leaves: Mapping[tuple[str, ...], LeafPath]
    foreign: tuple[PhysicalPath, ...]


@dataclass
class FooterSurvey:
    """The results of reading the footers of files.

    :param footers: readable footers, by path of the file
    :param foreign: foreign columns of files that have some, by path of the file
    :param unread: reasons why footers could not be read, by path of the file
    :param lost: unread files that no engine can read: missing or damaged
    """

    footers: dict[str, Footer] = field(default_factory=dict)
    foreign: dict[str, tuple[PhysicalPath, ...]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    @property
    def is_clean(self) -> bool:
        """True if every footer was read and no file has a foreign column."""
        return not (self.foreign or self.unread)

    def take(self, path: str, footer: Footer | FooterError, columns: TableColumns) -> None:
        """Take the footer of a file, or the error from reading it."""
        if isinstance(footer, FooterError):
            self.unread[path] = str(footer)
            if not isinstance(footer, EncryptedFooterError):
                self.lost.add(path)
            return
        self.footers[path] = footer
        if foreign := columns.compare(footer).foreign:
            self.foreign[path] = foreign


class TableColumns:
    """The columns of a table, to be found in its files."""

    def __init__(self, metadata: Metadata) -> None:
        self._mode = metadata.properties.mapping_mode
        self._columns = [
            Column((field.name,), field.data_type, field, (), ("field",)) for field in metadata.schema.fields
        ]
        self._materialized = frozenset(metadata.properties.materialized_columns)
        self._last: tuple[Sequence[SchemaElement], FileColumns] | None = None

    def compare(self, footer: Footer) -> FileColumns:
        """Return the table's columns that a file has, and its foreign columns."""
        if self._last is None or self._last[0] is not footer.schema:
            walk = _Walk(self._mode)
            walk.struct(self._columns, file_tree(footer.schema), (), ())
            foreign = tuple(path for path in walk.foreign if not self._is_of_engine(path))
            self._last = footer.schema, FileColumns(walk.leaves, foreign)
        found = self._last[1]
        foreign = tuple(path for path in found.foreign if not _holds_nothing(path, footer))
        return found if foreign == found.foreign else FileColumns(found.leaves, foreign)

    def leaf_columns(self) -> Iterator[tuple[str, ...]]:
        pending = list(reversed(self._columns))
        while pending:
            column = pending.pop()
            below = list(children(column))
            pending += reversed(below)
            if not below and not isinstance(column.data_type, StructType):
                yield column.parts

    def _is_of_engine(self, path: PhysicalPath) -> bool:
        if len(path) > 1:
            return False
        own = path[0] == _WRITERS_OWN or path[0] in self._materialized
        return own or _MATERIALIZED.fullmatch(path[0]) is not None


def count_nulls(metadata: Metadata, footers: Iterable[Footer]) -> dict[tuple[str, ...], int | None]:
    """Return the number of values that read as NULL, by leaf column; None if a footer lacks the count.

    In a file that lacks the column, all rows count. In a list or map, each value counts.
    """
    columns = TableColumns(metadata)
    nulls: dict[tuple[str, ...], int | None] = dict.fromkeys(columns.leaf_columns(), 0)
    for footer in footers:
        leaves = columns.compare(footer).leaves
        for parts, count in nulls.items():
            added = footer.num_rows if parts not in leaves else _nulls_of(leaves[parts], footer)
            nulls[parts] = None if count is None or added is None else count + added
    return nulls


def _nulls_of(path: LeafPath, footer: Footer) -> int | None:
    total = 0
    try:
        for chunk in footer.chunks(path):
            if chunk.null_count is None:
                return None
            total += chunk.null_count
    except (FooterError, KeyError):
        return None
    return total


def _holds_nothing(path: PhysicalPath, footer: Footer) -> bool:
    """Return True if a path is an all-null column of the change data feed.

    Engines leave such columns in data files.
    """
    if len(path) != 1 or path[0] not in CHANGE_DATA_NAMES:
        return False
    try:
        return all(chunk.null_count == chunk.num_values for chunk in footer.chunks(path))
    except (FooterError, KeyError):
        return False


class _Walk:
    """Walks the schemas of table and file together."""

    def __init__(self, mode: MappingMode) -> None:
        self._mode = mode
        self.leaves: dict[tuple[str, ...], LeafPath] = {}
        self.foreign: list[PhysicalPath] = []

    def struct(self, columns: Iterable[Column], group: FileNode, at: LeafPath, path: PhysicalPath) -> None:
        """Compare the fields of a struct with the children of a group.

        :param at: path of the group in the file
        :param path: path of the group, as a field path
        """
        names = ChildrenByName(group.children)
        rest = list(group.children)
        for column in columns:
            node = self._find(column, names, rest)
            if node is not None:
                rest = [other for other in rest if other is not node]
                self._place(column, node, (*at, node.element.name), (*path, node.element.name))
        self.foreign += [(*path, node.element.name) for node in rest]

    def _find(self, column: Column, names: ChildrenByName, rest: Sequence[FileNode]) -> FileNode | None:
        if self._mode is MappingMode.ID:
            number = field_metadata(column.field).get(ID)
            by_id = [node for node in rest if node.element.field_id is not None and node.element.field_id == number]
            if len(by_id) == 1:
                return by_id[0]
        node = names.find(physical_name(column.field, self._mode))
        return node if any(node is other for other in rest) else None

    def _place(self, column: Column, node: FileNode, at: LeafPath, path: PhysicalPath) -> None:
        data_type = column.data_type
        if isinstance(data_type, StructType) and not node.element.is_leaf:
            self.struct(children(column), node, at, path)
        elif isinstance(data_type, (ArrayType, MapType)):
            self._below(column, node, at, path)
        elif isinstance(data_type, StructType):
            self.foreign.append(path)
        elif node.element.is_leaf:
            self.leaves[column.parts] = at

    def _below(self, column: Column, node: FileNode, at: LeafPath, path: PhysicalPath) -> None:
        """Compare the contents of a list or map; contents of another form are foreign."""
        found = list(_held(column.data_type, node))
        below = list(children(column))
        if len(found) != len(below):
            self.foreign.append(path)
            return
        for child, inner in zip(below, found):
            where = _path_below(node, inner)
            self._place(child, inner, (*at, *where), (*path, child.parts[-1]))


def _held(data_type: DataType, node: FileNode) -> Sequence[FileNode]:
    if isinstance(data_type, ArrayType):
        if node.element.repetition is Repetition.REPEATED:
            return [without_repetition(node)]
        return list_element(node, data_type)
    return key_and_value(node)


def _path_below(node: FileNode, inner: FileNode) -> LeafPath:
    """Return the names between a list or map and its contents."""
    if node.element.repetition is Repetition.REPEATED or not node.children:
        return ()
    repeated = node.children[0]
    if any(inner is child for child in repeated.children):
        return (repeated.element.name, inner.element.name)
    return (repeated.element.name,)
