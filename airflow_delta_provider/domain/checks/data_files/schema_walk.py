"""Parallel walk through the schemas of a table and of a data file, which collects contradictions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from airflow_delta_provider.domain.checks.column_mapping.names import NOT_FOUND_IN_FILE
from airflow_delta_provider.domain.checks.data_files.stored_types import (
    OTHER_TIMESTAMP,
    ChildrenByName,
    FileNode,
    described,
    is_checked,
    is_other_timestamp,
    key_and_value,
    list_element,
    may_be,
    other_timestamp,
    without_repetition,
)
from airflow_delta_provider.domain.checks.protocol.changes import SHREDDED_WITHOUT_FEATURE
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.checks.type_widening.changes import UNREACHABLE_TYPE, changes_of, named_type
from airflow_delta_provider.domain.delta.data_type import (
    VARIANT,
    ArrayType,
    Column,
    DataType,
    MapType,
    StructType,
    children,
)
from airflow_delta_provider.domain.delta.features.columns import VARIANT_SHREDDING
from airflow_delta_provider.domain.delta.metadata import ID, PHYSICAL_NAME, field_metadata, is_id
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.formats.parquet.schema import LogicalKind, Repetition

#: Logical types that Delta does not have, or that carry no information: their columns are not checked.
_NOT_CHECKED = frozenset(
    {
        LogicalKind.UNKNOWN,
        LogicalKind.NULL,
        LogicalKind.TIME,
        LogicalKind.INTERVAL,
        LogicalKind.FLOAT16,
        LogicalKind.VARIANT,
        LogicalKind.GEOMETRY,
        LogicalKind.GEOGRAPHY,
    }
)
#: Logical types of groups that contradict a Delta type.
_GROUPS: tuple[tuple[type, frozenset[LogicalKind]], ...] = (
    (StructType, frozenset({LogicalKind.LIST, LogicalKind.MAP})),
    (ArrayType, frozenset({LogicalKind.MAP})),
    (MapType, frozenset({LogicalKind.LIST})),
)
#: Physical names that engines generate: no two columns ever have the same one. Converted tables have other names.
_MADE_UP = re.compile(r"col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
#: The field that only shredded variants have.
_TYPED_VALUE = "typed_value"


class SchemaProblem(NamedTuple):
    """A problem of all files with one schema: a finding without the path of the file.

    :param evidence: sentence with ``{path}`` as the placeholder of the file
    :param known: further fields and facts of the finding
    """

    rule: Rule
    evidence: str
    known: Mapping[str, Any]


@dataclass
class SchemaWalk:
    """Walks through both schemas in parallel.

    :param foreign: columns that the file has only under logical names
    :param may_shred: True if variants may be shredded
    """

    mode: MappingMode
    problems: list[SchemaProblem] = field(default_factory=list)
    foreign: list[Column] = field(default_factory=list)
    may_shred: bool = True

    def struct(self, columns: Iterable[Column], group: FileNode) -> None:
        """Compare the fields of a struct with the children of a group."""
        columns = list(columns)
        names = ChildrenByName(group.children)
        if self.mode is MappingMode.ID:
            pairs = list(self._by_id(columns, names, group))
        elif self.mode is MappingMode.NAME:
            pairs = list(self._by_name(columns, names))
        else:
            pairs = [(column, names.find(column.field.name)) for column in columns]
        for column, node in pairs:
            if node is not None:
                self._place(column, node)
        self._others([node for node in group.children if not any(node is found for _, found in pairs)])

    def _by_name(self, columns: Sequence[Column], names: ChildrenByName) -> Iterator[tuple[Column, FileNode | None]]:
        physical = {name.lower() for column in columns if (name := mapped_name(column)) is not None}
        for column in columns:
            name = mapped_name(column)
            if name is None:
                continue
            node = names.find(name)
            logical = column.field.name
            if node is None and logical.lower() not in physical and names.find(logical) is not None:
                self.foreign.append(column)
            yield column, node

    def _by_id(
        self, columns: Sequence[Column], names: ChildrenByName, group: FileNode
    ) -> Iterator[tuple[Column, FileNode | None]]:
        by_id: dict[int | None, list[FileNode]] = {}
        for node in group.children:
            by_id.setdefault(node.element.field_id, []).append(node)
        for column in columns:
            number, name = field_metadata(column.field).get(ID), mapped_name(column)
            if not is_id(number):
                continue
            named = names.exact.get(name) if name is not None and _MADE_UP.fullmatch(name) else None
            if named is not None and named.element.field_id != number:
                other = named.element.field_id
                self.problems.append(
                    SchemaProblem(
                        NOT_FOUND_IN_FILE,
                        "{path} has the column {name!r} "
                        + ("without a field id" if other is None else "with field id {other}")
                        + ", but {column}, which has this physical name, has the id {id}.",
                        {
                            "column": column,
                            "name": name,
                            "other": other,
                            "id": number,
                            "effect": "Readers, which search by id, read NULL or another column's values for its rows.",
                        },
                    )
                )
                continue
            found = by_id.get(number, [])
            yield column, found[0] if len(found) == 1 else None

    def _place(self, column: Column, node: FileNode) -> None:
        """Compare a column with the node at the same place of the file's schema."""
        data_type = column.data_type
        if data_type == VARIANT and not self.may_shred:
            self._variant(column, node)
        if node.kind in _NOT_CHECKED:
            return
        if not isinstance(data_type, (StructType, ArrayType, MapType)):
            self._leaf(column, node)
        elif isinstance(data_type, ArrayType) and node.element.repetition is Repetition.REPEATED:
            self._below(column, [without_repetition(node)])
        elif node.element.is_leaf or any(isinstance(data_type, t) and node.kind in wrong for t, wrong in _GROUPS):
            self._wrong_type(column, node, [data_type])
        elif isinstance(data_type, StructType):
            self.struct(children(column), node)
        elif isinstance(data_type, ArrayType):
            self._below(column, list_element(node, data_type))
        else:
            self._below(column, key_and_value(node))

    def _variant(self, column: Column, node: FileNode) -> None:
        """Report a variant that is shredded (parquet-format, ``VariantShredding.md``)."""
        if any(child.element.name == _TYPED_VALUE for child in node.children):
            self.problems.append(
                SchemaProblem(
                    SHREDDED_WITHOUT_FEATURE,
                    "{path} stores the variants of {column} shredded, and the table does not support {feature}.",
                    {"column": column, "feature": VARIANT_SHREDDING.name},
                )
            )

    def _below(self, column: Column, nodes: Sequence[FileNode]) -> None:
        for child, node in zip(children(column), nodes):
            self._place(child, node)

    def _others(self, nodes: Sequence[FileNode]) -> None:
        """Accept the nodes of a struct that are not columns: none of them can be wrong."""

    def _leaf(self, column: Column, node: FileNode) -> None:
        changes = changes_of(column)
        if changes is None:
            return  # a violation of the table's state
        types = [column.data_type]
        for change in changes:
            if change.field_path == (".".join(column.field_path) or None):
                types += [named_type(change.from_type), named_type(change.to_type)]
        if not all(map(is_checked, types)):
            return
        if not node.element.is_leaf or not any(may_be(node.element, data_type) for data_type in types):
            self._wrong_type(column, node, list(dict.fromkeys(types)))
        elif is_other_timestamp(node.element, column.data_type):
            evidence, known = other_timestamp(column.data_type)
            self.problems.append(SchemaProblem(OTHER_TIMESTAMP, evidence, {"column": column, **known}))

    def _wrong_type(self, column: Column, node: FileNode, types: Sequence[DataType]) -> None:
        current, *earlier = map(str, types)
        self.problems.append(
            SchemaProblem(
                UNREACHABLE_TYPE,
                "{path} stores {column} as {stored}, which is "
                + (
                    "neither {type}, the column's type, nor a type recorded for it before ({earlier})."
                    if earlier
                    else "not {type}, the column's type."
                ),
                {"column": column, "stored": described(node.element), "type": current, "earlier": earlier},
            )
        )


def mapped_name(column: Column) -> str | None:
    """Return the physical name of a field; None if it has none."""
    name = field_metadata(column.field).get(PHYSICAL_NAME)
    return name if isinstance(name, str) and name else None
