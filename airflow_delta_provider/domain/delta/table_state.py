"""The state of a table at a version, replayed from the actions of its log.

PROTOCOL.md, Action Reconciliation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from airflow_delta_provider.domain.delta.commit import Action, ActionValue, Commit, DomainMetadata, read_actions
from airflow_delta_provider.domain.delta.features.row_tracking import DOMAIN
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile, RemovedFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.metadata_comparison import metadata_differences
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.row_tracking import RowTracking, high_water_mark_of, row_tracking_of


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

    @cached_property
    def row_tracking(self) -> RowTracking:
        """Row tracking in this state."""
        return row_tracking_of(self.protocol, self.metadata, self.domains)

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
    :param like: state with mostly the same files; equal files are then not stored twice
    """

    def __init__(self, *, with_files: bool, like: TableState | None = None) -> None:
        self._like = (like.files if like is not None else None) or {}
        self._files: dict[FileKey, LiveFile] | None = {} if with_files else None
        self._protocol: Protocol | None = None
        self._metadata: Metadata | None = None
        self._domains: Mapping[str, str] = {}
        self._head: TableState | None = None

    @classmethod
    def of(cls, state: TableState) -> Replay:
        """Create a replay that starts at ``state``, with its files."""
        replay = cls(with_files=True)
        replay._protocol, replay._metadata, replay._domains = state.protocol, state.metadata, state.domains
        replay._files = dict(state.files or {})
        return replay

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
        self.apply(read_actions(actions, _STATE_KINDS if self._files is None else _HANDLERS.keys()))

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
        if self._files is None or self._like or not commit.added.keys().isdisjoint(removed):
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
        self, added: Mapping[FileKey, LiveFile], gone: Iterable[FileKey], domains: Iterable[DomainMetadata]
    ) -> None:
        """Apply a commit whose effect on files is known. The replay must have all files.

        :param gone: keys of the files that the commit removes
        """
        assert self._files is not None
        for domain in domains:
            self._take_domain(domain)
        self._files.update(added)
        for key in gone:
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
        others = {name: said for name, said in self._domains.items() if name != domain.domain}
        self._domains = others if domain.removed else {**others, domain.domain: domain.configuration}

    def _take_add(self, file: LiveFile) -> None:
        if self._files is not None:
            key = file.key
            known = self._like.get(key)
            self._files[key] = file if known is None or known != file else known

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
_STATE_KINDS = frozenset(_HANDLERS) - {"add", "remove"}


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
    for what, paths in (
        ("only in the first", [key[0] for key in files if key not in others]),
        ("only in the second", [key[0] for key in others if key not in files]),
        (
            "with other row ids in the second",
            [key[0] for key, file in files.items() if key in others and not file.same_as(others[key])],
        ),
    ):
        if paths:
            yield f"{len(paths)} live file{'s are' if len(paths) > 1 else ' is'} {what}, the first {paths[0]}"
