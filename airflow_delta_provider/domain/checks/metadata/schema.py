"""What has to hold of the schema: MD02, MD05, MD06, and MD13 of types. PROTOCOL.md, Schema Serialization Format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from airflow_delta_provider.domain.checks.metadata import rules
from airflow_delta_provider.domain.delta.column import Column, all_columns
from airflow_delta_provider.domain.delta.data_type import (
    MAX_PRECISION,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
)
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

#: Names of primitive types, with ``decimal`` and ``null`` as old versions of Spark wrote them.
_PRIMITIVES = frozenset(
    {
        "string",
        "long",
        "integer",
        "short",
        "byte",
        "float",
        "double",
        "boolean",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
        "void",
        "variant",
        "decimal",
        "null",
    }
)
#: Types with parameters of the features geospatial and geospatial-dev.
_GEOSPATIAL = ("geometry", "geography")
_VARIANT = PrimitiveType("variant")
_USER_DEFINED = '"type":"udt"'
_MOST_TEXT = 300


def check_readable(state: TableState) -> Iterator[Finding]:
    """Yield why the schema of ``state`` cannot be read: MD02, or MD13 where a type is to blame."""
    schema = state.metadata.schema_string
    if not schema:
        problem = "The metaData action has no schemaString"
    elif state.metadata.readable_columns is not None:
        return
    elif _USER_DEFINED in "".join(str(schema).split()):
        yield replace(
            rules.UNKNOWN_TYPE_OR_VALUE.finding(
                "The schema holds a user-defined type of Spark (udt), which the protocol does not have: other engines "
                "cannot read the table, and its schema is not judged here. Store such columns as arrays or structs.",
                version=state.version,
            ),
            severity=Severity.WARNING,
        )
        return
    else:
        problem = f"The schemaString of the metaData action cannot be read: {_reason(state.metadata)[:_MOST_TEXT]}"
    yield rules.BROKEN_SCHEMA.finding(
        f"{problem}. Most engines refuse to open such a table, and its columns are not judged here. RESTORE the table "
        "to a version before, or restore the file of the log from a backup.",
        version=state.version,
    )


def check_columns(state: TableState) -> Iterator[Finding]:
    """Yield what is wrong with the columns of ``state``; silent where the schema cannot be read."""
    columns = state.metadata.readable_columns
    if columns is not None:
        for rule in _COLUMN_RULES:
            yield from rule(state, columns)


def _reason(metadata: Metadata) -> str:
    try:
        all(all_columns(metadata.schema))
    except BrokenLogError as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    return "the name of a field is no text, or its metadata no map"


def _partition_columns(state: TableState, columns: tuple[Column, ...]) -> Iterator[Finding]:
    top = {column.parts[0]: column for column in columns if len(column.parts) == 1}
    folded = {name.lower(): column for name, column in top.items()}
    named = [str(name) for name in state.metadata.partition_columns]
    for name, times in Counter(name.lower() for name in named).items():
        if times > 1:
            yield rules.BAD_PARTITION_COLUMNS.finding(
                f"The table is partitioned by {name!r} {times} times: readers do not agree on the partitions. RESTORE "
                "the table to the version before, or rewrite it with other partitions.",
                version=state.version,
                column=name,
            )
    for name in dict.fromkeys(named):
        column = top.get(name) or folded.get(name.lower())
        if column is None:
            yield rules.BAD_PARTITION_COLUMNS.finding(
                f"The table is partitioned by {name!r}, which is no column at the top of its schema: engines refuse "
                "the table or lose the partition's values. RESTORE the table to the version before.",
                version=state.version,
                column=name,
            )
        elif isinstance(column.data_type, (ArrayType, MapType, StructType)) or column.data_type == _VARIANT:
            yield rules.BAD_PARTITION_COLUMNS.finding(
                f"The table is partitioned by {column}, whose type {column.data_type} no partition value can have: "
                "readers cannot make values of it. Rewrite the table with other partitions.",
                version=state.version,
                column=str(column),
            )
        elif column.parts[0] != name:
            yield replace(
                rules.BAD_PARTITION_COLUMNS.finding(
                    f"The table is partitioned by {name!r}, but its column is spelled {column.parts[0]!r}: engines "
                    "that mind the case do not find it. Rewrite the table with the column's own spelling.",
                    version=state.version,
                    column=str(column),
                ),
                severity=Severity.WARNING,
            )


def _duplicate_columns(state: TableState, columns: tuple[Column, ...]) -> Iterator[Finding]:
    nested = [(c.parts, c.data_type) for c in columns if isinstance(c.data_type, StructType)]
    for above, struct in [((), state.metadata.schema), *nested]:
        names: dict[str, str] = {}
        for field in struct.fields:
            folded = field.name.lower()
            if folded not in names:
                names[folded] = field.name
                continue
            where = f"the struct {'.'.join(above)}" if above else "the table"
            yield rules.DUPLICATE_COLUMN.finding(
                f"In {where} the columns {names[folded]!r} and {field.name!r} have one name, as case does not count: "
                "which one a query gets is up to the engine, and most refuse the table. RESTORE the table to the "
                "version before.",
                version=state.version,
                column=".".join((*above, field.name)),
            )


def is_known_type(data_type: DataType) -> bool:
    """Whether the protocol has a type, whatever it holds."""
    if isinstance(data_type, PrimitiveType):
        return data_type.name in _PRIMITIVES or data_type.name.startswith(_GEOSPATIAL)
    if isinstance(data_type, DecimalType):
        return 1 <= data_type.precision <= MAX_PRECISION and data_type.scale <= data_type.precision
    return True


def _unknown_types(state: TableState, columns: tuple[Column, ...]) -> Iterator[Finding]:
    for column in columns:
        if not is_known_type(column.data_type):
            yield rules.UNKNOWN_TYPE_OR_VALUE.finding(
                f"The column {column} is of the type {str(column.data_type)[:_MOST_TEXT]!r}, which the protocol does "
                "not have: readers refuse the table. RESTORE the table to the version before.",
                version=state.version,
                column=str(column),
            )


_COLUMN_RULES: tuple[Callable[[TableState, tuple[Column, ...]], Iterator[Finding]], ...] = (
    _partition_columns,
    _duplicate_columns,
    _unknown_types,
)
