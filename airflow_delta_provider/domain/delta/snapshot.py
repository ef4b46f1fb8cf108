"""The sum of all actions in a log at a version, and the files of a checkpoint.

A checkpoint of the version must contain this sum. PROTOCOL.md, Action Reconciliation. Only digests of files are kept,
since a table may have millions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.deletion_vector import vector_id
from airflow_delta_provider.domain.delta.live_file import FileKey
from airflow_delta_provider.domain.delta.log_files import MalformedActionError
from airflow_delta_provider.domain.formats.json_values import text_of

_HALF = (1 << 32) - 1
_OF_FILES = frozenset({"add", "remove"})
#: Bytes of commits whose file actions are held back before they are applied: few of them are ever needed.
_MOST_HELD = 1 << 26
#: The fields of an ``add`` action with a single value, besides its path.
FILE_FIELDS = ("size", "modificationTime", "baseRowId", "defaultRowCommitVersion", "clusteringProvider")
_VECTOR = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")


class Snapshot:
    """Accumulates actions, oldest first."""

    def __init__(self) -> None:
        self.protocol: Mapping[str, Any] | None = None
        """The action, as in the log; so is ``metadata``."""
        self.metadata: Mapping[str, Any] | None = None
        self.transactions: dict[str, Mapping[str, Any]] = {}
        """The ``txn`` actions, as in the log, by application."""
        self.domains: dict[str, str] = {}
        self._files: dict[FileKey, int] = {}
        self._tombstones: dict[FileKey, int | None] = {}
        self._later: list[Callable[[], Iterable[Action]]] = []
        self._held = 0

    @property
    def files(self) -> Mapping[FileKey, int]:
        """The digests of the live files."""
        self._catch_up()
        return self._files

    @property
    def tombstones(self) -> Mapping[FileKey, int | None]:
        """The deletion timestamps of removed files, in milliseconds since 1970."""
        self._catch_up()
        return self._tombstones

    @property
    def size(self) -> int:
        """The number of file actions in a checkpoint of it."""
        return len(self.files) + len(self._tombstones)

    def take(self, actions: Iterable[Action]) -> None:
        """Apply the actions of a commit, or of a checkpoint.

        :raises MalformedActionError: if one is malformed
        """
        for action in actions:
            for kind, body in action.items():
                if body is None:
                    continue
                try:
                    self.take_action(kind, body)
                except (KeyError, TypeError, ValueError, AttributeError) as error:
                    raise MalformedActionError(f"an action of kind {kind} is malformed: {error!r}") from error

    def take_later(
        self, commit: Callable[[], Iterable[Action]], others: Iterable[tuple[str, Mapping[str, Any]]], size: int
    ) -> None:
        """Apply a commit, but its file actions only when files are requested, which is rare.

        :param commit: function that returns its actions
        :param others: actions that do not describe files, each with its kind
        :param size: size of the commit file, in bytes
        :raises MalformedActionError: if an action is malformed
        """
        self.take({kind: body} for kind, body in others)
        self._later.append(commit)
        self._held += size
        if self._held > _MOST_HELD:
            self._catch_up()

    def _catch_up(self) -> None:
        later, self._later, self._held = self._later, [], 0
        for commit in later:
            self.take({kind: body} for action in commit() for kind, body in action.items() if kind in _OF_FILES)

    def note_add(self, key: FileKey, add: Mapping[str, Any]) -> None:
        """Replace the digest of a live file with the one of this ``add`` action."""
        self._files[key] = file_digest(add)

    def _take_file(self, kind: str, body: Mapping[str, Any]) -> None:
        key = file_key(body)
        if kind == "add":
            self._files[key] = file_digest(body)
            self._tombstones.pop(key, None)
        else:
            self._files.pop(key, None)
            self._tombstones[key] = body.get("deletionTimestamp")

    def take_action(self, kind: str, body: Mapping[str, Any]) -> None:
        """Apply an action.

        :raises KeyError: if it lacks a field that its kind requires; TypeError, ValueError and AttributeError likewise
        """
        if kind in _OF_FILES:
            if self._later:
                self._catch_up()
            self._take_file(kind, body)
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
    """Return the key of the logical file in an ``add`` or ``remove`` action.

    :raises KeyError: if it has no path
    :raises ValueError: if its path is not a string
    """
    vector = body.get("deletionVector")
    path = text_of(body, "path")
    return path, vector_id(vector["storageType"], vector["pathOrInlineDv"], vector.get("offset")) if vector else ""


def file_digest(add: Mapping[str, Any]) -> int:
    """Return a digest of an ``add`` action, valid within one process.

    The lower half covers the statistics, and is zero without any. ``dataChange`` is ignored, because checkpoints reset
    it.
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


def has_statistics(digest: int) -> bool:
    """Return True if an ``add`` action with this digest has statistics that say something."""
    return digest & _HALF not in (0, *(hash(text) & _HALF for text in ("{}", "null")))


def agree(one: int, other: int) -> bool:
    """Return True if the digests of two ``add`` actions of a file agree.

    Statistics count only if both have them.
    """
    return one == other or (one >> 32 == other >> 32 and not (one & _HALF and other & _HALF))


@dataclass(frozen=True)
class CheckpointPart:
    """One file of a checkpoint.

    :param name: name in ``_delta_log``, or in ``_delta_log/_sidecars``
    :param size: size in bytes
    :param actions: actions, to be iterated once
    """

    name: str
    size: int
    actions: Iterable[Action]
    is_sidecar: bool = False
