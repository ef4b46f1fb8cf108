"""Parquet checkpoints, read by PyArrow if it is installed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from airflow_delta_provider.domain.delta.checkpoint_comparison import MOST_PARSED
from airflow_delta_provider.domain.delta.commit import KINDS
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.parsed_fields import PARSED_COUNT, PARTITION_VALUES, STATISTICS
from airflow_delta_provider.domain.delta.snapshot import ActionBatch, LazyStrings
from airflow_delta_provider.domain.formats.parquet.footer import Content
from airflow_delta_provider.jobs.process import have

#: Number of rows that are decoded at once, and bytes of a column that are read at once of a file that is not in memory.
_ROWS, _STEP = 8192, 1 << 22
#: The form in which engines write the number of rows in statistics: first.
_LEADING_NUM_RECORDS = r'^\s*\{\s*"numRecords"\s*:\s*(?P<rows>[0-9]{1,18})\s*[,}]'


def is_available() -> bool:
    """Return True if PyArrow is installed."""
    return have("pyarrow.parquet")


def version() -> str:
    """Return the release of PyArrow, for messages."""
    import pyarrow as pa

    return str(pa.__version__)


def batches(
    content: Content,
    fields: Mapping[str, Collection[str]],
    kinds: Collection[str] | None,
    *,
    parsed: bool = False,
    begin_group: Callable[[], object] = bool,
) -> Iterator[ActionBatch]:
    """Yield the actions of a checkpoint file: some thousand rows at a time, and in each of them column by column.

    :param fields: fields to read, by kind of action, for kinds that are not read completely; an empty entry skips the
        kind
    :param kinds: kinds of action to read; None for all kinds in the file
    :param parsed: True to include the parsed values of the first files of a row group, with dates and timestamps as
        strings, and the number of rows as a field of its own; if False, the number of rows in ``stats_parsed`` is
        returned as ``stats``
    :param begin_group: is called before each row group is read
    :raises BrokenLogError: if it is not a checkpoint
    :raises Exception: error of PyArrow, of many classes, if it cannot read the file; the file may be intact
    """
    import pyarrow as pa
    from pyarrow import parquet

    in_memory = isinstance(content, bytes)
    source, step = (pa.BufferReader(content), 0) if in_memory else (content, _STEP)
    file = parquet.ParquetFile(source, coerce_int96_timestamp_unit="us", buffer_size=step)
    columns = list(_columns(file.schema_arrow, fields, kinds))
    for group in range(file.num_row_groups if columns else 0):
        begin_group()
        before: Counter[str] = Counter()
        for rows in file.iter_batches(_ROWS, row_groups=[group], columns=columns, use_threads=False):
            for kind, column in zip(rows.schema.names, rows.columns):
                batch = _batch(
                    kind, column, fields.get(kind, ()), max(MOST_PARSED - before[kind], 0) if parsed else None
                )
                if batch is not None:
                    before[kind] += batch.count
                    yield batch
    if not in_memory:
        pa.default_memory_pool().release_unused()


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


def _batch(kind: str, column: Any, wanted: Collection[str], most: int | None) -> ActionBatch | None:
    """Return the actions of a column; None if there are none.

    :param wanted: fields that were asked for
    :param most: number of files whose parsed values are returned; None to return their number of rows as ``stats``
    """
    from pyarrow import types

    if not types.is_struct(column.type):
        if kind in KINDS:
            raise BrokenLogError(f"its {kind} is not a struct")
        return None
    if column.null_count:
        column = column.filter(column.is_valid())
    if not len(column):
        return None
    # Field by field: rows built by PyArrow itself take five times as long.
    parts = {field.name: part for field, part in zip(column.type, column.flatten()) if part.null_count < len(part)}
    known: dict[str, Any] = {}
    for name, part in parts.items():
        if most is not None and name == STATISTICS and PARSED_COUNT in wanted and _has_count(part.type):
            counts = part.flatten()[part.type.get_field_index("numRecords")]
            if counts.null_count < len(counts):
                known[PARSED_COUNT] = _python_values(counts)
        if kind == "add" and name == "stats" and types.is_string(part.type):
            known[name] = _late(part)
        elif most is None or name not in (PARTITION_VALUES, STATISTICS):
            known[name] = _python_values(part)
        elif not wanted or name in wanted:
            first = part.slice(0, most)
            if first.null_count < len(first):
                known[name] = [*_parsed_values(first), *repeat(None, len(part) - len(first))]
    if kind == "add" and most is None and STATISTICS in known:
        stats = known.get("stats")
        known["stats"] = with_counts(stats.values() if isinstance(stats, LazyStrings) else stats, known.pop(STATISTICS))
    return ActionBatch(kind, len(column), known)


def _late(array: Any) -> LazyStrings:
    """Return statistics, of which only the row counts are read.

    :raises Exception: error of PyArrow, if one is not UTF-8
    """
    import pyarrow as pa
    from pyarrow import compute

    def counts() -> Sequence[int] | None:
        found = compute.extract_regex(array, _LEADING_NUM_RECORDS)
        if found.null_count:
            return None
        numbers: list[int] = found.field(0).cast(pa.int64()).to_pylist()
        return numbers

    array.validate(full=True)
    return LazyStrings(array.to_pylist, compute.max(compute.binary_length(array)).as_py() or 0, counts)


def _python_values(array: Any) -> Sequence[Any]:
    """Return values with maps as dicts. PyArrow itself supports that only since release 20."""
    from pyarrow import types

    if types.is_struct(array.type):
        return _structs(array, _python_values)
    if types.is_map(array.type):
        if not array.null_count and array.offsets[0].equals(array.offsets[-1]):  # as in tables without partitions
            return [{}] * len(array)
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
