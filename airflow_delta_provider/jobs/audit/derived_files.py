"""Files that repeat the commits of a log: checksum files, compacted commits, the pointer to the last checkpoint."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.history_facts import HistoryFacts
from airflow_delta_provider.domain.audit.version_range import find_version_range
from airflow_delta_provider.domain.checks.log.checkpoint_form import incomplete_checkpoint
from airflow_delta_provider.domain.checks.log.checksums import Version, check_checksum
from airflow_delta_provider.domain.checks.log.compaction import check_compaction
from airflow_delta_provider.domain.checks.log.file_names import check_names, check_oldest, check_versions
from airflow_delta_provider.domain.checks.log.history import GAP
from airflow_delta_provider.domain.checks.log.pointer import check_pointer
from airflow_delta_provider.domain.delta.checksum import checksum_name
from airflow_delta_provider.domain.delta.commit import parse_commit
from airflow_delta_provider.domain.delta.last_checkpoint import POINTER
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    CompactionFile,
    LogSegment,
    checkpoint_segments,
    checkpoint_versions,
    commit_name,
    commit_versions,
    compaction_files,
    incomplete_checkpoints,
    newest_version,
)
from airflow_delta_provider.domain.delta.snapshot import Snapshot
from airflow_delta_provider.domain.delta.snapshot_comparison import Originals
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.audit.checkpoint_audit import CheckpointAudit
from airflow_delta_provider.jobs.delta.log.table_log import TableLog


class DerivedFiles:
    """Checks the files of a log that repeat its commits, except checkpoints, and all file names.

    :param names: names of the files in the log
    :param checkpoints: audit that knows the state that the commits add up to
    """

    def __init__(self, log: TableLog, names: Sequence[str], checkpoints: CheckpointAudit) -> None:
        self._log = log
        self._names = names
        self._checkpoints = checkpoints
        self._compactions = defaultdict(list)
        for compaction in compaction_files(names):
            self._compactions[compaction.last].append(compaction)

    def look(self, last: int) -> Iterator[Finding]:
        """Yield problems with file names and with the pointer, as the log is now, up to a version."""
        names = [name for name in self._names if not name[:20].isdecimal() or int(name[:20]) <= last]
        yield from (*check_names(names), *self._ahead(last), *check_oldest(names))
        newest = max(commit_versions(names), default=-1)
        pointer = list(self._pointer())
        pointed_to = [(finding.facts or {}).get("pointed_to") for finding in pointer]
        for version, parts, found in incomplete_checkpoints(names):
            if version < newest and version not in pointed_to:  # the newest may still be in progress
                yield incomplete_checkpoint(version, len(found), parts, found[0])
        yield from pointer

    def _ahead(self, last: int) -> Iterator[Finding]:
        """Yield findings about files of versions after the newest commit, if the log is checked up to that commit."""
        if last >= newest_version(self._names) and any(check_versions(self._names)):
            # A commit may have been written since the names were listed.
            yield from check_versions(self._log.list_names())

    def compacts(self, version: int) -> bool:
        """Return True if a log compaction file ends with a version."""
        return version in self._compactions

    def compare(self, audit: HistoryAudit, checksum: bytes | None) -> Iterator[Finding]:
        """Yield contradictions between the last version audited and the files that end with it.

        :param checksum: content of its checksum file; None if it has none
        """
        if checksum is not None:
            yield from self.compare_checksum(audit, checksum)
        for compaction in self._compactions.get(audit.version, ()):
            yield from self._compare_compaction(compaction)

    def compare_checksum(self, audit: HistoryAudit, content: bytes) -> Iterator[Finding]:
        """Yield contradictions between a checksum file and the last version audited."""
        return check_checksum_of(audit, content, self._checkpoints.snapshot, self._checkpoints.originals)

    def look_at_late_ones(self, audit: HistoryAudit, facts: HistoryFacts) -> Iterator[Finding]:
        """Yield problems with files that were written to or removed from the log after an earlier audit.

        :param audit: audit up to the end of the earlier one
        :param facts: facts that the earlier audit saved
        """
        commits = [version for version in commit_versions(self._names) if version <= audit.version]
        if commits and commits[-1] - commits[0] >= len(commits):
            yield from (
                found for found in find_version_range(self._names, audit.version).findings if found.code == GAP.code
            )
        version, name = audit.version, checksum_name(audit.version)
        if facts.checksum != version and name in self._names:
            yield from self.compare_checksum(audit, self._log.read_file(name))
        for compaction in compaction_files(self._names):
            if (facts.compaction or -1) < compaction.last <= version:
                yield from self._compare_compaction(compaction)

    def _compare_compaction(self, compaction: CompactionFile) -> Iterator[Finding]:
        """Yield differences between a log compaction file and its commits, if these are all kept and intact."""
        versions = range(compaction.first, compaction.last + 1)
        if not {*map(commit_name, versions)} <= {*self._names}:
            return
        files = self._log.read_files([compaction.name, *map(commit_name, versions)])
        content = next(files)
        commits = (parse_commit(commit_name(version), next(files)) for version in versions)
        with suppress(BrokenLogError):
            yield from check_compaction(compaction, content, commits)

    def _pointer(self) -> Iterator[Finding]:
        if POINTER not in self._names:
            return
        pointer, forms = self._log.read_file(POINTER), self._checkpoints.forms
        if any(check_pointer(pointer, _by_version(self._names), forms)):
            # A checkpoint may have been written since the names were listed.
            yield from check_pointer(pointer, _by_version(self._log.list_names()), forms)


def _by_version(names: Sequence[str]) -> dict[int, list[LogSegment]]:
    """Return the complete checkpoints by version."""
    return {version: checkpoint_segments(names, version) for version in checkpoint_versions(names)}


def check_checksum_of(
    audit: HistoryAudit, content: bytes, snapshot: Snapshot | None = None, originals: Originals = lambda _: {}
) -> Iterator[Finding]:
    """Yield contradictions between a checksum file and the last version audited.

    :param snapshot: state that the commits add up to; None if it is unknown
    :param originals: looks up ``add`` actions in the log
    """
    if audit.is_readable:
        state, files, size = audit.state(), audit.live_files, audit.live_bytes
        if not audit.knows_files:
            state = replace(state, files=None)
        version = Version(state, files, size, audit.commit_info, audit.live_counts, snapshot, originals)
        yield from check_checksum(content, version)
