"""The ``_delta_log`` of one table, reached through Airflow's object storage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from airflow_delta_provider.domain.delta.commit import Action, parse_commit
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.watch.errors import StorageSetupError
from airflow_delta_provider.watch.metadata_folder import MetadataFolder


class ObjectStorageLog(MetadataFolder):
    """Lists and reads the files of a log.

    :param table: path or URI of the table
    :param storage_conn_id: Airflow connection of the store; None takes credentials from the environment
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
#: A checkpoint has a row per file; in a batch of this many rows the two columns are nearly all null.
_ROWS = 65_536


def head_actions(name: str, stream: BinaryIO) -> Iterator[Action]:
    """Yield the protocol and metaData actions of a checkpoint file.

    :param name: name of the file, for messages
    :param stream: the file, opened for reading; only the ranges of the two columns are read
    :raises BrokenLogError: if it is not a Parquet file
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
        checkpoint: Any = ParquetFile(stream)
        columns = [column for column in _COLUMNS if column in checkpoint.schema_arrow.names]
        for batch in checkpoint.iter_batches(batch_size=_ROWS, columns=columns):
            for column in columns:
                for body in batch.column(column).drop_null().to_pylist():
                    yield {column: body}
    except pyarrow.ArrowException as error:
        raise BrokenLogError(f"checkpoint {name} cannot be read as Parquet: {error}") from error
