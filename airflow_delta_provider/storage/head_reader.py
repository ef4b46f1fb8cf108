"""Reading the head of a table again and again: each time only what is new."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.checksum import (
    BrokenChecksumError,
    Checksum,
    checksum_name,
    disagreement,
    parse_checksum,
)
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.log_files import LogSegment, NoLogError, commit_name, select_segment
from airflow_delta_provider.domain.delta.table_head import NewestFirst, TableHead
from airflow_delta_provider.storage.object_storage_log import ObjectStorageLog

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Seen:
    head: TableHead
    stamp: str
    """State of that version's commit file: a table made anew has other ones under the same names."""


class HeadReader:
    """Reads a table's newest protocol and metadata; a poll of an unchanged table costs one listing.

    From the newest commit backwards until both are known: from commits, from the first ``.crc`` that
    agrees with its own commit, from what an earlier call saw, or from the checkpoint.
    """

    def __init__(self, table_log: ObjectStorageLog) -> None:
        self._log = table_log
        self._seen: _Seen | None = None

    def read(self) -> TableHead | None:
        """Return the newest head, or None while there is no table.

        :raises BrokenLogError: if the log has a gap or is damaged
        :raises DeltaProviderError: if the store cannot be reached for want of a package or connection
        :raises Exception: what the filesystem raises
        """
        try:
            stamps = self._log.stamps()
            segment = select_segment(stamps)
        except (FileNotFoundError, NoLogError):
            self._seen = None
            return None
        seen = self._still_valid(stamps)
        if seen is not None and seen.version == segment.version:
            return seen
        head = self._collect(segment, stamps, seen)
        stamp = stamps.get(commit_name(head.version))
        self._seen = None if stamp is None else _Seen(head, stamp)
        return head

    def _still_valid(self, stamps: Mapping[str, str]) -> TableHead | None:
        if self._seen is None or stamps.get(commit_name(self._seen.head.version)) != self._seen.stamp:
            return None
        return self._seen.head

    def _collect(self, segment: LogSegment, stamps: Mapping[str, str], seen: TableHead | None) -> TableHead:
        found = NewestFirst()
        oldest = segment.checkpoint_version or 0
        for version in range(segment.version, oldest - 1, -1):
            if seen is not None and version == seen.version:
                found.settle(seen.protocol, seen.metadata)
                break
            at_checkpoint = version == segment.checkpoint_version
            if at_checkpoint and not {commit_name(version), checksum_name(version)} <= stamps.keys():
                break
            actions = self._log.read_commit(commit_name(version))
            found.take(actions)
            if found.complete:
                break
            if checksum := self._checksum(version, actions, stamps):
                found.settle(checksum.protocol, checksum.metadata)
                break
        for name in segment.checkpoint_files:
            if not found.complete:
                found.take(self._log.read_checkpoint(name))
        return found.head(segment.version)

    def _checksum(self, version: int, actions: Sequence[Action], stamps: Mapping[str, str]) -> Checksum | None:
        name = checksum_name(version)
        if name not in stamps:
            return None
        try:
            checksum = parse_checksum(self._log.read(name))
            reason = disagreement(checksum, actions)
        except BrokenChecksumError as error:
            reason = str(error)
        if reason is None:
            return checksum
        log.warning("Checksum file %s is ignored: %s.", name, reason)
        return None
