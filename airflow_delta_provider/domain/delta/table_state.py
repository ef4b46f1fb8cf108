"""The state of a table at a version, replayed from the actions of its log.

PROTOCOL.md, Action Reconciliation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta.checkpoint_comparison import metadata_differences
from airflow_delta_provider.domain.delta.commit import (
    Action,
    ActionValue,
    Commit,
    DomainMetadata,
    read_actions,
    time_of,
)
from airflow_delta_provider.domain.delta.data_type import path_text, sql_name
from airflow_delta_provider.domain.delta.features.feature import Feature
from airflow_delta_provider.domain.delta.features.log import DOMAIN, IN_COMMIT_TIMESTAMP, clustering_of
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile, RemovedFile, RowIds
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.partial_files import PartialFiles, known_files
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.row_tracking import RowTracking, high_water_mark_of, row_tracking_of
from airflow_delta_provider.domain.delta.table_features import feature_states, is_active
from airflow_delta_provider.domain.delta.table_properties import ENABLEMENT_TIMESTAMP, ENABLEMENT_VERSION
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.report.answers import Detail, LastCommit, TableFormat


@dataclass(frozen=True)
class TableState:
    """A table at a version.

    :param files: live files by their keys; None if they were not read
    :param domains: domain metadata: configuration (JSON string) by domain
    """

    version: int
    protocol: Protocol
    metadata: Metadata
    domains: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[FileKey, LiveFile] | None = None

    @property
    def live_files(self) -> Collection[LiveFile]:
        """The live files; empty if they were not read."""
        return (self.files or {}).values()

    @property
    def known_files(self) -> Collection[LiveFile]:
        """The live files that a rule may find anything about: all of them, unless others were only counted."""
        return known_files(self.files or {}).values()

    @cached_property
    def row_tracking(self) -> RowTracking:
        """Row tracking in this state."""
        return row_tracking_of(self.protocol, self.metadata, self.domains)

    def is_active(self, feature: Feature) -> bool:
        """Return True if ``feature`` is in force: listed, enabled and not suspended."""
        return is_active(feature, self.protocol, self.metadata)

    def followed_by(self, version: int, domains: Mapping[str, str]) -> TableState:
        """Return the state of a later version that has the same protocol and metadata, without files."""
        state = TableState(version, self.protocol, self.metadata, domains)
        if "row_tracking" in self.__dict__:  # reuse most of the computed value
            mark = high_water_mark_of(domains.get(DOMAIN))
            same = mark == self.row_tracking.high_water_mark
            state.__dict__["row_tracking"] = self.row_tracking if same else self.row_tracking.with_mark(mark)
        return state

    def with_files(self, files: Mapping[FileKey, LiveFile]) -> TableState:
        """Return the same state with files."""
        state = TableState(self.version, self.protocol, self.metadata, self.domains, files)
        state.__dict__["row_tracking"] = self.row_tracking  # computed once
        return state


class Replay:
    """Accumulates the actions of a log, oldest first, into the state of the table.

    :param with_files: True to also collect the live files
    """

    def __init__(self, *, with_files: bool) -> None:
        self._files: MutableMapping[FileKey, LiveFile] | None = {} if with_files else None
        self._protocol: Protocol | None = None
        self._metadata: Metadata | None = None
        self._domains: Mapping[str, str] = {}
        self._head: TableState | None = None
        self.others = 0
        """Number of live files that are not collected, as no commit is about them."""

    @classmethod
    def of(cls, state: TableState, others: int = 0) -> Replay:
        """Create a replay that starts at ``state``, with its files.

        :param others: number of further live files
        """
        replay = cls(with_files=True)
        replay._protocol, replay._metadata, replay._domains = state.protocol, state.metadata, state.domains
        replay._files, replay.others = dict(state.files or {}), others
        return replay

    def begin_with(self, files: MutableMapping[FileKey, LiveFile]) -> None:
        """Start from the files of a checkpoint."""
        self._files = files

    @property
    def has_files(self) -> bool:
        """Return True if it collects the live files."""
        return self._files is not None

    @property
    def files(self) -> Mapping[FileKey, LiveFile]:
        """The current live files."""
        return self._files or {}

    @property
    def has_protocol(self) -> bool:
        """Return True if there was a protocol action."""
        return self._protocol is not None

    @property
    def has_metadata(self) -> bool:
        """Return True if there was a metaData action."""
        return self._metadata is not None

    @property
    def is_complete(self) -> bool:
        """Return True if both protocol and metadata are known, so there is a state."""
        return self._protocol is not None and self._metadata is not None

    def take(self, actions: Iterable[Action]) -> None:
        """Apply the actions of a checkpoint or of one commit.

        :raises BrokenLogError: if an action lacks a field that its kind requires
        """
        self.apply(read_actions(actions, STATE_KINDS if self._files is None else _HANDLERS.keys()))

    def apply(self, values: Iterable[ActionValue]) -> None:
        """Apply actions that were already read. Actions of other kinds are skipped."""
        for kind, value in values:
            if kind in _HANDLERS:
                _HANDLERS[kind](self, value)

    def apply_commit(self, commit: Commit, values: Iterable[ActionValue]) -> None:
        """Apply a commit that was already read.

        :param values: its actions
        """
        removed = [file.key for file in commit.removes]
        if self._files is None or not commit.added.keys().isdisjoint(removed):
            self.apply(values)
            return
        for protocol in commit.protocols:
            self._take_protocol(protocol)
        for metadata in commit.metadata:
            self._take_metadata(metadata)
        for domain in commit.domains:
            self._take_domain(domain)
        self._files.update(commit.added)
        for key in removed:
            self._files.pop(key, None)

    def change_files(
        self, added: Mapping[FileKey, LiveFile], removed: Iterable[FileKey], domains: Iterable[DomainMetadata]
    ) -> None:
        """Apply a commit whose effect on files is known. The replay must have all files.

        :param removed: keys of the files that the commit removes
        """
        assert self._files is not None
        for domain in domains:
            self._take_domain(domain)
        self._files.update(added)
        for key in removed:
            del self._files[key]

    def state(self, version: int) -> TableState:
        """Return the state; its files are not a copy.

        :raises BrokenLogError: if there was no protocol or no metaData action
        """
        return TableState(version, *self._head_actions(version), self._domains, self._files)

    def head(self, version: int) -> TableState:
        """Return the state without its files: the same object, as long as nothing in it changes.

        :raises BrokenLogError: if there was no protocol or no metaData action
        """
        if self._head is None:
            self._head = TableState(version, *self._head_actions(version), self._domains)
        elif self._head.version != version or self._head.domains is not self._domains:
            self._head = self._head.followed_by(version, self._domains)
        return self._head

    def _head_actions(self, version: int) -> tuple[Protocol, Metadata]:
        if self._protocol is None or self._metadata is None:
            missing = "protocol" if self._protocol is None else "metaData"
            raise BrokenLogError(f"no {missing} action up to version {version}")
        return self._protocol, self._metadata

    def _take_protocol(self, protocol: Protocol) -> None:
        self._protocol, self._head = protocol, None

    def _take_metadata(self, metadata: Metadata) -> None:
        self._metadata, self._head = metadata, None

    def _take_domain(self, domain: DomainMetadata) -> None:
        others = {name: configuration for name, configuration in self._domains.items() if name != domain.domain}
        self._domains = others if domain.removed else {**others, domain.domain: domain.configuration}

    def _take_add(self, file: LiveFile) -> None:
        if self._files is not None:
            self._files[file.key] = file

    def _take_remove(self, file: RemovedFile) -> None:
        if self._files is not None:
            self._files.pop(file.key, None)


_HANDLERS: Mapping[str, Callable[[Replay, Any], None]] = {
    "protocol": Replay._take_protocol,
    "metaData": Replay._take_metadata,
    "domainMetadata": Replay._take_domain,
    "add": Replay._take_add,
    "remove": Replay._take_remove,
}
#: Kinds of actions that make up a state without files.
STATE_KINDS = frozenset(_HANDLERS) - {"add", "remove"}


def differences(one: TableState, other: TableState) -> Iterator[str]:
    """Yield contradictions between two states of the same version, for people.

    Statistics of files are ignored, and so are domains that only one state has: some writers leave domainMetadata out
    of checkpoints (delta-io/delta-kernel-rs#1716).

    :param one: state with its files, like ``other``
    """
    if one.protocol != other.protocol:
        yield f"the protocol is {one.protocol} in the first and {other.protocol} in the second"
    if one.metadata != other.metadata and (fields := metadata_differences(one.metadata, other.metadata)):
        yield f"the metadata is not the same: {', '.join(fields)}"
    for domain in sorted(one.domains.keys() & other.domains.keys()):
        ours, theirs = one.domains[domain], other.domains[domain]
        if ours != theirs:
            yield f"the domainMetadata {domain} is {ours} in the first and {theirs} in the second"
    files, others = one.files or {}, other.files or {}
    here, changed = list[str](), list[str]()
    for key, file in files.items():
        same = others.get(key)
        if same is None or not file.same_as(same):
            (here if same is None else changed).append(key[0])
    there = [key[0] for key in others if key not in files] if len(others) > len(files) - len(here) else []
    for what, paths in (
        ("only in the first", here),
        ("only in the second", there),
        ("with other row ids in the second", changed),
    ):
        if paths:
            yield f"{len(paths)} live file{'s are' if len(paths) > 1 else ' is'} {what}, the first {paths[0]}"


def detail_of(
    state: TableState, location: str, commit: Commit | None = None, sizes: tuple[int, int] | None = None
) -> dict[str, Any]:
    """Return the description of a table as plain JSON.

    :param location: URI of its directory
    :param commit: commit of the state's version; None if the log no longer has it
    :param sizes: number and bytes of the live files; None if they are unknown
    """
    metadata = state.metadata
    last = None if commit is None else commit.provenance
    files, size = (None, None) if sizes is None else sizes
    return Detail(
        location=location,
        id=metadata.id or None,
        name=_text(metadata.name),
        description=_text(metadata.description),
        format=TableFormat(provider=metadata.format_provider, options=dict(metadata.format_options)),
        **_schemas(metadata),
        partition_columns=metadata.partition_columns,
        configuration=dict(sorted(metadata.configuration.items())),
        created_time=time_of(metadata.created_time),
        column_mapping_mode=metadata.properties.mapping_mode.value,
        protocol=state.protocol.to_json(),
        features=feature_states(state.protocol, metadata),
        clustering_columns=_clustering(state),
        num_files=files,
        size_in_bytes=size,
        last_modified=None if last is None else last["timestamp"],
        last_commit=None if last is None else LastCommit(**last),
    ).to_json()


def _clustering(state: TableState) -> tuple[str, ...]:
    try:
        return tuple(map(path_text, clustering_of(state.metadata, state.domains)))
    except BrokenLogError:  # the schema is damaged, which has a finding of its own
        return ()


def _schemas(metadata: Metadata) -> dict[str, Any]:
    """Return the columns' SQL types, the schema, and the schema of data files; each None if damaged."""
    try:
        columns = {field.name: sql_name(field.data_type) for field in metadata.schema.fields}
    except BrokenLogError:
        return {"columns": None, "schema": None, "data_schema": None}
    schema = parse_json(metadata.schema_string)
    in_files = [field for field in schema["fields"] if field["name"] not in metadata.partition_columns]
    return {"columns": columns, "schema": schema, "data_schema": {**schema, "fields": in_files}}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


@dataclass(frozen=True)
class Past:
    """The earlier versions of a table, as far as they matter to a commit.

    :param used_features: features that some version before used; features that the versions directly before and after
        the commit use may be missing
    :param ever_dropped: True if some version before recorded that columns had been dropped or renamed
    :param had_protocol: True if the version that a commit restores had the protocol that the commit sets
    :param had_identity: True if that version had the table id that the commit sets
    :param previous: commit before; None if it is not kept
    :param row_ids: row ids that re-added paths had when they were last part of the table, by path; None if the history
        was not followed
    :param restored_row_ids: function that returns, by path, the row ids of files in the version that the commit
        restores; None if it restores none, or if they are unknown
    :param assigned: function that returns True if an earlier commit assigned a row id of a new file, or if that is
        unknown
    """

    used_features: frozenset[str] = frozenset()
    ever_dropped: bool = False
    had_protocol: bool = True
    had_identity: bool = True
    previous: Commit | None = None
    row_ids: Mapping[str, RowIds] | None = None
    restored_row_ids: Callable[[], Mapping[str, RowIds]] | None = None
    assigned: Callable[[LiveFile], bool] | None = None


@dataclass(frozen=True)
class Transition:
    """One commit.

    :param before: state before it, without files
    :param after: state after it, without files
    :param removed_files: files that it removes and that were live before, by path
    :param replaces_all: True if it replaces the table, as an overwrite does: it removes every file that was live
        before, or states an overwrite if there was none
    :param restores: True if it restores the metadata and the files of an earlier version
    :param added_again: files that it adds and that were already live before, by path
    :param not_live: logical files that it removes although they were not live before
    :param otherwise_live: paths of ``not_live`` that were live before with other deletion vectors
    :param past: earlier versions of the table
    :param found_empty: True if the table had no files before it
    """

    before: TableState
    commit: Commit
    after: TableState
    removed_files: Mapping[str, LiveFile]
    replaces_all: bool = False
    restores: bool = False
    added_again: Mapping[str, LiveFile] = field(default_factory=dict)
    not_live: frozenset[FileKey] = frozenset()
    otherwise_live: frozenset[str] = frozenset()
    past: Past = Past()
    found_empty: bool = False

    @property
    def changes_head(self) -> bool:
        """Return True if it has protocol or metaData actions."""
        return bool(self.commit.protocols or self.commit.metadata)

    @property
    def keeps_no_file(self) -> bool:
        """Return True if no file from before it is still live, so that no file has an earlier schema."""
        return self.replaces_all or self.found_empty

    @cached_property
    def before_files(self) -> Mapping[str, LiveFile]:
        """The files at paths that it adds or removes that were live before, by path."""
        return {**self.removed_files, **self.added_again}

    @cached_property
    def new_files(self) -> list[LiveFile]:
        """The files that it adds and that were not live before."""
        return [file for file in self.commit.adds if file.path not in self.before_files]


def advance(replay: Replay, version: int, actions: Sequence[Action]) -> Transition:
    """Apply the commit of ``version`` to ``replay`` and return the transition.

    :raises BrokenLogError: if an action is malformed, or there is no protocol or metadata before
    """
    values = list(read_actions(actions, where=f" of version {version}"))
    return apply_commit(replay, Commit.of(version, values), values)


def apply_commit(
    replay: Replay, commit: Commit, values: Sequence[ActionValue], previous: Commit | None = None
) -> Transition:
    """Apply a commit that was already read to ``replay`` and return the transition.

    :param values: its actions
    :param previous: commit before
    :raises BrokenLogError: if there is no protocol or metadata before
    """
    before = replay.head(commit.version - 1)
    live = replay.files
    removed, added_again = _live_before(commit, live)
    removed_keys = {file.key for file in commit.removes if file.key in live}
    not_live = frozenset(file.key for file in commit.removes) - removed_keys
    otherwise = _otherwise_live({path for path, _ in not_live}, live)
    found_empty = not live and not replay.others
    if found_empty:
        replaces_all = _replaces_empty(before, commit)
    else:
        replaces_all = len(removed_keys) == len(live) + replay.others and not any(
            file.path in removed for file in commit.adds
        )
    replay.apply_commit(commit, values)
    return Transition(
        before,
        commit,
        replay.head(commit.version),
        removed,
        replaces_all,
        added_again=added_again,
        not_live=not_live,
        otherwise_live=otherwise - removed.keys(),
        found_empty=found_empty,
        past=Past(previous=previous),
    )


def as_one_commit(before: TableState, after: TableState) -> Transition:
    """Combine commits that are no longer available into one transition of protocol and metadata."""
    protocols = () if after.protocol == before.protocol else (after.protocol,)
    metadata = () if after.metadata == before.metadata else (after.metadata,)
    commit = Commit(after.version, protocols=protocols, metadata=metadata)
    return Transition(replace(before, files=None), commit, replace(after, files=None), {})


def apply_first(
    replay: Replay, commit: Commit, values: Sequence[ActionValue], previous: Commit | None = None
) -> Transition | None:
    """Apply a commit without a state before it to ``replay``, and return the transition.

    Return None if there is still no state. Its changes of files are checked against its own protocol and metadata. No
    domain existed before.

    :param values: its actions
    :param previous: commit before
    """
    removed, added_again = _live_before(commit, replay.files)
    replay.apply(values)
    if not replay.is_complete:
        return None
    after = replay.head(commit.version)
    before = replace(after, version=commit.version - 1, domains={})
    return Transition(before, commit, after, removed, added_again=added_again, past=Past(previous=previous))


def _replaces_empty(before: TableState, commit: Commit) -> bool:
    """Return True if a commit replaces a table without files.

    Its files do not show it. A table that is created again has another id and a later time. A write that overwrites the
    schema changes neither, but its parameters state that it overwrites.
    """
    if not commit.metadata:
        return False
    old, new = before.metadata, commit.metadata[-1]
    if old.id != new.id:
        return None not in (old.created_time, new.created_time) and old.created_time != new.created_time
    parameters = commit.info.get("operationParameters")
    return isinstance(parameters, Mapping) and parameters.get("mode") == "Overwrite"


def _live_before(
    commit: Commit, live: Mapping[FileKey, LiveFile]
) -> tuple[Mapping[str, LiveFile], Mapping[str, LiveFile]]:
    """Return the previously live files that a commit removes, and the ones that it adds again, by path."""
    return (
        {file.path: live[file.key] for file in commit.removes if file.key in live},
        {key[0]: live[key] for key in commit.added if key in live},
    )


def _otherwise_live(paths: set[str], live: Mapping[FileKey, LiveFile]) -> frozenset[str]:
    """Return the given paths that are live, with any deletion vectors."""
    if not paths:
        return frozenset()
    keys = live.keys_of(paths) if isinstance(live, PartialFiles) else live
    return frozenset(path for path, _ in keys if path in paths)


class CommitBase(NamedTuple):
    """A table at its newest version.

    :param state: state of the table, with its files
    :param protocol: protocol action as in the log, with unknown keys
    :param metadata: metaData action as in the log, with unknown keys
    :param previous: commit of that version; None if only a checkpoint of it is left
    """

    state: TableState
    protocol: Mapping[str, Any]
    metadata: Mapping[str, Any]
    previous: Commit | None = None


def has_timestamps(state: TableState) -> bool:
    """Return True if in-commit timestamps are enabled."""
    return state.metadata.properties.in_commit_timestamps and state.protocol.supports(IN_COMMIT_TIMESTAMP)


def due_enablement(transition: Transition) -> Mapping[str, str]:
    """Return the properties that a commit must set to record the version and time of enablement."""
    if not has_timestamps(transition.before):
        now = transition.commit.info.get("inCommitTimestamp")
        return {ENABLEMENT_VERSION: str(transition.commit.version), ENABLEMENT_TIMESTAMP: str(now)}
    configuration = transition.before.metadata.configuration
    if configuration.get(ENABLEMENT_VERSION, "0") == "0":
        return {}  # since the creation of the table, as far as known
    return {name: configuration[name] for name in (ENABLEMENT_VERSION, ENABLEMENT_TIMESTAMP) if name in configuration}
