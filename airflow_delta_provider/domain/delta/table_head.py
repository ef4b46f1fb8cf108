"""Protocol and metadata of a table's newest version, collected from the newest commit backwards.

PROTOCOL.md, Action Reconciliation: the newest protocol and metaData action win, so reading backwards can stop as soon
as both were found. :mod:`table_state` replays forwards, for callers that also need the files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.features.log import IN_COMMIT_TIMESTAMP
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata, physical_name
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.text import short_digest

#: Pairs of partition column and value, in the order of the columns; a value is as in the log, or None for NULL.
Partition = tuple[tuple[str, str | None], ...]


def _value(value: Any) -> str | None:
    """Return a partition value; the log writes NULL as null or as an empty string."""
    if value is not None and not isinstance(value, str):
        raise TypeError
    return value or None


def changed_partitions(actions: Iterable[Action], metadata: Metadata) -> frozenset[Partition] | None:
    """Return the partitions whose rows a commit changed; None if unknown, or if the table has no partitions.

    :param actions: actions of the commit
    :param metadata: metadata after the commit
    """
    if not metadata.partition_columns:
        return None
    mode = metadata.properties.mapping_mode
    try:
        fields = {field.name.lower(): field for field in metadata.schema.fields}
        stored = [(name, physical_name(fields[name.lower()], mode)) for name in metadata.partition_columns]
        found = {
            tuple((name, _value(file["partitionValues"][key])) for name, key in stored)
            for action in actions
            for file in (action.get("add"), action.get("remove"))
            if file is not None and file.get("dataChange") is not False
        }
    except (BrokenLogError, KeyError, TypeError, AttributeError):  # such as a remove action without its values
        return None
    return frozenset(found)


@dataclass(frozen=True)
class TableHead:
    """Protocol and metadata of a table at a version, without files and domain metadata.

    :param info: ``commitInfo`` of that version; empty if it was not read, or does not exist
    :param written: time when its commit file was written, in seconds since the epoch, as the storage reports it; None
        if unknown
    :param before: latest time in commits shortly before it, in milliseconds since the epoch; read only if the clock of
        this commit's writer seems to be slow
    :param partitions: partitions whose rows the commit changed, each as pairs of column and value; None if unknown, or
        if the table has no partitions
    """

    version: int
    protocol: Protocol
    metadata: Metadata
    info: Mapping[str, Any] = field(default_factory=dict, compare=False)
    written: float | None = field(default=None, compare=False)
    before: int | None = field(default=None, compare=False)
    partitions: frozenset[Partition] | None = field(default=None, compare=False)

    @property
    def committed_at(self) -> int | None:
        """The time of the commit, in milliseconds since the epoch; None if it is unknown.

        It is the time that the commit states, else the time when its file was written, but no earlier than the commits
        before it.
        """
        stated = self.stated_at(self.info)
        if stated is None and self.written is not None:
            stated = int(self.written * 1000)
        return stated if stated is None or self.before is None else max(stated, self.before)

    def stated_at(self, info: Mapping[str, Any]) -> int | None:
        """Return the time that a commit states in its ``commitInfo``; None if it states none.

        That is the in-commit timestamp if the table has them (PROTOCOL.md, In-Commit Timestamps), else ``timestamp``.
        """
        has_own = self.metadata.properties.in_commit_timestamps and self.protocol.supports(IN_COMMIT_TIMESTAMP)
        for key in ("inCommitTimestamp", "timestamp") if has_own else ("timestamp",):
            if isinstance(time := info.get(key), int) and not isinstance(time, bool):
                return time
        return None


class NewestFirst:
    """Reads commits, newest first, and keeps the first protocol and the first metadata it finds."""

    def __init__(self) -> None:
        self._protocol: Protocol | None = None
        self._metadata: Metadata | None = None
        self._info: Mapping[str, Any] | None = None

    @property
    def complete(self) -> bool:
        """Return True if older commits can no longer change the result."""
        return self._protocol is not None and self._metadata is not None

    def take(self, actions: Iterable[Action]) -> None:
        """Read the actions of the next older commit, or of the checkpoint below it.

        :raises BrokenLogError: if a protocol or metaData action is malformed
        """
        protocol: Protocol | None = None
        metadata: Metadata | None = None
        info: Mapping[str, Any] = {}
        for action in actions:
            try:
                if isinstance(action.get("commitInfo"), Mapping):
                    info = action["commitInfo"]
                if action.get("protocol"):
                    protocol = Protocol.from_json(action["protocol"])
                if action.get("metaData"):
                    metadata = Metadata.from_json(action["metaData"])
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise BrokenLogError(f"a protocol or metaData action is malformed: {error!r}") from error
        self._info = info if self._info is None else self._info
        self.settle(protocol, metadata)

    def settle(self, protocol: Protocol | None, metadata: Metadata | None) -> None:
        """Use the protocol and metadata of the next older version for values that newer commits did not set."""
        self._protocol = self._protocol or protocol
        self._metadata = self._metadata or metadata

    def head(self, version: int) -> TableHead:
        """Return the collected values as the head of ``version``.

        :raises BrokenLogError: if there was no protocol or no metaData action
        """
        if self._protocol is None or self._metadata is None:
            missing = "protocol" if self._protocol is None else "metaData"
            raise BrokenLogError(f"no {missing} action up to version {version}")
        return TableHead(version, self._protocol, self._metadata, self._info or {})


#: Result of :meth:`HeadMark.changed_since` if another table is at the same place.
TABLE = "table"


@dataclass(frozen=True)
class HeadMark:
    """The mark of a version that was seen.

    :param version: version; -1 if there was no table
    :param table_id: id in the metadata; None if unknown
    :param digests: digests by subject, see ``SUBJECTS``; empty if unknown
    """

    version: int
    table_id: str | None
    digests: Mapping[str, str]

    @classmethod
    def of(cls, head: TableHead) -> HeadMark:
        return cls(
            head.version,
            head.metadata.id,
            {subject: short_digest(json.dumps(read(head), sort_keys=True)) for subject, read in SUBJECTS.items()},
        )

    def changed_since(self, before: HeadMark) -> list[str]:
        """Return the changed subjects, preceded by ``table`` if it is another table."""
        other = None not in (before.table_id, self.table_id) and before.table_id != self.table_id
        changed = [s for s in self.digests if s in before.digests and before.digests[s] != self.digests[s]]
        return [TABLE, *changed] if other else changed

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"version": self.version, "table_id": self.table_id, "digests": dict(self.digests)}

    @classmethod
    def from_json(cls, wire: Any) -> HeadMark:
        """Read the JSON form, which may have other keys.

        :raises ValueError: if it is not one
        """
        try:
            version, table_id, digests = wire["version"], wire.get("table_id"), wire.get("digests") or {}
            return cls(int(version), table_id, {str(subject): str(digest) for subject, digest in digests.items()})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{wire!r:.200} does not say which version of a table was seen: {error!r}") from error


#: Mark for a missing table.
NOTHING = HeadMark(-1, None, {})


def _schema(head: TableHead) -> Any:
    text = head.metadata.schema_string
    try:
        schema = json.loads(text)
    except ValueError:
        schema = text  # damaged, so it is compared as it is
    return [schema, list(head.metadata.partition_columns)]


#: The parts of a head that change independently.
SUBJECTS: Mapping[str, Callable[[TableHead], Any]] = {
    "protocol": lambda head: head.protocol.to_json(),
    "features": lambda head: sorted(head.protocol.features),
    "properties": lambda head: dict(head.metadata.configuration),
    "schema": _schema,
}
