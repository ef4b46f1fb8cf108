"""The declarable state of a table as lines of text, so that a plan can be shown as a diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.changes.step import ClusterBy, Step
from airflow_delta_provider.domain.delta.column import path_text
from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, MapType, StructField, StructType
from airflow_delta_provider.domain.delta.features.columns import GENERATED_COLUMNS
from airflow_delta_provider.domain.delta.field_keys import COMMENT, CURRENT_DEFAULT
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.sql_type import render_sql_type
from airflow_delta_provider.domain.delta.table_properties import CONSTRAINT_PREFIX
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.sql_identifier import quote
from airflow_delta_provider.domain.migrations.difference.table import clustered_by

#: Number of context lines around a change.
_CONTEXT = 2


def declared_lines(metadata: Metadata, protocol: Protocol, state: TableState, after: Sequence[Step] = ()) -> list[str]:
    """Return a line for each property of a table that a spec can declare.

    :param state: state of the table before, for its clustering
    :param after: steps applied since then
    """
    return list(_lines(metadata, protocol, state, after))


def diff(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return the lines of a unified diff, without its head; empty if both are the same."""
    return [
        line
        for line in difflib.unified_diff(before, after, lineterm="", n=_CONTEXT)
        if not line.startswith(("---", "+++", "@@"))
    ]


def _lines(metadata: Metadata, protocol: Protocol, state: TableState, after: Sequence[Step]) -> Iterator[str]:
    for column in metadata.schema.fields:
        yield _column(column)
    if metadata.partition_columns:
        yield f"PARTITIONED BY ({', '.join(map(quote, metadata.partition_columns))})"
    clustering = clustered_by(state)
    for step in after:
        if isinstance(step, ClusterBy):
            clustering = list(step.columns)
    if clustering:
        yield f"CLUSTER BY ({', '.join(map(path_text, clustering))})"
    if metadata.description:
        yield f"COMMENT {metadata.description!r}"
    for name, expression in sorted(metadata.check_constraints.items()):
        yield f"CONSTRAINT {name} CHECK ({expression})"
    for name, value in sorted(metadata.configuration.items()):
        if not name.startswith((CONSTRAINT_PREFIX, "delta.feature.")):
            yield f"PROPERTY {name} = {value!r}"
    for name in sorted(protocol.features):
        yield f"FEATURE {name}"


def _type(data_type: DataType) -> str:
    """Return a type with the nullability and comments of its fields."""
    if isinstance(data_type, ArrayType):
        return f"array<{_type(data_type.element)}>"
    if isinstance(data_type, MapType):
        return f"map<{_type(data_type.key)},{_type(data_type.value)}>"
    if isinstance(data_type, StructType):
        return f"struct<{','.join(map(_field, data_type.fields))}>"
    return render_sql_type(data_type)


def _field(field: StructField) -> str:
    required = "" if field.nullable else " NOT NULL"
    comment = f" COMMENT {field.metadata[COMMENT]!r}" if field.metadata.get(COMMENT) else ""
    return f"{quote(field.name)}:{_type(field.data_type)}{required}{comment}"


def _column(column: StructField) -> str:
    known = column.metadata
    parts = [
        quote(column.name),
        _type(column.data_type),
        "" if column.nullable else "NOT NULL",
        f"GENERATED ALWAYS AS ({known[GENERATED_COLUMNS.field_key]})" if GENERATED_COLUMNS.field_key in known else "",
        f"DEFAULT {known[CURRENT_DEFAULT]}" if CURRENT_DEFAULT in known else "",
        f"COMMENT {known[COMMENT]!r}" if known.get(COMMENT) else "",
    ]
    return " ".join(filter(None, parts))
