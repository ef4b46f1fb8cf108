"""Searches a table's log for what its commits did to files."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from airflow_delta_provider.domain.audit.past_log import Addition, additions
from airflow_delta_provider.domain.checks.rule import FileAspect
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
from airflow_delta_provider.domain.delta.snapshot import file_key
from airflow_delta_provider.domain.delta.table_properties import is_true
from airflow_delta_provider.jobs.delta.log.table_log import TableLog

#: With more files than this, commits are read as a whole rather than searched for their paths.
_FEW_FILES = 10


def added_before(log: TableLog, version: int, paths: Iterable[str]) -> set[str]:
    """Return those of ``paths`` that a commit before ``version`` added or removed, as far as the log is kept."""
    wanted = set(paths)
    found: set[str] = set()
    for earlier, name, content in log.commits(v for v in commit_versions(log.list_names()) if v < version):
        with suppress(BrokenLogError):  # which is said of that commit
            commit = Commit.from_actions(earlier, parse_commit(name, content))
            found |= wanted & ({file.path for file in commit.adds} | {file.path for file in commit.removes})
        if found == wanted:
            break
    return found


def adds_of(
    log: TableLog, keys: Collection[FileKey], base: LogSegment | None, version: int
) -> dict[FileKey, Mapping[str, Any]]:
    """Return the last ``add`` action of files up to ``version``, as it is in the log.

    :param base: what the log leads on from, where it is not kept whole
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
            take(part.actions)
        for name in base.commits:
            take(log.read_commit(name))
    few = len(keys) <= _FEW_FILES
    for _, name, content in log.commits(range(first, version + 1)):
        if not few or any(_names(content, path) for path, _ in keys):
            with suppress(BrokenLogError):
                take(parse_commit(name, content))
    return found


def adds_between(log: TableLog, after: int, version: int) -> Iterator[Mapping[str, Any]]:
    """Yield the ``add`` actions of commits after a version and up to another, as in the log, as far as it is kept.

    Commits that cannot be read are passed over.

    :param after: below 0, those of the checkpoint are among them that the log begins with
    :raises BrokenLogError: if that cannot be read
    """
    names = log.list_names()
    if after < 0 and commit_name(0) not in names:
        base = select_segment(names, earliest_version(names))
        after = (base.checkpoint_version or 0) if base.checkpoint_files else after
        for part in log.checkpoint_parts(base):
            yield from _adds(part.actions)
    for _, name, content in log.commits(v for v in commit_versions(names) if after < v <= version):
        with suppress(BrokenLogError):
            yield from _adds(parse_commit(name, content))


def _adds(actions: Iterable[Action]) -> Iterator[Mapping[str, Any]]:
    return (action["add"] for action in actions if isinstance(action.get("add"), Mapping))


def row_ids_before(log: TableLog, version: int, paths: Collection[str]) -> dict[str, RowIds]:
    """Return, by path, the row ids that a commit before ``version`` last wrote of each file, if it is kept."""
    found: dict[str, RowIds] = {}
    earlier = (v for v in commit_versions(log.list_names()) if v < version)
    for number, name, content in log.commits(earlier) if paths else ():
        with suppress(BrokenLogError):
            commit = Commit.from_actions(number, parse_commit(name, content))
            found.update((file.path, file.row_ids) for file in commit.adds if file.path in paths)
    return found


def commits_that_added(
    log: TableLog, files: Iterable[LiveFile], aspect: FileAspect = FileAspect.ROW_IDS
) -> dict[str, Addition]:
    """Return, by path, the oldest kept commit that added each of ``files`` as it is now.

    Commits that cannot be read are passed over.

    :param aspect: what has to be as it is now
    """
    wanted = {file.path: file for file in files}
    found: dict[str, Addition] = {}
    if not wanted:
        return found
    for version, name, content in log.commits(commit_versions(log.list_names())):
        if len(wanted) <= _FEW_FILES and not any(_names(content, path) for path in wanted):
            continue
        try:
            added = additions(version, parse_commit(name, content), wanted, aspect)
        except BrokenLogError:
            continue
        found.update(added)
        for path in added:
            del wanted[path]
        if not wanted:
            break
    return found


def commit_that_enabled(log: TableLog, version: int, name: str) -> Commit | None:
    """Return the kept commit since which a table property is true, up to ``version``; None where none is known."""
    found: Commit | None = None
    for number, actions in log.newest_commits():
        metadata = next((action["metaData"] for action in actions if action.get("metaData")), None)
        if number > version or not isinstance(metadata, Mapping):
            continue
        if not is_true((metadata.get("configuration") or {}).get(name)):
            return found
        with suppress(BrokenLogError):
            found = Commit.from_actions(number, actions)
    return found if found is not None and found.version == 0 else None


def _names(content: bytes, path: str) -> bool:
    """Whether a commit may name a file, going by its bytes."""
    return path.encode() in content or json.dumps(path)[1:-1].encode() in content
