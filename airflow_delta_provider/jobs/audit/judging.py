"""Judging the commits of one table: where to begin, commit after commit, around what is damaged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from airflow_delta_provider.domain.audit.audit_state import AuditState
from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.history_facts import HistoryFacts
from airflow_delta_provider.domain.audit.past_needs import undecidable_rules
from airflow_delta_provider.domain.audit.version_range import Span, find_span
from airflow_delta_provider.domain.checks.log.checkpoints import check_checkpoint, check_pointer
from airflow_delta_provider.domain.checks.log.checksums import check_checksum
from airflow_delta_provider.domain.checks.log.compaction import check_compaction
from airflow_delta_provider.domain.checks.log.damaged_files import damaged_checkpoint, damaged_commit
from airflow_delta_provider.domain.checks.log.history import GAP, out_of_time, state_of_older_release
from airflow_delta_provider.domain.checks.row_tracking.row_moves import RowMoves
from airflow_delta_provider.domain.delta.checksum import checksum_name
from airflow_delta_provider.domain.delta.commit import Commit, parse_commit
from airflow_delta_provider.domain.delta.log_files import (
    BrokenCheckpointError,
    BrokenCommitError,
    BrokenLogError,
    CompactionFile,
    LogSegment,
    checkpoint_versions,
    commit_name,
    commit_versions,
    compaction_files,
    earliest_version,
    select_segment,
)
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.audit.commit_file import CommitFile, touch_files
from airflow_delta_provider.jobs.delta.log.kept_log import KeptLog
from airflow_delta_provider.jobs.delta.log.table_log import TableLog
from airflow_delta_provider.jobs.session.progress import Progress
from airflow_delta_provider.jobs.session.time_budget import TimeBudget
from airflow_delta_provider.jobs.session.timings import Timings

_POINTER = "_last_checkpoint"
#: Commits between two lines of progress.
_STEP = 5000


class Judging:
    """Judges a span of the log.

    :param names: of the files in the log
    :param name: of the table, for people
    :param budget: when it is spent, the rest is given up
    :param with_files: whether the live files are needed in any case
    :param follow: as of :class:`HistoryAudit`
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
    ) -> None:
        self._log = log
        self._names = names
        self._name = name
        self._timings = timings
        self._progress = progress
        self._budget = budget
        self._with_files = with_files
        self._follow = follow
        self.commits = 0
        """How many commits were judged."""
        self.first: int | None = None
        """The first of them."""

    def judge(self, span: Span, *, known: bool = False, memory: AuditState | None = None) -> HistoryAudit:
        """Judge the commits of ``span``.

        :param known: whether what is wrong with the state that it starts from is left out
        :param memory: of an earlier audit, from whose end the log no longer leads there
        :raises BrokenLogError: if that state cannot be read
        """
        asked = span.base
        span, replay, damaged = self._start(span, known)
        if span.base is None:
            audit = HistoryAudit(replay, log=KeptLog(self._log), follow=self._follow)
        else:
            known = known and asked is not None and span.base.version == asked.version
            state = replay.state(span.base.version)
            # Nobody knows what became of it in the commits between.
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
            )
        for finding in (*damaged, *span.findings, *self._pointer()):
            audit.note(finding)
        versions = range(span.first, span.last + 1)
        self._judge(audit, self._read(versions), versions)
        return audit

    def go_on(self, memory: AuditState, last: int) -> HistoryAudit:
        """Judge what came after an earlier audit; where the log does not lead on from there, from where it does.

        :raises BrokenLogError: if a state that is needed cannot be read
        """
        if not self.leads_on(memory, last):
            return self.judge(find_span(self._names, last), memory=memory)
        base, replay = memory.state, Replay.of(memory.state)
        earliest = self._earliest()
        begin, until = memory.begin(earliest), memory.version
        if memory.facts is None and earliest < 0:
            begin = earliest  # an older release did not remember them
        newest = max((version for version in checkpoint_versions(self._names) if version <= last), default=-1)
        compared = newest > until
        if memory.facts is not None and earliest < newest <= until and newest > (memory.facts.checkpoint or -1):
            begin = min(begin, newest - 1)  # it was written after the earlier audit
        commits = self._read(range(until + 1, last + 1))
        ahead: list[CommitFile] = []
        if begin < until or self._with_files or compared or touch_files(commits, ahead, memory):
            try:
                replay = Replay(with_files=True) if begin < 0 else self._log.replay(select_segment(self._names, begin))
                base = base if begin < 0 else replay.state(begin)
            except BrokenLogError:  # the state that the earlier audit ended in may be cleaned up
                return self.judge(find_span(self._names, last), memory=memory)
        audit = HistoryAudit(
            replay,
            None if begin < 0 else base,
            KeptLog(self._log),
            recalled=memory.recalled(begin, self._names),
            previous=Commit(until, memory.commit_info) if begin == until else None,
            follow=None if self._follow is None else _later(self._follow, until),
        )
        known = range(begin + 1, until + 1)
        self._judge(audit, self._read(known), known)
        if audit.version == until:
            audit.settle(memory.findings, memory.facts)
            if memory.facts is not None:
                self._look_at_late_files(audit, memory.facts)
            self.commits, self.first = 0, None
            if memory.facts is None and earliest >= 0 and (codes := undecidable_rules(memory.state)):
                audit.note(state_of_older_release(until, codes))
            self._judge(audit, chain(ahead, commits), range(until + 1, last + 1))
        for finding in self._pointer():
            audit.note(finding)
        return audit

    def leads_on(self, memory: AuditState, last: int) -> bool:
        """Whether the log has all commits from the one on that an earlier audit ended with."""
        few = last - memory.version < len(self._names)  # a name may give any version
        return few and {*map(commit_name, range(memory.version, last + 1))} <= {*self._names}

    def _earliest(self) -> int:
        """Return the first version that the log leads to; the one before the first where it is kept whole."""
        earliest = earliest_version(self._names)
        return -1 if commit_name(0) in self._names and not earliest else earliest or 0

    def _start(self, span: Span, known: bool) -> tuple[Span, Replay, list[Finding]]:
        """Return from where to judge, with the state there and what is damaged on the way to it.

        Where a file is damaged that leads to the state of ``span``, it is one that others lead to.

        :raises BrokenLogError: if there is none
        """
        names, damaged = self._names, list[Finding]()
        since = span.base.version if known and span.base is not None else None
        while span.base is not None:
            base = span.base
            try:
                return span, self._log.replay(base), damaged
            except BrokenCheckpointError as error:
                broken: BrokenLogError = error
                damaged.append(damaged_checkpoint(base.checkpoint_version or 0, base.checkpoint_files[0], error))
                names = [name for name in names if name not in base.checkpoint_files]
            except BrokenCommitError as error:
                broken = error
                damaged.append(damaged_commit(error.version, error))
                names = _after(names, error.version)
                names.remove(commit_name(error.version))
            try:
                span = find_span(names, span.last, since)
            except BrokenLogError:
                raise broken from None
        return span, Replay(with_files=True), damaged

    def _read(self, versions: range) -> Iterator[CommitFile]:
        """Yield those commits that the log has."""
        present = set(self._names)
        found = [version for version in versions if commit_name(version) in present]
        files = self._log.read_files([name for version in found for name in _files_of(version, present)])
        for version in found:
            yield CommitFile(version, next(files), next(files) if checksum_name(version) in present else None)

    def facts(self, audit: HistoryAudit) -> HistoryFacts:
        """Return what is known besides the state, for an audit that goes on from there."""
        names = [name for name in self._names if not name[:20].isdecimal() or int(name[:20]) <= audit.version]
        checksum = checksum_name(audit.version) in names
        return replace(
            audit.facts(),
            checkpoint=max(checkpoint_versions(names), default=None),
            checksum=audit.version if checksum else None,
            compaction=max((c.last for c in compaction_files(names) if c.last <= audit.version), default=None),
        )

    def _look_at_late_files(self, audit: HistoryAudit, facts: HistoryFacts) -> None:
        """Look at what was written to the log, or taken from it, up to where an earlier audit ended, after it had."""
        commits = [version for version in commit_versions(self._names) if version <= audit.version]
        if commits and commits[-1] - commits[0] >= len(commits):
            for finding in find_span(self._names, audit.version).findings:
                if finding.code == GAP.code:
                    audit.note(finding)
        version, name = audit.version, checksum_name(audit.version)
        if facts.checksum != version and name in self._names:
            for finding in check_checksum_of(audit, self._log.read_file(name)):
                audit.note(finding)
        for compaction in compaction_files(self._names):
            if (facts.compaction or -1) < compaction.last <= version:
                for finding in self._compare_compaction(compaction):
                    audit.note(finding)

    def _judge(self, audit: HistoryAudit, commits: Iterable[CommitFile], versions: range) -> None:
        last = versions[-1] if versions else audit.version
        checkpoints = [v for v in checkpoint_versions(_after(self._names, versions.start)) if v in versions]
        compactions = defaultdict(list)
        for compaction in compaction_files(self._names):
            compactions[compaction.last].append(compaction)
        for version, content, checksum in commits:
            if self.commits and self._budget.is_spent:
                audit.note(out_of_time(version, last, self._budget.seconds))
                break
            if version <= audit.version:
                continue  # behind a damaged commit, up to the checkpoint that it went on from
            try:
                audit.take(version, parse_commit(commit_name(version), content))
            except BrokenLogError as error:
                audit.note(damaged_commit(version, error))
                if self._resume(audit, version, last):
                    continue
                break
            self.commits += 1
            self.first = version if self.first is None else self.first
            beside = list(check_checksum_of(audit, checksum)) if checksum is not None else []
            if checkpoints and version == checkpoints[-1]:
                beside += self._compare_checkpoint(audit, version)
            for compaction in compactions[version]:
                beside += self._compare_compaction(compaction)
            for finding in beside:
                audit.note(finding)
            if self.commits % _STEP == 0:
                self._progress(f"{self._name}: {self.commits} of {len(versions)} commits judged")

    def _resume(self, audit: HistoryAudit, damaged: int, last: int) -> bool:
        """Go on from the next checkpoint behind a damaged commit; return whether there is one."""
        for version in (v for v in checkpoint_versions(self._names) if damaged <= v <= last):
            for segment in self._checkpoints(version):
                try:
                    replay = self._log.replay(segment)
                except BrokenLogError as error:
                    audit.note(damaged_checkpoint(version, segment.checkpoint_files[0], error))
                    continue
                audit.resume(replay, replay.state(version))
                return True
        return False

    def _compare_checkpoint(self, audit: HistoryAudit, version: int) -> Iterator[Finding]:
        """Yield how the newest checkpoint differs from the commits that it stands for."""
        if not audit.is_readable:
            return
        state = audit.state()
        for segment in self._checkpoints(version):
            try:
                with self._timings.phase("checkpoint"):
                    checkpointed = self._log.replay(segment, like=state).state(version)
            except BrokenLogError as error:
                yield damaged_checkpoint(version, segment.checkpoint_files[0], error)
                continue
            yield from check_checkpoint(checkpointed, state, segment)

    def _compare_compaction(self, compaction: CompactionFile) -> Iterator[Finding]:
        """Yield how a log compaction file differs from its commits, where they are all kept and whole."""
        versions = range(compaction.first, compaction.last + 1)
        if not {*map(commit_name, versions)} <= {*self._names}:
            return
        files = self._log.read_files([compaction.name, *map(commit_name, versions)])
        content = next(files)
        commits = (parse_commit(commit_name(version), next(files)) for version in versions)
        with suppress(BrokenLogError):
            yield from check_compaction(compaction, content, commits)

    def _checkpoints(self, version: int) -> Iterator[LogSegment]:
        """Yield the whole checkpoints of a version: it may have several, of several forms."""
        own = [name for name in self._names if name.startswith(f"{version:020d}.checkpoint")]
        while version in checkpoint_versions(own):
            segment = select_segment(own, version)
            yield segment
            own = [name for name in own if name not in segment.checkpoint_files]

    def _pointer(self) -> Iterator[Finding]:
        if _POINTER not in self._names:
            return
        pointer, checkpoints = self._log.read_file(_POINTER), checkpoint_versions(self._names)
        if any(check_pointer(pointer, checkpoints)):
            # A checkpoint may have been written since the names were listed.
            checkpoints = checkpoint_versions(self._log.list_names())
        yield from check_pointer(pointer, checkpoints)


def _later(follow: Callable[[RowMoves], None], version: int) -> Callable[[RowMoves], None]:
    """Return what takes the moves of commits after ``version`` only."""
    return lambda moves: follow(moves) if moves.version > version else None


def _after(names: Sequence[str], version: int) -> list[str]:
    """Return the names of files of the log that belong to ``version`` or later ones."""
    first = f"{version:020d}"
    return [name for name in names if name[:20] >= first]


def _files_of(version: int, present: set[str]) -> list[str]:
    names = [commit_name(version), checksum_name(version)]
    return [name for name in names if name in present]


def check_checksum_of(audit: HistoryAudit, content: bytes) -> Iterator[Finding]:
    """Yield how a checksum file contradicts the version that was audited last."""
    if audit.is_readable:
        yield from check_checksum(audit.version, content, audit.state(), files=audit.live_files, size=audit.live_bytes)
