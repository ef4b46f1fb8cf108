"""The state that audits and checks keep for the next run: one JSON file per table, in a directory of any storage.

If two runs write at the same time, the run that has read less history does not overwrite the other. This is ensured by
conditional writes on object stores, if they are reached without Spark, and by locks on local file systems. On other
storages, the last of two simultaneous writes wins. A file always holds one run's complete state: its progress, its
findings and their receipts. So at worst something is reported twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from airflow_delta_provider.domain.text import short_digest
from airflow_delta_provider.jobs.process import Progress
from airflow_delta_provider.jobs.storage.errors import MissingFileError, StorageError
from airflow_delta_provider.jobs.storage.storage import Storage

_ONE_AT_A_TIME = "Let one run at a time use the state of a table."
#: Number of tries to write a file that others also write.
_TRIES = 5


class State(Protocol):
    """The saved state of a table."""

    @property
    def version(self) -> int:
        """The last version that the state covers."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        ...


S = TypeVar("S", bound=State)


class StateStore(Generic[S]):
    """The state files of a directory.

    :param directory: path or URI; created if it is missing
    :param parse: reads the JSON form; raises ValueError if it cannot be used
    :param variant: part of the files' names; if there is no such file yet, the file without it is read
    """

    def __init__(
        self, storage: Storage, directory: str, progress: Progress, parse: Callable[[Any], S], variant: str = ""
    ) -> None:
        self._parse = parse
        self._storage = storage
        self._directory = storage.qualify(directory).rstrip("/")
        self._progress = progress
        self._variant = f".{variant}" if variant else ""
        self._stamps: dict[str, str | None] = {}

    def load(self, location: str) -> S | None:
        """Return the state of the table at a location; None if there is no usable state."""
        content, self._stamps[location] = self._stamped(self._path(location))
        if content is None and self._variant:
            content, _ = self._stamped(self._path(location).removesuffix(f"{self._variant}.json") + ".json")
        if content is None:
            return None
        try:
            return self._parse(json.loads(content))
        except (ValueError, RecursionError) as error:
            self._progress(f"{self._path(location)} cannot be used, so the full history is checked: {error}")
            return None

    def save(self, location: str, state: S) -> None:
        """Replace the state, unless another run has read further in the meantime.

        :raises StorageError: if each of several tries failed
        """
        self.write(location, json.dumps(state.to_json()).encode(), self._stamps.pop(location, None))

    def write(self, location: str, content: bytes, stamp: str | None) -> None:
        """Replace the state's file as :meth:`save` does.

        :param stamp: stamp of the file that was read; None if there was none
        :raises StorageError: if each of several tries failed
        """
        path = self._path(location)
        for _ in range(_TRIES):
            if self._storage.replace(path, content, stamp):
                return
            now, stamp = self._stamped(path)
            if now == content:  # it was written, but the answer was lost
                return
            if now is not None and _version(now) > _version(content):
                self._progress(f"{path} already has a later version and is kept")
                return
        if now is None:
            what = f"{path} could not be written: the storage refuses each write, although there is no such file"
            raise StorageError(what, "Use a storage with conditional writes as the state path.")
        raise StorageError(
            f"{path} was written by others before each of {_TRIES} tries", _ONE_AT_A_TIME, retryable=True
        )

    def _stamped(self, path: str) -> tuple[bytes | None, str | None]:
        try:
            return self._storage.read_stamped(path)
        except MissingFileError:
            return None, None

    def _path(self, location: str) -> str:
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", location.rstrip("/").rsplit("/", 1)[-1])[:60]
        digest = short_digest(location)
        return f"{self._directory}/{name}-{digest}{self._variant}.json"


def _version(content: bytes) -> int:
    try:
        return int(json.loads(content)["version"])
    except (ValueError, KeyError, TypeError):
        return -1
