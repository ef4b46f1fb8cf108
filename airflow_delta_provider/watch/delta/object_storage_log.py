"""The ``_delta_log`` of one table, read through Airflow's object storage."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any, BinaryIO

from airflow_delta_provider.domain.delta.commit import Action, parse_commit
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, UnreadCheckpointError
from airflow_delta_provider.domain.formats.budget import TooLargeError
from airflow_delta_provider.domain.formats.parquet.field_tree import Struct
from airflow_delta_provider.domain.formats.parquet.parquet_error import (
    MissingCodecError,
    ParquetError,
    UnsupportedError,
)
from airflow_delta_provider.domain.machine_errors import shortage
from airflow_delta_provider.watch.errors import StorageSetupError
from airflow_delta_provider.watch.metadata_folder import MetadataFolder


class ObjectStorageLog(MetadataFolder):
    """Lists and reads the files of a log.

    :param table: path or URI of the table
    :param storage_conn_id: Airflow connection of the store; with None, credentials come from the environment
    """

    def __init__(self, table: str, storage_conn_id: str | None = None) -> None:
        super().__init__(table, storage_conn_id, "_delta_log")

    def read_commit(self, name: str) -> list[Action]:
        """Return the actions of a commit file.

        :raises BrokenLogError: if it is damaged
        """
        return parse_commit(name, self.read(name))

    def read_checkpoint(self, name: str) -> Iterator[Action]:
        """Yield the protocol and metaData actions of one file of a checkpoint, JSON or Parquet.

        :raises BrokenLogError: if it is damaged
        :raises StorageSetupError: if it is Parquet and pyarrow is not installed
        """
        if name.endswith(".json"):
            yield from self.read_commit(name)
            return
        with self.open(name) as stream:
            yield from head_actions(name, stream)


_COLUMNS = ("protocol", "metaData")
#: Rows of a batch. A checkpoint has a row per file, so the two columns are null in nearly all of them.
_ROWS = 65_536


def head_actions(name: str, stream: BinaryIO) -> Iterator[Action]:
    """Yield the protocol and metaData actions of a checkpoint file.

    If PyArrow fails, the file is read with Python alone: the error may be a limit of PyArrow.

    :param name: name of the file, for messages
    :param stream: the file, opened for reading; PyArrow reads only the ranges of the two columns
    :raises BrokenLogError: if it is not a Parquet file, or damaged
    :raises UnreadCheckpointError: if neither can read it
    :raises StorageSetupError: if pyarrow is not installed
    """
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise StorageSetupError(
            f"checkpoint {name} is a Parquet file, and pyarrow is not installed where this runs (worker and "
            "triggerer). Install airflow-delta-provider[sensor]."
        ) from error
    try:
        found = list(_by_pyarrow(ParquetFile(stream)))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if shortage(error):
            raise
        stream.seek(0)
        found = list(_by_python(name, stream.read(), f"PyArrow {pyarrow.__version__}: {error}"))
    yield from found


def _by_pyarrow(checkpoint: Any) -> Iterator[Action]:
    columns = [column for column in _COLUMNS if column in checkpoint.schema_arrow.names]
    for batch in checkpoint.iter_batches(batch_size=_ROWS, columns=columns):
        for column in columns:
            for body in batch.column(column).drop_null().to_pylist():
                yield {column: body}


def _by_python(name: str, content: bytes, refused: str) -> Iterator[Action]:
    """Yield the actions of a file that PyArrow could not read.

    :param refused: the error of PyArrow
    """
    from airflow_delta_provider.domain.formats.parquet.row_groups import ParquetFile  # late: few checkpoints need it

    try:
        checkpoint = ParquetFile(content)
        columns = [field for field in checkpoint.fields if field.name in _COLUMNS and isinstance(field, Struct)]
        for group in checkpoint.row_groups():
            for column in columns:
                count, values = group.fields(column)
                fields = [repeat(None, count) if found is None else found for found in values.values()]
                yield from ({column.name: dict(zip(values, row))} for row in zip(*fields))
    except (UnsupportedError, MissingCodecError, TooLargeError) as error:
        said = f"{refused}; the reader of this package: {error}"
        raise UnreadCheckpointError(f"no reader here can read checkpoint {name} ({said})", "Use Spark.") from error
    except ParquetError as error:
        raise BrokenLogError(f"checkpoint {name} cannot be read as Parquet: {error}") from error
