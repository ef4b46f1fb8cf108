"""Whether the partition values of an added file are of the columns' types: AC12.

PROTOCOL.md, Partition Value Serialization. What some engine still reads as a value of the type is taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from airflow_delta_provider.domain.checks.actions import rules
from airflow_delta_provider.domain.checks.metadata.schema import readable_columns
from airflow_delta_provider.domain.delta.column_mapping import physical_name
from airflow_delta_provider.domain.delta.data_type import DecimalType
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.report.finding import Finding

#: How Hive writes that there is no value.
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_DATE = re.compile(r"[+-]?\d{1,7}-\d{1,2}(-\d{1,2})?(?!\d)")
_BOOLEANS = frozenset({"true", "false", "t", "f", "yes", "no", "y", "n", "1", "0"})


def check_partition_values(add: Mapping[str, Any], metadata: Metadata) -> Iterator[Finding]:
    """Yield which partition value of a file cannot be read, the first one.

    :param add: the body of the ``add`` action, as in the log
    :param metadata: the table's metadata after the commit
    """
    values = add.get("partitionValues")
    if not values or not isinstance(values, Mapping):
        return
    mode = metadata.properties.mapping_mode
    kinds = _kinds(metadata.schema_string, tuple(map(str, metadata.partition_columns)), mode)
    for name, value in values.items():
        column, kind = kinds.get(str(name).lower(), ("", ""))
        if not kind or not isinstance(value, str) or value in ("", _HIVE_NULL) or _READS[kind](value.strip()):
            continue  # of what is no text, AC16 says so
        path = add.get("path")
        yield rules.WRONG_PARTITION_VALUE.finding(
            f"The partition column {column} is of the type {kind}, but its value for {path} is {value[:100]!r}: "
            "reading the file fails, or the column reads NULL in it, and filters miss its rows. RESTORE the table to "
            "the version before, and write the rows again with an engine that writes them.",
            path=path if isinstance(path, str) else None,
            column=column,
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
    """Return column and type of the partition columns that can be judged, by their lower-case names in files."""
    columns = readable_columns(Metadata("", schema_string)) or ()
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
