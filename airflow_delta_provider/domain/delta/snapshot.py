"""All that the actions of a log add up to at a version: what a checkpoint of it has to hold.

PROTOCOL.md, Action Reconciliation. Of files no more than digests are held, since a table may have millions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.deletion_vector import vector_id
from airflow_delta_provider.domain.delta.live_file import FileKey
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.formats.json_values import text_of

_HALF = (1 << 32) - 1
#: The fields of an ``add`` action that hold one value each, in addition to its path.
FILE_FIELDS = ("size", "modificationTime", "baseRowId", "defaultRowCommitVersion", "clusteringProvider")
_VECTOR = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")


class Snapshot:
    """Takes actions, oldest first."""

    def __init__(self) -> None:
        self.protocol: Mapping[str, Any] | None = None
        """The action, as in the log; so is ``metadata``."""
        self.metadata: Mapping[str, Any] | None = None
        self.transactions: dict[str, Mapping[str, Any]] = {}
        """The ``txn`` actions, as in the log, by application."""
        self.domains: dict[str, str] = {}
        self.files: dict[FileKey, int] = {}
        """The digests of the live files."""
        self.tombstones: dict[FileKey, int | None] = {}
        """The deletion timestamps of removed files, in milliseconds since 1970."""

    @property
    def size(self) -> int:
        """How many file actions a checkpoint of it holds."""
        return len(self.files) + len(self.tombstones)

    def take(self, actions: Iterable[Action]) -> None:
        """Take the actions of a commit, or of a checkpoint.

        :raises BrokenLogError: if one is malformed
        """
        for action in actions:
            for kind, body in action.items():
                if body is None:
                    continue
                try:
                    self.take_action(kind, body)
                except (KeyError, TypeError, ValueError, AttributeError) as error:
                    raise BrokenLogError(f"an action of kind {kind} is malformed: {error!r}") from error

    def take_action(self, kind: str, body: Mapping[str, Any]) -> None:
        """Take an action.

        :raises KeyError: if it lacks what its kind must have; TypeError, ValueError and AttributeError likewise
        """
        if kind == "add":
            key = file_key(body)
            self.files[key] = file_digest(body)
            self.tombstones.pop(key, None)
        elif kind == "remove":
            key = file_key(body)
            self.files.pop(key, None)
            self.tombstones[key] = body.get("deletionTimestamp")
        elif kind == "txn":
            self.transactions[str(body["appId"])] = body
        elif kind == "domainMetadata":
            self.domains.pop(body["domain"], None)
            if not body.get("removed"):
                self.domains[body["domain"]] = body["configuration"]
        elif kind == "protocol":
            self.protocol = body
        elif kind == "metaData":
            self.metadata = body


def file_key(body: Mapping[str, Any]) -> FileKey:
    """Return what distinguishes a logical file from others, by an ``add`` or ``remove`` action.

    :raises KeyError: if it has no path
    :raises ValueError: if its path is not a text
    """
    vector = body.get("deletionVector")
    path = text_of(body, "path")
    return path, vector_id(vector["storageType"], vector["pathOrInlineDv"], vector.get("offset")) if vector else ""


def file_digest(add: Mapping[str, Any]) -> int:
    """Return a digest of what an ``add`` action says of its file, within one process.

    The lower half is of its statistics, and zero without any; ``dataChange`` is left out, which checkpoints reset.
    """
    vector, tags, stats = add.get("deletionVector"), add.get("tags"), add.get("stats")
    values = add.get("partitionValues")
    described = hash(
        (
            tuple(map(add.get, FILE_FIELDS)),
            frozenset((name, value or None) for name, value in values.items()) if values else None,
            frozenset(tags.items()) if tags else None,
            tuple(map(vector.get, _VECTOR)) if vector else None,
        )
    )
    return (described & _HALF) << 32 | (hash(stats) & _HALF if stats else 0)


def agree(one: int, other: int) -> bool:
    """Whether the digests of two ``add`` actions of a file are the same, as far as both have statistics."""
    return one == other or (one >> 32 == other >> 32 and not (one & _HALF and other & _HALF))
