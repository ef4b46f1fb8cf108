"""Lookups in the part of a table's log that is still kept, beyond the commits that are checked."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from airflow_delta_provider.domain.audit.past import (
    FOREIGN_FILES,
    Addition,
    EarlierStates,
    FirstAdd,
    PastLog,
    additions_in,
    first_adds_in,
    stored_paths_in,
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
from airflow_delta_provider.jobs.storage.errors import MissingFileError

#: For up to this many files, a commit is parsed only if its bytes mention one of the paths.
_FEW_FILES = 10
#: A commit without any of these words does not change which columns data files may have.
_CHANGE_STORED_PATHS = (b'"metaData"', *(name.encode() for name in FOREIGN_FILES))


class KeptLog(PastLog):
    """Looks up earlier commits and states in the log.

    If only a removed or damaged commit has the answer, methods return None or nothing, or leave the file out.
    """

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
        except BrokenLogError:  # an action is malformed
            return None

    def actions_at(self, version: int) -> Sequence[Action]:
        """Return the actions of a commit; empty if the log no longer has it, or it is damaged."""
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
        """Return the states that led to a version, as far back as the log reaches. Slow: all these commits are read."""
        states = EarlierStates()
        try:
            for transition in self._log.transitions(version, states.begin):
                states.take(transition)
        except (BrokenLogError, MissingFileError):
            return None
        return states

    def paths_seen_before(self, version: int, paths: Sequence[str]) -> frozenset[str]:
        """Return the members of ``paths`` that a commit before ``version`` added or removed."""
        wanted = set(paths)
        seen: set[str] = set()
        for earlier, name, content in self._commits_before(version):
            with suppress(BrokenLogError):  # a damaged commit has its own finding
                commit = Commit.from_actions(earlier, parse_commit(name, content))
                seen |= wanted & ({file.path for file in commit.adds} | {file.path for file in commit.removes})
            if seen == wanted:
                break
        return frozenset(seen)

    def row_ids_before(self, version: int, paths: Collection[str]) -> Mapping[str, RowIds]:
        """Return, by path, the row ids that a commit before ``version`` last recorded for each file."""
        wanted = frozenset(paths)
        row_ids: dict[str, RowIds] = {}
        if not wanted:
            return row_ids
        for earlier, name, content in self._commits_before(version):
            with suppress(BrokenLogError):
                commit = Commit.from_actions(earlier, parse_commit(name, content))
                row_ids.update((file.path, file.row_ids) for file in commit.adds if file.path in wanted)
        return row_ids

    def _commits_before(self, version: int) -> Iterator[tuple[int, str, bytes]]:
        return self._log.commits(v for v in commit_versions(self._log.list_names()) if v < version)

    def first_adds(self, version: int, paths: Collection[str]) -> Mapping[str, FirstAdd]:
        """Return the first ``add`` of each file up to ``version``, by path. Slow: the log is read from its start.

        Leaves out files that may have been added by a commit that the log no longer has.
        """
        try:
            base, commits = self._log.commits_from_start(version)
            older = {path for path, _ in base.files or ()} if base is not None else set()
            return first_adds_in(commits, frozenset(paths) - older, base)
        except (BrokenLogError, MissingFileError):
            return {}

    def stored_paths(self, version: int) -> frozenset[PhysicalPath] | None:
        """Return every column path that data files up to ``version`` may contain, in lower case.

        None if they are not all known, as a commit is missing or damaged, or added files with a history of their own.
        """
        try:
            if [v for v in commit_versions(self._log.list_names()) if v <= version] != [*range(version + 1)]:
                return None
            return stored_paths_in(
                parse_commit(name, content)
                for _, name, content in self._commits_before(version + 1)
                if any(word in content for word in _CHANGE_STORED_PATHS)
            )
        except (BrokenLogError, MissingFileError):
            return None

    def adds_between(self, after: int, version: int) -> Iterator[Mapping[str, Any]]:
        """Yield the ``add`` actions of kept commits after one version and up to another, as logged.

        :param after: version; if it is below 0 and the log no longer has commit 0, the adds of the checkpoint that the
            log begins with come first
        """
        with suppress(BrokenLogError, MissingFileError):
            names = self._log.list_names()
            if after < 0 and commit_name(0) not in names:
                base = select_segment(names, earliest_version(names))
                after = _checkpointed(base)
                yield from _adds_of_checkpoint(self._log, base)
            yield from _adds_of_commits(self._log, (v for v in commit_versions(names) if after < v <= version))

    def last_adds(self, version: int, keys: Collection[FileKey]) -> Mapping[FileKey, Mapping[str, Any]]:
        """Return each file's last ``add`` up to ``version``, as logged.

        If the log no longer has commit 0, leaves out files without statistics in JSON: a checkpoint may lack the
        statistics that the commit had.
        """
        try:
            names = self._log.list_names()
            if commit_name(0) in names:
                return last_adds_after(self._log, None, version, keys)
            base = select_segment(names, earliest_version(names))
            adds = last_adds_after(self._log, base, version, keys)
        except (BrokenLogError, MissingFileError):
            return {}
        return {key: add for key, add in adds.items() if isinstance(add.get("stats"), str)}

    def commit_that_enabled(self, version: int, name: str) -> Commit | None:
        """Return the kept commit that enabled a property that is still true at ``version``; None if it is unknown.

        From ``version`` back, that is the last commit with the property before one without it. It is unknown if a
        missing or damaged commit between these two may have enabled it.
        """
        enabling: Commit | None = None
        is_certain = True
        expected = version
        for number, actions in self._log.newest_commits():
            if number > version:
                continue
            is_certain = is_certain and number == expected
            expected = number - 1
            metadata = next((action["metaData"] for action in actions if action.get("metaData")), None)
            if not isinstance(metadata, Mapping):
                continue
            if not is_true((metadata.get("configuration") or {}).get(name)):
                return enabling if is_certain else None
            try:
                enabling, is_certain = Commit.from_actions(number, actions), True
            except BrokenLogError:
                is_certain = False
        return enabling if enabling is not None and enabling.version == 0 else None

    def commits_that_added(
        self, files: Sequence[LiveFile], aspect: FileAspect = FileAspect.ROW_IDS
    ) -> Mapping[str, Addition]:
        """Return, by path, the kept commit that gave each file its present row ids, or its present other aspect.

        This is the oldest commit that added the file with them. For statistics, it is the last commit that changed the
        bounds or null counts of the file.
        """
        wanted = {file.path: file for file in files}
        if not wanted:
            return {}
        if aspect is FileAspect.STATISTICS:
            return self._last_changes_of_statistics(wanted)
        oldest: dict[str, Addition] = {}
        for added in self._additions(wanted, aspect):
            oldest.update(added)
            for path in added:
                del wanted[path]
            if not wanted:
                break
        return oldest

    def _last_changes_of_statistics(self, wanted: Mapping[str, LiveFile]) -> dict[str, Addition]:
        last: dict[str, Addition] = {}
        for added in self._additions(wanted, FileAspect.STATISTICS):
            for path, addition in added.items():
                if path not in last or _statistics(last[path]) != _statistics(addition):
                    last[path] = addition
        return last

    def _additions(self, wanted: Mapping[str, LiveFile], aspect: FileAspect) -> Iterator[dict[str, Addition]]:
        """Yield for each commit, oldest first, the files that it adds with their present aspect, by path.

        :param wanted: files to look for; the caller may take files out in between
        """
        for version, name, content in self._log.commits(commit_versions(self._log.list_names())):
            if len(wanted) <= _FEW_FILES and not any(_may_mention(content, path) for path in wanted):
                continue
            try:
                added = additions_in(version, parse_commit(name, content), wanted, aspect)
            except BrokenLogError:
                continue
            yield added


def last_adds_after(
    log: TableLog, base: LogSegment | None, version: int, keys: Collection[FileKey]
) -> dict[FileKey, Mapping[str, Any]]:
    """Return the last ``add`` action of files up to ``version``, as logged. Damaged commits are skipped.

    :param base: segment to begin with, by its checkpoint; None if the log is kept from version 0
    """
    first = 0 if base is None else _checkpointed(base) + 1
    older = () if base is None else _adds_of_checkpoint(log, base)
    paths = {path for path, _ in keys} if len(keys) <= _FEW_FILES else None
    adds = chain(older, _adds_of_commits(log, range(first, version + 1), paths))
    return {key: add for add in adds if (key := file_key(add)) in keys}


def _checkpointed(base: LogSegment) -> int:
    """Return the version of a segment's checkpoint; -1 if it has none."""
    return -1 if base.checkpoint_version is None else base.checkpoint_version


def _adds_of_checkpoint(log: TableLog, base: LogSegment) -> Iterator[Mapping[str, Any]]:
    for part in log.checkpoint_parts(base):
        yield from _adds(part.actions())


def _adds_of_commits(
    log: TableLog, versions: Iterable[int], paths: Collection[str] | None = None
) -> Iterator[Mapping[str, Any]]:
    """Yield the ``add`` actions of commits, in order. Damaged commits are skipped.

    :param paths: paths to look for: commits that do not mention one of them are skipped as well
    """
    for _, name, content in log.commits(versions):
        if paths is None or any(_may_mention(content, path) for path in paths):
            with suppress(BrokenLogError):
                yield from _adds(parse_commit(name, content))


def _adds(actions: Iterable[Action]) -> Iterator[Mapping[str, Any]]:
    return (action["add"] for action in actions if isinstance(action.get("add"), Mapping))


def _statistics(addition: Addition) -> object:
    """Return the bounds and null counts that an action records."""
    text = addition.action["add"].get("stats")
    try:
        stats = read_statistics(text) if isinstance(text, str) else None
    except ValueError:
        return text
    return [stats.get(part) for part in (*BOUNDS, COUNTS)] if isinstance(stats, Mapping) else text


def _may_mention(content: bytes, path: str) -> bool:
    """Return True if a commit may have an action about a file, judging by its bytes."""
    return path.encode() in content or json.dumps(path)[1:-1].encode() in content
