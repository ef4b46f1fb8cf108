"""The audit of a table's history: every rule of the log, commit after commit, oldest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from airflow_delta_provider.domain.audit.change_audit import ChangeAudit
from airflow_delta_provider.domain.audit.fast_path.lines import CommitLines
from airflow_delta_provider.domain.audit.fast_path.open_fields import NOTHING_OPEN, open_fields
from airflow_delta_provider.domain.audit.fast_path.routine_commits import RoutineCommit
from airflow_delta_provider.domain.audit.file_findings import FileFindings
from airflow_delta_provider.domain.audit.file_records import LiveCounts
from airflow_delta_provider.domain.audit.live_files import LiveFileTracker
from airflow_delta_provider.domain.audit.past import PastLog
from airflow_delta_provider.domain.audit.restore_detection import RestoreDetector
from airflow_delta_provider.domain.audit.routine_audit import FastPath
from airflow_delta_provider.domain.audit.row_tracking import (
    RowTrackingAudit,
)
from airflow_delta_provider.domain.audit.saved_state import HistoryFacts, LiveFiles, OpenViolation
from airflow_delta_provider.domain.audit.transition_audit import HEAD, TRACKING, TransitionAudit
from airflow_delta_provider.domain.audit.violation import still_open_by
from airflow_delta_provider.domain.audit.violations import Violations
from airflow_delta_provider.domain.checks.metadata.state import no_metadata
from airflow_delta_provider.domain.checks.protocol.lists import no_protocol
from airflow_delta_provider.domain.checks.registry import rule_of
from airflow_delta_provider.domain.checks.row_tracking import FAMILY as ROW_TRACKING
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import RowCount
from airflow_delta_provider.domain.checks.row_tracking.moved_rows import RowMoves
from airflow_delta_provider.domain.checks.row_tracking.state import NO_HIGH_WATER_MARK as _NO_MARK
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.commit import Action, ActionValue, Commit, parse_commit, read_actions
from airflow_delta_provider.domain.delta.history_events import HistoryEvents, events_of, first_event
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_state import Replay, TableState, apply_commit, apply_first, as_one_commit
from airflow_delta_provider.domain.report.report import Finding


class HistoryAudit:
    """Audits commits, oldest first, in the states that they lead to.

    :param replay: state before the first commit; empty for the whole history
    :param base: the same state; None for the whole history
    :param log: source of earlier commits
    :param known: True to leave out findings about ``base`` itself
    :param recalled: violations that were open in an earlier audit, which ended at or before ``base``
    :param missed: state of the table at the end of that audit, if the commits from there to ``base`` were not audited
    :param previous: commit of ``base``, if known
    :param follow: callback for the moves of rows in each commit, if their row ids can be relied on
    :param shortcuts: True to skip lines that match lines without findings; otherwise every rule checks every line,
        which takes several times as long and finds the same
    """

    def __init__(
        self,
        replay: Replay,
        base: TableState | None = None,
        log: PastLog | None = None,
        *,
        known: bool = False,
        recalled: Sequence[OpenViolation] = (),
        missed: TableState | None = None,
        previous: Commit | None = None,
        follow: Callable[[RowMoves], None] | None = None,
        shortcuts: bool = True,
    ) -> None:
        self._replay = replay
        self._log = log or PastLog()
        begun_late = base is not None
        self.knows_files = base is None or base.files is not None
        """True if all live files are known."""
        self._violations = Violations()
        self._restorations = RestoreDetector(self._log, begun_late)
        self._changes = ChangeAudit(self._log)
        fields = open_fields() if shortcuts else NOTHING_OPEN
        self._shortcuts = bool(fields.in_lines)
        self._tracking = RowTrackingAudit(self._log, begun_late, follow, shortcuts=fields.commits)
        self._files = LiveFileTracker(self._log, begun_late)
        self._fast_path = FastPath(fields, self._violations, self._files, self._restorations, self._tracking)
        self._transitions = TransitionAudit(
            self._log,
            self._violations,
            self._restorations,
            self._changes,
            self._tracking,
            self._files,
            self._fast_path,
        )
        self.events = HistoryEvents()
        """Changes of protocol and columns that the commits made."""
        self._last: Commit | RoutineCommit | None = previous
        self._version = -1 if base is None else base.version
        since = base.version if known and base is not None else None
        self._file_findings = FileFindings(self._violations, self._tracking, self._log, since)
        for violation in recalled:
            self._recall(violation, base)
        if base is not None:
            if self._previous is None:
                self._last = self._log.commit_at(base.version)
            self._begin_late(base)
            if missed is not None:
                self._violations.close_not_live({path for path, _ in base.files or ()}, base.version)
                self._violations.close_fixed(as_one_commit(missed, base))
            if missed is not None or not recalled:
                self._file_findings.observe_first(base)
            if known:
                self._violations.forget()

    @property
    def version(self) -> int:
        """The last audited version; -1 if there is none."""
        return self._version

    @property
    def is_readable(self) -> bool:
        """Return True if the table has protocol and metadata, and so a state."""
        return self._replay.is_complete

    @property
    def commit_info(self) -> Mapping[str, Any]:
        """The ``commitInfo`` of the last audited commit."""
        return {} if self._previous is None else self._previous.info

    @property
    def _previous(self) -> Commit | None:
        """The last audited commit, if known."""
        if isinstance(self._last, RoutineCommit):
            self._last = self._last.at(self._version)
        return self._last

    @property
    def live_files(self) -> int | None:
        """Number of live files; None if those before the first commit are not known."""
        files = self._live()
        return None if files is None else files.number

    @property
    def live_bytes(self) -> int | None:
        """Size of all live files in bytes; None if those before the first commit are not known."""
        files = self._live()
        return None if files is None else files.size

    def live_counts(self, bounds: tuple[int, ...]) -> LiveCounts | None:
        """Return counts of the live files; None if they are unknown.

        :param bounds: lower bound of each size bin; empty to use the bounds of the previous call
        """
        return self._files.counts(bounds, self._replay.files if self.knows_files else None)

    def state(self) -> TableState:
        """Return the last audited state, with its files.

        :raises BrokenLogError: if there was no protocol or no metaData action so far
        """
        return self._replay.state(self._version)

    def read(self, name: str, content: bytes) -> Sequence[Action]:
        """Read the file of the next commit. Lines that match lines without findings are not parsed.

        :raises BrokenLogError: if a line is not an action: truncated, not JSON, not UTF-8
        """
        if self._shortcuts and self._replay.is_complete:
            with suppress(Exception):  # parsing reports the faults of a damaged file
                return self._fast_path.read(name, content, self._replay.head(self._version))
        return parse_commit(name, content)

    def take(self, version: int, actions: Sequence[Action]) -> None:
        """Audit a commit.

        :param actions: the result of :meth:`read`, or all actions

        :raises BrokenLogError: if an action is malformed; the commit is not taken then
        """
        where = f" of version {version}"
        lines = actions if isinstance(actions, CommitLines) else None
        values = list(read_actions(actions, where=where)) if lines is None else lines.values(where)
        commit = Commit.of(version, values)
        self._version = version
        healed = self._violations.healed
        found, effect = self._violations.taken, None
        if lines is not None:
            effect = self._fast_path.effect(commit, lines, self._replay)
        if self._replay.is_complete:
            transition = apply_commit(self._replay, commit, values, self._previous)
            self._transitions.check(transition, self._replay.files, actions)
            if transition.changes_head:
                self.events = self.events.and_then(events_of(transition))
        else:
            self._take_first(commit, values, actions)
        if self._violations.healed > healed:
            self._violations.date(version, commit.provenance["timestamp"])
        self._last = commit
        if lines is not None and effect is not None and self._violations.taken == found:
            self._fast_path.learn(lines, self._replay.head(version), effect)

    def take_routine(self, contents: Sequence[bytes]) -> Iterator[RoutineCommit]:
        """Take the next commits while they do the same as earlier commits without findings.

        Yield each commit after it is taken. The next commit after those must go to :meth:`take`.

        :param contents: contents of the commit files
        """
        begun, previous = self._version, self._previous
        if not (self._replay.is_complete and self.knows_files) or previous is None or previous.version != begun:
            return
        for commit in self._fast_path.take(contents, self._replay, previous, self._replay.head(begun)):
            self._version += 1
            self._last = commit
            yield commit

    def resume(self, replay: Replay, base: TableState) -> None:
        """Continue from a checkpoint, after a commit that cannot be read.

        :param replay: replay of the checkpoint's state
        """
        self._replay = replay
        self._restorations.resume()
        self._tracking.note_gap()
        self._files.resume()
        self.knows_files = base.files is not None
        self._last = None
        self._version = base.version
        self._begin_late(base)

    def note(self, finding: Finding) -> None:
        """Record a finding that does not come from the commits themselves."""
        self._violations.open(finding)

    def settle(self, known: Iterable[Finding], facts: HistoryFacts | None = None) -> None:
        """Note that an earlier audit reached this version: findings that it did not have are not reported.

        :param known: its findings
        :param facts: its further facts; None if unknown
        """
        self._violations.settle(known)
        if facts is None:
            return
        self.events = facts.events or self.events
        self._changes.go_on(facts)
        self._tracking.restore_saved(facts)
        if not self.knows_files:
            self._files.go_on(facts.files, self._replay.files.values())

    def facts(self) -> HistoryFacts:
        """Return the facts beyond the state, for an audit that continues from here."""
        files = self._live()
        return HistoryFacts(
            column_ids=self._changes.column_ids,
            used_features=self._changes.used_features,
            ever_dropped=self._changes.ever_dropped,
            high_water_mark=self._tracking.high_water_mark,
            lowered=self._tracking.lowered,
            files=None if files is None else files.with_files(self._replay.files).kept(),
            standing=self._violations.standing(),
            events=self.events,
        )

    def findings(self) -> list[Finding]:
        """Return all findings, open or fixed; the open ones come first."""
        if self._version < 0:
            return self._violations.findings()
        try:
            state = self.state()
        except BrokenLogError:
            found = (self._replay.has_protocol, no_protocol), (self._replay.has_metadata, no_metadata)
            for finding in (missing(self._version) for is_there, missing in found if not is_there):
                self._violations.update(finding.code, self._version, [finding])
            return self._violations.findings()
        self._file_findings.report(state)
        return self._violations.findings()

    def add_file_findings(self, found: Iterable[Finding], rows_of: RowCount, *, whole: bool = True) -> None:
        """Record all findings about the live files after the last commit; earlier ones are not recalled.

        :param rows_of: number of rows of each file, which decides from now on which row ids the files assign
        :param whole: True if all files were checked, so that earlier findings that are not found again are fixed
        :raises BrokenLogError: if there is no state
        """
        self._file_findings.observe_files(self.state(), found, rows_of, whole=whole)

    def _live(self) -> LiveFiles | None:
        return self._files.live(len(self._replay.files), known=self.knows_files)

    def _recall(self, violation: OpenViolation, base: TableState | None) -> None:
        finding = violation.finding
        self._file_findings.restore_saved(violation)
        if violation.of_state and self.knows_files:
            return
        rule = rule_of(finding)
        aspect: str | None = None
        before = self._changes.before(finding, violation.before)
        still_open = still_open_by(finding, violation.details)
        if still_open is None and finding.path is None and base is not None:
            if rule is _NO_MARK:
                still_open = self._tracking.until_mark_is_back(base)
            elif rule.scope is Scope.STATE:
                aspect = TRACKING if rule.family is ROW_TRACKING else HEAD
            else:
                still_open = self._changes.recall(finding, base, before)
        compares = aspect is not None or (still_open is not None and ChangeAudit.compares(finding))
        self._violations.recall(violation, aspect, still_open, before if compares else None)

    def _begin_late(self, base: TableState) -> None:
        self._file_findings.start_from(base)
        self._transitions.begin(base, lambda: {"at_or_before": True, "version": base.version}, ())

    def _take_first(self, commit: Commit, values: list[ActionValue], actions: Sequence[Action]) -> None:
        """Take the commit that creates the table, or one before the table has protocol and metadata."""
        transition = apply_first(self._replay, commit, values, self._previous)
        there = self._replay.has_protocol, self._replay.has_metadata
        self._transitions.check_first(commit, there, actions)
        if transition is not None:
            state = self.state()
            self.events = self.events.and_then([first_event(commit, state)])
            self._transitions.begin(state, lambda: commit.provenance, actions)
            self._transitions.check_creation(transition, actions)
