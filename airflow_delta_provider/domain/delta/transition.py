"""A commit between the states that it leads from and to: what rules about a change of the table look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from airflow_delta_provider.domain.delta.commit import Action, ActionValue, Commit, read_actions
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile, RowIds
from airflow_delta_provider.domain.delta.table_state import Replay, TableState


@dataclass(frozen=True)
class Past:
    """What earlier versions of a table say, as far as it matters to a commit.

    :param used_features: features that some version before used; those that the versions before and after the commit
        use need not be among them
    :param ever_dropped: whether some version before said that columns had been dropped or renamed
    :param had_protocol: whether the version that a commit restores had the protocol that it leads to
    :param had_identity: whether that version had the table id that it leads to
    :param previous: the commit before; None where it is not kept
    :param row_ids: of the paths that the commit adds again, the ids that they had when they were last part of the
        table; None where nobody has followed the history
    :param restored_row_ids: returns, by path, the ids that files had in the version that the commit restores; None
        where it restores none, or that is not known
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

    :param before: the state before it, without files
    :param after: the state after it, without files
    :param removed_files: of the paths that it removes, those that were live before, by path
    :param replaces_all: whether it replaces the table, as an overwrite does: it removes every file that was live
        before, or says so where there was none
    :param restores: whether it leads to the metadata and the files of an earlier version
    :param added_again: of the paths that it adds, those that were live before, by path
    :param not_live: the logical files that it removes and that were not live before
    :param otherwise_live: of their paths, those that were live all the same, with other deletion vectors
    :param past: what earlier versions say
    :param found_empty: whether the table had no files before it
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
        """Whether it has actions of protocol or metadata."""
        return bool(self.commit.protocols or self.commit.metadata)

    @property
    def keeps_no_file(self) -> bool:
        """Whether no file that was live before still is, so that none is left of an earlier schema."""
        return self.replaces_all or self.found_empty

    @cached_property
    def before_files(self) -> Mapping[str, LiveFile]:
        """Of the paths that it adds or removes, those that were live before, by path."""
        return {**self.removed_files, **self.added_again}

    @cached_property
    def new_files(self) -> list[LiveFile]:
        """The files that it adds and that were not live before."""
        return [file for file in self.commit.adds if file.path not in self.before_files]


def advance(replay: Replay, version: int, actions: Sequence[Action]) -> Transition:
    """Let ``replay`` take the commit of ``version``, and return what it did.

    :raises BrokenLogError: if an action is malformed, or there is no protocol or metadata before
    """
    values = list(read_actions(actions, where=f" of version {version}"))
    return apply_commit(replay, Commit.of(version, values), values)


def apply_commit(
    replay: Replay, commit: Commit, values: Sequence[ActionValue], previous: Commit | None = None
) -> Transition:
    """Let ``replay`` take a commit that was read already, and return what it did.

    :param values: its actions
    :param previous: the commit before
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
    """Return what commits did that are not kept to protocol and metadata, as if it had been one."""
    protocols = () if after.protocol == before.protocol else (after.protocol,)
    metadata = () if after.metadata == before.metadata else (after.metadata,)
    commit = Commit(after.version, protocols=protocols, metadata=metadata)
    return Transition(replace(before, files=None), commit, replace(after, files=None), {})


def apply_first(
    replay: Replay, commit: Commit, values: Sequence[ActionValue], previous: Commit | None = None
) -> Transition | None:
    """Let ``replay`` take a commit before which there is no state, and return what it did; None if there is still none.

    What it does to files is judged by its own protocol and metadata; no domain was there before.

    :param values: its actions
    :param previous: the commit before
    """
    removed, added_again = _live_before(commit, replay.files)
    replay.apply(values)
    if not replay.is_complete:
        return None
    after = replay.head(commit.version)
    before = replace(after, version=commit.version - 1, domains={})
    return Transition(before, commit, after, removed, added_again=added_again, past=Past(previous=previous))


def _replaces_empty(before: TableState, commit: Commit) -> bool:
    """Whether a commit replaces a table without files.

    Its files do not show it. A table that is created again has another id and a later time; a write that overwrites the
    schema, which changes neither, says in its parameters that it overwrites.
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
    """Return which files a commit removes, and which it adds again, of those that were live, each by path."""
    return (
        {file.path: live[file.key] for file in commit.removes if file.key in live},
        {key[0]: live[key] for key in commit.added if key in live},
    )


def _otherwise_live(paths: set[str], live: Mapping[FileKey, LiveFile]) -> frozenset[str]:
    """Return those of ``paths`` that are live, whatever their deletion vectors."""
    return frozenset(path for path, _ in live if path in paths) if paths else frozenset()
