"""Lifetimes of a table's files: which versions, change feeds and streams need a file that a VACUUM deletes.

Paths are as :func:`~.log_files.plain_path` returns them. Files outside the table, as of a shallow clone, are not
deleted by its VACUUM, and are left out. Times are milliseconds since the epoch.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.delta.commit import Action, commit_info, read_actions
from airflow_delta_provider.domain.delta.features.log import IN_COMMIT_TIMESTAMP
from airflow_delta_provider.domain.delta.live_file import LiveFile, RemovedFile
from airflow_delta_provider.domain.delta.log_files import is_absolute, plain_path
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState

_KINDS = frozenset({"add", "remove", "protocol", "metaData"})


@dataclass(slots=True)
class FileLife:
    """The commits that use a file.

    :param added: first version that has the file, or the oldest known one
    :param removed: version that removed it last; None if no known version did
    :param deleted_at: time of that, as stated by ``deletionTimestamp``; 0 if it states none, as engines read that
    :param streamed: last version in which a stream reads it; -1 for none
    :param fed: last version in which the change feed reads it; -1 for none
    :param size: size in bytes; None if the log does not state it
    """

    added: int
    removed: int | None = None
    deleted_at: int = 0
    streamed: int = -1
    fed: int = -1
    size: int | None = None


class Need(Enum):
    """The answer whether a consumer needs files."""

    NO = "no"
    YES = "yes"
    UNKNOWN = "unknown"
    """Only if it reads the change feed, or has not read them yet within a version that it has begun."""


@dataclass(frozen=True)
class Offset:
    """The end of what a stream has read.

    :param version: version to read next, or that it is reading
    :param index: position of the last file that it has read in this version; negative for none
    :param initial: True if it is still reading the table as it was at this version; commits follow
    """

    version: int
    index: int
    initial: bool

    @property
    def begun(self) -> int:
        """Number of files of the version that it has read."""
        return max(self.index + 1, 0)


class History:
    """The files of a table over the versions that its log has.

    :param root: location of the table
    :param base: state before the first commit, with its files; None if that created the table
    :param with_own: True if the first commit is the one that led to ``base``
    """

    def __init__(self, root: str, base: TableState | None, *, with_own: bool = False) -> None:
        self._root = root
        self.files: dict[str, FileLife] = {}
        """Files that the commits use, and that were live before them."""
        self.change_data: dict[str, int] = {}
        """Files of change data, with the time of their commit; 0 if it states none."""
        self.vacuum_horizon: int | None = None
        """Finished VACUUMs deleted the files that were removed before this time; None if the log has none."""
        self.first = 0 if base is None else base.version + (not with_own)
        """The first commit that was taken."""
        self.newest = self.first - 1
        self.feed_since: int | None = None
        """First version of the unbroken series up to the newest one with an enabled change feed; None if it is off."""
        self.oldest_time: int | None = None
        """Time of the first commit; None if it states none."""
        self._protocol: Protocol | None = None
        self._metadata: Metadata | None = None
        self._started: int | None = None
        if base is not None:
            self._protocol, self._metadata = base.protocol, base.metadata
            self._note_feed(self.first)
            for file in base.live_files:
                for path in self._paths(file):
                    self.files.setdefault(path, FileLife(base.version, size=file.size))

    def take(self, version: int, actions: Iterable[Action]) -> None:
        """Take the next commit.

        :raises MalformedActionError: if an action lacks a field that its kind requires
        """
        actions = list(actions)
        changes = [body for body in (action.get("cdc") for action in actions) if isinstance(body, Mapping)]
        info = commit_info(actions)
        for action in actions:
            for kind, value in read_actions((action,), _KINDS):
                if kind == "add":
                    self._add(version, value, fed=not changes)
                elif kind == "remove":
                    self._remove(version, value, action["remove"], fed=not changes)
                elif kind == "protocol":
                    self._protocol = value
                else:
                    self._metadata = value
        time = self._time(info)
        if version == self.first:
            self.oldest_time = time
        for body in changes:
            if isinstance(path := body.get("path"), str) and (plain := self._inside(path)) is not None:
                size = body.get("size")
                self.files[plain] = FileLife(version, fed=version, size=size if isinstance(size, int) else None)
                self.change_data[plain] = time or 0
        self._note_feed(version)
        self._note_vacuum(info, time)
        self.newest = version

    def missing_before(self, horizon: int, live: Collection[str]) -> set[str]:
        """Return the files that were removed, or written as change data, before a time.

        :param live: files that are in use
        """
        removed = {
            path
            for path, life in self.files.items()
            if life.removed is not None and life.deleted_at < horizon and path not in live
        }
        return removed | {path for path, time in self.change_data.items() if 0 < time < horizon}

    def kept_after(self, horizon: int) -> Iterator[str]:
        """Yield the removed files that a VACUUM keeps, because they were removed at a time or later."""
        for path, life in self.files.items():
            if life.removed is not None and life.deleted_at >= horizon:
                yield path

    def travel_from(self, earliest: int, missing: Iterable[str]) -> int:
        """Return the version from which on all versions have their files.

        :param earliest: first version that the log has
        """
        ends = (life.removed for life in self._lives(missing) if life.removed is not None)
        return max([earliest, *ends])

    def feed_from(self, earliest: int, missing: Iterable[str]) -> int | None:
        """Return the first version since when the change feed is complete; None if it is off.

        :param earliest: first version that the log has
        """
        if self.feed_since is None:
            return None
        return max([earliest, self.first, self.feed_since, *(life.fed + 1 for life in self._lives(missing))])

    def need(self, offset: Offset, missing: Iterable[str]) -> Need:
        """Return whether a consumer at an offset needs at least one of the files."""
        begun = later = fed = 0
        for life in self._lives(missing):
            if offset.initial and life.added <= offset.version and (life.removed or 0) > offset.version:
                begun += 1
            elif life.streamed > offset.version:
                later += 1
            elif life.streamed == offset.version and not offset.initial:
                begun += 1
            elif life.fed >= offset.version:
                fed += 1
        if later or begun > offset.begun:
            return Need.YES
        return Need.UNKNOWN if begun or (fed and self.feed_since is not None) else Need.NO

    def paths_of(self, files: Iterable[LiveFile]) -> set[str]:
        """Return the paths of data files and of their deletion vectors."""
        return {path for file in files for path in self._paths(file)}

    def removed_paths(self, body: Mapping[str, Any]) -> list[str]:
        """Return the paths of a ``remove`` action, as in a checkpoint.

        :raises MalformedActionError: if it lacks a field
        """
        return [path for _, file in read_actions(({"remove": body},)) for path in self._paths(file)]

    def _lives(self, paths: Iterable[str]) -> Iterator[FileLife]:
        return (self.files[path] for path in paths if path in self.files)

    def _paths(self, file: LiveFile | RemovedFile) -> Iterator[str]:
        vector = file.deletion_vector
        for path in (file.path, None if vector is None else vector.file):
            if path is not None and (plain := self._inside(path)) is not None:
                yield plain

    def _inside(self, path: str) -> str | None:
        plain = plain_path(path, self._root)
        return None if is_absolute(plain) else plain

    def _add(self, version: int, file: LiveFile, *, fed: bool) -> None:
        for path in self._paths(file):
            life = self.files.setdefault(path, FileLife(version))
            life.removed = None
            life.size = file.size if plain_path(file.path, self._root) == path else life.size
            if file.data_change:
                life.streamed = version
                life.fed = version if fed else life.fed

    def _remove(self, version: int, file: RemovedFile, body: Mapping[str, Any], *, fed: bool) -> None:
        deleted_at = body.get("deletionTimestamp")
        for path in self._paths(file):
            life = self.files.setdefault(path, FileLife(max(version - 1, 0)))
            life.removed, life.deleted_at = version, deleted_at if isinstance(deleted_at, int) else 0
            if life.size is None and isinstance(body.get("size"), int) and plain_path(file.path, self._root) == path:
                life.size = body["size"]
            if file.data_change and fed:
                life.fed = version

    def _note_feed(self, version: int) -> None:
        enabled = self._metadata is not None and self._metadata.properties.change_data_feed
        if not enabled:
            self.feed_since = None
        elif self.feed_since is None:
            self.feed_since = version

    def _time(self, info: Mapping[str, Any]) -> int | None:
        own = (
            self._metadata is not None
            and self._metadata.properties.in_commit_timestamps
            and self._protocol is not None
            and self._protocol.supports(IN_COMMIT_TIMESTAMP)
        )
        time = info.get("inCommitTimestamp") if own else None
        time = info.get("timestamp") if time is None else time
        return time if isinstance(time, int) and not isinstance(time, bool) else None

    def _note_vacuum(self, info: Mapping[str, Any], time: int | None) -> None:
        operation, parameters = info.get("operation"), info.get("operationParameters")
        parameters = parameters if isinstance(parameters, Mapping) else {}
        if operation == "VACUUM START":
            retention = _integer(parameters.get("specifiedRetentionMillis"))
            if retention is None:
                retention = _integer(parameters.get("defaultRetentionMillis"))
            known = retention is not None and time is not None
            self._started = (time or 0) - (retention or 0) if known else None
        elif operation == "VACUUM END" and self._started is not None:
            if parameters.get("status", "COMPLETED") == "COMPLETED":
                earlier = () if self.vacuum_horizon is None else (self.vacuum_horizon,)
                self.vacuum_horizon = max((self._started, *earlier))
            self._started = None


def _integer(value: Any) -> int | None:
    """Return an integer, which engines write as a number or as a string."""
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_hidden(name: str, partition_columns: Collection[str], *, iceberg: bool) -> bool:
    """Return True if a VACUUM leaves a file or a folder of this name alone.

    :param iceberg: True if the table has Iceberg metadata in the folder ``metadata``
    """
    if iceberg and name == "metadata":
        return True
    return name.startswith((".", "_")) and not (
        name.startswith(("_delta_index", "_change_data")) or any(name.startswith(f"{c}=") for c in partition_columns)
    )


class OffsetError(ValueError):
    """An offset of a stream that cannot be used; the message gives the reason, as a phrase."""


def parse_offsets(content: bytes, table_id: str) -> Offset:
    """Return the offset of a stream in a table, from a file in the ``offsets`` folder of its checkpoint.

    If a stream reads the table several times, the earliest offset counts.

    :raises OffsetError: if there is none
    """
    found: list[Mapping[str, Any]] = []
    try:
        for line in content.decode().splitlines():
            with suppress(json.JSONDecodeError):  # the version of the file, or "-" for a source without an offset
                found += _offsets_in(json.loads(line))
    except UnicodeDecodeError as error:
        raise OffsetError("the file is not UTF-8") from error
    if not found:
        raise OffsetError("no source of the stream is a Delta table")
    ids = sorted({str(each["reservoirId"]) for each in found})
    offsets = [_offset(each) for each in found if each["reservoirId"] == table_id]
    if not offsets:
        raise OffsetError(f"the stream reads the table with the id {', '.join(ids)}, and this one has {table_id}")
    return min(offsets, key=lambda offset: (offset.version, offset.index))


def _offsets_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the offsets of Delta tables in a line, which may hold several by source."""
    if isinstance(value, Mapping):
        if "reservoirId" in value:
            yield value
        else:
            for item in value.values():
                yield from _offsets_in(item)
    elif isinstance(value, str) and value.startswith("{"):
        with suppress(json.JSONDecodeError):
            yield from _offsets_in(json.loads(value))


def _offset(wire: Mapping[str, Any]) -> Offset:
    version, index = _integer(wire.get("reservoirVersion")), wire.get("index", -1)
    if version is None or not isinstance(index, int):
        raise OffsetError("the offset has no reservoirVersion or no index")
    return Offset(version, index, bool(wire.get("isStartingVersion", wire.get("isInitialSnapshot", False))))
