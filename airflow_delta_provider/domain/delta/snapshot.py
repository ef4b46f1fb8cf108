"""The sum of all actions in a log at a version, and the files of a checkpoint.

A checkpoint of the version must contain this sum. PROTOCOL.md, Action Reconciliation. Only digests of files are kept,
since a table may have millions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.deletion_vector import vector_id
from airflow_delta_provider.domain.delta.live_file import FileKey, nums_records
from airflow_delta_provider.domain.delta.log_files import MalformedActionError
from airflow_delta_provider.domain.formats.json_values import text_of

_HALF = (1 << 32) - 1
#: Bytes from which on the characters of a string are counted.
_LONG = 1 << 20
#: Maximum number of actions that are put together to a batch.
_AT_ONCE = 1000
#: Kinds of actions that add or remove a file.
FILE_KINDS = frozenset({"add", "remove"})
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
        self._files: MutableMapping[FileKey, int] = {}
        self._tombstones: MutableMapping[FileKey, int | None] = {}
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

    def begin_with(self, files: MutableMapping[FileKey, int], tombstones: MutableMapping[FileKey, int | None]) -> None:
        """Start from the files of a checkpoint.

        :param files: digests of the live files
        :param tombstones: deletion timestamps of the removed files
        """
        self._files, self._tombstones = files, tombstones

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

    def take_batch(self, batch: ActionBatch) -> None:
        """Apply actions of a checkpoint; raises as :meth:`take_action`."""
        for body in batch.bodies():
            self.take_action(batch.kind, body)

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
            self.take({kind: body} for action in commit() for kind, body in action.items() if kind in FILE_KINDS)

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
        if kind in FILE_KINDS:
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
    return path, _id_of(vector) if vector else ""


def file_digest(add: Mapping[str, Any]) -> int:
    """Return a digest of an ``add`` action, valid within one process.

    The lower half covers the statistics, and is zero without any. ``dataChange`` is ignored, because checkpoints reset
    it.
    """
    vector, tags, stats = add.get("deletionVector"), add.get("tags"), add.get("stats")
    values = add.get("partitionValues")
    described = hash((tuple(map(add.get, FILE_FIELDS)), _of_values(values), _of_tags(tags), _of_vector(vector)))
    return (described & _HALF) << 32 | (hash(stats) & _HALF if stats else 0)


def _of_values(values: Any) -> Any:
    return frozenset([(name, value or None) for name, value in values.items()]) if values else None


def _of_tags(tags: Any) -> Any:
    return frozenset(tags.items()) if tags else None


def _of_vector(vector: Any) -> Any:
    return tuple(map(vector.get, _VECTOR)) if vector else None


def digests_of(batch: ActionBatch) -> Sequence[int]:
    """Return :func:`file_digest` of each ``add`` action of a batch, column by column.

    :raises TypeError: if a value cannot be part of it; ValueError and AttributeError likewise
    """
    fields = zip(*[batch.column(name) or repeat(None, batch.count) for name in FILE_FIELDS])
    parts = [
        repeat(None, batch.count) if (column := batch.column(name)) is None else map(of, column)
        for name, of in (("partitionValues", _of_values), ("tags", _of_tags), ("deletionVector", _of_vector))
    ]
    described = [(number & _HALF) << 32 for number in map(hash, zip(fields, *parts))]
    stats = batch.column("stats")
    if stats is None:
        return described
    return [one | (hash(text) & _HALF if text else 0) for one, text in zip(described, stats)]


def file_keys(batch: ActionBatch) -> tuple[Sequence[str], Sequence[str] | None]:
    """Return the paths and the ids of deletion vectors of a batch; None if no file has such a vector.

    :raises KeyError: if an action has no path
    :raises ValueError: if a path is not a string
    """
    paths, vectors = batch.column("path"), batch.column("deletionVector")
    if paths is None or set(map(type, paths)) != {str}:
        for body in batch.bodies():
            text_of(body, "path")
        raise KeyError("path")
    return paths, None if vectors is None else [_id_of(vector) if vector else "" for vector in vectors]


def _id_of(vector: Mapping[str, Any]) -> str:
    return vector_id(vector["storageType"], vector["pathOrInlineDv"], vector.get("offset"))


def has_statistics(digest: int) -> bool:
    """Return True if an ``add`` action with this digest has statistics that say something."""
    return digest & _HALF not in (0, *(hash(text) & _HALF for text in ("{}", "null")))


def agree(one: int, other: int) -> bool:
    """Return True if the digests of two ``add`` actions of a file agree.

    Statistics count only if both have them.
    """
    return one == other or (one >> 32 == other >> 32 and not (one & _HALF and other & _HALF))


class LazyStrings(NamedTuple):
    """Strings that become Python's only if they are needed: most statistics are not.

    :param values: returns the strings, and None for missing ones
    :param most: size of the longest in bytes
    :param counts: returns the row counts that all of them begin with, as statistics; None if one does not
    """

    values: Callable[[], Sequence[str | None]]
    most: int
    counts: Callable[[], Sequence[int] | None]


class ActionBatch:
    """Actions of one kind in a checkpoint, as columns.

    :param count: number of actions, at least one
    :param columns: values by field, without fields that no action has
    """

    def __init__(self, kind: str, count: int, columns: Mapping[str, Sequence[Any] | LazyStrings]) -> None:
        self.kind = kind
        self.count = count
        self._late = {name: values for name, values in columns.items() if isinstance(values, LazyStrings)}
        self._columns: dict[str, Any] = dict(columns)

    def column(self, field: str) -> Sequence[Any] | None:
        """Return the values of a field; None if no action has it."""
        if field in self._late:
            self._columns[field] = self._late.pop(field).values()
        return self._columns.get(field)

    def longest(self, field: str) -> int:
        """Return the most characters that a string in a field may have; exact if they are many."""
        if field in self._late and self._late[field].most < _LONG:
            return self._late[field].most
        return max((len(text) for text in self.column(field) or () if type(text) is str), default=0)

    def row_counts(self) -> Sequence[int | None] | None:
        """Return the row counts of the statistics of files; None if no file has statistics.

        :raises ValueError: if statistics are no string
        """
        late = self._late.get("stats")
        counts = None if late is None else late.counts()
        if counts is not None:
            return counts
        stats = self.column("stats")
        return None if stats is None else nums_records(stats)

    def bodies(self) -> Iterator[Any]:
        """Yield the bodies of the actions, without fields that no action has."""
        columns = self._all()
        names = tuple(columns)
        if not names:
            yield from ({} for _ in range(self.count))
        for row in zip(*columns.values()):
            yield dict(zip(names, row))

    def body(self, index: int) -> Any:
        """Return the body of one action."""
        return {name: values[index] for name, values in self._all().items()}

    def after(self, count: int) -> ActionBatch:
        """Return the batch without its first actions."""
        return ActionBatch(self.kind, self.count - count, {name: v[count:] for name, v in self._all().items()})

    def _all(self) -> Mapping[str, Sequence[Any]]:
        for name in tuple(self._late):
            self.column(name)
        return self._columns

    def actions(self) -> Iterator[Action]:
        """Yield the actions."""
        kind = self.kind
        return ({kind: body} for body in self.bodies())


class _Bodies(ActionBatch):
    """Actions that are already there one by one. A body may be anything."""

    def __init__(self, kind: str, bodies: Sequence[Any]) -> None:
        super().__init__(kind, len(bodies), {})
        self._bodies = bodies

    def column(self, field: str) -> Sequence[Any] | None:
        values = [body.get(field) for body in self._bodies]
        return None if values.count(None) == len(values) else values

    def bodies(self) -> Iterator[Any]:
        return iter(self._bodies)

    def body(self, index: int) -> Any:
        return self._bodies[index]

    def after(self, count: int) -> ActionBatch:
        return _Bodies(self.kind, self._bodies[count:])


def batches_of(actions: Iterable[Action]) -> Iterator[ActionBatch]:
    """Yield actions that follow each other and have the same kind as batches."""
    bodies = ((kind, body) for action in actions for kind, body in action.items() if body is not None)
    for kind, found in groupby(bodies, key=itemgetter(0)):
        while some := [body for _, body in islice(found, _AT_ONCE)]:
            yield _Bodies(kind, some)


@dataclass(frozen=True)
class CheckpointPart:
    """One file of a checkpoint.

    :param name: name in ``_delta_log``, or in ``_delta_log/_sidecars``
    :param size: size in bytes
    :param batches: actions, to be iterated once
    :param counted: numbers of further actions by kind, which were counted and not read
    """

    name: str
    size: int
    batches: Iterable[ActionBatch]
    is_sidecar: bool = False
    counted: Mapping[str, int] = field(default_factory=dict)

    def actions(self) -> Iterator[Action]:
        """Yield its actions one by one."""
        return (action for batch in self.batches for action in batch.actions())
