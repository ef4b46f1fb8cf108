"""Parquet checkpoints, read by PyArrow if it is installed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.delta.checkpoint_comparison import MOST_PARSED
from airflow_delta_provider.domain.delta.commit import KINDS, Action
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.parsed_fields import PARTITION_VALUES, STATISTICS
from airflow_delta_provider.jobs.process import have

#: Field for the number of rows in a checkpoint's parsed statistics.
PARSED_COUNT = f"{STATISTICS}.numRecords"


def is_available() -> bool:
    """Return True if PyArrow is installed."""
    return have("pyarrow.parquet")


def version() -> str:
    """Return the release of PyArrow, for messages."""
    import pyarrow as pa

    return str(pa.__version__)


def actions(
    content: bytes, fields: Mapping[str, Collection[str]], kinds: Collection[str] | None, *, parsed: bool = False
) -> Iterator[Action]:
    """Yield the actions of a checkpoint file: row group by row group, and in each of them column by column.

    :param fields: fields to read, by kind of action, for kinds that are not read completely; an empty entry skips the
        kind
    :param kinds: kinds of action to read; None for all kinds in the file
    :param parsed: True to include the parsed values of the first files, with dates and timestamps as strings; if
        False, the number of rows in ``stats_parsed`` is returned as ``stats``
    :raises BrokenLogError: if it is not a checkpoint
    :raises Exception: error of PyArrow, of many classes, if it cannot read the file; the file may be intact
    """
    import pyarrow as pa
    from pyarrow import parquet

    file = parquet.ParquetFile(pa.BufferReader(content), coerce_int96_timestamp_unit="us")
    columns = list(_columns(file.schema_arrow, fields, kinds))
    for group in range(file.num_row_groups if columns else 0):
        table = file.read_row_group(group, columns=columns, use_threads=False)
        for name in table.schema.names:
            for column in table.column(name).chunks:
                yield from _actions(name, column, parsed)


def _columns(schema: Any, fields: Mapping[str, Collection[str]], kinds: Collection[str] | None) -> Iterator[str]:
    from pyarrow import types

    for column in schema:
        if kinds is not None and column.name not in kinds:
            continue
        if column.name not in fields or not types.is_struct(column.type):
            yield column.name
            continue
        for field in column.type:
            if field.name in fields[column.name]:
                yield f"{column.name}.{field.name}"
            elif f"{field.name}.numRecords" in fields[column.name] and _has_count(field.type):
                yield f"{column.name}.{PARSED_COUNT}"


def _has_count(data_type: Any) -> bool:
    from pyarrow import types

    return types.is_struct(data_type) and any(field.name == "numRecords" for field in data_type)


def _actions(name: str, column: Any, parsed: bool) -> Iterator[Action]:
    from pyarrow import types

    if not types.is_struct(column.type):
        if name in KINDS:
            raise BrokenLogError(f"its {name} is not a struct")
        return
    column = column.filter(column.is_valid())
    if not len(column):
        return
    # Field by field: rows built by PyArrow itself take five times as long.
    known = {
        field.name: values
        for field, part in zip(column.type, column.flatten())
        if (values := _first_parsed(part) if parsed and field.name in (PARTITION_VALUES, STATISTICS) else _values(part))
        is not None
    }
    if name == "add" and not parsed and STATISTICS in known:
        known["stats"] = with_counts(known.get("stats"), known.pop(STATISTICS))
    if not known:
        yield from ({name: {}} for _ in range(len(column)))
    for row in zip(*known.values()):
        yield {name: dict(zip(known, row))}


def _values(array: Any) -> Sequence[Any] | None:
    """Return the values of a field, with maps as dicts; None if all values are null."""
    if array.null_count == len(array):
        return None
    return _python_values(array)


def _python_values(array: Any) -> Sequence[Any]:
    """Return values with maps as dicts. PyArrow itself supports that only since release 20."""
    from pyarrow import types

    if types.is_struct(array.type):
        return _structs(array, _python_values)
    if types.is_map(array.type):
        keys, items = _python_values(array.keys), _python_values(array.items)
        ends = array.offsets.to_pylist()
        pairs = zip(ends, ends[1:], array.is_null().to_pylist())
        return [None if is_null else _map(keys[start:end], items[start:end]) for start, end, is_null in pairs]
    values: list[Any] = array.to_pylist()
    return values


def _map(keys: Sequence[Any], items: Sequence[Any]) -> dict[Any, Any]:
    found = dict(zip(keys, items))
    if len(found) != len(keys):
        raise ValueError("a map has a key twice")
    return found


def _structs(array: Any, values: Callable[[Any], Sequence[Any]]) -> Sequence[Any]:
    """Return structs as dicts.

    :param values: returns the values of a field
    """
    names = [field.name for field in array.type]
    rows = zip(*map(values, array.flatten())) if names else iter([()] * len(array))
    return [dict(zip(names, row)) if is_there else None for row, is_there in zip(rows, array.is_valid().to_pylist())]


def _first_parsed(array: Any) -> Sequence[Any] | None:
    """Return the values of a parsed field, with None for files behind the first ones; None if all values are null."""
    if array.null_count == len(array):
        return None
    found = list(_parsed_values(array.slice(0, MOST_PARSED)))
    return found + [None] * (len(array) - len(found))


def _parsed_values(array: Any) -> Sequence[Any]:
    """Return values, with structs as dicts. Dates and timestamps become strings: Python's end with the year 9999."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_struct(array.type):
        return _structs(array, _parsed_values)
    if types.is_date(array.type) or types.is_timestamp(array.type):
        array = array.cast(pa.string())
    values: list[Any] = array.to_pylist()
    return values


def with_counts(stats: Sequence[Any] | None, parsed: Sequence[Any]) -> Sequence[Any]:
    """Return the statistics of files, or the parsed number of rows if there is one."""
    counts = [None if struct is None else struct.get("numRecords") for struct in parsed]
    return counts if stats is None else [text if count is None else count for text, count in zip(stats, counts)]
