"""The ``_delta_log`` of one table, reached through Airflow's object storage."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.delta.commit import Action, parse_commit
from airflow_delta_provider.watch.delta.parquet_checkpoint import head_actions
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
