"""Parquet checkpoints, read by PyArrow where it is installed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.delta.commit import KINDS, Action
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.parsed_fields import PARTITION_VALUES, STATISTICS
from airflow_delta_provider.domain.delta.snapshot_comparison import MOST_PARSED
from airflow_delta_provider.jobs.process.optional_packages import have

#: The field of the number of rows in what a checkpoint has parsed of statistics.
PARSED_COUNT = f"{STATISTICS}.numRecords"


def is_available() -> bool:
    """Whether there is a PyArrow."""
    return have("pyarrow.parquet")


def read_table(content: bytes, fields: Mapping[str, Collection[str]], kinds: Collection[str] | None) -> Any:
    """Return the table of actions in a checkpoint file; None where it has none.

    :param fields: those to read of kinds of which not all are; none leaves the kind out
    :param kinds: those to read; None for all that are there
    :raises BrokenLogError: if PyArrow cannot read it
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pa.BufferReader(content), coerce_int96_timestamp_unit="us")
        columns = list(_columns(file.schema_arrow, fields, kinds))
        return file.read(columns=columns, use_threads=False) if columns else None
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise BrokenLogError(str(error).rstrip(".\n")) from error


def actions(table: Any, *, parsed: bool = False) -> Iterator[Action]:
    """Yield the actions of a table.

    :param parsed: whether with what is parsed, of the first files, dates and timestamps as texts; else the number of
        rows of ``stats_parsed`` is given as ``stats``
    :raises BrokenLogError: if an action is malformed
    """
    import pyarrow as pa

    try:
        for batch in () if table is None else table.to_batches():
            yield from _actions(batch, parsed)
    except (pa.ArrowException, ValueError, KeyError, TypeError) as error:
        raise BrokenLogError(str(error).rstrip(".\n")) from error


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


def _actions(batch: Any, parsed: bool) -> Iterator[Action]:
    from pyarrow import types

    for name in batch.schema.names:
        column = batch.column(name)
        if not types.is_struct(column.type):
            if name in KINDS:
                raise BrokenLogError(f"its {name} is not a struct")
            continue
        column = column.filter(column.is_valid())
        if not len(column):
            continue
        # Field by field: rows that PyArrow makes itself take five times as long.
        known = {
            field.name: values
            for field, part in zip(column.type, column.flatten())
            if (
                values := _first_parsed(part)
                if parsed and field.name in (PARTITION_VALUES, STATISTICS)
                else _values(part)
            )
            is not None
        }
        if name == "add" and not parsed and STATISTICS in known:
            known["stats"] = with_counts(known.get("stats"), known.pop(STATISTICS))
        if not known:
            yield from ({name: {}} for _ in range(len(column)))
        for row in zip(*known.values()):
            yield {name: dict(zip(known, row))}


def _values(array: Any) -> Sequence[Any] | None:
    """Return the values of a field; None where it has none at all."""
    from pyarrow import types

    if array.null_count == len(array):
        return None
    if types.is_map(array.type) and not len(array.keys):
        return [None if is_null else {} for is_null in array.is_null().to_pylist()]
    values: list[Any] = array.to_pylist(maps_as_pydicts="strict")
    return values


def _first_parsed(array: Any) -> Sequence[Any] | None:
    """Return the values of a parsed field; None where none is to be read, and for files behind the first ones."""
    import pyarrow as pa

    if array.null_count == len(array):
        return None
    try:
        found = list(_parsed_values(array.slice(0, MOST_PARSED)))
    except (pa.ArrowException, ValueError, OverflowError):
        return None
    return found + [None] * (len(array) - len(found))


def _parsed_values(array: Any) -> Sequence[Any]:
    """Return values, of structs by field; dates and timestamps as texts, since Python's end with the year 9999."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_struct(array.type):
        names = [field.name for field in array.type]
        rows = zip(*map(_parsed_values, array.flatten())) if names else iter([()] * len(array))
        return [
            dict(zip(names, row)) if is_there else None for row, is_there in zip(rows, array.is_valid().to_pylist())
        ]
    if types.is_date(array.type) or types.is_timestamp(array.type):
        array = array.cast(pa.string())
    values: list[Any] = array.to_pylist()
    return values


def with_counts(stats: Sequence[Any] | None, parsed: Sequence[Any]) -> Sequence[Any]:
    """Return statistics of files, or their number of rows where that is parsed."""
    counts = [None if struct is None else struct.get("numRecords") for struct in parsed]
    return counts if stats is None else [text if count is None else count for text, count in zip(stats, counts)]
