"""The audit of a table's history: every rule of the log, commit after commit, oldest first."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from airflow_delta_provider.domain.audit.action_excerpt import excerpt
from airflow_delta_provider.domain.audit.action_judge import ActionJudge
from airflow_delta_provider.domain.audit.change_judge import ChangeJudge
from airflow_delta_provider.domain.audit.clustered_files import check_older_files
from airflow_delta_provider.domain.audit.file_findings import FileFindings
from airflow_delta_provider.domain.audit.healing import (
    HEALED_BY_FILES,
    HEALED_BY_RESTORE,
    still_open_after,
    still_open_by,
)
from airflow_delta_provider.domain.audit.history_facts import HistoryFacts, LiveFiles, StandingViolation
from airflow_delta_provider.domain.audit.known_lines import CommitLines, KnownLines
from airflow_delta_provider.domain.audit.live_counts import LiveCounts
from airflow_delta_provider.domain.audit.live_file_tracker import FileCourse
from airflow_delta_provider.domain.audit.live_partitions import LivePartitions
from airflow_delta_provider.domain.audit.past_log import PastLog
from airflow_delta_provider.domain.audit.past_needs import needing
from airflow_delta_provider.domain.audit.restore_detection import Restorations, Restored
from airflow_delta_provider.domain.audit.row_tracking import (
    MISSING_IDS,
    RowTrackingAudit,
    assigns_ids_without_mark,
    given_ids,
)
from airflow_delta_provider.domain.audit.usual_commits import UsualCommit
from airflow_delta_provider.domain.audit.usual_judge import UsualJudge
from airflow_delta_provider.domain.audit.violation import Detected, Violation
from airflow_delta_provider.domain.audit.violations import Violations
from airflow_delta_provider.domain.checks.actions.deletion_vectors import check_vectors_left
from airflow_delta_provider.domain.checks.actions.files import ROWS_CHANGED, check_paths
from airflow_delta_provider.domain.checks.check import on_commit, on_first_commit, on_state, on_transition
from airflow_delta_provider.domain.checks.log.duplicate_files import check_live_vectors
from airflow_delta_provider.domain.checks.metadata.changes import FIRST_WITHOUT_METADATA
from airflow_delta_provider.domain.checks.metadata.state import no_metadata
from airflow_delta_provider.domain.checks.protocol.changes import FIRST_WITHOUT_PROTOCOL
from airflow_delta_provider.domain.checks.protocol.lists import no_protocol
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.row_tracking.commits import check_commit
from airflow_delta_provider.domain.checks.row_tracking.family import FAMILY as ROW_TRACKING
from airflow_delta_provider.domain.checks.row_tracking.row_moves import RowMoves
from airflow_delta_provider.domain.checks.row_tracking.state import NO_HIGH_WATER_MARK as _NO_MARK
from airflow_delta_provider.domain.checks.rule import Need, Scope
from airflow_delta_provider.domain.delta.commit import Action, Commit, parse_commit, read_actions
from airflow_delta_provider.domain.delta.features.row_tracking import DOMAIN
from airflow_delta_provider.domain.delta.history_events import HistoryEvents, events_of, first_event
from airflow_delta_provider.domain.delta.live_file import RowIds
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_state import Replay, TableState
from airflow_delta_provider.domain.delta.transition import Transition, apply_commit, apply_first, as_one_commit
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_ids.fresh_ids import RowCount

#: Rules that a commit may break which leads back to an earlier version.
_OF_VERSIONS = needing(Need.VERSIONS)


#: Returns the version and the commit of findings; asked for only where something is found.
Where = Callable[[], Mapping[str, Any]]
#: What the first commit has to have: protocol and metadata.
_FIRST = (FIRST_WITHOUT_PROTOCOL.code, FIRST_WITHOUT_METADATA.code)
#: What is checked of a state at once: protocol, metadata and domains; the domain of row tracking.
_HEAD, _TRACKING = "head", "row tracking"


class HistoryAudit:
    """Judges commits, oldest first, on the state that they lead to.

    :param replay: holds the state before the first of them; empty for the whole history
    :param base: that state; None for the whole history
    :param log: where the commits come from
    :param known: whether what is wrong with ``base`` itself is left out
    :param recalled: what an earlier audit, up to ``base``, found to stand
    :param missed: what the table was when that audit ended, where nobody has judged the commits since, up to ``base``
    :param previous: the commit of ``base``, as far as it is known
    :param follow: takes what each commit did to rows whose ids may be relied upon
    """

    def __init__(
        self,
        replay: Replay,
        base: TableState | None = None,
        log: PastLog | None = None,
        *,
        known: bool = False,
        recalled: Sequence[StandingViolation] = (),
        missed: TableState | None = None,
        previous: Commit | None = None,
        follow: Callable[[RowMoves], None] | None = None,
    ) -> None:
        self._replay = replay
        self._log = log or PastLog()
        begun_late = base is not None
        self._knows_files = base is None or base.files is not None
        self._violations = Violations()
        self._restorations = Restorations(self._log, begun_late)
        self._changes = ChangeJudge(self._log)
        self._tracking = RowTrackingAudit(self._log, begun_late, follow)
        self._files = FileCourse(self._log, begun_late)
        self._partitions = LivePartitions(self._log)
        self._lines = KnownLines()
        self._actions = ActionJudge(self._lines, self._files)
        self._usual = UsualJudge(self._violations, self._lines, self._files, self._restorations, self._tracking)
        self._events = HistoryEvents()
        self._last: Commit | UsualCommit | None = previous
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
                self._violations.gone_meanwhile({path for path, _ in base.files or ()}, base.version)
                self._violations.look_again(as_one_commit(missed, base))
            if missed is not None or not recalled:
                self._file_findings.observe_first(base)
            if known:
                self._violations.forget()

    @property
    def version(self) -> int:
        """The version that was judged last; -1 for none."""
        return self._version

    @property
    def is_readable(self) -> bool:
        """Whether there is a state: the table has protocol and metadata."""
        return self._replay.is_complete

    @property
    def commit_info(self) -> Mapping[str, Any]:
        """The ``commitInfo`` of the commit that was judged last."""
        return {} if self._previous is None else self._previous.info

    @property
    def _previous(self) -> Commit | None:
        """The commit that was judged last, as far as it is known."""
        if isinstance(self._last, UsualCommit):
            self._last = self._last.at(self._version)
        return self._last

    @property
    def knows_files(self) -> bool:
        """Whether all live files are known."""
        return self._knows_files

    @property
    def live_files(self) -> int | None:
        """Number of live files; None where those of before the first commit are not known."""
        files = self._live()
        return None if files is None else files.number

    @property
    def live_bytes(self) -> int | None:
        """Size of all live files; None where those of before the first commit are not known."""
        files = self._live()
        return None if files is None else files.size

    def live_counts(self, bounds: tuple[int, ...]) -> LiveCounts | None:
        """Return the live files, counted; None where those of before the first commit are not known.

        :param bounds: the least size of each bin; none for those that were given last
        """
        return self._files.counts(bounds, self._replay.files.values()) if self._knows_files else None

    def state(self) -> TableState:
        """Return the state that was judged last, with its files.

        :raises BrokenLogError: if there was no protocol or no metaData action so far
        """
        return self._replay.state(self._version)

    @property
    def events(self) -> HistoryEvents:
        """What the commits did to protocol and columns."""
        return self._events

    def read(self, name: str, content: bytes) -> Sequence[Action]:
        """Read the file of the commit to be taken next. Lines like ones that were judged right are not parsed.

        :raises BrokenLogError: if a line is not an action: truncated, not JSON, not UTF-8
        """
        if not self._replay.is_complete:
            return parse_commit(name, content)
        return self._lines.read(name, content, self._replay.head(self._version))

    def take(self, version: int, actions: Sequence[Action]) -> None:
        """Judge a commit.

        :param actions: from :meth:`read`, or all of them

        :raises BrokenLogError: if one of its actions is malformed; it is not taken then
        """
        where = f" of version {version}"
        lines = actions if isinstance(actions, CommitLines) else None
        values = list(read_actions(actions, where=where)) if lines is None else lines.values(where)
        commit = Commit.of(version, values)
        self._version = version
        found, doing = self._violations.taken, None if lines is None else self._usual.doing(commit, lines, self._replay)
        if self._replay.is_complete:
            self._judge(apply_commit(self._replay, commit, values, self._previous), actions)
        else:
            self._take_first(commit, values, actions)
        self._last = commit
        if lines is not None and doing is not None and self._violations.taken == found:
            self._usual.learn(lines, self._replay.head(version), doing)

    def take_usual(self, contents: Sequence[bytes]) -> Iterator[UsualCommit]:
        """Take the commits that come next, as long as they do what others did that nothing was wrong with.

        Yield each when it is taken; the one after those is for :meth:`take`.

        :param contents: of their files
        """
        begun, previous = self._version, self._previous
        if not (self._replay.is_complete and self._knows_files) or previous is None or previous.version != begun:
            return
        for commit in self._usual.take(contents, self._replay, previous, self._replay.head(begun)):
            self._version += 1
            self._last = commit
            yield commit

    def resume(self, replay: Replay, base: TableState) -> None:
        """Continue from a checkpoint, behind a commit that cannot be read.

        :param replay: holds the state
        """
        self._replay = replay
        self._restorations.resume()
        self._tracking.note_gap()
        self._files.resume()
        self._knows_files = base.files is not None
        self._last = None
        self._version = base.version
        self._begin_late(base)

    def note(self, finding: Finding) -> None:
        """Take a finding that does not come from the commits themselves."""
        self._violations.open(finding)

    def settle(self, known: Iterable[Finding], facts: HistoryFacts | None = None) -> None:
        """Note that an earlier audit came as far: what it did not find open is not reported.

        :param known: what it found
        :param facts: what else it knew; None where nobody knows
        """
        self._violations.settle(known)
        if facts is None:
            return
        self._events = facts.events or self._events
        self._changes.go_on(facts)
        self._tracking.restore_saved(facts)
        if not self._knows_files:
            self._files.go_on(facts.files)

    def facts(self) -> HistoryFacts:
        """Return what is known in addition to the state, for an audit that continues from here."""
        files = self._live()
        return HistoryFacts(
            column_ids=self._changes.column_ids,
            used_features=self._changes.used_features,
            ever_dropped=self._changes.ever_dropped,
            high_water_mark=self._tracking.high_water_mark,
            lowered=self._tracking.lowered,
            files=None if files is None else files.with_paths(path for path, _ in self._replay.files),
            standing=self._violations.standing(),
            events=self._events,
        )

    def findings(self) -> list[Finding]:
        """Return everything that is, or was, wrong: what is open comes first."""
        if self._version < 0:
            return self._violations.findings()
        try:
            state = self.state()
        except BrokenLogError:
            found = (self._replay.has_protocol, no_protocol), (self._replay.has_metadata, no_metadata)
            for finding in (missing(self._version) for is_there, missing in found if not is_there):
                self._violations.look(finding.code, self._version, [finding])
            return self._violations.findings()
        self._file_findings.report(state)
        return self._violations.findings()

    def look_at_files(self, found: Iterable[Finding], rows_of: RowCount, *, whole: bool = True) -> None:
        """Take all that is wrong with the live files themselves, after the last commit; what was is not recalled.

        :param rows_of: the number of rows of each, which decides from now on which row ids they assign
        :param whole: whether all was looked at, so that what an earlier audit reported and is not found is right by now
        :raises BrokenLogError: if there is no state
        """
        self._file_findings.observe_files(self.state(), found, rows_of, whole=whole)

    def _live(self) -> LiveFiles | None:
        return self._files.live(len(self._replay.files), known=self._knows_files)

    def _recall(self, violation: StandingViolation, base: TableState | None) -> None:
        finding = violation.finding
        self._file_findings.restore_saved(violation)
        if violation.of_state and self._knows_files:
            return
        rule = RULES.get(finding.code)
        aspect: str | None = None
        before = self._changes.before(finding, violation.before)
        still_open = still_open_by(finding, violation.details)
        if still_open is None and rule is not None and finding.path is None and base is not None:
            if rule is _NO_MARK:
                still_open = self._tracking.until_mark_is_back(base)
            elif rule.scope is Scope.STATE:
                aspect = _TRACKING if rule.family is ROW_TRACKING else _HEAD
            else:
                still_open = self._changes.recall(finding, base, before)
        compares = aspect is not None or (still_open is not None and ChangeJudge.compares(finding))
        self._violations.recall(violation, aspect, still_open, before if compares else None)

    def _begin_late(self, base: TableState) -> None:
        self._file_findings.start_from(base)
        self._begin(base, lambda: {"at_or_before": True, "version": base.version}, ())

    def _begin(self, state: TableState, where: Where, actions: Sequence[Action]) -> None:
        """Take the state that the history starts from, with its files."""
        self._restorations.begin(state)
        self._changes.begin(state)
        self._tracking.start_from(state)
        self._files.begin(state)
        self._violations.identify(state.version, state.metadata.id)
        self._look(state, where, actions)

    def _take_first(self, commit: Commit, values: list[tuple[str, Any]], actions: Sequence[Action]) -> None:
        """Take the commit that creates the table, or one before the table has protocol and metadata."""
        transition = apply_first(self._replay, commit, values, self._previous)
        found = list(on_commit.run(commit))
        if commit.version == 0:
            found += on_first_commit.run(commit)
        for finding in found:
            if finding.code in _FIRST:
                self._violations.look(finding.code, commit.version, [self._placed(finding, dict, actions)])
            else:
                self._open(Detected(finding), actions)
        for code, is_there in zip(_FIRST, (self._replay.has_protocol, self._replay.has_metadata)):
            if is_there:
                self._violations.look(code, commit.version, ())
        if transition is None:
            return
        state = self.state()
        self._events = self._events.and_then([first_event(commit, state)])
        self._begin(state, lambda: commit.provenance, actions)
        for finding in on_transition.run(transition):
            self._open(Detected(finding, still_open_after(finding, transition)), actions)
        for broken in self._tracking.apply_first(transition):
            self._open(broken, actions)
        self._describe(transition, actions, ())

    def _judge(self, transition: Transition, actions: Sequence[Action]) -> None:
        commit = transition.commit
        head, live = bool(commit.protocols or commit.metadata), self._replay.files
        restored = self._restorations.take(transition, live, self._depends_on_versions)
        if head:
            transition = replace(transition, restores=restored.version is not None)
            self._violations.identify(commit.version, transition.after.metadata.id)
            self._events = self._events.and_then(events_of(transition))
        healed: list[Violation] = []
        if head or commit.domains or commit.transactions or self._violations.any_open(HEALED_BY_FILES):
            healed += self._violations.look_again(transition)
        known_wrong: frozenset[str] = frozenset()
        if self._violations.has_files:
            known_wrong = frozenset(filter(self._violations.is_wrong, transition.removed_files))
            self._violations.gone(self._files.gone(transition), commit.version)
            if self._violations.any_open(MISSING_IDS):
                paths = given_ids(transition)
                wrong = self._violations.paths_of(MISSING_IDS) if paths is None else paths
                self._violations.gone(wrong, commit.version, MISSING_IDS)
        again = self._files.take(transition)
        if head or any(domain.domain != DOMAIN for domain in commit.domains):
            state = transition.after.with_files(live)
            healed += self._look(state, lambda: commit.provenance, actions, transition.before)
        elif commit.domains or (not self._violations.is_open(_NO_MARK) and assigns_ids_without_mark(transition)):
            state = transition.after.with_files(live)
            healed += self._look_at_tracking(state, lambda: commit.provenance, actions, transition.before)
        for broken in self._broken_by(transition, again, restored, healed):
            self._open(broken, actions)
        old = transition.before_files.keys() | again.keys()
        self._describe(transition, actions, old, known_wrong)
        self._files.note_damage(transition, stands=self._violations.has_changes)

    def _depends_on_versions(self, transition: Transition) -> bool:
        """Whether it matters of a commit that an earlier version of the table, before the first one here, was alike."""
        found = chain(self._changes.look(transition), on_transition.run(transition), check_commit(transition, ()))
        return self._violations.any_open(HEALED_BY_RESTORE) or any(f.code in _OF_VERSIONS for f in found)

    def _describe(
        self, transition: Transition, actions: Sequence[Action], old: Container[str], wrong: Container[str] = ()
    ) -> None:
        """Judge how the actions of a commit are written; parameters as of :class:`ActionJudge`."""
        for finding in self._actions.judge(transition, actions, old, wrong):
            self._violations.open(self._placed(finding, lambda: transition.commit.provenance, actions))

    def _broken_by(
        self,
        transition: Transition,
        again: Mapping[str, RowIds | None],
        restored: Restored,
        healed: Sequence[Violation],
    ) -> Iterator[Detected]:
        """Yield what a commit breaks; one after the other, as each judge may look at what is open."""
        commit = transition.commit
        if commit.protocols or commit.metadata:
            written = self._files.written_under_damage
            yield from self._changes.judge(transition, self._replay.files, restored, healed, written=written)
            state = transition.after.with_files(self._replay.files)
            for finding in self._tracking.check_enabling(transition, state):
                yield Detected(replace(finding, **commit.provenance))
        repaired = {violation.finding.path for violation in healed}
        for finding in (*on_commit.run(commit), *on_transition.run(transition)):
            if finding.code == ROWS_CHANGED.code and finding.path in repaired:
                continue
            yield Detected(finding, still_open_after(finding, transition))
        for finding in check_older_files(transition, self._replay.files, self._log) if commit.domains else ():
            yield Detected(replace(finding, **commit.provenance), still_open_after(finding, transition))
        for finding in self._partitions.check(transition, self._replay.files) if commit.removes else ():
            yield Detected(replace(finding, **commit.provenance))
        twice = self._files.live_twice(transition, self._replay.files)
        yield from map(Detected, check_live_vectors(transition, twice))
        for finding in check_paths(transition, self._files.under_two_paths(transition, self._replay.files)):
            yield Detected(finding, still_open_after(finding, transition))
        for finding in check_vectors_left(transition, self._replay.files) if commit.protocols else ():
            yield Detected(replace(finding, **commit.provenance), still_open_after(finding, transition))
        # A path that is live with another deletion vector is no new one, either.
        yield from self._tracking.apply_commit(
            transition, {**again, **dict.fromkeys(file.path for file in twice)}, restored, healed
        )

    def _look(
        self, state: TableState, where: Where, actions: Sequence[Action], before: TableState | None = None
    ) -> list[Violation]:
        """Judge protocol, metadata and domains of a state, with its files; return what is healed in it."""
        found = [self._placed(finding, where, actions) for finding in on_state.run(state)]
        healed = self._violations.look(_HEAD, state.version, found, before, state.metadata)
        return healed + self._look_at_tracking(state, where, actions, before)

    def _look_at_tracking(
        self, state: TableState, where: Where, actions: Sequence[Action], before: TableState | None = None
    ) -> list[Violation]:
        found = self._tracking.observe_state(state)
        placed = [replace(broken, finding=self._placed(broken.finding, where, actions)) for broken in found]
        for broken in placed:
            recalled = before is None and self._violations.any_open([broken.finding.code])
            if broken.still_open is not None and not recalled:
                self._violations.open(broken.finding, broken.still_open)
        seen = [broken.finding for broken in placed if broken.still_open is None]
        return self._violations.look(_TRACKING, state.version, seen, before, state.metadata)

    def _open(self, broken: Detected, actions: Sequence[Action]) -> None:
        finding = replace(broken.finding, action=excerpt(broken.finding, actions))
        self._violations.open(finding, broken.still_open, broken.before)

    def _placed(self, finding: Finding, where: Where, actions: Sequence[Action]) -> Finding:
        return replace(finding, action=excerpt(finding, actions), **where())
