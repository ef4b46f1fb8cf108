"""The partition values of a file that a commit adds: AC08 and AC12.

PROTOCOL.md, Partition Value Serialization. What some engine still reads as a value of the type counts as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from airflow_delta_provider.domain.checks.actions.family import ADD_AND_REMOVE, FAMILY, WRITE_AGAIN
from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.column_mapping.changes import ILLEGAL_MODE_CHANGE
from airflow_delta_provider.domain.checks.column_mapping.state import UNKNOWN_MODE
from airflow_delta_provider.domain.checks.metadata.changes import PARTITIONING_CHANGED
from airflow_delta_provider.domain.checks.metadata.state import FIELD_MISSING
from airflow_delta_provider.domain.checks.rule import Scope, causes
from airflow_delta_provider.domain.delta.column_mapping import physical_name
from airflow_delta_provider.domain.delta.data_type import DecimalType
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.report.finding import Finding

#: How Hive writes that there is no value.
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_DATE = re.compile(r"[+-]?\d{1,7}-\d{1,2}(-\d{1,2})?(?!\d)")
_BOOLEANS = frozenset({"true", "false", "t", "f", "yes", "no", "y", "n", "1", "0"})


_commit = FAMILY.of(Scope.COMMIT)

NO_PARTITION_VALUES = _commit.error(
    8,
    "partition values missing, or not those of the partition columns",
    effect="Readers fail on the table, or read NULL in the partition columns of the file, and filters miss its rows.",
    remedy=WRITE_AGAIN,
    source=ADD_AND_REMOVE,
    follows_from=causes(
        PARTITIONING_CHANGED,
        ILLEGAL_MODE_CHANGE,
        UNKNOWN_MODE,
        FIELD_MISSING,
        later=True,
    ),
    about_live_files=True,
)
WRONG_PARTITION_VALUE = _commit.error(
    12,
    "partition value does not match the column's type",
    effect="Reading the file fails, or the column reads NULL in it, and filters miss its rows.",
    remedy=WRITE_AGAIN,
    source="PROTOCOL.md, Partition Value Serialization",
)


@on_demand(NO_PARTITION_VALUES, WRONG_PARTITION_VALUE)
def check_partition_values(add: Mapping[str, Any], metadata: Metadata) -> Iterator[Finding]:
    """Yield what is wrong with the partition values of a file that a commit adds.

    :param add: the body of the ``add`` action, as in the log
    :param metadata: the table's metadata after the commit
    """
    yield from _columns(add, metadata)
    yield from _values(add, metadata)


def _columns(add: Mapping[str, Any], metadata: Metadata) -> Iterator[Finding]:
    """Of a mapped table, only whether there is a map at all: the family of column mapping compares the names."""
    values = add.get("partitionValues")
    if metadata.properties.is_mapped:
        if values is None and not metadata.partition_columns and metadata.readable_columns is not None:
            yield _missing(add)
        return
    if not isinstance(values, Mapping):
        if values is None:
            yield _missing(add)
        return
    if not values and not metadata.partition_columns:
        return
    columns = {str(name).lower(): str(name) for name in metadata.partition_columns}
    names = {str(name).lower(): str(name) for name in values}
    if columns.keys() == names.keys():
        return
    missing = sorted(columns[name] for name in columns.keys() - names.keys())
    extra = sorted(names[name] for name in names.keys() - columns.keys())
    found = [text for text, some in (("lacks {missing}", missing), ("has {extra}", extra)) if some]
    yield NO_PARTITION_VALUES.found(
        f"The partition columns are {{expected}}, but partitionValues of {{path}} {' and '.join(found)}.",
        path=_path(add),
        column=(missing or extra)[0],
        expected=sorted(columns.values()) or "none",
        missing=missing,
        extra=extra,
    )


def _missing(add: Mapping[str, Any]) -> Finding:
    return NO_PARTITION_VALUES.found(
        "{path} is added without partitionValues, which every add action must have: an empty map where the table has "
        "no partitions.",
        path=_path(add),
    )


def _path(add: Mapping[str, Any]) -> str | None:
    path = add.get("path")
    return path if isinstance(path, str) else None


def _values(add: Mapping[str, Any], metadata: Metadata) -> Iterator[Finding]:
    values = add.get("partitionValues")
    if not values or not isinstance(values, Mapping):
        return
    mode = metadata.properties.mapping_mode
    kinds = _kinds(metadata.schema_string, tuple(map(str, metadata.partition_columns)), mode)
    for name, value in values.items():
        column, kind = kinds.get(str(name).lower(), ("", ""))
        if not kind or not isinstance(value, str) or value in ("", _HIVE_NULL) or _READS[kind](value.strip()):
            continue  # AC16 is about what is not a string
        yield WRONG_PARTITION_VALUE.found(
            "The partition column {column} has the type {type}, but its value for {path} is {value!r}.",
            path=_path(add),
            column=column,
            type=kind,
            value=value[:100],
        )
        return


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_READS: Mapping[str, Callable[[str], bool]] = {
    **dict.fromkeys(("byte", "short", "integer", "long", "float", "double", "decimal"), _is_number),
    "date": lambda text: _DATE.match(text) is not None,
    "boolean": lambda text: text.lower() in _BOOLEANS,
}


@lru_cache(maxsize=64)
def _kinds(schema_string: str, partition_columns: tuple[str, ...], mode: MappingMode) -> Mapping[str, tuple[str, str]]:
    """Return column and type of the partition columns that can be checked, by their lower-case names in files."""
    columns = Metadata("", schema_string).readable_columns or ()
    named = {name.lower() for name in partition_columns}
    found = {}
    for column in columns:
        field = column.field
        if len(column.parts) > 1 or field.name.lower() not in named:
            continue
        kind = "decimal" if isinstance(column.data_type, DecimalType) else str(column.data_type)
        if kind in _READS:
            found[physical_name(field, mode).lower()] = (str(column), kind)
    return found
