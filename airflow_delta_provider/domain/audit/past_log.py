"""Access to a table's log beyond the commits that are checked in turn."""

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
    """An ``add`` action as in the log, with its commit."""

    commit: Commit
    action: Action


def additions(
    version: int, actions: Sequence[Action], wanted: Mapping[str, LiveFile], aspect: FileAspect
) -> dict[str, Addition]:
    """Return the actions of a commit that add files as they are now, by path.

    :param wanted: the files, by path
    :param aspect: property of the file that must be the same as now
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

    :param metadata: metadata of that version
    :param protocol: protocol of that version; None if it has none
    :param stats: statistics as in the log
    :param before: metadata of the version before; None if there is none
    """

    metadata: Metadata
    protocol: Protocol | None = None
    stats: str | None = None
    before: Metadata | None = None


def first_adds(
    commits: Iterable[Iterable[Action]], paths: Collection[str], base: TableState | None
) -> dict[str, FirstAdd]:
    """Return the first ``add`` of each of ``paths``, by path. Commits before there is metadata are ignored.

    :param base: the state before the commits; None if the first one creates the table
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
    """A table's log before the commits that are checked. This base class knows nothing of it."""

    @property
    def root(self) -> str | None:
        """URI of the table; None if unknown."""
        return None

    def commit_at(self, version: int) -> Commit | None:
        """Return a commit; None if the log no longer has it."""
        return None

    def actions_at(self, version: int) -> Sequence[Action]:
        """Return the actions of a commit; empty if the log no longer has it."""
        return ()

    def state_at(self, version: int) -> TableState | None:
        """Return a state with its files; None if the log no longer has it."""
        return None

    def states_up_to(self, version: int) -> EarlierStates | None:
        """Return the states that led to a version, as far back as they are kept; None if unknown."""
        return None

    def added_before(self, version: int, paths: Sequence[str]) -> frozenset[str]:
        """Return the paths among ``paths`` that a commit before ``version`` added or removed."""
        return frozenset()

    def row_ids_before(self, version: int, paths: Collection[str]) -> Mapping[str, RowIds]:
        """Return the row ids that a commit before ``version`` last wrote for each file, by path."""
        return {}

    def first_adds(self, version: int, paths: Collection[str]) -> Mapping[str, FirstAdd]:
        """Return the first ``add`` of each file up to ``version``, by path.

        Files that may have been added by a commit that is not kept are left out.
        """
        return {}

    def adds_between(self, after: int, version: int) -> Iterable[Mapping[str, Any]]:
        """Yield the ``add`` actions of the kept commits after one version and up to another, as in the log.

        :param after: version to start after; below 0, the adds of the checkpoint that the log begins with are included
        """
        return ()

    def last_adds(self, version: int, keys: Collection[FileKey]) -> Mapping[FileKey, Mapping[str, Any]]:
        """Return each file's last ``add`` up to ``version``, as logged, if it has statistics.

        Files that only a checkpoint contains, with statistics that are not JSON, are left out.
        """
        return {}

    def commit_that_enabled(self, version: int, name: str) -> Commit | None:
        """Return the kept commit, at most ``version``, since which a property is true; None if none is known."""
        return None

    def commits_that_added(
        self, files: Sequence[LiveFile], aspect: FileAspect = FileAspect.ROW_IDS
    ) -> Mapping[str, Addition]:
        """Return the oldest kept commit that added each file with its present value of an aspect, by path."""
        return {}
