"""The columns whose statistics Delta Spark collects: ``StatisticsCollection.scala`` of v4.4.0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.delta.data_type import DataType, DecimalType, StructField, StructType
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.engine.sql_identifier import SqlNameError, first_part

Parts = tuple[str, ...]

NUMBER_OF_INDEXED_COLUMNS = "delta.dataSkippingNumIndexedCols"
_DEFAULT_NUMBER = 32
#: Types with bounds; decimals also have bounds.
_WITH_BOUNDS = frozenset("byte short integer long float double date timestamp timestamp_ntz string".split())


def has_bounds(data_type: DataType) -> bool:
    """Return True if Delta Spark collects minimum and maximum for columns of a type."""
    return isinstance(data_type, DecimalType) or str(data_type) in _WITH_BOUNDS


def listed_columns(text: str) -> list[Parts]:
    """Return the columns that ``delta.dataSkippingStatsColumns`` lists.

    :raises SqlNameError: if it is not a list of columns
    """
    found: list[Parts] = []
    parts: list[str] = []
    rest = text.strip()
    while True:
        part, rest = first_part(rest, ends=".,")
        if not part.strip():
            raise SqlNameError(text)
        parts.append(part.strip())
        end, rest = rest.lstrip()[:1], rest.lstrip()[1:].lstrip()
        if end != ".":
            found.append(tuple(parts))
            parts = []
        if not end:
            return found


def indexed_columns(metadata: Metadata) -> Mapping[Parts, DataType]:
    """Return the columns with bounds, by their paths in lower case.

    Fields of structs have their own paths. If the list of columns cannot be read, there are none.
    """
    partitions = {str(name).lower() for name in metadata.partition_columns}
    data = tuple(field for field in metadata.schema.fields if field.name.lower() not in partitions)
    listed = metadata.properties.statistics_columns
    leaves: Iterator[tuple[Parts, DataType]]
    if listed:
        try:
            wanted = [*map(lowered, listed_columns(listed))]
        except SqlNameError:
            return {}
        leaves = ((path, of) for path, of in _leaves(data) if any(path[: len(name)] == name for name in wanted))
    else:
        leaves = _first(_leaves(data), _number(metadata))
    return {path: of for path, of in leaves if has_bounds(of)}


def _number(metadata: Metadata) -> int:
    try:
        return int(metadata.configuration.get(NUMBER_OF_INDEXED_COLUMNS, _DEFAULT_NUMBER))
    except ValueError:
        return _DEFAULT_NUMBER


def _first(leaves: Iterator[tuple[Parts, DataType]], number: int) -> Iterator[tuple[Parts, DataType]]:
    """Yield the first ``number`` columns; all if it is negative."""
    for count, leaf in enumerate(leaves):
        if 0 <= number <= count:
            return
        yield leaf


def _leaves(fields: tuple[StructField, ...], above: Parts = ()) -> Iterator[tuple[Parts, DataType]]:
    """Yield the columns that are not structs, in order: an array or a map counts as one column."""
    for field in fields:
        path = (*above, *lowered((field.name,)))
        if isinstance(field.data_type, StructType):
            yield from _leaves(field.data_type.fields, path)
        else:
            yield path, field.data_type
