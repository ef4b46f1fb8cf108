"""Row tracking over a table's history, commit after commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain

from airflow_delta_provider.domain.audit.fast_path.routine_commits import (
    Change,
    Effect,
    appends_in_id_order,
    are_ids_in_order,
)
from airflow_delta_provider.domain.audit.past import PastLog
from airflow_delta_provider.domain.audit.restore_detection import RestoreResult
from airflow_delta_provider.domain.audit.saved_state import HistoryFacts
from airflow_delta_provider.domain.audit.violation import (
    DetectedViolation,
    Violation,
    key_of,
    sound_before,
    still_open_after,
)
from airflow_delta_provider.domain.audit.violations import Violations
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.row_tracking import FAMILY, MOST_FINDINGS
from airflow_delta_provider.domain.checks.row_tracking.commits import (
    ADDED_WITHOUT_ROW_IDS,
    MATERIALIZED_NAMES_CHANGED,
    check_commit,
    suspicious_paths,
)
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import (
    AssignedIds,
    Overlap,
    RowCount,
    in_order,
    last_id,
    overlaps,
)
from airflow_delta_provider.domain.checks.row_tracking.history import check_history
from airflow_delta_provider.domain.checks.row_tracking.live_files import (
    MISSING_ROW_IDS,
    OVERLAPPING_ROW_IDS,
    check_files,
    check_fresh_ids,
    check_row_ids,
    until_mark_reaches,
)
from airflow_delta_provider.domain.checks.row_tracking.moved_rows import RowMoves, moves_of, tracked
from airflow_delta_provider.domain.checks.row_tracking.state import NO_HIGH_WATER_MARK, check_state
from airflow_delta_provider.domain.checks.rule import StillOpen
from airflow_delta_provider.domain.delta.commit import Commit, DomainMetadata
from airflow_delta_provider.domain.delta.features.log import DOMAIN, ROW_TRACKING
from airflow_delta_provider.domain.delta.live_file import LiveFile, RowIds
from airflow_delta_provider.domain.delta.row_tracking import HIGH_WATER_MARK, high_water_mark_of
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding

#: Codes of the rules that files without row ids break.
MISSING_IDS = frozenset({MISSING_ROW_IDS.code, ADDED_WITHOUT_ROW_IDS.code})
#: Codes of rules about row ids of live files. Dropping row tracking gives up these ids.
WRONG_IDS = frozenset(rule.code for rule in RULES.values() if rule.family is FAMILY and rule.about_live_files)


class RowTrackingAudit:
    """Follows row tracking and its high water mark, commit after commit, oldest first.

    :param begun_late: True if there were commits before the first that is applied
    :param follow: callback for the moves of rows in each commit, if their row ids can be relied on
    :param shortcuts: True if the rules skip commits that a quick check shows to be right
    """

    def __init__(
        self, log: PastLog, begun_late: bool, follow: Callable[[RowMoves], None] | None, *, shortcuts: bool = True
    ) -> None:
        self._shortcuts = shortcuts
        self._log = log
        self._assigned = AssignedIds(log.files_between)
        self._begun_late = begun_late
        self._follow = follow
        self._mark: int | None = None
        self._due: int | None = None
        self._sound: TableState | None = None
        self.lowered: Commit | None = None
        """The last commit that removed or lowered the high water mark."""

    def start_from(self, state: TableState) -> None:
        """Start from a state with its files: the state before the first commit, or the one that it created."""
        self._mark = state.row_tracking.high_water_mark
        if self._mark is None and state.protocol.supports(ROW_TRACKING):
            self._mark = self._highest_assigned(state)

    @property
    def high_water_mark(self) -> int | None:
        return self._mark

    def restore_saved(self, facts: HistoryFacts) -> None:
        """Resume from the facts that an earlier audit saved at this version."""
        self._mark, self.lowered = facts.high_water_mark, facts.lowered

    def note_gap(self) -> None:
        """Note that commits were skipped."""
        self._begun_late = True

    def observe_state(self, state: TableState) -> list[DetectedViolation]:
        """Return violations of a state's properties and domain. A lost mark must come back high enough.

        :param state: the state with its files
        """
        has_mark = state.row_tracking.high_water_mark is not None
        sound, self._sound = self._sound, None
        if has_mark and sound is not None and sound.protocol is state.protocol and sound.metadata is state.metadata:
            self._sound = state
            return []  # only the mark differs
        if state.metadata.readable_columns is None:
            return []
        found = [DetectedViolation(finding) for finding in check_state(state, state.row_tracking)]
        if not any(map(_is_lost_mark, found)):
            self._sound = None if found or not has_mark else state
            return found
        self._due = self._highest_assigned(state)
        still_open = self.until_mark_is_back(state)
        return [replace(each, still_open=still_open) if _is_lost_mark(each) else each for each in found]

    def until_mark_is_back(self, state: TableState) -> StillOpen | None:
        """Return the check whether the mark that a state lacks is still lost; None if no row id was assigned.

        :param state: the state with its files
        """
        highest = self._highest_assigned(state)
        return None if highest is None else until_mark_reaches(highest)

    def _highest_assigned(self, state: TableState) -> int | None:
        """Return the highest assigned row id, according to the mark and the live files; None if there is none."""
        assigned = (last_id(file) for file in state.known_files)
        return max((last for last in (self._mark, *assigned) if last is not None), default=None)

    def apply_commit(
        self,
        transition: Transition,
        again: Mapping[str, RowIds | None],
        restored: RestoreResult,
        healed: Sequence[Violation],
    ) -> Iterator[DetectedViolation]:
        """Apply a commit. Yield its violations.

        :param again: removed paths that it adds again, with their earlier ids
        :param restored: the version that it restores, if any, with details
        :param healed: violations that it fixes
        """
        commit = transition.commit
        if not (commit.adds or commit.removes or commit.domains or commit.metadata):
            return
        if not transition.after.protocol.supports(ROW_TRACKING):
            self._mark = None
            return
        transition = self._with_mark(transition)
        is_append = self._shortcuts and not again and appends_in_id_order(transition)
        suspicious = [] if is_append else suspicious_paths(transition)
        earlier = again.keys() & frozenset(suspicious)
        if len(earlier) < len(suspicious) and self._begun_late:
            earlier |= self._log.paths_seen_before(commit.version, suspicious)
        if self._follow is not None and tracked(transition):
            unplaced = [path for path in suspicious if path not in earlier] if self._begun_late else ()
            self._follow(moves_of(transition, earlier, unplaced))
        if is_append and restored.version is None and commit.operation != "RESTORE":
            return
        transition = self._with_earlier_ids(transition, again, restored)
        if suspicious:
            assigned = partial(self._assigned.has, version=commit.version)
            transition = replace(transition, past=replace(transition.past, assigned=assigned))
        repaired = {key_of(violation.finding) for violation in healed}
        for finding in (*check_commit(transition, earlier), *check_history(transition)):
            if finding.code == MATERIALIZED_NAMES_CHANGED.code and _has_names_of(
                sound_before(healed), transition.after
            ):
                continue
            if key_of(finding) not in repaired:
                yield DetectedViolation(finding, still_open_after(finding, transition))

    def take_routine(self, version: int, change: Change, marks: Sequence[DomainMetadata], head: TableState) -> bool:
        """Apply a commit and return True, unless its row ids must be checked one by one.

        :param marks: its domain metadata of row tracking
        :param head: a state since which only the mark has changed
        """
        if not head.protocol.supports(ROW_TRACKING):
            self._mark = None
            return not marks
        sound, before = self._sound, self._mark
        if self._follow is not None or sound is None or before is None or self._due is not None or len(marks) != 1:
            return False
        mark, tracking = high_water_mark_of(marks[0].configuration), sound.row_tracking
        if sound.protocol is not head.protocol or sound.metadata is not head.metadata or mark is None:
            return False
        if change.effect is Effect.DELETE_ROWS or tracking.suspended or not tracking.relied_upon or marks[0].removed:
            return False
        if not are_ids_in_order(change.added.values(), version, before, mark):
            return False
        self._mark = mark
        return True

    def _with_earlier_ids(
        self, transition: Transition, again: Mapping[str, RowIds | None], restored: RestoreResult
    ) -> Transition:
        """Return a commit with the earlier ids of the files that it adds again."""
        commit = transition.commit
        ids = {path: known for path, known in again.items() if known is not None}
        if self._begun_late and (restored.version is not None or commit.operation == "RESTORE"):
            unknown = [file.path for file in transition.new_files if file.path not in ids]
            ids |= self._log.row_ids_before(commit.version, unknown)
        if not (ids or transition.before_files):
            return transition
        of_version = None
        if (version := restored.version) is not None or restored.unknown_version is not None:
            of_version = cache(lambda: {} if version is None else self._row_ids_at(version))
        return replace(transition, past=replace(transition.past, row_ids=ids, restored_row_ids=of_version))

    def _row_ids_at(self, version: int) -> Mapping[str, RowIds]:
        state = self._log.state_at(version)
        return {} if state is None else {file.path: file.row_ids for file in state.live_files}

    def apply_first(self, transition: Transition) -> Iterator[DetectedViolation]:
        """Yield the violations of the commit that creates the table: there were no row ids before it."""
        for finding in (*check_commit(transition, ()), *check_history(transition)):
            yield DetectedViolation(finding, still_open_after(finding, transition))

    def check_enabling(self, transition: Transition, state: TableState) -> Iterator[Finding]:
        """Yield findings about all files, if a commit enables row tracking.

        :param state: the state after it, with its files
        """
        tracking = state.row_tracking
        if tracking.relied_upon and not transition.before.row_tracking.relied_upon:
            for finding in check_files(state, tracking):
                if finding.code == MISSING_ROW_IDS.code:  # each file by itself, as they get ids one by one
                    yield from chain.from_iterable(check_row_ids([file], tracking) for file in state.live_files)
                else:
                    yield finding

    def check_files(self, state: TableState) -> Iterator[Finding]:
        """Yield findings about single files of a state, independent of the commits that led to it.

        :param state: the state with its files
        """
        if state.protocol.supports(ROW_TRACKING):
            yield from check_files(state, state.row_tracking)

    def report(self, state: TableState, rows_of: RowCount, violations: Violations) -> Iterator[Finding]:
        """Yield findings about the files of the last state, unless the history has shown them already.

        :param state: the state with its files
        """
        if not state.protocol.supports(ROW_TRACKING):
            return
        tracking = state.row_tracking
        yield from (f for f in self.check_files(state) if not violations.any_open([f.code]))
        files = state.known_files
        pairs: dict[str, Overlap[LiveFile]] = {}
        for finding in check_fresh_ids(state, tracking, rows_of):
            if finding.code != OVERLAPPING_ROW_IDS.code:
                if not violations.any_open([finding.code]):
                    yield finding
                continue
            pairs = pairs or {pair.other.path: pair for pair in overlaps(in_order(files), rows_of)}
            if finding.path is None:
                violations.count(OVERLAPPING_ROW_IDS, len(pairs) - MOST_FINDINGS)
            else:
                yield replace(finding, path=self._newer(pairs[finding.path].one, pairs[finding.path].other))

    def _with_mark(self, transition: Transition) -> Transition:
        """Update the mark. Return the commit as if a mark that was lost earlier were still there."""
        if self._mark is not None and transition.before.row_tracking.high_water_mark is None:
            # The mark was lost, not the ids that had been assigned before.
            lost = {**transition.before.domains, DOMAIN: json.dumps({HIGH_WATER_MARK: self._mark})}
            transition = replace(transition, before=replace(transition.before, domains=lost))
        mark = transition.after.row_tracking.high_water_mark
        if self._mark is not None and transition.commit.domains and (mark is None or mark < self._mark):
            self.lowered = transition.commit
        if mark is None and self._due is not None:
            mark = self._due
        self._mark = self._mark if mark is None else mark
        self._due = None
        return transition

    def _newer(self, one: LiveFile, other: LiveFile) -> str:
        """Return the path of the file that was added later, according to the commits that are kept."""
        added = self._log.commits_that_added([one, other])
        versions = {path: addition.commit.version for path, addition in added.items()}
        return max((one.path, other.path), key=lambda path: versions.get(path, -1))


def _is_lost_mark(detected: DetectedViolation) -> bool:
    return detected.finding.code == NO_HIGH_WATER_MARK.code


def given_ids(transition: Transition) -> list[str] | None:
    """Return the files that a commit adds with row ids; None for all files, if ids are no longer relied on.

    When row tracking is enabled again, all files are checked again.
    """
    before, after = transition.before.row_tracking, transition.after.row_tracking
    if not after.enabled and (before.enabled or not after.assigns):
        return None
    return [file.path for file in transition.commit.adds if None not in file.row_ids]


def assigns_ids_without_mark(transition: Transition) -> bool:
    """Return True if a commit adds files with row ids to a table without a domain of row tracking."""
    after = transition.after
    if DOMAIN in after.domains or not after.protocol.supports(ROW_TRACKING):
        return False
    return any(file.base_row_id is not None for file in transition.commit.adds)


def _has_names_of(state: TableState | None, after: TableState) -> bool:
    if state is None:
        return False
    one, other = state.row_tracking, after.row_tracking
    return (one.row_id_column, one.commit_version_column) == (other.row_id_column, other.commit_version_column)
