"""What the log of a table still tells in addition to the commits that are judged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from airflow_delta_provider.domain.audit.earlier_states import EarlierStates
from airflow_delta_provider.domain.audit.past_log import Addition, FirstAdd, PastLog, first_adds
from airflow_delta_provider.domain.checks.rule import FileAspect
from airflow_delta_provider.domain.delta.commit import Action, Commit
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile, RowIds
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name, earliest_version, select_segment
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.jobs.delta.log import log_search
from airflow_delta_provider.jobs.delta.log.table_log import TableLog
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError


class KeptLog(PastLog):
    """Asks the log; what it no longer has is unknown."""

    def __init__(self, log: TableLog) -> None:
        self._log = log

    @property
    def root(self) -> str | None:
        """Where the table is, a URI."""
        return self._log.root

    def commit_at(self, version: int) -> Commit | None:
        """Return a commit, None where the log no longer has it."""
        try:
            actions = self.actions_at(version)
            return Commit.from_actions(version, actions) if actions else None
        except BrokenLogError:
            return None

    def actions_at(self, version: int) -> Sequence[Action]:
        """Return the actions of a commit, none where the log no longer has it."""
        try:
            return self._log.read_commit(commit_name(version))
        except (BrokenLogError, MissingFileError):
            return ()

    def state_at(self, version: int) -> TableState | None:
        """Return a state with its files, None where the log no longer has it."""
        try:
            return self._log.read_state(with_files=True, version=version)
        except (BrokenLogError, MissingFileError):
            return None

    def states_up_to(self, version: int) -> EarlierStates | None:
        """Return the states that led to a version, as far back as the log leads; it is read from there."""
        states = EarlierStates()
        try:
            for transition in self._log.transitions(version, states.begin):
                states.take(transition)
        except (BrokenLogError, MissingFileError):
            return None
        return states

    def added_before(self, version: int, paths: Sequence[str]) -> frozenset[str]:
        """Return those of ``paths`` that a commit before ``version`` added or removed."""
        return frozenset(log_search.added_before(self._log, version, paths))

    def row_ids_before(self, version: int, paths: Collection[str]) -> Mapping[str, RowIds]:
        """Return, by path, the row ids that a commit before ``version`` last wrote of each file."""
        return log_search.row_ids_before(self._log, version, frozenset(paths))

    def first_adds(self, version: int, paths: Collection[str]) -> Mapping[str, FirstAdd]:
        """Return, by path, the first time that a commit up to ``version`` added a file; read from the log's start.

        Left out are files that may have been added by a commit that is not kept.
        """
        try:
            base, commits = self._log.commits_from_start(version)
            before = {path for path, _ in base.files or ()} if base is not None else set()
            return first_adds(commits, frozenset(paths) - before, base)
        except (BrokenLogError, MissingFileError):
            return {}

    def adds_between(self, after: int, version: int) -> Iterator[Mapping[str, Any]]:
        """Yield the ``add`` actions of commits after a version and up to another, as in the log, as far as it is kept.

        :param after: below 0, those of the checkpoint are among them that the log begins with
        """
        with suppress(BrokenLogError, MissingFileError):
            yield from log_search.adds_between(self._log, after, version)

    def last_adds(self, version: int, keys: Collection[FileKey]) -> Mapping[FileKey, Mapping[str, Any]]:
        """Return the last ``add`` action of files up to ``version``, as in the log, those of which it tells statistics.

        Left out are files of which only a checkpoint tells, and not in JSON.
        """
        names = self._log.list_names()
        try:
            if commit_name(0) in names:
                return log_search.adds_of(self._log, keys, None, version)
            base = select_segment(names, earliest_version(names))
            known = log_search.adds_of(self._log, keys, base, version)
        except (BrokenLogError, MissingFileError):
            return {}
        return {key: add for key, add in known.items() if isinstance(add.get("stats"), str)}

    def commit_that_enabled(self, version: int, name: str) -> Commit | None:
        """Return the kept commit since which a property is true, up to ``version``; None where none is known."""
        return log_search.commit_that_enabled(self._log, version, name)

    def commits_that_added(
        self, files: Sequence[LiveFile], aspect: FileAspect = FileAspect.ROW_IDS
    ) -> Mapping[str, Addition]:
        """Return, by path, the oldest kept commit that added each file as it is, as far as an aspect goes."""
        return log_search.commits_that_added(self._log, files, aspect)
