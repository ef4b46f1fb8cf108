"""What the log of a table may be asked for in addition to the commits that are judged in turn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.audit.earlier_states import EarlierStates
from airflow_delta_provider.domain.checks.rule import FileAspect
from airflow_delta_provider.domain.delta.commit import Action, Commit
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile, RowIds
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState


@dataclass(frozen=True)
class Addition:
    """An ``add`` action of a commit, as in the log."""

    commit: Commit
    action: Action


def additions(
    version: int, actions: Sequence[Action], wanted: Mapping[str, LiveFile], aspect: FileAspect
) -> dict[str, Addition]:
    """Return, by path, how a commit adds files as they are now.

    :param wanted: the files, by path
    :param aspect: what has to be as it is now
    :raises BrokenLogError: if an action is malformed
    """
    written = [action for action in actions if action.get("add") is not None]
    if not any(action["add"].get("path") in wanted for action in written):
        return {}
    commit = Commit.from_actions(version, actions)
    found: dict[str, Addition] = {}
    for add, action in zip(commit.adds, written):
        file = wanted.get(add.path)
        if file is not None and _said(add, aspect) == _said(file, aspect):
            found[add.path] = Addition(commit, action)
    return found


def _said(file: LiveFile, aspect: FileAspect) -> object:
    if aspect is FileAspect.ROW_IDS:
        return file.base_row_id
    if aspect is FileAspect.ROW_COUNT:
        return file.num_records
    return file.key if aspect is FileAspect.DELETION_VECTOR else file.path


@dataclass(frozen=True)
class FirstAdd:
    """The first time that the log adds a file.

    :param metadata: of that version
    :param protocol: of that version; None where it has none
    :param stats: as in the log
    :param before: the metadata of the version before; None without one
    """

    metadata: Metadata
    protocol: Protocol | None = None
    stats: str | None = None
    before: Metadata | None = None


def first_adds(
    commits: Iterable[Iterable[Action]], paths: Collection[str], base: TableState | None
) -> dict[str, FirstAdd]:
    """Return, by path, the first time that commits add each of ``paths``; of none before there is metadata.

    :param base: the state before the commits; None where the first one creates the table
    """
    metadata, protocol = (None, None) if base is None else (base.metadata, base.protocol)
    found: dict[str, FirstAdd] = {}
    for actions in commits:
        actions, before = list(actions), metadata
        for action in actions:
            if wire := action.get("metaData"):
                metadata = Metadata.from_json(wire)
            if wire := action.get("protocol"):
                protocol = Protocol.from_json(wire)
        if metadata is None:
            continue
        for action in actions:
            add = action.get("add")
            if add and add["path"] in paths:
                stats = add.get("stats")
                text = stats if isinstance(stats, str) else None
                found.setdefault(add["path"], FirstAdd(metadata, protocol, text, before))
        if len(found) == len(paths):
            break
    return found


class PastLog:
    """What is known of a table's log before the commits that are checked; by default nothing."""

    @property
    def root(self) -> str | None:
        """Where the table is, a URI; None where nobody knows."""
        return None

    def commit_at(self, version: int) -> Commit | None:
        """Return a commit, None where the log no longer has it."""
        return None

    def actions_at(self, version: int) -> Sequence[Action]:
        """Return the actions of a commit, none where the log no longer has it."""
        return ()

    def state_at(self, version: int) -> TableState | None:
        """Return a state with its files, None where the log no longer has it."""
        return None

    def states_up_to(self, version: int) -> EarlierStates | None:
        """Return the states that led to a version, as far back as they are kept; None where nobody knows them."""
        return None

    def added_before(self, version: int, paths: Sequence[str]) -> frozenset[str]:
        """Return those of ``paths`` that a commit before ``version`` added or removed."""
        return frozenset()

    def row_ids_before(self, version: int, paths: Collection[str]) -> Mapping[str, RowIds]:
        """Return, by path, the row ids that a commit before ``version`` last wrote of each file."""
        return {}

    def first_adds(self, version: int, paths: Collection[str]) -> Mapping[str, FirstAdd]:
        """Return, by path, the first time that a commit up to ``version`` added a file.

        Left out are files that may have been added by a commit that is not kept.
        """
        return {}

    def adds_between(self, after: int, version: int) -> Iterable[Mapping[str, Any]]:
        """Yield the ``add`` actions of commits after a version and up to another, as in the log, as far as it is kept.

        :param after: below 0, those of the checkpoint are among them that the log begins with
        """
        return ()

    def last_adds(self, version: int, keys: Collection[FileKey]) -> Mapping[FileKey, Mapping[str, Any]]:
        """Return the last ``add`` action of files up to ``version``, as in the log, those of which it tells statistics.

        Left out are files of which only a checkpoint tells, and not in JSON.
        """
        return {}

    def commit_that_enabled(self, version: int, name: str) -> Commit | None:
        """Return the kept commit since which a property is true, up to ``version``; None where none is known."""
        return None

    def commits_that_added(
        self, files: Sequence[LiveFile], aspect: FileAspect = FileAspect.ROW_IDS
    ) -> Mapping[str, Addition]:
        """Return, by path, the oldest kept commit that added each file as it is, as far as an aspect goes."""
        return {}
