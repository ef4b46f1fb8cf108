"""Checks the commits of one table: chooses the start, checks commit after commit, and works around damage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.past import VersionRange, find_version_range, undecidable_rules
from airflow_delta_provider.domain.audit.saved_state import AuditState, HistoryFacts
from airflow_delta_provider.domain.checks.log.files import damaged_checkpoint, damaged_commit
from airflow_delta_provider.domain.checks.log.history import out_of_time, state_of_older_release
from airflow_delta_provider.domain.checks.row_tracking.moved_rows import RowMoves
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.derived_files import checksum_name, lists_files
from airflow_delta_provider.domain.delta.log_files import (
    BrokenCheckpointError,
    BrokenCommitError,
    BrokenLogError,
    LogSegment,
    checkpoint_segments,
    checkpoint_versions,
    checksum_versions,
    commit_name,
    compaction_files,
    earliest_version,
    select_segment,
)
from airflow_delta_provider.domain.delta.partial_files import AllFilesNeededError
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.engine.secret_settings import masked_text
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.jobs.audit.commit_file import CommitFile, Lookahead, find_removed
from airflow_delta_provider.jobs.audit.derived_files import CheckpointAudit, DerivedFiles, unread_checkpoint
from airflow_delta_provider.jobs.delta.kept_log import KeptLog
from airflow_delta_provider.jobs.delta.session import OpenTable
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Progress, TimeBudget, Timings
from airflow_delta_provider.jobs.storage.errors import MissingFileError, OutOfMemoryError, StorageError, UnreadFileError

#: Number of commits between two lines of progress.
_STEP = 5000
#: Errors of files, which are never caused by shortcuts.
_OF_FILES = (BrokenLogError, MissingFileError, StorageError, OSError)


class RangeAudit:
    """Checks a range of versions.

    :param names: names of the files in the log
    :param name: name of the table, for messages
    :param budget: time limit; the rest is skipped once it is spent
    :param with_files: True if the live files are needed in any case
    :param follow: see :class:`HistoryAudit`
    :param shortcuts: see :class:`HistoryAudit`; if False, commits are also never checked together
    :param in_tasks: True if an engine may read large checkpoints in its tasks
    """

    def __init__(
        self,
        log: TableLog,
        names: Sequence[str],
        name: str,
        timings: Timings,
        progress: Progress,
        budget: TimeBudget,
        *,
        with_files: bool = False,
        follow: Callable[[RowMoves], None] | None = None,
        shortcuts: bool = True,
        in_tasks: bool = False,
    ) -> None:
        self._log = log
        self._names = names
        self._name = name
        self._timings = timings
        self._progress = progress
        self._budget = budget
        self._with_files = with_files
        self._follow = follow
        self._shortcuts = shortcuts
        self.checkpoints = CheckpointAudit(log, names, timings, in_tasks=in_tasks)
        """Compares the checkpoints with the commits."""
        self._derived = DerivedFiles(log, names, self.checkpoints)
        self.commits = 0
        """Number of commits that were checked."""
        self.first: int | None = None
        """The first of them."""

    def run(self, wanted: VersionRange, *, known: bool = False, memory: AuditState | None = None) -> HistoryAudit:
        """Check the commits of ``wanted``.

        :param known: True to leave out problems with the state that it starts from
        :param memory: state of an earlier audit, if the log no longer leads on from its end
        :raises BrokenLogError: if the starting state cannot be read
        """
        asked = wanted.base
        wanted, replay, damaged = self._start(wanted, known)
        if wanted.base is None:
            audit = HistoryAudit(replay, log=KeptLog(self._log), follow=self._follow, shortcuts=self._shortcuts)
        else:
            known = known and asked is not None and wanted.base.version == asked.version
            state = replay.state(wanted.base.version)
            # The effects of the commits in between are unknown.
            same = memory is not None and memory.state.metadata.id == state.metadata.id
            recalled = memory.recalled(state.version, self._names) if memory is not None and same else ()
            audit = HistoryAudit(
                replay,
                state,
                KeptLog(self._log),
                known=known,
                recalled=recalled,
                missed=memory.state if memory is not None and same else None,
                follow=self._follow,
                shortcuts=self._shortcuts,
            )
        versions = range(wanted.first, wanted.last + 1)
        checkpoint = self.checkpoints.begin(versions, wanted.base, whole=wanted.base is None, known=known)
        self._note(audit, (*damaged, *wanted.findings, *checkpoint))
        self._check(audit, self._read(versions), versions)
        self._note(audit, self._derived.check(wanted.last))
        return audit

    def go_on(self, memory: AuditState, last: int) -> HistoryAudit:
        """Check the commits after an earlier audit. If the log does not continue from there, start where it does.

        :raises BrokenLogError: if a required state cannot be read
        """
        if not self.leads_on(memory, last):
            return self.run(find_version_range(self._names, last), memory=memory)
        base = memory.state
        earliest = self._earliest()
        begin, until = memory.begin(earliest), memory.version
        if memory.facts is None and earliest < 0:
            begin = earliest  # an older release did not save them
        checkpoints = [version for version in checkpoint_versions(self._names) if earliest < version <= last]
        compared = max(checkpoints, default=-1) > until
        if memory.facts is not None:  # the oldest checkpoint written after the earlier audit
            late = (v for v in checkpoints if v <= until and not memory.facts.knows_checkpoint(v))
            begin = min(begin, next(late, until + 1) - 1)
        commits = self._read(range(until + 1, last + 1))
        segment: LogSegment | None = None
        ahead: list[CommitFile] = []
        follow = begin < until or self._lists_files(until)
        whole = follow or self._with_files or compared
        removed = find_removed(commits, ahead, memory) if self._shortcuts and not whole else None
        if removed is not None:
            files = memory.facts.files if memory.facts is not None else None
            others = (0 if files is None else files.number) - len(removed)
            replay = Replay.of(replace(base, files=removed), others)
        else:
            try:
                segment = None if begin < 0 else select_segment(self._names, begin)
                replay = Replay(with_files=True) if segment is None else self.checkpoints.replay(segment, known=True)
                base = base if segment is None else replay.state(begin)
            except BrokenLogError:  # the state at the end of the earlier audit may be cleaned up
                return self.run(find_version_range(self._names, last), memory=memory)
        audit = HistoryAudit(
            replay,
            None if begin < 0 else base,
            KeptLog(self._log),
            recalled=memory.recalled(begin, self._names),
            previous=Commit(until, memory.commit_info) if begin == until else None,
            follow=None if self._follow is None else _later(self._follow, until),
            shortcuts=self._shortcuts,
        )
        known = range(begin + 1, until + 1)
        since = range(begin + 1, last + 1)
        self._note(audit, self.checkpoints.begin(since, segment, whole=begin < 0, first=follow, known=True))
        self._check(audit, self._read(known), known)
        if audit.version == until:
            audit.settle(memory.findings, memory.facts)
            if memory.facts is not None:
                self._note(audit, self._derived.check_late_files(audit, memory.facts))
            self.commits, self.first = 0, None
            if memory.facts is None and earliest >= 0 and (codes := undecidable_rules(memory.state)):
                audit.note(state_of_older_release(until, codes))
            self._check(audit, chain(ahead, commits), range(until + 1, last + 1))
        self._note(audit, self._derived.check(last))
        return audit

    def _lists_files(self, version: int) -> bool:
        """Return True if the newest checksum file after a version lists all live files, as it does for small tables."""
        newest = max(checksum_versions(self._names), default=-1)
        return newest > version and lists_files(self._log.read_file(checksum_name(newest)))

    def leads_on(self, memory: AuditState, last: int) -> bool:
        """Return True if the log has all commits from the last one of an earlier audit on."""
        few = last - memory.version < len(self._names)  # a file name can claim any version
        return few and {*map(commit_name, range(memory.version, last + 1))} <= {*self._names}

    def _earliest(self) -> int:
        """Return the oldest version that the log can still reconstruct; -1 if it is kept from version 0."""
        earliest = earliest_version(self._names)
        return -1 if commit_name(0) in self._names and not earliest else earliest or 0

    def _start(self, wanted: VersionRange, known: bool) -> tuple[VersionRange, Replay, list[Finding]]:
        """Return the range to check, the replay at its start, and findings about damage on the way.

        If a file that leads to the state of ``wanted`` is damaged, another start without this file is chosen.

        :raises BrokenLogError: if there is no other start
        :raises UnreadFileError: if there is none because of a file that cannot or must not be read
        """
        names, damaged = self._names, list[Finding]()
        since = wanted.base.version if known and wanted.base is not None else None
        while wanted.base is not None:
            base = wanted.base
            try:
                return wanted, self.checkpoints.replay(base), damaged
            except BrokenCheckpointError as error:
                broken: Exception = error
                damaged.append(damaged_checkpoint(base.checkpoint_version or 0, base.checkpoint_files[0], error))
                names = [name for name in names if name not in base.checkpoint_files]
            except UnreadFileError as error:
                if not base.checkpoint_files:
                    raise
                broken = error
                damaged.append(unread_checkpoint(base, error))
                names = [name for name in names if name not in base.checkpoint_files]
            except BrokenCommitError as error:
                broken = error
                damaged.append(damaged_commit(error.version, error))
                names = _after(names, error.version)
                names.remove(commit_name(error.version))
            try:
                wanted = find_version_range(names, wanted.last, since)
            except BrokenLogError:
                raise broken from None
        return wanted, Replay(with_files=True), damaged

    def _read(self, versions: range) -> Iterator[CommitFile]:
        """Yield the commits that the log has."""
        present = set(self._names)
        with_checksum = {version for version in checksum_versions(self._names) if version in versions}
        found: list[int] = []
        names: list[str] = []
        for version in versions:
            if (name := commit_name(version)) in present:
                found.append(version)
                names += [name, checksum_name(version)] if version in with_checksum else [name]
        files = self._log.read_files(names)
        for version in found:
            yield CommitFile(version, next(files), next(files) if version in with_checksum else None)

    def facts(self, audit: HistoryAudit) -> HistoryFacts:
        """Return facts in addition to the state, for an audit that continues from there."""
        names = [name for name in self._names if not name[:20].isdecimal() or int(name[:20]) <= audit.version]
        checksum = checksum_name(audit.version) in names
        return replace(
            audit.facts(),
            checkpoints=frozenset(checkpoint_versions(names)),
            checksum=audit.version if checksum else None,
            compaction=max((c.last for c in compaction_files(names) if c.last <= audit.version), default=None),
        )

    def _check(self, audit: HistoryAudit, commits: Iterable[CommitFile], versions: range) -> None:
        last = versions[-1] if versions else audit.version
        ahead = Lookahead(commits)
        while batch := ahead.batch():
            if self.commits and self._budget.is_spent:
                audit.note(out_of_time(batch[0].version, last, self._budget.seconds))
                break
            together = self._check_routine(audit, batch) if self._shortcuts and len(batch) > 1 else 0
            if together:
                self._count(batch[0].version, together, len(versions))
                ahead.took_together(together)
                continue
            ahead.took_one()
            version, content, checksum = batch[0]
            if version <= audit.version:
                continue  # behind a damaged commit, but not after the checkpoint used to continue
            try:
                actions = audit.read(commit_name(version), content)
                audit.take(version, actions)
            except MemoryError:
                what = f"commit {commit_name(version)} of {len(content):,} bytes, once it is parsed,"
                raise OutOfMemoryError(what) from None
            except BrokenLogError as error:
                audit.note(damaged_commit(version, error))
                if self._resume(audit, version, last):
                    continue
                break
            found = list(self.checkpoints.take(version, actions))
            self._note(audit, (*found, *self._derived.compare(audit, checksum)))
            self._count(version, 1, len(versions))

    def _check_routine(self, audit: HistoryAudit, commits: Sequence[CommitFile]) -> int:
        """Check commits of a common form together; return the number of commits checked.

        Commits that are compared with a checkpoint or compaction are left to be checked one by one.
        """
        alone = (
            place
            for place, (version, _, checksum) in enumerate(commits, start=1)
            if version != audit.version + place
            or (checksum is not None and lists_files(checksum))
            or self.checkpoints.has(version)
            or self._derived.compacts(version)
        )
        together = commits[: next(alone, len(commits) + 1) - 1]
        checked = 0
        for routine, commit in zip(audit.take_routine([commit.content for commit in together]), together):
            checked += 1
            self.checkpoints.take_routine(commit.version, commit.content, routine)
            found = () if commit.checksum is None else tuple(self._derived.compare_checksum(audit, commit.checksum))
            self._note(audit, found)
            if found:
                break
        return checked

    def _count(self, version: int, checked: int, of: int) -> None:
        """Count commits that were checked.

        :param version: version of the first of them
        """
        self.first = version if self.first is None else self.first
        before, self.commits = self.commits, self.commits + checked
        if before // _STEP != self.commits // _STEP:
            self._progress(f"{self._name}: {self.commits} of {of} commits checked")

    def _note(self, audit: HistoryAudit, findings: Iterable[Finding]) -> None:
        for finding in findings:
            audit.note(finding)

    def _resume(self, audit: HistoryAudit, damaged: int, last: int) -> bool:
        """Continue from the next checkpoint behind a damaged commit; return True if there is one."""
        for version in (v for v in checkpoint_versions(self._names) if damaged <= v <= last):
            for segment in checkpoint_segments(self._names, version):
                try:
                    replay = self.checkpoints.replay(segment)
                except BrokenLogError as error:
                    audit.note(damaged_checkpoint(version, segment.checkpoint_files[0], error))
                    continue
                except UnreadFileError as error:
                    audit.note(unread_checkpoint(segment, error))
                    continue
                audit.resume(replay, replay.state(version))
                self._note(audit, self.checkpoints.resume(segment))
                return True
        return False


def run_audit(
    make: Callable[..., RangeAudit], start: Callable[[RangeAudit], HistoryAudit], progress: Progress
) -> tuple[RangeAudit, HistoryAudit]:
    """Check commits with shortcuts. If one fails, check them again without, so that no shortcut can fail an audit.

    :param make: creates the :class:`RangeAudit`, given the keyword ``shortcuts``
    :param start: runs it
    :raises BrokenLogError: if a required state cannot be read
    """
    run = make(shortcuts=True)
    try:
        audit = start(run)
        assert audit.commit_info is not None  # the last value that a shortcut may still have to read
    except Exception as failure:
        if isinstance(failure, AllFilesNeededError):
            raise
        if isinstance(failure, _OF_FILES) and not isinstance(failure, OutOfMemoryError):
            raise
        what = masked_text(f"{type(failure).__name__}: {failure}")
    else:
        return run, audit
    progress(f"The commits are checked again without shortcuts, since one may have failed: {what}")
    run = make(shortcuts=False)
    return run, start(run)


def _later(follow: Callable[[RowMoves], None], version: int) -> Callable[[RowMoves], None]:
    """Return a function that passes on only the moves of commits after ``version``."""
    return lambda moves: follow(moves) if moves.version > version else None


def _after(names: Sequence[str], version: int) -> list[str]:
    """Return the names of log files that belong to ``version`` or later versions."""
    first = f"{version:020d}"
    return [name for name in names if name[:20] >= first]


class LogLevel:
    """Checks the commits of one table.

    :param budget: time limit; the rest is skipped once it is spent
    """

    reads = False
    """True if anything else is read."""

    def __init__(self, table: OpenTable, budget: TimeBudget, timings: Timings, progress: Progress) -> None:
        self._table = table
        self._name = table.name.text
        self._budget = budget
        self._timings = timings
        self._progress = progress

        self.in_tasks = True
        """True if an engine may read large checkpoints in its tasks."""
        self.given_up = False
        """True if the time was over before everything was read."""

    def range_audit(self, *, shortcuts: bool) -> RangeAudit:
        """Return the :class:`RangeAudit` for this level.

        :param shortcuts: True if it may use shortcuts
        """
        table = self._table
        return RangeAudit(
            table.log,
            table.log_names,
            self._name,
            self._timings,
            self._progress,
            self._budget,
            shortcuts=shortcuts,
            in_tasks=self.in_tasks,
        )

    def check_data(self, audit: HistoryAudit, *, newest: bool) -> dict[str, Any]:
        """Check the data of this level after the commits, and add the findings to ``audit``; return the evidence.

        :param newest: True if the last version checked is the newest of the table
        :raises BrokenLogError: if the log cannot be read
        """
        del audit, newest
        return {}
