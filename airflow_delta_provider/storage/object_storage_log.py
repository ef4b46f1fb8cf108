"""The ``_delta_log`` of one table, or another directory of metadata, reached through Airflow's object storage."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_delta_provider.domain.delta.commit import Action, parse_commit
from airflow_delta_provider.storage.errors import DeltaLogUnreadableError, StorageSetupError
from airflow_delta_provider.storage.parquet_checkpoint import head_actions
from airflow_delta_provider.storage.storage_address import StorageAddress

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import ObjectStoragePath

#: What filesystems call the state of a file in a listing; the first that is there is taken.
_STAMPS = ("ETag", "etag", "generation", "LastModified", "last_modified", "updated", "mtime", "created")


class ObjectStorageLog:
    """Lists and reads the files of a log. Nothing is touched before the first call; every call blocks.

    :param table: path or URI of the table
    :param storage_conn_id: Airflow connection of the store; None takes credentials from the environment
    :param directory: below the table
    """

    def __init__(self, table: str, storage_conn_id: str | None = None, *, directory: str = "_delta_log") -> None:
        self._below = directory
        self._address = StorageAddress.of(table)
        self._conn_id = storage_conn_id

    def stamps(self) -> Mapping[str, str]:
        """List the log, past the filesystem's own cache: file names, each with what changes when it is rewritten.

        :raises FileNotFoundError: if there is no such directory
        """
        filesystem, directory = self._directory.fs, self._directory.path
        filesystem.invalidate_cache(directory)
        return {
            entry["name"].rsplit("/", 1)[-1]: _stamp(entry)
            for entry in filesystem.ls(directory, detail=True)
            if entry["type"] == "file"
        }

    def read(self, name: str) -> bytes:
        """Return a file of the log."""
        content: bytes = self._directory.fs.cat_file(self._path(name))
        return content

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
        with self._directory.fs.open(self._path(name), "rb") as stream:
            yield from head_actions(name, stream)

    def _path(self, name: str) -> str:
        return f"{self._directory.path.rstrip('/')}/{name}"

    @cached_property
    def _directory(self) -> ObjectStoragePath:
        # Seconds, the first time in a process: hence here, in whichever thread reads.
        from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook, ObjectStoragePath

        address = self._address
        try:
            if self._conn_id is not None:
                BaseHook.get_connection(self._conn_id)  # Amazon's filesystem falls back to no credentials at all
            table = ObjectStoragePath(address.url, conn_id=self._conn_id)
            filesystem = table.fs
        except AirflowNotFoundException as error:
            raise DeltaLogUnreadableError(
                f"storage_conn_id {self._conn_id!r} names no connection. Create it, name another one, or leave it out "
                "to take credentials from the environment."
            ) from error
        except (ImportError, ValueError) as error:
            package = f"Install {address.package}" if address.package else "Install the provider that brings one"
            raise StorageSetupError(
                f"Airflow has no filesystem for {address.scheme}:// where this runs: {error}. {package} on workers "
                "and triggerers, or name the table by a scheme that it has."
            ) from error
        if address.account:
            self._check_account(getattr(filesystem, "account_name", None))
        return table / self._below

    def _check_account(self, connected: str | None) -> None:
        if connected and connected != self._address.account:
            raise StorageSetupError(
                f"the table lies in the storage account {self._address.account!r}, and connection {self._conn_id!r} "
                f"is of {connected!r}. Name the connection of that account by storage_conn_id."
            )


def _stamp(entry: Mapping[str, Any]) -> str:
    with contextlib.suppress(StopIteration):
        return f"{entry.get('size')} {next(entry[key] for key in _STAMPS if entry.get(key))}"
    return str(entry.get("size"))
