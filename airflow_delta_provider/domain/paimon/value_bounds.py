"""Statistics of columns in manifests.

They show whether files may have the same rows as the files that they replace. Apache Paimon, Specification, Manifest:
``_VALUE_STATS``. Strings may be cut, in the same way for all files.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from airflow_delta_provider.domain.formats.avro.codecs import Codec
from airflow_delta_provider.domain.formats.avro.projection import Column, Row
from airflow_delta_provider.domain.paimon.binary_row import read_partition
from airflow_delta_provider.domain.paimon.data_type import DataField, fields_of
from airflow_delta_provider.domain.paimon.format_error import PaimonFormatError
from airflow_delta_provider.domain.paimon.manifest import ENTRY_VERSION, DataFile, read_entries
from airflow_delta_provider.domain.paimon.table_schema import TableSchema

_STATS = "_FILE._VALUE_STATS"
_COLUMNS = (
    Column("_VERSION", "long"),
    Column("_FILE._FILE_NAME", "string"),
    Column(f"{_STATS}._MIN_VALUES", "bytes", optional=True),
    Column(f"{_STATS}._MAX_VALUES", "bytes", optional=True),
    Column(f"{_STATS}._NULL_COUNTS", "array", optional=True),
    Column(f"{_STATS}_COLS", "array", optional=True),
)
#: Columns of files with assigned values of their rows.
_RESERVED = fields_of(
    {"fields": [{"id": -1, "name": name, "type": "BIGINT"} for name in ("_ROW_ID", "_SEQUENCE_NUMBER")]}
)


class ValueBounds(NamedTuple):
    """Statistics of a data file.

    :param name: name of the file
    :param least: lowest value of each column, as a row
    :param most: greatest value of each column, as a row
    :param nulls: number of NULL values of each column; None if it is unknown
    :param columns: names of the columns; None for all of the file's
    """

    name: str
    least: bytes | None
    most: bytes | None
    nulls: tuple[int | None, ...]
    columns: tuple[str, ...] | None


def read_value_bounds(
    files: Sequence[bytes], codecs: Mapping[str, Codec]
) -> list[tuple[ValueBounds, ...] | PaimonFormatError]:
    """Read the statistics in manifests.

    :param files: contents of the manifests
    :param codecs: codecs by Avro's names
    :returns: statistics of each manifest's entries, or the error if it cannot be read
    """
    return read_entries(files, _COLUMNS, ENTRY_VERSION, codecs, _bounds)


def may_be_same_rows(
    before: Collection[DataFile],
    after: Collection[DataFile],
    bounds: Mapping[str, ValueBounds],
    schemas: Mapping[int, TableSchema | PaimonFormatError],
) -> bool | None:
    """Return False if files have other rows than those they replace, True if nothing shows it.

    None if the statistics do not cover all columns.

    :param bounds: statistics by the name of the file
    """
    files = (*before, *after)
    schema = schemas.get(files[0].schema_id) if len({file.schema_id for file in files}) == 1 else None
    if not isinstance(schema, TableSchema):
        return None
    columns = [_columns_of(file, bounds.get(file.name), schema.fields) for file in files]
    known = set.intersection(*(set(each) for each in columns)) - {field.name for field in _RESERVED}
    for name in known:
        old, new = (_joined([each[name] for each in part]) for part in (columns[: len(before)], columns[len(before) :]))
        if old != new:
            return False
    return True if len(known) == len(schema.fields) else None


class _Values(NamedTuple):
    least: Any
    most: Any
    nulls: int | None


def _columns_of(file: DataFile, bounds: ValueBounds | None, fields: Sequence[DataField]) -> dict[str, _Values]:
    """Return the statistics of a file by column; empty if they cannot be read."""
    if bounds is None or bounds.least is None or bounds.most is None:
        return {}
    named = bounds.columns if bounds.columns is not None else file.write_cols
    by_name = {field.name: field for field in (*fields, *_RESERVED)}
    if named is not None and not by_name.keys() >= set(named):
        return {}
    present = tuple(fields) if named is None else tuple(by_name[name] for name in named)
    try:
        rows = [read_partition(data, present) for data in (bounds.least, bounds.most)]
    except PaimonFormatError:
        return {}
    nulls = bounds.nulls if len(bounds.nulls) == len(present) else (None,) * len(present)
    return {field.name: _Values(*values) for field, *values in zip(present, *rows, nulls)}


def _joined(values: Sequence[_Values]) -> _Values | None:
    """Return the combined statistics of several files; None if they cannot be compared."""
    try:
        least = min((each.least for each in values if each.least is not None), default=None)
        most = max((each.most for each in values if each.most is not None), default=None)
    except TypeError:
        return None
    counts = [each.nulls for each in values]
    return _Values(least, most, None if None in counts else sum(filter(None, counts)))


def _bounds(row: Row) -> ValueBounds:
    _, name, least, most, nulls, columns = row
    return ValueBounds(name, least, most, tuple(nulls or ()), None if columns is None else tuple(columns))
