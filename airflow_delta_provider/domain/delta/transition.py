"""A commit between the states that it leads from and to: what rules about a change of the table look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from airflow_delta_provider.domain.delta.commit import Action, Commit, read_actions
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.table_state import Replay, TableState


@dataclass(frozen=True)
class Transition:
    """One commit.

    :param before: the state before it, without files
    :param after: the state after it, without files
    :param before_files: of the paths that it adds or removes, those that were live before, by path
    :param replaces_all: whether it removes every file that was live before, as an overwrite does
    :param restores: whether it leads to the metadata and the files of the earlier version that it names
    """

    before: TableState
    commit: Commit
    after: TableState
    before_files: Mapping[str, LiveFile]
    replaces_all: bool = False
    restores: bool = False

    @property
    def new_files(self) -> list[LiveFile]:
        """The files that it adds and that were not live before."""
        return [file for file in self.commit.adds if file.path not in self.before_files]


def advance(replay: Replay, version: int, actions: Sequence[Action]) -> Transition:
    """Let ``replay`` take the commit of ``version``, and return what it did.

    :raises BrokenLogError: if an action is malformed, or there is no protocol or metadata before
    """
    before = replace(replay.state(version - 1), files=None)
    values = list(read_actions(actions, where=f" of version {version}"))
    commit = Commit.of(version, values)
    live = replay.files
    removed = {file.key[0]: live[file.key] for file in commit.removes if file.key in live}
    added_again = {file.path: live[file.key] for file in commit.adds if file.key in live}
    replaces_all = len(removed) == len(live) and not any(file.path in removed for file in commit.adds)
    replay.apply(values)
    return Transition(
        before, commit, replace(replay.state(version), files=None), {**removed, **added_again}, replaces_all
    )
