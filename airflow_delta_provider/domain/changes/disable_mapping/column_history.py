"""The history of a table's columns.

``ColumnHistory`` is given the commits, oldest first, and sums them up as ``ColumnFacts`` (``known``):

- ``events``: every column that was renamed or dropped
- ``left``: paths of dropped columns that live files may still contain
- ``reused``: columns that have the path of an earlier one
- ``since``: the first version that is known

A commit that removes every live file, or restores an earlier version, drops no column. Its actions decide that, not
the name of its operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.audit.past import FOREIGN_FILES, EarlierStates, PastLog
from airflow_delta_provider.domain.audit.restore_detection import restored_by
from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey
from airflow_delta_provider.domain.delta.commit import Action, commit_info
from airflow_delta_provider.domain.delta.features.columns import COLUMN_MAPPING
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import (
    ChangeKind,
    MappedField,
    MappedSchema,
    Metadata,
    PhysicalPath,
    column_changes,
    physical_paths,
)
from airflow_delta_provider.domain.delta.table_state import Replay, TableState, Transition, advance


@dataclass(frozen=True)
class ColumnEvent:
    """A column that a commit dropped or renamed.

    :param column: name before the commit
    :param renamed_to: name after the commit; None if dropped
    :param path: path in data files
    :param id: column id; None if there was no mapping
    :param provenance: version, engine, operation and time of the commit, as the fields of a finding
    """

    kind: ChangeKind
    column: str
    path: PhysicalPath
    id: int | None
    provenance: Mapping[str, Any]
    renamed_to: str | None = None

    @property
    def version(self) -> int:
        return int(self.provenance["version"])


@dataclass(frozen=True)
class ColumnFacts:
    """Facts about columns from the history that is kept.

    :param events: columns that were renamed or dropped, oldest first
    :param left: paths of dropped columns that live files may contain, with the versions that dropped them
    :param reused: columns that have the path of another, earlier column, by path
    :param since: first version that is known
    :param why_incomplete: reason why the contents of live files are unknown; empty if they are known
    :param unknown_before: version before which the history is unknown; None if all is known
    """

    events: tuple[ColumnEvent, ...] = ()
    left: Mapping[PhysicalPath, int] = field(default_factory=dict)
    reused: Mapping[PhysicalPath, MappedField] = field(default_factory=dict)
    since: int = 0
    why_incomplete: str = ""
    unknown_before: int | None = None

    @property
    def excludes_foreign_columns(self) -> bool:
        """True if the history alone proves that no live file contains a dropped column."""
        return not (self.why_incomplete or self.left or self.reused)


@dataclass(frozen=True)
class _Loss:
    """A path that its column lost, because the column was dropped or got another path.

    :param version: last version that took it from a column
    :param ids: ids of the columns that had it; None for a column without mapping
    """

    version: int
    ids: frozenset[int | None]


class ColumnHistory:
    """Follows the columns of a table through its commits, oldest first.

    :param log: source of versions before the first commit
    """

    def __init__(self, log: PastLog | None = None) -> None:
        self._log = log or PastLog()
        self._states = EarlierStates()
        #: Events, by the version from which they count. A rewrite of the whole table starts a new list.
        self._eras: list[tuple[int, list[ColumnEvent]]] = [(0, [])]
        #: Lost paths that live files may contain.
        self._lost: dict[PhysicalPath, _Loss] = {}
        #: Lost paths in files that were all removed since; a RESTORE may bring these back.
        self._removed: dict[PhysicalPath, _Loss] = {}
        #: Lost paths that columns without mapping have as their own names.
        self._own_names: dict[PhysicalPath, _Loss] = {}
        self._schema: MappedSchema | None = None
        self._since = 0
        self._begun_late = False
        self._why_incomplete = ""
        self._unknown_before: int | None = None

    def begin(self, state: TableState, *, is_first: bool) -> None:
        """Start with a state, with its files.

        :param is_first: True if the first commit created the state; False if it comes from a checkpoint
        """
        self._since = state.version
        self._begun_late = not is_first
        self._states.begin(state)
        self._record_files(state.version, state.live_files, None)
        schema = self._read_schema(state.metadata, state.version)
        mapped = schema is not None and schema.is_mapped
        if not is_first and (mapped or state.protocol.supports(COLUMN_MAPPING)):
            self._mark_incomplete(
                f"the log is kept from version {state.version} on, and the table supported column mapping before",
                state.version,
            )

    def follow(self, replay: Replay, version: int, actions: Sequence[Action]) -> None:
        """Apply a commit to ``replay``, and follow its changes.

        :param replay: holds the state before the commit, with files; empty before the table was created
        :raises BrokenLogError: if an action is malformed
        """
        if replay.is_complete:
            self.take(advance(replay, version, actions), replay.files)
        else:
            replay.take(actions)
            self._begin_if_complete(replay, version)
            self._record_files(version, (), commit_info(actions).get("operation"))

    def take(self, transition: Transition, live: Mapping[FileKey, LiveFile]) -> None:
        """Follow the changes of a commit.

        :param live: files after the commit
        """
        restored = restored_by(transition, live, self._states, self._log, begun_late=self._begun_late)
        commit, version = transition.commit, transition.commit.version
        is_restore = restored.version is not None
        if is_restore or commit.operation == "RESTORE":  # removed files may be live again
            self._lost = {**self._removed, **self._lost}
            self._removed = {}
        elif transition.keeps_no_file:
            self._removed |= self._lost
            self._lost = {}
        if restored.unknown_version is not None:
            self._mark_incomplete(
                f"version {version} restores version {restored.unknown_version}, which is not kept any more", version
            )
        self._record_files(version, transition.new_files, commit.operation)
        if transition.before.metadata == transition.after.metadata:
            return
        old = self._schema
        new = self._read_schema(transition.after.metadata, version)
        if old is None or new is None:
            return
        if restored.version is not None and new.is_mapped:
            self._eras.append((version, self._events_at(restored.version)))
        elif transition.keeps_no_file and _writes(transition):
            if not (new.is_mapped and _continues(old, new)):
                self._eras.append((version, []))
        elif not is_restore and restored.unknown_version is None:
            self._add_events(transition, old, new)
        if not (transition.keeps_no_file or is_restore):
            self._add_losses(old, new, version)
        if not new.is_mapped:  # then engines find each column under its own name
            for path in physical_paths(new):
                for losses in (self._lost, self._removed):
                    if path in losses:  # it counts again after a RESTORE of a version without such a column
                        self._own_names[path] = losses.pop(path)

    @property
    def known(self) -> ColumnFacts:
        """The facts known after the last commit."""
        current = {} if self._schema is None else physical_paths(self._schema)
        earlier = {**self._own_names, **self._removed}
        left = {path: loss.version for path, loss in earlier.items() if path not in current}
        reused: dict[PhysicalPath, MappedField] = {}
        for path, loss in self._lost.items():
            now = current.get(path)
            if now is None:
                left[path] = loss.version
            elif now.id not in loss.ids:
                reused[path] = now
        return ColumnFacts(
            tuple(self._eras[-1][1]),
            left,
            reused,
            self._since,
            self._why_incomplete,
            self._unknown_before,
        )

    def _begin_if_complete(self, replay: Replay, version: int) -> None:
        if replay.is_complete:
            self.begin(replay.state(version), is_first=True)

    def _read_schema(self, metadata: Metadata, version: int) -> MappedSchema | None:
        try:
            self._schema = metadata.mapped_schema
        except BrokenLogError:
            self._schema = None
            self._mark_incomplete(f"the schema of version {version} is damaged", version + 1)
            return None
        return self._schema

    def _record_files(self, version: int, files: Iterable[LiveFile], operation: str | None) -> None:
        foreign = operation in FOREIGN_FILES or any(":/" in file.path or file.path[:1] == "/" for file in files)
        if foreign:
            why = f"version {version} took over files from elsewhere, whose history is unknown"
            self._mark_incomplete(why, version)

    def _mark_incomplete(self, why: str, before: int) -> None:
        self._why_incomplete, self._unknown_before = why, before

    def _events_at(self, version: int) -> list[ColumnEvent]:
        """Return the events of the columns that the table had in a version, before and after it."""
        return next((events for first, events in reversed(self._eras) if first <= version), self._eras[0][1])

    def _add_events(self, transition: Transition, old: MappedSchema, new: MappedSchema) -> None:
        for change in column_changes(old, new):
            path = change.was.path if old.is_mapped else change.was.column.parts
            self._eras[-1][1].append(
                ColumnEvent(
                    change.kind,
                    str(change.was.column),
                    path or change.was.column.parts,
                    change.was.id if old.is_mapped else None,
                    transition.commit.provenance,
                    None if change.now is None else str(change.now.column),
                )
            )

    def _add_losses(self, old: MappedSchema, new: MappedSchema, version: int) -> None:
        """Record the paths that no column has any longer, or that another column has."""
        after = physical_paths(new)
        both = old.is_mapped and new.is_mapped
        for path, was in physical_paths(old).items():
            now = after.get(path)
            if now is None or (both and now.id != was.id):
                known = self._lost.get(path)
                ids = frozenset({was.id if old.is_mapped else None}) | (known.ids if known else frozenset())
                self._lost[path] = _Loss(version, ids)


def _writes(transition: Transition) -> bool:
    """Return True if a commit rewrites the table.

    If an empty table stays empty, only its columns change.
    """
    replaced = transition.before.metadata.id != transition.after.metadata.id
    return bool(transition.removed_files or transition.commit.adds or replaced)


def _continues(old: MappedSchema, new: MappedSchema) -> bool:
    """Return True if a column keeps its id and path; otherwise all columns are new."""
    before = {(field.id, field.path) for field in old.fields if old.is_mapped}
    return any((field.id, field.path) in before for field in new.fields)


@dataclass(frozen=True)
class MappedTable:
    """A table at a version.

    :param state: state with its files
    :param known: history of its columns up to that version
    :param footers: footers of its files; None if they were not read
    :param last_stream: version of the last commit of a streaming query, among the recent ones; None if there is none
    """

    state: TableState
    known: ColumnFacts
    footers: FooterSurvey | None = None
    last_stream: int | None = None

    @property
    def is_mapped(self) -> bool:
        """True if the table has column mapping.

        :raises BrokenLogError: if the schema is damaged
        """
        return self.state.metadata.mapped_schema.is_mapped
