"""Lookups in the part of a table's log that is still kept, beyond the commits that are checked."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from airflow_delta_provider.domain.audit.past import (
    FOREIGN_FILES,
    Addition,
    EarlierStates,
    FirstAdd,
    PastLog,
    additions,
    first_adds,
    stored_paths,
)
from airflow_delta_provider.domain.checks.rule import FileAspect
from airflow_delta_provider.domain.delta.column_statistics import BOUNDS, COUNTS, read_statistics
from airflow_delta_provider.domain.delta.commit import Action, Commit, parse_commit
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile, RowIds
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    LogSegment,
    commit_name,
    commit_versions,
    earliest_version,
    select_segment,
)
from airflow_delta_provider.domain.delta.metadata import PhysicalPath
from airflow_delta_provider.domain.delta.snapshot import file_key
from airflow_delta_provider.domain.delta.table_properties import is_true
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.storage.storage import MissingFileError

#: With more files than this, commits are parsed completely instead of searched for paths first.
_FEW_FILES = 10
#: Words of the commits that show the paths of columns in files.
_OF_PATHS = (b'"metaData"', *(name.encode() for name in FOREIGN_FILES))


class KeptLog(PastLog):
    """Looks up earlier commits and states in the log. Removed and damaged commits are unknown."""

    def __init__(self, log: TableLog) -> None:
        self._log = log

    @property
    def root(self) -> str | None:
        """The location of the table, as a URI."""
        return self._log.root

    def commit_at(self, version: int) -> Commit | None:
        """Return a commit; None if the log no longer has it."""
        try:
            actions = self.actions_at(version)
            return Commit.from_actions(version, actions) if actions else None
        except BrokenLogError:
            return None

    def actions_at(self, version: int) -> Sequence[Action]:
        """Return the actions of a commit; empty if the log no longer has it."""
        try:
            return self._log.read_commit(commit_name(version))
        except (BrokenLogError, MissingFileError):
            return ()

    def state_at(self, version: int) -> TableState | None:
        """Return a state with its files; None if the log no longer has it."""
        try:
            return self._log.read_state(with_files=True, version=version)
        except (BrokenLogError, MissingFileError):
            return None

    def states_up_to(self, version: int) -> EarlierStates | None:
        """Return the states that led to a version, as far back as the log reaches. The log is read from there."""
        states = EarlierStates()
        try:
            for transition in self._log.transitions(version, states.begin):
                states.take(transition)
        except (BrokenLogError, MissingFileError):
            return None
        return states

    def added_before(self, version: int, paths: Sequence[str]) -> frozenset[str]:
        """Return the members of ``paths`` that a commit before ``version`` added or removed."""
        wanted = set(paths)
        found: set[str] = set()
        for earlier, name, content in self._commits_before(version):
            with suppress(BrokenLogError):  # reported for that commit
                commit = Commit.from_actions(earlier, parse_commit(name, content))
                found |= wanted & ({file.path for file in commit.adds} | {file.path for file in commit.removes})
            if found == wanted:
                break
        return frozenset(found)

    def row_ids_before(self, version: int, paths: Collection[str]) -> Mapping[str, RowIds]:
        """Return, by path, the row ids that a commit before ``version`` last recorded for each file."""
        wanted = frozenset(paths)
        found: dict[str, RowIds] = {}
        for earlier, name, content in self._commits_before(version) if wanted else ():
            with suppress(BrokenLogError):
                commit = Commit.from_actions(earlier, parse_commit(name, content))
                found.update((file.path, file.row_ids) for file in commit.adds if file.path in wanted)
        return found

    def _commits_before(self, version: int) -> Iterator[tuple[int, str, bytes]]:
        return self._log.commits(v for v in commit_versions(self._log.list_names()) if v < version)

    def first_adds(self, version: int, paths: Collection[str]) -> Mapping[str, FirstAdd]:
        """Return, by path, the first commit up to ``version`` that added a file. The log is read from its start.

        Files that a commit no longer in the log may have added are left out.
        """
        try:
            base, commits = self._log.commits_from_start(version)
            before = {path for path, _ in base.files or ()} if base is not None else set()
            return first_adds(commits, frozenset(paths) - before, base)
        except (BrokenLogError, MissingFileError):
            return {}

    def stored_paths(self, version: int) -> frozenset[PhysicalPath] | None:
        """Return the lower-case paths that columns had in files up to ``version``; None if not all are known."""
        if [v for v in commit_versions(self._log.list_names()) if v <= version] != [*range(version + 1)]:
            return None
        commits = self._commits_before(version + 1)
        wanted = (found for found in commits if any(word in found[2] for word in _OF_PATHS))
        try:
            return stored_paths(parse_commit(name, content) for _, name, content in wanted)
        except (BrokenLogError, MissingFileError):
            return None

    def adds_between(self, after: int, version: int) -> Iterator[Mapping[str, Any]]:
        """Yield the ``add`` actions of kept commits after one version and up to another, as logged.

        :param after: version; if it is below 0, the checkpoint at the start of the log is included
        """
        with suppress(BrokenLogError, MissingFileError):
            names = self._log.list_names()
            if after < 0 and commit_name(0) not in names:
                base = select_segment(names, earliest_version(names))
                after = (base.checkpoint_version or 0) if base.checkpoint_files else after
                for part in self._log.checkpoint_parts(base):
                    yield from _adds(part.actions())
            for _, name, content in self._log.commits(v for v in commit_versions(names) if after < v <= version):
                with suppress(BrokenLogError):
                    yield from _adds(parse_commit(name, content))

    def last_adds(self, version: int, keys: Collection[FileKey]) -> Mapping[FileKey, Mapping[str, Any]]:
        """Return each file's last ``add`` up to ``version``, as logged.

        If the log no longer has version 0, files without statistics in JSON are left out: a checkpoint may not have
        them.
        """
        names = self._log.list_names()
        try:
            if commit_name(0) in names:
                return adds_of(self._log, keys, None, version)
            base = select_segment(names, earliest_version(names))
            known = adds_of(self._log, keys, base, version)
        except (BrokenLogError, MissingFileError):
            return {}
        return {key: add for key, add in known.items() if isinstance(add.get("stats"), str)}

    def commit_that_enabled(self, version: int, name: str) -> Commit | None:
        """Return the kept commit that enabled a property that is still true at ``version``; None if it is unknown."""
        found: Commit | None = None
        for number, actions in self._log.newest_commits():
            metadata = next((action["metaData"] for action in actions if action.get("metaData")), None)
            if number > version or not isinstance(metadata, Mapping):
                continue
            if not is_true((metadata.get("configuration") or {}).get(name)):
                return found
            with suppress(BrokenLogError):
                found = Commit.from_actions(number, actions)
        return found if found is not None and found.version == 0 else None

    def commits_that_added(
        self, files: Sequence[LiveFile], aspect: FileAspect = FileAspect.ROW_IDS
    ) -> Mapping[str, Addition]:
        """Return, by path, the oldest kept commit that added each file with its current ``aspect``.

        For statistics: the last commit that changed the bounds or null counts of the file.
        """
        wanted = {file.path: file for file in files}
        found: dict[str, Addition] = {}
        for version, name, content in self._log.commits(commit_versions(self._log.list_names())) if wanted else ():
            if len(wanted) <= _FEW_FILES and not any(_names(content, path) for path in wanted):
                continue
            with suppress(BrokenLogError):
                added = additions(version, parse_commit(name, content), wanted, aspect)
                if aspect is FileAspect.STATISTICS:  # a later commit may have written others
                    for path, new in added.items():
                        if path not in found or _statistics(found[path]) != _statistics(new):
                            found[path] = new
                    continue
                found.update(added)
                for path in added:
                    del wanted[path]
            if not wanted:
                break
        return found


def adds_of(
    log: TableLog, keys: Collection[FileKey], base: LogSegment | None, version: int
) -> dict[FileKey, Mapping[str, Any]]:
    """Return the last ``add`` action of files up to ``version``, as logged.

    :param base: segment that the remaining commits follow; None if the log is kept from version 0
    """
    found: dict[FileKey, Mapping[str, Any]] = {}

    def take(actions: Iterable[Action]) -> None:
        for action in actions:
            add = action.get("add")
            if add and (key := file_key(add)) in keys:
                found[key] = add

    first = 0
    if base is not None:
        first = base.version + 1
        for part in log.checkpoint_parts(base):
            take(part.actions())
        for name in base.commits:
            take(log.read_commit(name))
    few = len(keys) <= _FEW_FILES
    for _, name, content in log.commits(range(first, version + 1)):
        if not few or any(_names(content, path) for path, _ in keys):
            with suppress(BrokenLogError):
                take(parse_commit(name, content))
    return found


def _statistics(addition: Addition) -> object:
    """Return the bounds and null counts that an action records."""
    stats = addition.action["add"].get("stats")
    try:
        said = read_statistics(stats) if isinstance(stats, str) else None
    except ValueError:
        return stats
    return [said.get(part) for part in (*BOUNDS, COUNTS)] if isinstance(said, Mapping) else stats


def _adds(actions: Iterable[Action]) -> Iterator[Mapping[str, Any]]:
    return (action["add"] for action in actions if isinstance(action.get("add"), Mapping))


def _names(content: bytes, path: str) -> bool:
    """Return True if a commit may name a file, judging by its bytes."""
    return path.encode() in content or json.dumps(path)[1:-1].encode() in content
