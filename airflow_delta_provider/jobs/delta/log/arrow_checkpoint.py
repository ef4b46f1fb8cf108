"""Small Parquet checkpoints, read by PyArrow where the driver has it: one Spark job takes longer than many of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.jobs.session.optional_packages import have

#: Bytes up to which a file of a checkpoint is read here: some 100,000 files of a table.
MOST_BYTES = 16 * 1024 * 1024


def is_available() -> bool:
    """Whether there is a PyArrow."""
    return have("pyarrow.parquet")


def read_actions(content: bytes, kinds: Collection[str], file_fields: Collection[str]) -> Iterator[Action]:
    """Yield the actions of a checkpoint file.

    :param kinds: of actions to read besides ``add``
    :param file_fields: of ``add`` to read; with ``stats``, of which the number of rows is kept. Empty leaves files out
    :raises BrokenLogError: if the content is not a Parquet file
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pa.BufferReader(content))
        schema = file.schema_arrow
        columns = [kind for kind in kinds if kind in schema.names]
        if file_fields and "add" in schema.names:
            present = [schema.field("add").type.field(i).name for i in range(schema.field("add").type.num_fields)]
            columns += [f"add.{name}" for name in file_fields if name in present]
            if "stats_parsed" in present and _has_count(schema.field("add").type.field("stats_parsed").type):
                columns.append("add.stats_parsed.numRecords")
        if not columns:
            raise BrokenLogError("it holds no actions")
        for batch in file.iter_batches(columns=columns):
            yield from _actions(batch)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise BrokenLogError(str(error)) from error


def _has_count(data_type: Any) -> bool:
    return any(data_type.field(index).name == "numRecords" for index in range(data_type.num_fields))


def _actions(batch: Any) -> Iterator[Action]:
    import pyarrow as pa

    for name in batch.schema.names:
        column = batch.column(name)
        if column.type.id != pa.lib.Type_STRUCT:
            raise BrokenLogError(f"its {name} is no struct")
        for value in column.filter(column.is_valid()).to_pylist(maps_as_pydicts="strict"):
            action = {key: item for key, item in value.items() if item is not None}
            if name == "add":
                counted = action.pop("stats_parsed", None)
                if counted is not None and counted.get("numRecords") is not None:
                    action["stats"] = counted["numRecords"]
            yield {name: action}
