"""The live files of a table during an audit: their size, re-added files, and files written while a rule was broken."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any

from airflow_delta_provider.domain.audit.fast_path.routine_commits import Change, Effect
from airflow_delta_provider.domain.audit.file_records import NO_FILES, LiveCounts
from airflow_delta_provider.domain.audit.past import FOREIGN_FILES, PastLog
from airflow_delta_provider.domain.audit.saved_state import LiveFiles
from airflow_delta_provider.domain.checks.actions.partition_values import (
    check_other_partition_values,
    check_partition_values,
)
from airflow_delta_provider.domain.checks.actions.statistics import check_statistics
from airflow_delta_provider.domain.checks.column_mapping.names import check_added_file
from airflow_delta_provider.domain.checks.metadata.domains import check_clustering_statistics, clustering_paths
from airflow_delta_provider.domain.delta.commit import Action, writer_of
from airflow_delta_provider.domain.delta.features.log import CLUSTERING_DOMAIN, ROW_TRACKING
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile, RowIds
from airflow_delta_provider.domain.delta.log_files import is_absolute, is_any_odd, is_odd, plain_path
from airflow_delta_provider.domain.delta.packed_files import columns_of
from airflow_delta_provider.domain.delta.partial_files import known_files, other_files
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding


class LiveSpellings:
    """Remembers the odd paths by their plain spelling.

    :param root: URI of the table; None if unknown
    """

    def __init__(self, root: str | None) -> None:
        self._root = root
        self._odd: dict[str, str] = {}

    @property
    def has_odd(self) -> bool:
        """Return True if any path so far can be spelled in several ways."""
        return bool(self._odd)

    def begin(self, files: Iterable[LiveFile]) -> None:
        """Take the files that are live at the start of the history."""
        self._odd |= {plain_path(file.path, self._root): file.path for file in files if is_odd(file.path)}

    def take(self, transition: Transition, is_live: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        """Record a commit. Yield its paths whose files stay live under another path, each with the other path.

        :param is_live: returns True if a path is live after the commit
        """
        paths = dict.fromkeys([file.path for file in transition.commit.adds])
        if not self._odd and not is_any_odd(paths):
            return
        for path in paths:
            plain = plain_path(path, self._root) if is_odd(path) else path
            if plain == path and not self._odd:
                continue
            other = self._odd.get(plain)
            if plain != path:
                self._odd[plain] = path
                if (other is None or other == path) and not is_odd(plain):
                    other = plain
            if other is not None and other != path and is_live(other):
                yield path, other


class LiveVectors:
    """Remembers the deletion vector of each file that has one."""

    def __init__(self) -> None:
        self._vectors: dict[str, str] = {}

    def begin(self, files: Iterable[LiveFile]) -> None:
        """Take the files that are live at the start of the history."""
        self._vectors |= {file.path: file.key[1] for file in files if file.deletion_vector is not None}

    def has_none_of(self, paths: Iterable[str]) -> bool:
        """Return True if no file of these paths ever had a vector."""
        return self._vectors.keys().isdisjoint(paths)

    def follow(self, added: Iterable[FileKey], removed: Container[FileKey]) -> bool:
        """Return True if each file that gets a vector replaces its last known key."""
        known = self._vectors
        return all((path, known.get(path, "")) in removed for path, _ in added)

    def note(self, keys: Iterable[FileKey]) -> None:
        """Record the keys of files that are added with vectors."""
        self._vectors.update(tuple(keys))  # pairs, even if they are the keys of a dict

    def take(self, transition: Transition, live: Container[FileKey]) -> list[LiveFile]:
        """Record a commit. Return the files that it adds while they stay live with another deletion vector.

        :param live: the keys that are live after the commit
        """
        # A file that never has a vector has only one key.
        adds = [f for f in transition.commit.adds if f.deletion_vector is not None or f.path in self._vectors]
        twice = [file for file in adds if any(key != file.key and key in live for key in self.keys(file.path))]
        self._vectors |= {file.path: file.key[1] for file in adds if file.deletion_vector is not None}
        return twice

    def keys(self, path: str) -> list[FileKey]:
        """Return the keys that a file may have had when it was live before."""
        vector = self._vectors.get(path)
        return [(path, "")] if vector is None else [(path, ""), (path, vector)]


class LiveFileTracker:
    """Tracks the files of commits, oldest first.

    :param begun_late: True if there were commits before the first one that it takes
    """

    def __init__(self, log: PastLog, begun_late: bool) -> None:
        self._log = log
        self._begun_late = begun_late
        self._vectors = LiveVectors()
        self._spellings = LiveSpellings(log.root)
        self._removed: dict[int, RowIds | None] = {}
        self._remembers = False
        self._written: set[str] = set()
        self._unseen: LiveFiles | None = None
        self._counts: LiveCounts | None = None
        self.size = 0
        """Size in bytes of the live files that were tracked."""

    def begin(self, state: TableState) -> None:
        """Start from a state with its files: the state before the first commit, or the one that it created."""
        self.size, self._counts = other_files(state.files or {}).size, None
        for some in columns_of(state.known_files):
            self.size += sum(some.sizes)
            if some.vectors:
                self._vectors.begin(some.files())
            if some.may_be_odd:
                self._spellings.begin(some.files())

    def resume(self) -> None:
        """Note that commits were skipped."""
        self._begun_late = True

    def go_on(self, saved: LiveFiles | None, tracked: Collection[LiveFile]) -> None:
        """Resume from the live files of an earlier audit. Most are not tracked one by one any more.

        :param saved: the files of the earlier audit; None if unknown
        :param tracked: files among them that are tracked
        """
        self._unseen = None if saved is None else saved.without(tracked)
        self._counts = None if saved is None else deepcopy(saved.counts)
        self.size = sum(file.size for file in tracked)

    def live(self, number: int, *, known: bool) -> LiveFiles | None:
        """Return the live files, with records of the untracked ones; None if unknown. Later commits change its counts.

        :param number: number of tracked live files
        :param known: True if the tracked files are all live files
        """
        if known:
            return LiveFiles(number, self.size, NO_FILES, self._counts)
        return None if self._unseen is None else self._unseen.and_also(number, self.size, self._counts)

    def counts(self, bounds: tuple[int, ...], files: Mapping[FileKey, LiveFile] | None) -> LiveCounts | None:
        """Return counts of the live files, which are kept up to date from then on; None if they are unknown.

        :param bounds: lower bound of each size bin; empty to use the bounds of the previous call
        :param files: the live files; None if not all are tracked
        """
        if self._counts is None or (bounds and bounds != self._counts.bounds):
            if files is None:
                return None
            self._counts = LiveCounts(known_files(files).values(), bounds, other_files(files))
        return self._counts

    @property
    def written_under_damage(self) -> bool:
        """Return True if live files were written while a change of protocol or metadata that broke a rule was open."""
        return bool(self._written)

    def removed_paths(self, transition: Transition) -> list[str]:
        """Return the paths that a commit removes."""
        if not transition.removed_files:
            return []
        added = {file.path for file in transition.commit.adds}
        return [path for path in transition.removed_files if path not in added]

    def take(self, transition: Transition) -> Mapping[str, RowIds | None]:
        """Record a commit. Return the removed paths that it adds again, if that matters, each with its earlier row ids.

        The ids are None if the file had none.
        """
        added, before = transition.commit.added.values(), transition.before_files.values()
        self.size += sum(file.size for file in added) - sum(file.size for file in before)
        if self._counts is not None:
            self._counts.take(added, 1)
            self._counts.take(before, -1)
        removed_paths = self.removed_paths(transition)
        self._written.difference_update(removed_paths)
        # Files written with column mapping or row tracking may come back long after the table gave up both.
        if not (self._remembers or _matters(transition.before) or _matters(transition.after)):
            return {}
        self._remembers = True
        removed = self._removed
        again = {
            file.path: removed[number]
            for file in (transition.commit.adds if removed else ())
            if (number := hash(file.path)) in removed
        }
        for path in removed_paths:
            ids = transition.removed_files[path].row_ids
            removed[hash(path)] = None if ids == (None, None) else ids
        return again

    def may_be_live(self, change: Change) -> bool:
        """Return True if the files of a commit must be checked one by one: they were or may have been live before."""
        if self._spellings.has_odd:
            return True
        if change.effect is Effect.DELETE_ROWS:
            return not self._vectors.follow(change.added, change.removed_files)
        paths = [path for path, _ in change.added]
        return not (self._removed.keys().isdisjoint(map(hash, paths)) and self._vectors.has_none_of(paths))

    def take_routine(self, change: Change, head: TableState) -> None:
        """Record a commit whose files do not have to be checked.

        :param head: a state with the protocol and the metadata of the table
        """
        added, removed_files = change.added, change.removed_files
        if change.effect is Effect.REWRITE and (self._remembers or _matters(head)):
            self._remembers = True
            for file in removed_files.values():
                self._removed[hash(file.path)] = None if file.row_ids == (None, None) else file.row_ids
        if change.effect is Effect.DELETE_ROWS:
            self._vectors.note(added)
        self.size += sum([file.size for file in added.values()]) - sum([file.size for file in removed_files.values()])
        if self._counts is not None:
            self._counts.take(added.values(), 1)
            self._counts.take(removed_files.values(), -1)
        self._written.clear()

    def note_damage(self, transition: Transition, *, is_open: bool) -> None:
        """Record the files that a commit wrote.

        :param is_open: True if a change of protocol or metadata that broke a rule is open after the commit
        """
        if is_open:
            self._written.update(file.path for file in transition.new_files)
        else:
            self._written.clear()

    def live_twice(self, transition: Transition, live: Container[FileKey]) -> list[LiveFile]:
        """Return the files that a commit adds while they stay live with another deletion vector.

        :param live: keys that are live after the commit
        """
        return self._vectors.take(transition, live)

    def under_two_paths(self, transition: Transition, live: Container[FileKey]) -> list[tuple[str, str]]:
        """Return the added paths whose files stay live under another path, each with the other path.

        :param live: keys that are live after the commit
        """

        def is_live(path: str) -> bool:
            return any(key in live for key in self._vectors.keys(path))

        return list(self._spellings.take(transition, is_live))

    def descriptions(
        self,
        actions: Sequence[Action],
        before: TableState,
        state: TableState,
        old: Container[str],
        info: Mapping[str, Any],
    ) -> Iterator[Finding]:
        """Yield findings about names, partition values and statistics of the files in a commit.

        :param state: the state after the commit
        :param old: paths that the commit adds and that were there before
        :param info: ``commitInfo`` of the commit
        """
        writer = writer_of(info)
        mapped = state.metadata.properties.is_mapped and info.get("operation") not in FOREIGN_FILES
        stored_paths = cache(lambda: self._log.stored_paths(state.version))
        clustered = clustering_paths(state) if CLUSTERING_DOMAIN in state.domains else ()
        for action in actions:
            add = action.get("add")
            if not add:
                for kind, metadata in (("remove", before.metadata), ("cdc", state.metadata)):
                    if isinstance(body := action.get(kind), Mapping):
                        yield from check_other_partition_values(kind, body, metadata)
                continue
            current = mapped and add["path"] not in old and not is_absolute(add["path"])
            found = list(check_added_file(add, state.metadata, stored_paths, current=current))
            if found and current and self._begun_late and self._log.paths_seen_before(state.version, [add["path"]]):
                found = list(check_added_file(add, state.metadata, stored_paths))
            yield from found
            yield from check_partition_values(add, state.metadata)
            if clustered and add["path"] not in old and not is_absolute(add["path"]):  # others may be older
                yield from check_clustering_statistics(add, clustered)
            yield from check_statistics(add, state.metadata, is_new=add["path"] not in old, writer=writer)


def _matters(state: TableState) -> bool:
    """Return True if rules depend on whether an added file was live before."""
    return (
        state.metadata.properties.is_mapped
        or state.protocol.supports(ROW_TRACKING)
        or CLUSTERING_DOMAIN in state.domains
    )
