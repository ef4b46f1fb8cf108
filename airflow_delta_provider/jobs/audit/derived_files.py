"""Files that repeat the commits of a log: checksum files, compacted commits, the pointer to the last checkpoint."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from airflow_delta_provider.domain.audit.fast_path.lines import CommitLines
from airflow_delta_provider.domain.audit.fast_path.routine_commits import RoutineCommit
from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.past import find_version_range
from airflow_delta_provider.domain.audit.saved_state import HistoryFacts
from airflow_delta_provider.domain.checks.log.checkpoints import (
    CheckpointForm,
    check_compaction,
    check_comparison,
    incomplete_checkpoint,
)
from airflow_delta_provider.domain.checks.log.checksums import Version, check_checksum, check_pointer
from airflow_delta_provider.domain.checks.log.files import (
    DAMAGED_CHECKPOINT,
    UNREAD,
    UNREAD_CHECKPOINT,
    check_ahead,
    check_names,
    check_oldest,
    damaged_checkpoint,
    unread_file,
)
from airflow_delta_provider.domain.checks.log.history import GAP
from airflow_delta_provider.domain.delta.checkpoint_comparison import Originals, SnapshotComparison
from airflow_delta_provider.domain.delta.commit import Action, check_actions, parse_commit
from airflow_delta_provider.domain.delta.derived_files import POINTER, checksum_name
from airflow_delta_provider.domain.delta.live_file import FileKey
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    CompactionFile,
    LogSegment,
    checkpoint_segments,
    checkpoint_versions,
    checksum_versions,
    commit_name,
    commit_versions,
    compaction_files,
    incomplete_checkpoints,
    newest_version,
)
from airflow_delta_provider.domain.delta.packed_files import NotPackedError, PackedFiles
from airflow_delta_provider.domain.delta.partial_files import AllFilesNeededError
from airflow_delta_provider.domain.delta.snapshot import FILE_KINDS, ActionBatch, CheckpointPart, Snapshot
from airflow_delta_provider.domain.delta.table_properties import TableProperties
from airflow_delta_provider.domain.delta.table_state import STATE_KINDS, Replay
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.jobs.audit.reduction import Reduction
from airflow_delta_provider.jobs.delta.kept_log import last_adds_after
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Timings
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError

#: Budget for older checkpoints, in file actions: a free amount, an amount per action of the commits, and the cost of
#: opening a checkpoint. Comparing an action costs about a fifth of checking one in a commit.
_FREE, _SHARE, _OPENING = 100_000, 0.5, 1_000
#: Rules about checkpoints whose actions are unknown.
_WITHOUT_STATE = frozenset((DAMAGED_CHECKPOINT.code, UNREAD.code, UNREAD_CHECKPOINT.code))


class CheckpointAudit:
    """Receives the commits, oldest first, and compares the intact checkpoints with them.

    The newest checkpoint is always compared. Older ones are compared only as long as that costs little beside
    checking the commits: a table of a million files with a checkpoint every ten commits has far more actions in its
    checkpoints than in its commits.

    :param names: names of the files in the log
    :param in_tasks: True if an engine may read large checkpoints in its tasks
    """

    def __init__(self, log: TableLog, names: Sequence[str], timings: Timings, *, in_tasks: bool = False) -> None:
        self._log = log
        self._names = names
        self._timings = timings
        self._versions: frozenset[int] = frozenset()
        self._last = self._until = -1
        self.snapshot: Snapshot | None = None
        """The state that the commits add up to; None if it is not followed."""
        self._base: LogSegment | None = None
        self._version = -1
        self._credit: float = _FREE
        self._in_tasks = in_tasks
        self._reduction: Reduction | None = None
        self._read_ahead: tuple[LogSegment, CheckpointForm, Snapshot] | None = None
        self.compared = 0
        """Number of compared checkpoints."""
        self.found = 0
        """Number of checkpoints to compare."""
        self.forms: list[CheckpointForm] = []
        """Contents of the checkpoints that were read."""

    @property
    def left_out(self) -> dict[str, Any]:
        """The numbers of checkpoints and of compared ones, for the report; empty if all were compared."""
        if self.compared >= self.found:
            return {}
        return {"checkpoints": self.found, "checkpoints_compared": self.compared}

    def begin(
        self, versions: range, base: LogSegment | None, *, whole: bool, first: bool = True, known: bool = False
    ) -> Iterator[Finding]:
        """Begin before the commits of ``versions``; yield problems with the checkpoint that they start from.

        :param base: segment that the state before them was read from; None if nothing was read
        :param whole: True if they are the whole history
        :param first: True if no part of the table was checked before
        :param known: True to report nothing about the checkpoint that they start from
        """
        self._versions = frozenset(version for version in checkpoint_versions(self._names) if version in versions)
        self._last = self._until = max(self._versions, default=-1)
        self.found = len(self._versions)
        if whole or first:
            checksums = (version for version in checksum_versions(self._names) if version in versions)
            self._until = max(self._last, max(checksums, default=-1))
        self.snapshot = Snapshot() if whole else None
        return self._start(base, known=known) if base is not None and not whole else iter(())

    def resume(self, base: LogSegment) -> Iterator[Finding]:
        """Continue from a checkpoint behind an unreadable commit; yield problems with this checkpoint."""
        return self._start(base, known=False)

    def replay(self, base: LogSegment, *, known: bool = False) -> Replay:
        """Return a replay of a segment. Its checkpoint is checked in the same pass, unless something is odd.

        :param known: True if nothing is reported about this checkpoint
        :raises BrokenLogError: if a file of the segment is damaged
        """
        self._read_ahead = self._reduction = None
        if self._in_tasks and base.checkpoint_files:
            with self._timings.phase("checkpoint"):
                self._reduction = Reduction.of(self._log, base, self._names)
        after = any(
            version > base.version for version in (*checkpoint_versions(self._names), *checksum_versions(self._names))
        )
        if not base.checkpoint_files or (known and not after and self._reduction is None):
            return self._log.replay(base)
        try:
            return self._read_once(base, digests=after)
        except (BrokenLogError, NotPackedError, UnreadFileError, MissingFileError):
            if self._reduction is not None:
                raise AllFilesNeededError("the checkpoint may be damaged") from None
            return self._log.replay(base)  # which finds out whether it can be read

    def _read_once(self, base: LogSegment, *, digests: bool) -> Replay:
        """Return a replay of a segment, and keep the form of its checkpoint and the sum of its actions.

        :raises BrokenLogError: if the checkpoint has any fault
        :raises NotPackedError: if a number cannot be packed
        """
        files = PackedFiles(live=True, digests=digests)
        form = CheckpointForm(base.checkpoint_version or 0, base.checkpoint_files, files)
        replay, snapshot, reduction = Replay(with_files=True), Snapshot(), self._reduction
        with self._timings.phase("checkpoint"):
            for part in self._log.checkpoint_parts(base) if reduction is None else reduction.parts:
                form.begin(part)
                for batch in part.batches:
                    _take(batch, form, None if batch.kind in FILE_KINDS else snapshot.take_batch)
                    if batch.kind not in FILE_KINDS or part.name.endswith(".json"):
                        check_actions(batch.actions())
                    if batch.kind in STATE_KINDS:
                        replay.take(batch.actions())
            if form.missing is not None:
                raise BrokenLogError(f"no {form.missing} action")
            replay.begin_with(files.live() if reduction is None else reduction.live(files.live()))
        self._log.take_commits(replay, base)
        if digests:
            begun = files.digests(), files.tombstones()
            snapshot.begin_with(*(begun if reduction is None else reduction.begun(*begun)))
        self._read_ahead = base, form, snapshot
        return replay

    def _start(self, base: LogSegment, *, known: bool) -> Iterator[Finding]:
        self._base, self.snapshot = base, None
        follow = self._until > base.version
        ahead, self._read_ahead = self._read_ahead, None
        if not follow and (known or not base.checkpoint_files):
            return
        if ahead is not None and ahead[0] == base:
            _, form, snapshot = ahead
            findings = list(form.check())
            self._keep(form)
        else:
            snapshot = Snapshot()
            findings = list(self._read(base, snapshot)) if base.checkpoint_files else []
        yield from () if known else findings
        if any(finding.code in _WITHOUT_STATE for finding in findings):
            return
        with suppress(BrokenLogError):  # reported for that commit
            for name in base.commits if follow else ():
                snapshot.take(self._log.read_commit(name))
            self.snapshot = snapshot

    def has(self, version: int) -> bool:
        """Return True if there is a checkpoint of a version."""
        return version in self._versions

    def take_routine(self, version: int, content: bytes, commit: RoutineCommit) -> None:
        """Take a commit whose version has no checkpoint.

        :param content: content of the commit file
        """
        self._version = version
        if version > self._until:
            self.snapshot = None
            return
        if self.snapshot is not None:
            self.snapshot.take_later(
                partial(parse_commit, commit_name(version), content), commit.others(), len(content)
            )
        if self._last > version:
            self._credit += _SHARE * commit.actions

    def take(self, version: int, actions: Sequence[Action]) -> Iterator[Finding]:
        """Take a commit, and yield problems with the checkpoints of its version."""
        self._version = version
        if version > self._until:
            self.snapshot = None
            return
        if self.snapshot is not None:
            if isinstance(actions, CommitLines):
                self.snapshot.take_later(actions.all, actions.others(), actions.size)
            else:
                self.snapshot.take(actions)
        if self._last > version:
            self._credit += _SHARE * len(actions)
        if version in self._versions:
            yield from self.compare(version)

    def compare(self, version: int) -> Iterator[Finding]:
        """Yield problems with the checkpoints of the version that was taken last."""
        if version < self._last:
            cost = _OPENING + (0 if self.snapshot is None else self.snapshot.size)
            if cost > self._credit:
                return
            self._credit -= cost
        self.compared += 1
        for segment in checkpoint_segments(self._names, version):
            yield from self._read(segment)

    def _read(self, segment: LogSegment, begun: Snapshot | None = None) -> Iterator[Finding]:
        """Yield problems with a checkpoint.

        :param begun: receives its actions, which are then not compared
        """
        version = segment.checkpoint_version or 0
        files = PackedFiles(digests=begun is not None)
        form = CheckpointForm(version, segment.checkpoint_files, files)
        comparison = None
        take = None if begun is None else begun.take_batch
        if begun is None and self.snapshot is not None:
            comparison = SnapshotComparison(self.snapshot, begun_late=self._begun_late, looks_up=version == self._last)
            take = comparison.take
        try:
            with self._timings.phase("checkpoint"):
                for part in self._parts(segment, compared=comparison is not None):
                    form.begin(part)
                    for batch in part.batches:
                        _take(batch, form, None if begun is not None and batch.kind in FILE_KINDS else take)
                if form.missing is not None:
                    raise BrokenLogError(f"no {form.missing} action up to version {version}")
                findings = list(form.check())
                if begun is not None:
                    begun.begin_with(files.digests(), files.tombstones())
                if comparison is not None:
                    configuration = (form.metadata or {}).get("configuration") or {}
                    retained = partial(self._retained_since, segment, configuration)
                    findings += check_comparison(comparison, segment, form.files, self.originals, retained)
        except BrokenLogError as error:
            if self._reduction is not None:
                raise AllFilesNeededError("a checkpoint may be damaged") from error
            findings = [damaged_checkpoint(version, segment.checkpoint_files[0], error)]
        except UnreadFileError as error:
            findings = [unread_checkpoint(segment, error)]
        else:
            self._keep(form)
        finally:
            if self._reduction is not None:
                self._reduction.part()
        yield from findings

    def _parts(self, segment: LogSegment, *, compared: bool) -> Iterable[CheckpointPart]:
        """Return the files of a checkpoint.

        :param compared: True if it is compared with the commits
        """
        if self._reduction is None or not compared:
            return self._log.checkpoint_parts(segment)
        return self._reduction.compared(segment.checkpoint_files, partial(self._retained_since, segment))

    def _keep(self, form: CheckpointForm) -> None:
        """Keep what the pointer to the last checkpoint is compared with: not the files."""
        form.files = PackedFiles()
        self.forms.append(form)

    @property
    def _begun_late(self) -> bool:
        """Return True if the effects of older commits are known only from a checkpoint."""
        return self._base is not None and bool(self._base.checkpoint_files)

    def originals(self, keys: frozenset[FileKey]) -> Mapping[FileKey, Mapping[str, Any]]:
        """Return the last ``add`` action of files in the commits up to now."""
        return last_adds_after(self._log, self._base, self._version, keys)

    def _retained_since(self, segment: LogSegment, configuration: Mapping[str, Any]) -> float:
        """Return the time, in milliseconds since 1970, after which tombstones had to be in a checkpoint."""
        retention = TableProperties.parse(configuration).deleted_file_retention
        if retention is None:
            return float("inf")
        written = self._log.written_at(segment.checkpoint_files[0])
        return (written - retention).timestamp() * 1000


def _take(batch: ActionBatch, form: CheckpointForm, take: Callable[[ActionBatch], None] | None) -> None:
    kind = batch.kind
    try:
        form.take(batch)
        if take is not None:
            take(batch)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"it has no {error.args[0]}" if isinstance(error, KeyError) else str(error)
        raise BrokenLogError(f"its {kind} action is malformed: {what}") from error


def unread_checkpoint(segment: LogSegment, error: UnreadFileError) -> Finding:
    """Return the finding for a checkpoint with a file that was not read."""
    path = f"_delta_log/{segment.checkpoint_files[0]}"
    return unread_file(path, error.problem, error.meaning.remedy, segment.checkpoint_version)


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

    def check(self, last: int) -> Iterator[Finding]:
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
        if last >= newest_version(self._names) and any(check_ahead(self._names)):
            # A commit may have been written since the names were listed.
            yield from check_ahead(self._log.list_names())

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

    def check_late_files(self, audit: HistoryAudit, facts: HistoryFacts) -> Iterator[Finding]:
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
