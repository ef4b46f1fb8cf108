"""A commit with the states before and after it: the input of rules about a change of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from airflow_delta_provider.domain.delta.commit import Action, ActionValue, Commit, read_actions
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile, RowIds
from airflow_delta_provider.domain.delta.table_state import Replay, TableState


@dataclass(frozen=True)
class Past:
    """The earlier versions of a table, as far as they matter to a commit.

    :param used_features: features that some version before used; features that the versions directly before and after
        the commit use may be missing
    :param ever_dropped: True if some version before recorded that columns had been dropped or renamed
    :param had_protocol: True if the version that a commit restores had the protocol that the commit sets
    :param had_identity: True if that version had the table id that the commit sets
    :param previous: commit before; None if it is not kept
    :param row_ids: row ids that re-added paths had when they were last part of the table, by path; None if the history
        was not followed
    :param restored_row_ids: function that returns, by path, the row ids of files in the version that the commit
        restores; None if it restores none, or if they are unknown
    """

    used_features: frozenset[str] = frozenset()
    ever_dropped: bool = False
    had_protocol: bool = True
    had_identity: bool = True
    previous: Commit | None = None
    row_ids: Mapping[str, RowIds] | None = None
    restored_row_ids: Callable[[], Mapping[str, RowIds]] | None = None


@dataclass(frozen=True)
class Transition:
    """One commit.

    :param before: state before it, without files
    :param after: state after it, without files
    :param removed_files: files that it removes and that were live before, by path
    :param replaces_all: True if it replaces the table, as an overwrite does: it removes every file that was live
        before, or states an overwrite if there was none
    :param restores: True if it restores the metadata and the files of an earlier version
    :param added_again: files that it adds and that were already live before, by path
    :param not_live: logical files that it removes although they were not live before
    :param otherwise_live: paths of ``not_live`` that were live before with other deletion vectors
    :param past: earlier versions of the table
    :param found_empty: True if the table had no files before it
    """

    before: TableState
    commit: Commit
    after: TableState
    removed_files: Mapping[str, LiveFile]
    replaces_all: bool = False
    restores: bool = False
    added_again: Mapping[str, LiveFile] = field(default_factory=dict)
    not_live: frozenset[FileKey] = frozenset()
    otherwise_live: frozenset[str] = frozenset()
    past: Past = Past()
    found_empty: bool = False

    @property
    def changes_head(self) -> bool:
        """Return True if it has protocol or metaData actions."""
        return bool(self.commit.protocols or self.commit.metadata)

    @property
    def keeps_no_file(self) -> bool:
        """Return True if no file from before it is still live, so that no file has an earlier schema."""
        return self.replaces_all or self.found_empty

    @cached_property
    def before_files(self) -> Mapping[str, LiveFile]:
        """The files at paths that it adds or removes that were live before, by path."""
        return {**self.removed_files, **self.added_again}

    @cached_property
    def new_files(self) -> list[LiveFile]:
        """The files that it adds and that were not live before."""
        return [file for file in self.commit.adds if file.path not in self.before_files]


def advance(replay: Replay, version: int, actions: Sequence[Action]) -> Transition:
    """Apply the commit of ``version`` to ``replay`` and return the transition.

    :raises BrokenLogError: if an action is malformed, or there is no protocol or metadata before
    """
    values = list(read_actions(actions, where=f" of version {version}"))
    return apply_commit(replay, Commit.of(version, values), values)


def apply_commit(
    replay: Replay, commit: Commit, values: Sequence[ActionValue], previous: Commit | None = None
) -> Transition:
    """Apply a commit that was already read to ``replay`` and return the transition.

    :param values: its actions
    :param previous: commit before
    :raises BrokenLogError: if there is no protocol or metadata before
    """
    before = replay.head(commit.version - 1)
    live = replay.files
    removed, added_again = _live_before(commit, live)
    gone = {file.key for file in commit.removes if file.key in live}
    not_live = frozenset(file.key for file in commit.removes) - gone
    otherwise = _otherwise_live({path for path, _ in not_live}, live)
    found_empty = not live
    if found_empty:
        replaces_all = _replaces_empty(before, commit)
    else:
        replaces_all = len(gone) == len(live) and not any(file.path in removed for file in commit.adds)
    replay.apply_commit(commit, values)
    return Transition(
        before,
        commit,
        replay.head(commit.version),
        removed,
        replaces_all,
        added_again=added_again,
        not_live=not_live,
        otherwise_live=otherwise - removed.keys(),
        found_empty=found_empty,
        past=Past(previous=previous),
    )


def as_one_commit(before: TableState, after: TableState) -> Transition:
    """Combine commits that are no longer available into one transition of protocol and metadata."""
    protocols = () if after.protocol == before.protocol else (after.protocol,)
    metadata = () if after.metadata == before.metadata else (after.metadata,)
    commit = Commit(after.version, protocols=protocols, metadata=metadata)
    return Transition(replace(before, files=None), commit, replace(after, files=None), {})


def apply_first(
    replay: Replay, commit: Commit, values: Sequence[ActionValue], previous: Commit | None = None
) -> Transition | None:
    """Apply a commit without a state before it to ``replay``, and return the transition.

    Return None if there is still no state. Its changes of files are checked against its own protocol and metadata. No
    domain existed before.

    :param values: its actions
    :param previous: commit before
    """
    removed, added_again = _live_before(commit, replay.files)
    replay.apply(values)
    if not replay.is_complete:
        return None
    after = replay.head(commit.version)
    before = replace(after, version=commit.version - 1, domains={})
    return Transition(before, commit, after, removed, added_again=added_again, past=Past(previous=previous))


def _replaces_empty(before: TableState, commit: Commit) -> bool:
    """Return True if a commit replaces a table without files.

    Its files do not show it. A table that is created again has another id and a later time. A write that overwrites the
    schema changes neither, but its parameters state that it overwrites.
    """
    if not commit.metadata:
        return False
    old, new = before.metadata, commit.metadata[-1]
    if old.id != new.id:
        return None not in (old.created_time, new.created_time) and old.created_time != new.created_time
    parameters = commit.info.get("operationParameters")
    return isinstance(parameters, Mapping) and parameters.get("mode") == "Overwrite"


def _live_before(
    commit: Commit, live: Mapping[FileKey, LiveFile]
) -> tuple[Mapping[str, LiveFile], Mapping[str, LiveFile]]:
    """Return the previously live files that a commit removes, and the ones that it adds again, by path."""
    return (
        {file.path: live[file.key] for file in commit.removes if file.key in live},
        {key[0]: live[key] for key in commit.added if key in live},
    )


def _otherwise_live(paths: set[str], live: Mapping[FileKey, LiveFile]) -> frozenset[str]:
    """Return the given paths that are live, with any deletion vectors."""
    return frozenset(path for path, _ in live if path in paths) if paths else frozenset()
