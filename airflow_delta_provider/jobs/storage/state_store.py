"""What audits and checks keep for the next run: one JSON file per table, in a directory of any storage of the session.

Of two that write at the same time the last one wins. What it writes is whole: how far it came, what it found, and what
of that was received, so at worst something is reported twice.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError
from airflow_delta_provider.jobs.storage.storage import Storage


class State(Protocol):
    """What is kept about a table."""

    @property
    def version(self) -> int:
        """How far it goes."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        ...


S = TypeVar("S", bound=State)


class StateStore(Generic[S]):
    """The files of a directory.

    :param directory: a path or a URI; made where it is missing
    :param parse: reads the wire form; raises ValueError where it cannot be used
    :param variant: part of the files' names; where there is no such file yet, the one without it is read
    """

    def __init__(
        self, storage: Storage, directory: str, progress: Progress, parse: Callable[[Any], S], variant: str = ""
    ) -> None:
        self._parse = parse
        self._storage = storage
        self._directory = storage.qualify(directory).rstrip("/")
        self._progress = progress
        self._variant = f".{variant}" if variant else ""
        self._read: dict[str, bytes | None] = {}

    def load(self, location: str) -> S | None:
        """Return the state of the table at a location; None if there is none, or none that can be used."""
        content = self._content(self._path(location))
        self._read[location] = content
        if content is None and self._variant:
            content = self._content(self._path(location).removesuffix(f"{self._variant}.json") + ".json")
        if content is None:
            return None
        try:
            return self._parse(json.loads(content))
        except (ValueError, RecursionError) as error:
            self._progress(f"{self._path(location)} cannot be used, so the full history is checked: {error}")
            return None

    def save(self, location: str, state: S) -> None:
        """Replace the state, unless another run has come further in the meantime."""
        now = self._content(self._path(location))
        if now is not None and now != self._read.get(location) and _version(now) > state.version:
            self._progress(f"{self._path(location)} already has a later version and is kept")
            return
        self._storage.write(self._path(location), json.dumps(state.to_json()).encode())

    def _content(self, path: str) -> bytes | None:
        try:
            return self._storage.read(path)
        except MissingFileError:
            return None

    def _path(self, location: str) -> str:
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", location.rstrip("/").rsplit("/", 1)[-1])[:60]
        digest = hashlib.sha256(location.encode()).hexdigest()[:16]
        return f"{self._directory}/{name}-{digest}{self._variant}.json"


def _version(content: bytes) -> int:
    try:
        return int(json.loads(content)["version"])
    except (ValueError, KeyError, TypeError):
        return -1
