"""Checks each commit of an audit, with the table's state before and after it.

Opens violations, and closes fixed ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from airflow_delta_provider.domain.audit.change_audit import ChangeAudit, unless_restored
from airflow_delta_provider.domain.audit.fast_path.lines import CommitLines
from airflow_delta_provider.domain.audit.file_findings import LivePartitions
from airflow_delta_provider.domain.audit.live_files import LiveFileTracker
from airflow_delta_provider.domain.audit.past import PastLog, needing
from airflow_delta_provider.domain.audit.restore_detection import RestoreDetector, RestoreResult
from airflow_delta_provider.domain.audit.routine_audit import FastPath
from airflow_delta_provider.domain.audit.row_tracking import (
    MISSING_IDS,
    WRONG_IDS,
    RowTrackingAudit,
    assigns_ids_without_mark,
    given_ids,
)
from airflow_delta_provider.domain.audit.violation import (
    HEALED_BY_FILES,
    HEALED_BY_RESTORE,
    DetectedViolation,
    Violation,
    shown_action,
    still_open_after,
)
from airflow_delta_provider.domain.audit.violations import Violations
from airflow_delta_provider.domain.checks.actions.deletion_vectors import check_vectors_left
from airflow_delta_provider.domain.checks.actions.files import FILE_OVERWRITTEN, ROWS_CHANGED, check_paths
from airflow_delta_provider.domain.checks.actions.partition_values import (
    AMBIGUOUS_PARTITION_VALUE,
    NO_PARTITION_VALUES,
    WRONG_PARTITION_VALUE,
    check_overwritten_partitions,
)
from airflow_delta_provider.domain.checks.actions.statistics import (
    CONTRADICTORY_STATISTICS,
    MALFORMED_STATISTICS,
    ROUNDED_BOUNDS,
)
from airflow_delta_provider.domain.checks.check import on_action, on_commit, on_first_commit, on_state, on_transition
from airflow_delta_provider.domain.checks.column_mapping.names import PARTITION_VALUES, STATISTICS
from airflow_delta_provider.domain.checks.log.duplicate_files import FILE_TWICE, check_live_vectors
from airflow_delta_provider.domain.checks.metadata.changes import FIRST_WITHOUT_METADATA
from airflow_delta_provider.domain.checks.metadata.domains import NO_STATISTICS, check_newly_clustered, clustering_paths
from airflow_delta_provider.domain.checks.metadata.identity import check_identity_values
from airflow_delta_provider.domain.checks.protocol.changes import FIRST_WITHOUT_PROTOCOL
from airflow_delta_provider.domain.checks.row_tracking.commits import check_commit
from airflow_delta_provider.domain.checks.row_tracking.state import NO_HIGH_WATER_MARK as _NO_MARK
from airflow_delta_provider.domain.checks.rule import Need
from airflow_delta_provider.domain.delta.commit import Action, Commit
from airflow_delta_provider.domain.delta.features.log import CLUSTERING_DOMAIN, DOMAIN, ROW_TRACKING
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile, RowIds
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding

#: Codes of rules that do not hold for a commit that restores an earlier version.
_OF_VERSIONS = needing(Need.VERSIONS)


#: Returns the fields of a finding that describe its version and commit. Called only if there is a finding.
Where = Callable[[], Mapping[str, Any]]
#: Codes of two rules: the first commit must have a protocol action, and it must have a metaData action.
_FIRST = (FIRST_WITHOUT_PROTOCOL.code, FIRST_WITHOUT_METADATA.code)
#: Codes of rules that compare an ``add`` with the earlier one of its file. A wrong earlier one is no violation.
_OF_EARLIER_FILES = (ROWS_CHANGED.code, FILE_OVERWRITTEN.code)
#: Codes of rules that a single ``add`` action breaks. A later ``add`` of the same path can fix them.
_OF_ADDS = frozenset(
    rule.code
    for rule in (
        *on_action.rules,
        FILE_TWICE,
        NO_PARTITION_VALUES,
        WRONG_PARTITION_VALUE,
        AMBIGUOUS_PARTITION_VALUE,
        PARTITION_VALUES,
        STATISTICS,
        NO_STATISTICS,
        MALFORMED_STATISTICS,
        CONTRADICTORY_STATISTICS,
        ROUNDED_BOUNDS,
    )
)
#: Groups of checks of a state: protocol, metadata and domains; and the domain of row tracking. The findings of a group
#: replace its earlier ones.
HEAD, TRACKING = "head", "row tracking"


class TransitionAudit:
    """Checks commits, oldest first.

    :param log: source of earlier commits
    :param violations: collector of the findings
    :param restorations: detector of commits that return to earlier versions
    :param changes: checks of changes to protocol and metadata
    :param tracking: tracker of row tracking
    :param files: tracker of the files
    :param fast_path: learns the patterns of lines; lines that match are not checked again
    """

    def __init__(
        self,
        log: PastLog,
        violations: Violations,
        restorations: RestoreDetector,
        changes: ChangeAudit,
        tracking: RowTrackingAudit,
        files: LiveFileTracker,
        fast_path: FastPath,
    ) -> None:
        self._log = log
        self._violations = violations
        self._restorations = restorations
        self._changes = changes
        self._tracking = tracking
        self._files = files
        self._fast_path = fast_path
        self._partitions = LivePartitions(log)

    def begin(self, state: TableState, where: Where, actions: Sequence[Action]) -> None:
        """Start from a state with its files."""
        self._restorations.begin(state)
        self._changes.begin(state)
        self._tracking.start_from(state)
        self._files.begin(state)
        self._violations.identify(state.version, state.metadata.id)
        self._check_state(state, where, actions)

    def check_first(self, commit: Commit, there: tuple[bool, bool], actions: Sequence[Action]) -> None:
        """Check the commit that creates the table, or one before the table has protocol and metadata.

        :param there: pair of flags: the table has a protocol after the commit, and it has metadata
        """
        found = list(on_commit.run(commit))
        if commit.version == 0:
            found += on_first_commit.run(commit)
        for finding in found:
            if finding.code in _FIRST:
                self._violations.update(finding.code, commit.version, [self._placed(finding, dict, actions)])
            else:
                self._open(DetectedViolation(finding), commit, actions)
        for code, is_there in zip(_FIRST, there):
            if is_there:
                self._violations.update(code, commit.version, ())

    def check_creation(self, transition: Transition, actions: Sequence[Action]) -> None:
        """Check the first commit after which the table has protocol and metadata."""
        for finding in on_transition.run(transition):
            self._open(DetectedViolation(finding, still_open_after(finding, transition)), transition.commit, actions)
        for broken in self._tracking.apply_first(transition):
            self._open(broken, transition.commit, actions)
        self._describe(transition, actions, (), are_new=False)

    def check(self, transition: Transition, live: Mapping[FileKey, LiveFile], actions: Sequence[Action]) -> None:
        """Check one commit: whether it restores a version, what it fixes, the new state, what it breaks, its actions.

        :param live: the live files after it
        """
        commit, head = transition.commit, transition.changes_head
        restored = self._restorations.take(transition, live, partial(self._depends_on_versions, actions=actions))
        if head:
            transition = replace(transition, restores=restored.version is not None)
            self._violations.identify(commit.version, transition.after.metadata.id)
        healed: list[Violation] = []
        if head or commit.domains or commit.transactions or self._violations.any_open(HEALED_BY_FILES):
            healed += self._violations.close_fixed(transition)
        known_wrong: frozenset[str] = frozenset()
        if self._violations.has_files:
            known_wrong = frozenset(filter(self._violations.is_wrong, transition.removed_files))
            self._violations.close_files(self._files.removed_paths(transition), commit.version)
            if self._violations.any_open(MISSING_IDS):
                paths = given_ids(transition)
                wrong = self._violations.paths_of(MISSING_IDS) if paths is None else paths
                self._violations.close_files(wrong, commit.version, MISSING_IDS)
            if head and self._violations.any_open(WRONG_IDS) and not transition.after.protocol.supports(ROW_TRACKING):
                self._violations.close_files(self._violations.paths_of(WRONG_IDS), commit.version, WRONG_IDS)
        again = self._files.take(transition)
        if head or any(domain.domain != DOMAIN for domain in commit.domains):
            state = transition.after.with_files(live)
            healed += self._check_state(state, lambda: commit.provenance, actions, transition.before)
        elif commit.domains or (not self._violations.is_open(_NO_MARK) and assigns_ids_without_mark(transition)):
            state = transition.after.with_files(live)
            healed += self._check_tracking(state, lambda: commit.provenance, actions, transition.before)
        for broken in self._broken_by(transition, live, again, restored, healed):
            self._open(broken, commit, actions)
        old = transition.before_files.keys() | again.keys()
        are_new = restored.version is None and restored.unknown_version is None
        self._describe(transition, actions, old, known_wrong, are_new=are_new)
        if self._violations.has_files:
            self._close_corrected(transition, actions)
        self._files.note_damage(transition, is_open=self._violations.has_changes)

    def _depends_on_versions(self, transition: Transition, actions: Sequence[Action]) -> bool:
        """Return True if it matters whether the commit returns to a version before the first audited one.

        Only then is the older log read.
        """
        found = chain(
            self._changes.possible_findings(transition),
            on_transition.run(transition),
            check_commit(transition, ()),
            check_identity_values(transition, actions, are_new=True),
            check_overwritten_partitions(transition, actions),
        )
        return self._violations.any_open(HEALED_BY_RESTORE) or any(f.code in _OF_VERSIONS for f in found)

    def _describe(
        self,
        transition: Transition,
        actions: Sequence[Action],
        old: Container[str],
        wrong: Container[str] = (),
        *,
        are_new: bool,
    ) -> None:
        """Check single actions, except lines that match a known pattern; then identity values and replaced partitions.

        :param old: paths that the commit adds and that were live before it
        :param wrong: removed paths with an open violation. Their ``remove`` repeats wrong values of the ``add``, and is
            not reported again
        :param are_new: False if the commit creates or restores the table, so that its files may hold old rows
        """
        commit = transition.commit
        lines = actions if isinstance(actions, CommitLines) else None
        checked = actions if lines is None else [action for _, action in lines.unmatched]
        for finding in self.descriptions(checked, transition, old):
            if finding.subject != "remove" or finding.path not in wrong:
                self._open(DetectedViolation(finding), commit, actions)
        if lines is not None:
            self._fast_path.learn_lines(
                lines, transition, lambda action: not any(self.descriptions([action], transition, ()))
            )
        overwritten = check_overwritten_partitions(transition, actions)
        for finding in (*check_identity_values(transition, actions, are_new=are_new), *overwritten):
            self._open(DetectedViolation(finding, still_open_after(finding, transition)), commit, actions)

    def _close_corrected(self, transition: Transition, actions: Sequence[Action]) -> None:
        """Close violations of an ``add`` action that a later ``add`` of its path no longer has.

        The last action of a path counts: PROTOCOL.md, Action Reconciliation.
        """
        live = transition.before_files.keys() | transition.added_again.keys()
        for action in actions:
            path = (action.get("add") or {}).get("path")
            if path in live and self._violations.is_wrong(path):
                wrong = {finding.code for finding in self.descriptions([action], transition, ())}
                self._violations.corrected(path, transition.commit.version, _OF_ADDS - wrong)

    def descriptions(self, actions: Sequence[Action], transition: Transition, old: Container[str]) -> Iterator[Finding]:
        """Yield findings about single actions, whose checks are registered with ``on_action`` and ``on_file``."""
        written = (finding for action in actions for finding in on_action.run(action))
        before, after, info = transition.before, transition.after, transition.commit.info
        return chain(written, self._files.descriptions(actions, before, after, old, info))

    def _broken_by(
        self,
        transition: Transition,
        live: Mapping[FileKey, LiveFile],
        again: Mapping[str, RowIds | None],
        restored: RestoreResult,
        healed: Sequence[Violation],
    ) -> Iterator[DetectedViolation]:
        """Yield the violations of a commit one by one, as each check may depend on the violations that are open."""
        commit = transition.commit
        if commit.protocols or commit.metadata:
            written = self._files.written_under_damage
            yield from self._changes.check(transition, live, restored, healed, written=written)
            state = transition.after.with_files(live)
            for finding in self._tracking.check_enabling(transition, state):
                yield DetectedViolation(finding)
        repaired = {violation.finding.path for violation in healed}
        for finding in (*on_commit.run(commit), *on_transition.run(transition)):
            if finding.code in _OF_EARLIER_FILES and finding.path in repaired:
                continue
            if finding.code in _OF_VERSIONS:
                finding = unless_restored(finding, restored)
            yield DetectedViolation(finding, still_open_after(finding, transition))
        for finding in check_older_files(transition, live, self._log) if commit.domains else ():
            yield DetectedViolation(finding, still_open_after(finding, transition))
        for finding in self._partitions.check(transition, live) if commit.removes else ():
            yield DetectedViolation(finding)
        twice = self._files.live_twice(transition, live)
        yield from map(DetectedViolation, check_live_vectors(twice))
        for finding in check_paths(self._files.under_two_paths(transition, live)):
            yield DetectedViolation(finding, still_open_after(finding, transition))
        for finding in check_vectors_left(transition, live) if commit.protocols else ():
            yield DetectedViolation(finding, still_open_after(finding, transition))
        # Like a path that is added again, one that is live with another deletion vector needs no new row ids.
        yield from self._tracking.apply_commit(
            transition, {**again, **dict.fromkeys(file.path for file in twice)}, restored, healed
        )

    def _check_state(
        self, state: TableState, where: Where, actions: Sequence[Action], before: TableState | None = None
    ) -> list[Violation]:
        """Check a whole state. Return the open violations that it no longer has."""
        found = [self._placed(finding, where, actions) for finding in on_state.run(state)]
        healed = self._violations.update(HEAD, state.version, found, before, state.metadata)
        return healed + self._check_tracking(state, where, actions, before)

    def _check_tracking(
        self, state: TableState, where: Where, actions: Sequence[Action], before: TableState | None = None
    ) -> list[Violation]:
        found = self._tracking.observe_state(state)
        placed = [replace(broken, finding=self._placed(broken.finding, where, actions)) for broken in found]
        for broken in placed:
            # An audit that starts at this state has the violation from its saved state.
            recalled = before is None and self._violations.any_open([broken.finding.code])
            if broken.still_open is not None and not recalled:
                self._violations.open(broken.finding, broken.still_open)
        seen = [broken.finding for broken in placed if broken.still_open is None]
        return self._violations.update(TRACKING, state.version, seen, before, state.metadata)

    def _open(self, broken: DetectedViolation, commit: Commit, actions: Sequence[Action]) -> None:
        finding = self._placed(broken.finding, lambda: commit.provenance, actions)
        self._violations.open(finding, broken.still_open, broken.before)

    def _placed(self, finding: Finding, where: Where, actions: Sequence[Action]) -> Finding:
        return replace(finding, action=shown_action(finding, actions), **where())


def check_older_files(transition: Transition, live: Collection[FileKey], log: PastLog) -> Iterator[Finding]:
    """Yield findings about files without statistics for a column that the table is newly clustered by.

    Files that the commit itself adds are left out: they are checked like the files of any other commit.

    :param live: the keys of the files after the commit
    """
    if not any(domain.domain == CLUSTERING_DOMAIN for domain in transition.commit.domains):
        return
    before = clustering_paths(transition.before)
    paths = [path for path in clustering_paths(transition.after) if path not in before]
    older = frozenset(key for key in live if key not in transition.commit.added) if paths else frozenset()
    if older:
        for _, add in sorted(log.last_adds(transition.commit.version, older).items()):
            yield from check_newly_clustered(add, paths)
