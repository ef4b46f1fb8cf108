"""The schema of one version: MD02, MD05, MD06, MD19, and MD13 for types. PROTOCOL.md, Schema Serialization Format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.metadata import FAMILY, MOST_TEXT, RESTORE, SCHEMA, SPEC
from airflow_delta_provider.domain.checks.rule import Prose, RepairMethod, Restore, Scope
from airflow_delta_provider.domain.delta.data_type import (
    MAX_PRECISION,
    VARIANT,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
    all_columns,
    path_text,
)
from airflow_delta_provider.domain.delta.features.feature import FeatureKind
from airflow_delta_provider.domain.delta.features.registry import feature_named
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.report.report import Finding, Severity

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
_USER_DEFINED = "udt"
_state = FAMILY.of(Scope.STATE)


BROKEN_SCHEMA = _state.error(
    2,
    "schema missing or damaged",
    name="schema-missing-or-damaged",
    effect="Most engines refuse to open the table, and its columns cannot be checked.",
    remedy=Restore(instead="restore the log file from a backup"),
    threads=("delta-io/delta#4231", "delta-io/delta-rs#1557"),
)
UNKNOWN_TYPE_OR_VALUE = _state.error(
    13,
    "unknown type, or non-string property",
    name="unknown-type-or-non-string-property",
    effect="Readers refuse the table, or cannot parse its metadata.",
    remedy=Restore(instead="set the property again with ALTER TABLE … SET TBLPROPERTIES"),
    source=f"{SPEC}; {SCHEMA}",
)


@on_state(BROKEN_SCHEMA, UNKNOWN_TYPE_OR_VALUE)
def check_readable(state: TableState) -> Iterator[Finding]:
    """Yield a finding if the schema of ``state`` cannot be read: it is damaged, or has a type that only Spark knows."""
    schema = state.metadata.schema_string
    if not schema:
        yield BROKEN_SCHEMA.found("The metaData action has no schemaString.", version=state.version)
    elif state.metadata.readable_columns is not None:
        return
    elif _has_user_defined_type(schema):
        yield UNKNOWN_TYPE_OR_VALUE.found(
            "The schema has a user-defined type of Spark (udt), which is not in the protocol.",
            severity=Severity.WARNING,
            effect="Other engines cannot read the table, and its schema cannot be checked.",
            remedy="Store such columns as arrays or structs.",
            version=state.version,
        )
    else:
        yield BROKEN_SCHEMA.found(
            "The schemaString of the metaData action cannot be read: {reason}.",
            reason=Prose(_reason(state.metadata)[:MOST_TEXT]),
            version=state.version,
        )


def _has_user_defined_type(schema: object) -> bool:
    """Return True if a schema is JSON and contains, at any depth, a type that only Spark knows."""
    try:
        wire = parse_json(str(schema))
    except ValueError:
        return False
    left: list[Any] = [wire] if isinstance(wire, Mapping) else []
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            if value.get("type") == _USER_DEFINED:
                return True
            left += value.values()
        elif isinstance(value, list):
            left += value
    return False


def _reason(metadata: Metadata) -> str:
    try:
        all(all_columns(metadata.schema))
    except BrokenLogError as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    return "the name of a field is not a string, or its metadata is not a map"


BAD_PARTITION_COLUMNS = _state.error(
    5,
    "partition columns that the schema does not have",
    name="partition-columns-not-in-schema",
    effect="Engines refuse the table, disagree on its partitions, or lose their values.",
    remedy=Restore(instead="rewrite the table with other partitions"),
)


@on_state(BAD_PARTITION_COLUMNS)
def _partition_columns(state: TableState) -> Iterator[Finding]:
    found = list(_wrong_partition_columns(state))
    yield from found or _only_partition_columns(state.metadata)


def _wrong_partition_columns(state: TableState) -> Iterator[Finding]:
    columns = state.metadata.readable_columns
    if columns is None:
        return
    top = {column.parts[0]: column for column in columns if len(column.parts) == 1}
    folded = {name.lower(): column for name, column in top.items()}
    named = [str(name) for name in state.metadata.partition_columns]
    for name, times in Counter(name.lower() for name in named).items():
        if times > 1:
            yield BAD_PARTITION_COLUMNS.found(
                "The table is partitioned by {column!r} {times} times.", column=name, times=times
            )
    for name in dict.fromkeys(named):
        column = top.get(name) or folded.get(name.lower())
        if column is None:
            yield BAD_PARTITION_COLUMNS.found(
                "The table is partitioned by {column!r}, which is not a top-level column of its schema.", column=name
            )
        elif isinstance(column.data_type, (ArrayType, MapType, StructType)) or column.data_type == VARIANT:
            yield BAD_PARTITION_COLUMNS.found(
                "The table is partitioned by {column}, but partition values cannot have its type {type}.",
                remedy="Rewrite the table with other partitions.",
                column=column,
                type=str(column.data_type),
            )
        elif column.parts[0] != name:
            yield BAD_PARTITION_COLUMNS.found(
                "The table is partitioned by {name!r}, but its column is spelled {spelled!r}.",
                severity=Severity.WARNING,
                effect="Case-sensitive engines do not find the column.",
                remedy="Rewrite the table with the column's own spelling.",
                column=column,
                name=name,
                spelled=column.parts[0],
            )


def _only_partition_columns(metadata: Metadata) -> Iterator[Finding]:
    names = {column.parts[0].lower() for column in metadata.readable_columns or ()}
    if names and names <= {str(name).lower() for name in metadata.partition_columns}:
        yield BAD_PARTITION_COLUMNS.found(
            "The table is partitioned by all of its columns, which leaves none for data files.",
            severity=Severity.WARNING,
            effect="Engines refuse to write the table.",
            remedy="Add a column that is not a partition column.",
        )


FIELD_OF_SCHEMA_MISSING = _state.error(
    19,
    "schema lacks a required field",
    name="schema-lacks-required-field",
    effect="Strict readers, such as delta-rs and Delta Kernel, cannot open the table; others assume a value.",
    remedy=Restore(", and update the engine that wrote the schema"),
    source=SCHEMA,
    repairs=(RepairMethod.REQUIRED_FIELDS, RepairMethod.EARLIER_VALUES),
)
#: Maximum number of missing fields that are named.
_MOST_NAMED = 5


@on_state(FIELD_OF_SCHEMA_MISSING)
def _fields_missing(state: TableState) -> Iterator[Finding]:
    missing = state.metadata.missing_in_schema
    if missing:
        named = [f"{field} of {path_text(path)}" for path, field in missing[:_MOST_NAMED]]
        more = " and {more} more" if len(missing) > _MOST_NAMED else ""
        yield FIELD_OF_SCHEMA_MISSING.found(
            f"The schema lacks {{fields:required field}}: {{missing}}{more}.",
            column=path_text(missing[0][0]),
            fields=len(missing),
            missing=named,
            more=len(missing) - _MOST_NAMED,
        )


DUPLICATE_COLUMN = _state.error(
    6,
    "column name twice, regardless of case",
    name="duplicate-column-name",
    effect="Which of the two a query gets depends on the engine, and most engines refuse the table.",
    remedy=RESTORE,
    source=SCHEMA,
)


@on_state(DUPLICATE_COLUMN)
def _duplicate_columns(state: TableState) -> Iterator[Finding]:
    columns = state.metadata.readable_columns
    if columns is None:
        return
    nested = [(c.parts, c.data_type) for c in columns if isinstance(c.data_type, StructType)]
    for above, struct in [((), state.metadata.schema), *nested]:
        names: dict[str, str] = {}
        for field in struct.fields:
            folded = field.name.lower()
            if folded not in names:
                names[folded] = field.name
                continue
            yield DUPLICATE_COLUMN.found(
                f"In {'the struct {struct}' if above else 'the table'} the columns {{first!r}} and {{second!r}} have "
                "the same name, as case does not count.",
                column=".".join((*above, field.name)),
                struct=".".join(above),
                first=names[folded],
                second=field.name,
            )


@on_state(UNKNOWN_TYPE_OR_VALUE)
def _unknown_types(state: TableState) -> Iterator[Finding]:
    for column in state.metadata.readable_columns or ():
        if not is_known_type(column.data_type):
            features = map(feature_named, sorted(state.protocol.features))
            owner = next((f.name for f in features if f.kind is FeatureKind.UNKNOWN or not f.is_judged), None)
            yield UNKNOWN_TYPE_OR_VALUE.found(
                "The column {column} has the type {type!r}, which is not in the protocol"
                + (". It may belong to the feature {owner}, which is not judged." if owner else "."),
                severity=Severity.UNDECIDED if owner else None,
                remedy=RESTORE,
                owner=owner,
                column=column,
                type=str(column.data_type)[:MOST_TEXT],
            )


def is_known_type(data_type: DataType) -> bool:
    """Return True if the protocol has a type; nested types are not checked."""
    if isinstance(data_type, PrimitiveType):
        return data_type.name in _PRIMITIVES or data_type.name.startswith(_GEOSPATIAL)
    if isinstance(data_type, DecimalType):
        return 1 <= data_type.precision <= MAX_PRECISION and data_type.scale <= data_type.precision
    return True
