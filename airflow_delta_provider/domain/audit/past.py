"""The states that a table has been in: a commit that returns to one of them is a restore, whatever it is called.

Rules exempt restores by their effect: a commit named RESTORE may be damaged, and engines also return to earlier
states under other operation names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from airflow_delta_provider.domain.checks.log.history import gap, not_kept
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import FileAspect, Need
from airflow_delta_provider.domain.delta.commit import Action, Commit, commit_info
from airflow_delta_provider.domain.delta.data_type import lowered
from airflow_delta_provider.domain.delta.deletion_vector import BrokenDeletionVectorError
from airflow_delta_provider.domain.delta.features.columns import HIGH_WATER_MARK, KEY, USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.log import ROW_TRACKING
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile, RowIds
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    LogSegment,
    checkpoint_versions,
    commit_versions,
    earliest_version,
    select_segment,
)
from airflow_delta_provider.domain.delta.metadata import Metadata, PhysicalPath, physical_paths
from airflow_delta_provider.domain.delta.packed_files import hash_sum
from airflow_delta_provider.domain.delta.partial_files import AllFilesNeededError, PartialFiles, known_files
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_properties import (
    DROPPED_OR_RENAMED,
    ENABLEMENT_TIMESTAMP,
    ENABLEMENT_VERSION,
    MAX_COLUMN_ID,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
)
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding, Severity

T = TypeVar("T")
_MASK = (1 << 64) - 1
#: Properties that Delta keeps, or records again, when it restores an earlier version; the last one stays true.
_KEPT_BY_RESTORE = frozenset(
    {
        MAX_COLUMN_ID,
        ROW_ID_COLUMN,
        ROW_COMMIT_VERSION_COLUMN,
        ENABLEMENT_VERSION,
        ENABLEMENT_TIMESTAMP,
        DROPPED_OR_RENAMED,
    }
)


class _EqualVersions(NamedTuple):
    """The versions that had the same metadata and files.

    :param max_column_id: the lowest ``maxColumnId`` among them
    :param version: the newest of them
    :param protocols: their protocols, without duplicates
    :param identities: their table ids with times of creation, without duplicates
    :param dropped: their values of ``hasDroppedOrRenamed``, without duplicates
    """

    max_column_id: int
    version: int
    protocols: tuple[Protocol, ...]
    identities: tuple[tuple[str, int | None], ...]
    dropped: tuple[str | None, ...]

    @classmethod
    def of(cls, max_column_id: int, state: TableState, version: int, before: _EqualVersions | None) -> _EqualVersions:
        """Return the entry with one more version.

        :param state: the state of that version, or one with the same protocol and metadata
        """
        protocol, identity = state.protocol, identity_of(state.metadata)
        dropped = state.metadata.properties.dropped_or_renamed
        if before is None:
            return cls(max_column_id, version, (protocol,), (identity,), (dropped,))
        return cls(
            max_column_id,
            version,
            _with(before.protocols, protocol),
            _with(before.identities, identity),
            _with(before.dropped, dropped),
        )


def _with(values: tuple[T, ...], value: T) -> tuple[T, ...]:
    return values if value in values else (*values, value)


class EarlierStates:
    """Remembers the versions of a table by their states, each as a hash of its files and a hash of its metadata."""

    def __init__(self) -> None:
        self._files = 0
        self._metadata = 0
        self._max_column_id = 0
        self.had_protocol = False
        """True if the table also had the same protocol when it was in the state that the last commit leads to."""
        self.had_identity = False
        """True if it also had the same id and time of creation."""
        self._is_changed = self._is_partial = False
        self._versions: dict[tuple[int, int], _EqualVersions] = {}

    def begin(self, state: TableState) -> None:
        """Start from a state with its files."""
        self._is_partial = isinstance(state.files, PartialFiles)
        self._files = hash_sum(known_files(state.files or {})) & _MASK
        self._metadata = _metadata_number(state.metadata)
        self._max_column_id = state.metadata.properties.max_column_id or 0
        key = (self._files, self._metadata)
        self._versions[key] = _EqualVersions.of(self._max_column_id, state, state.version, self._versions.get(key))

    def take(self, transition: Transition) -> int | None:
        """Record a commit. Return the newest version with the state that it leads to; None if there is none.

        None also if the commit changes nothing. Properties that a RESTORE does not bring back are not compared.
        """
        state_before = (self._files, self._metadata)
        removed = [file.key for file in (*transition.removed_files.values(), *transition.added_again.values())]
        self._change_files(transition.commit.added, removed)
        if transition.before.metadata is not transition.after.metadata:
            self._metadata = _metadata_number(transition.after.metadata)
            self._max_column_id = transition.after.metadata.properties.max_column_id or 0
        state = (self._files, self._metadata)
        self._is_changed = state != state_before
        version = self._newest_match(self._versions.get(state), transition.after)
        self._note(state, transition.after, transition.after.version)
        return version

    def change_files(
        self, added: Iterable[FileKey], removed: Iterable[FileKey], version: int, state: TableState
    ) -> None:
        """Record a commit without checking whether it returns to an earlier state.

        :param version: its version
        :param state: an earlier state with the same protocol and metadata
        """
        self._change_files(added, removed)
        self._note((self._files, self._metadata), state, version)

    def _change_files(self, added: Iterable[FileKey], removed: Iterable[FileKey]) -> None:
        self._files = (self._files + hash_sum(added) - hash_sum(removed)) & _MASK

    def _note(self, key: tuple[int, int], state: TableState, version: int) -> None:
        before = self._versions.get(key)
        lowest = self._max_column_id if before is None else min(before.max_column_id, self._max_column_id)
        self._versions[key] = _EqualVersions.of(lowest, state, version, before)

    def latest_equal_version(self, earlier: EarlierStates, after: TableState) -> int | None:
        """Return the newest version with the present state in an earlier part of the history; None if there is none.

        :param after: the state after the last commit
        """
        if self._is_partial:
            raise AllFilesNeededError("a state is compared with earlier ones")
        return self._newest_match(earlier._versions.get((self._files, self._metadata)), after)

    def _newest_match(self, equal: _EqualVersions | None, after: TableState) -> int | None:
        if equal is None:
            self.had_protocol = self.had_identity = False
            return None
        self.had_protocol = after.protocol in equal.protocols
        self.had_identity = identity_of(after.metadata) in equal.identities
        is_back = equal.max_column_id <= self._max_column_id and _keeps_drops(equal.dropped, after)
        return equal.version if self._is_changed and is_back else None


def leads_back(earlier: TableState, now: TableState) -> bool:
    """Return True if a RESTORE of ``earlier`` could lead to ``now``; ``maxColumnId`` must not decrease.

    Both states need their files.
    """
    return (
        _essence(earlier.metadata) == _essence(now.metadata)
        and (earlier.files or {}).keys() == (now.files or {}).keys()
        and (earlier.metadata.properties.max_column_id or 0) <= (now.metadata.properties.max_column_id or 0)
        and _keeps_drops([earlier.metadata.properties.dropped_or_renamed], now)
    )


def _keeps_drops(earlier: Collection[str | None], now: TableState) -> bool:
    """Return True if ``hasDroppedOrRenamed`` is as in an earlier version, or was set in between."""
    value = now.metadata.properties.dropped_or_renamed
    return value == "true" or value in earlier


def identity_of(metadata: Metadata) -> tuple[str, int | None]:
    """Return the table's id and time of creation, which changes of columns and properties leave alone."""
    return metadata.id, metadata.created_time


def _metadata_number(metadata: Metadata) -> int:
    return hash(_essence(metadata))


def _essence(metadata: Metadata) -> tuple[object, ...]:
    kept = frozenset(item for item in metadata.configuration.items() if item[0] not in _KEPT_BY_RESTORE)
    return _schema(metadata.schema_string), metadata.partition_columns, kept


@lru_cache(maxsize=8)
def _schema(text: str) -> str:
    """Return a schema without the high water marks of identity columns, which only increase."""
    if f"{KEY}." not in text:
        return text
    try:
        return json.dumps(json.loads(text, object_hook=_without_mark), sort_keys=True)
    except (ValueError, RecursionError):
        return text


def _without_mark(level: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in level.items() if key != HIGH_WATER_MARK}


class Addition(NamedTuple):
    """An ``add`` action as in the log, with its commit."""

    commit: Commit
    action: Action


def additions_in(
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
        if file is not None and _aspect_of(add, aspect) == _aspect_of(file, aspect):
            found[add.path] = Addition(commit, action)
    return found


def _aspect_of(file: LiveFile, aspect: FileAspect) -> object:
    if aspect is FileAspect.ROW_IDS:
        return file.base_row_id
    if aspect is FileAspect.ROW_COUNT:
        return file.num_records
    return file.key if aspect is FileAspect.DELETION_VECTOR else file.path


class FirstAdd(NamedTuple):
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


def first_adds_in(
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


#: Operations that add files whose history is not in the log. A tuple, as a damaged commit may have any JSON there.
FOREIGN_FILES = ("CLONE", "CONVERT")


def stored_paths_in(commits: Iterable[Iterable[Action]]) -> frozenset[PhysicalPath] | None:
    """Return every column path that data files may contain after these commits, in lower case.

    None if they are not all known: a schema cannot be read, or a commit took over files from elsewhere.

    :param commits: commits from version 0 on; those without metadata may be left out
    """
    found: set[PhysicalPath] = set()
    for actions in map(list, commits):
        if commit_info(actions).get("operation") in FOREIGN_FILES:
            return None
        for wire in (action["metaData"] for action in actions if action.get("metaData")):
            schema = Metadata.from_json(wire).readable_mapped_schema
            if schema is None:
                return None
            found.update(map(lowered, physical_paths(schema)))
    return frozenset(found)


class PastLog:
    """A table's log before the commits that are checked. This base class has no commits."""

    @property
    def root(self) -> str | None:
        """URI of the table; None if unknown."""
        return None

    def commit_at(self, version: int) -> Commit | None:
        """Return a commit; None if the log no longer has it."""
        return None

    def actions_at(self, version: int) -> Sequence[Action]:
        """Return the actions of a commit; empty if the log no longer has it, or it is damaged."""
        return ()

    def state_at(self, version: int) -> TableState | None:
        """Return a state with its files; None if the log no longer has it."""
        return None

    def states_up_to(self, version: int) -> EarlierStates | None:
        """Return the states that led to a version, as far back as they are kept; None if unknown."""
        return None

    def paths_seen_before(self, version: int, paths: Sequence[str]) -> frozenset[str]:
        """Return the paths among ``paths`` that a commit before ``version`` added or removed."""
        return frozenset()

    def row_ids_before(self, version: int, paths: Collection[str]) -> Mapping[str, RowIds]:
        """Return the row ids that a commit before ``version`` last wrote for each file, by path."""
        return {}

    def first_adds(self, version: int, paths: Collection[str]) -> Mapping[str, FirstAdd]:
        """Return the first ``add`` of each file up to ``version``, by path.

        Leaves out files that may have been added by a commit that the log no longer has.
        """
        return {}

    def stored_paths(self, version: int) -> frozenset[PhysicalPath] | None:
        """Return every column path that data files up to ``version`` may contain, in lower case; None if unknown."""
        return None

    def adds_between(self, after: int, version: int) -> Iterable[Mapping[str, Any]]:
        """Yield the ``add`` actions of kept commits after one version and up to another, as logged.

        :param after: version; if it is below 0 and the log no longer has commit 0, the adds of the checkpoint that the
            log begins with come first
        """
        return ()

    def files_between(self, after: int, version: int) -> Iterator[LiveFile]:
        """Yield the files of :meth:`adds_between`, without malformed ones."""
        for add in self.adds_between(after, version):
            with suppress(KeyError, TypeError, ValueError, AttributeError, BrokenDeletionVectorError):
                yield LiveFile.from_add(add)

    def last_adds(self, version: int, keys: Collection[FileKey]) -> Mapping[FileKey, Mapping[str, Any]]:
        """Return each file's last ``add`` up to ``version``, as logged, if it has statistics.

        Leaves out files that only a checkpoint contains, with statistics that are not JSON.
        """
        return {}

    def commit_that_enabled(self, version: int, name: str) -> Commit | None:
        """Return the kept commit that enabled a property that is still true at ``version``; None if it is unknown."""
        return None

    def commits_that_added(
        self, files: Sequence[LiveFile], aspect: FileAspect = FileAspect.ROW_IDS
    ) -> Mapping[str, Addition]:
        """Return, by path, the kept commit that gave each file its present row ids, or its present other aspect."""
        return {}


#: Conditions on a table under which it may break a rule that only an audit's saved facts can check.
_MATTERS: Mapping[Need, Callable[[TableState], bool]] = {
    Need.COLUMN_IDS: lambda state: state.metadata.properties.is_mapped,
    Need.EVER_DROPPED: lambda state: (
        state.protocol.supports(USAGE_TRACKING) and not state.metadata.properties.has_dropped_or_renamed
    ),
    Need.HIGH_WATER_MARK: lambda state: (
        state.protocol.supports(ROW_TRACKING) and state.row_tracking.high_water_mark is None
    ),
}


def needing(need: Need) -> frozenset[str]:
    """Return the codes of the rules with a need."""
    return frozenset(rule.code for rule in RULES.values() if need in rule.needs)


def undecidable_rules(state: TableState) -> list[str]:
    """Return the codes of error rules that cannot be checked on the next commits from a state alone."""
    matters = {need for need, applies in _MATTERS.items() if applies(state)}
    return [
        rule.code for rule in RULES.values() if matters.intersection(rule.needs) and rule.severity is Severity.ERROR
    ]


#: Maximum number of gaps that are reported, the last ones: a log with more is hopeless.
_MOST_GAPS = 20


class VersionRange(NamedTuple):
    """The versions that an audit checks.

    :param base: version whose state it starts from; None for the whole history
    :param last: last version that it checks
    :param findings: findings from the file names alone, including those about versions that cannot be checked
    """

    base: LogSegment | None
    last: int
    findings: tuple[Finding, ...] = ()

    @property
    def first(self) -> int:
        """The first version that is checked as a commit."""
        return 0 if self.base is None else self.base.version + 1


def find_version_range(names: Iterable[str], newest: int, since: int | None = None) -> VersionRange:
    """Return the versions of a log up to ``newest`` that can be checked.

    :param since: version after which commits are checked; None for all
    :raises BrokenLogError: if no state can be made of the log at all
    """
    names = [name for name in names if name[:20].isdecimal() and int(name[:20]) <= newest]
    commits = commit_versions(names)
    gaps = _gaps(commits)
    # If no checkpoint spans a gap, the versions before the gap can still be checked.
    ends = [newest, *(first - 1 for first, _ in reversed(gaps[-_MOST_GAPS:]))]
    last, readable = next(
        ((end, first) for end in ends if (first := _readable(names, end)) is not None), (newest, None)
    )
    if readable is None:
        raise _broken(names, newest)
    checkpoints = checkpoint_versions(names)
    findings = [
        gap(
            first,
            end,
            unreadable=last < newest and first == last + 1,
            lost=_readable(names, first - 1) is not None and {end, end + 1}.isdisjoint(checkpoints),
        )
        for first, end in gaps[-_MOST_GAPS:]
    ]
    if since is not None and readable <= since <= last:
        base: LogSegment | None = select_segment(names, since)
    elif readable == 0 and 0 in commits and (since is None or since < 0):
        base = None
    else:
        base = select_segment(names, readable)
        findings.append(not_kept(readable, since))
    return VersionRange(base, last, tuple(findings))


def _readable(names: list[str], newest: int) -> int | None:
    """Return the first version that the log connects to ``newest`` without a gap; None if there is none."""
    found = earliest_version([name for name in names if int(name[:20]) <= newest])
    return found if found is not None and found <= newest else None


def _broken(names: list[str], newest: int) -> BrokenLogError:
    try:
        select_segment(names, newest)
    except BrokenLogError as error:
        return error
    return BrokenLogError(f"there is no way to version {newest}")


def _gaps(commits: list[int]) -> list[tuple[int, int]]:
    """Return the first and the last missing version of each gap."""
    return [(one + 1, other - 1) for one, other in pairwise(commits) if other != one + 1]
