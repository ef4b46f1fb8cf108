"""Commits that do the same as earlier commits without findings: no rule has to check them.

Most commits of a table append new files, delete rows with new deletion vectors, or replace some files by new ones, and
differ in little else. Rules
about a commit as a whole depend on its ``commitInfo``, the kinds of its actions, protocol and metadata, and its effect
on files. If all of these match a commit that was checked, the rules find the same. :func:`change_by` checks the parts
that depend on the files themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from itertools import repeat
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta.commit import Commit, DomainMetadata, parse_line
from airflow_delta_provider.domain.delta.deletion_vector import (
    BrokenDeletionVectorError,
    check_descriptor,
    vector_id,
)
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile, RemovedFile
from airflow_delta_provider.domain.delta.log_files import are_plain
from airflow_delta_provider.domain.delta.table_state import Transition

_Files = Mapping[FileKey, LiveFile]


class Effect(Enum):
    """The effect of a routine commit."""

    APPEND = auto()
    """New files are added."""
    DELETE_ROWS = auto()
    """Live files get other deletion vectors."""
    REWRITE = auto()
    """Some live files are removed, and new files are added, as by MERGE and UPDATE."""


#: Operations whose rewrites can be routine. The checks of others, such as overwrites, also depend on the removed files.
REWRITING = frozenset({"UPDATE", "MERGE", "DELETE"})


#: The effect of a commit, whether it sets a high water mark of row ids, and whether it sets a transaction identifier.
CommitEffect = tuple[Effect, bool, bool]


class RoutineCommit(NamedTuple):
    """A commit whose lines all match known patterns.

    :param info: line of its ``commitInfo``
    :param timestamp: its in-commit timestamp
    :param effects: effects of commits without findings that had such a ``commitInfo``
    :param marks: its domain metadata of row tracking
    :param transactions: its ``txn`` actions, as in the log
    """

    info: str
    timestamp: int | None
    effects: Collection[CommitEffect]
    adds: Sequence[LiveFile]
    removes: Sequence[RemovedFile]
    marks: Sequence[DomainMetadata]
    transactions: Sequence[Mapping[str, Any]]

    @property
    def actions(self) -> int:
        """Number of its actions."""
        return 1 + sum(map(len, (self.adds, self.removes, self.marks, self.transactions)))

    def others(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the table-level actions (not about files), each with its kind."""
        yield from (("txn", body) for body in self.transactions)
        for mark in self.marks:
            yield "domainMetadata", {"domain": mark.domain, "configuration": mark.configuration}

    def at(self, version: int) -> Commit:
        return Commit(
            version,
            parse_line(self.info)["commitInfo"],
            tuple(self.adds),
            tuple(self.removes),
            domains=tuple(self.marks),
            transactions=tuple(self.transactions),
            first_kind="commitInfo",
        )


class Change(NamedTuple):
    """The change that a routine commit makes to the files.

    :param added: added files by key
    :param removed_files: removed files by key
    """

    effect: Effect
    added: _Files
    removed_files: _Files


def effect_of(change: Change, marks: Collection[Any], transactions: Collection[Any]) -> CommitEffect | None:
    """Return the kind of a commit; None if other commits must not be treated like it.

    :param marks: its domain metadata
    :param transactions: its ``txn`` actions
    """
    return None if len(transactions) > 1 else (change.effect, bool(marks), bool(transactions))


def change_by(adds: Sequence[LiveFile], removes: Sequence[RemovedFile], live: _Files) -> Change | None:
    """Return the change of a commit, if it is routine and consistent with the live files; otherwise None.

    :param live: live files before the commit
    """
    if not adds:
        return None
    paths, _, _, _, rows, vectors, data_change = zip(*adds)
    if False in data_change or None in rows or not are_plain(paths):
        return None
    if not removes:
        added = dict(zip(zip(paths, repeat("")), adds))
        is_right = vectors.count(None) == len(vectors) == len(added) and live.keys().isdisjoint(added)
        return Change(Effect.APPEND, added, {}) if is_right else None
    if vectors.count(None) == len(vectors):
        return _rewrite(adds, paths, removes, live)
    return _deletion(adds, removes, live)


def _rewrite(
    adds: Sequence[LiveFile], paths: Sequence[str], removes: Sequence[RemovedFile], live: _Files
) -> Change | None:
    added = dict(zip(zip(paths, repeat("")), adds))
    if len(added) != len(adds) or len(removes) >= len(live) or not live.keys().isdisjoint(added):
        return None
    removed_files: dict[FileKey, LiveFile] = {}
    for removed in removes:
        key = path, vector = removed.key
        known = live.get(key)
        if known is None or key in removed_files or not removed.data_change or known[2:4] != removed[1:3]:
            return None
        if (path, "") in added or (vector and (path, "") in live):
            return None
        removed_files[key] = known
    return Change(Effect.REWRITE, added, removed_files)


def _deletion(adds: Sequence[LiveFile], removes: Sequence[RemovedFile], live: _Files) -> Change | None:
    old = {file.path: file for file in removes}
    if not len(adds) == len(removes) == len(old):
        return None
    added: dict[FileKey, LiveFile] = {}
    removed_files: dict[FileKey, LiveFile] = {}
    for file in adds:
        path, vector, rows, removed = file.path, file.deletion_vector, file.num_records, old.pop(file.path, None)
        if removed is None or vector is None or rows is None or vector.cardinality > rows or not removed.data_change:
            return None
        try:
            check_descriptor(vector, rows)
        except BrokenDeletionVectorError:
            return None
        key, before = (path, vector_id(*vector[:3])), removed.key
        known = live.get(before)
        if known is None or key in live or known[:5] != file[:5] or known[2:4] != removed[1:3]:
            return None
        if before[1] and (path, "") in live:
            return None
        added[key], removed_files[before] = file, known
    return Change(Effect.DELETE_ROWS, added, removed_files)


def appends_in_id_order(transition: Transition) -> bool:
    """Return True if a commit only adds new files, with ids that follow the high water mark in order. Fast.

    Then :func:`~airflow_delta_provider.domain.checks.row_tracking.commits.check_commit` and
    :func:`~airflow_delta_provider.domain.checks.row_tracking.history.check_history` find nothing, provided that none of
    its files was part of the table in an earlier version than the one before it.
    """
    commit, before, after = transition.commit, transition.before, transition.after
    if commit.removes or after.protocol is not before.protocol or after.metadata is not before.metadata:
        return False
    tracking = after.row_tracking
    mark, old = tracking.high_water_mark, before.row_tracking.high_water_mark
    if mark is None or not tracking.relied_upon or tracking.suspended or transition.before_files:
        return False
    return are_ids_in_order(commit.adds, commit.version, old, mark)


def are_ids_in_order(adds: Iterable[LiveFile], version: int, before: int | None, after: int) -> bool:
    """Return True if the row ids of new files follow each other and the high water mark.

    :param version: version that adds them
    :param before: the mark before it; None if there was none
    :param after: the mark after it
    """
    start = 0 if before is None else before + 1
    end = start
    for _, _, base, default_version, rows, _, _ in adds:
        if base is None or rows is None or base < end or default_version != version:
            return False
        end = base + rows
    return start - 1 <= after and end - 1 <= after
