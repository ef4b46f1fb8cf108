"""Fast handling of many commits that do the same as earlier commits without findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from airflow_delta_provider.domain.audit.fast_path.lines import CommitLines, TablePatterns
from airflow_delta_provider.domain.audit.fast_path.open_fields import OpenFields
from airflow_delta_provider.domain.audit.fast_path.routine_commits import (
    REWRITING,
    Change,
    CommitEffect,
    Effect,
    RoutineCommit,
    change_by,
    effect_of,
)
from airflow_delta_provider.domain.audit.file_records import FileRecords, path_checksum
from airflow_delta_provider.domain.audit.live_files import LiveFileTracker
from airflow_delta_provider.domain.audit.past import FOREIGN_FILES
from airflow_delta_provider.domain.audit.restore_detection import RestoreDetector
from airflow_delta_provider.domain.audit.row_tracking import MISSING_IDS, RowTrackingAudit
from airflow_delta_provider.domain.audit.saved_state import AuditState
from airflow_delta_provider.domain.audit.violations import Violations
from airflow_delta_provider.domain.delta.commit import Action, Commit
from airflow_delta_provider.domain.delta.features.columns import KEY as IDENTITY_KEY
from airflow_delta_provider.domain.delta.features.log import CLUSTERING_DOMAIN, DOMAIN
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.log_files import is_absolute
from airflow_delta_provider.domain.delta.row_tracking import high_water_mark_of
from airflow_delta_provider.domain.delta.table_state import Replay, TableState, Transition
from airflow_delta_provider.domain.report.report import Severity


class PartialReplay:
    """Takes commits, oldest first, until one can only be checked with all files of earlier versions.

    :param memory: saved state of the version before them
    """

    def __init__(self, memory: AuditState) -> None:
        files = None if memory.facts is None else memory.facts.files
        self._known = None if files is None else files.known
        # An open error may affect files that no finding names.
        self._broken = any(v.finding.severity is Severity.ERROR for v in memory.standing)
        self._mark = memory.state.row_tracking.high_water_mark
        metadata = memory.state.metadata
        self._by_partition = bool(metadata.partition_columns) and metadata.properties.change_data_feed
        self._new: dict[FileKey, LiveFile] = {}
        self._removed: Counter[int] = Counter()
        self._added: Counter[int] = Counter()
        self.older: dict[FileKey, LiveFile] = {}
        """The live files of the saved version that the commits remove, by key."""

    def take(self, actions: Sequence[Action]) -> bool:
        """Record a commit. Return True if it can only be checked with all files of earlier versions.

        :raises BrokenLogError: if an action is malformed
        """
        if self._broken or self._known is None:
            return True
        if any(action.get(kind) for action in actions for kind in ("protocol", "metaData")):
            return True
        commit = Commit.from_actions(0, actions)
        removed = self._removed_by(commit, actions, self._known)
        if removed is None or any(self._is_about_older(file, removed, self._known) for file in commit.adds):
            return True
        self._new.update(commit.added)
        for domain in commit.domains:
            if domain.domain == CLUSTERING_DOMAIN:
                return True
            if domain.domain == DOMAIN:
                mark = None if domain.removed else high_water_mark_of(domain.configuration)
                if mark is None or mark < (self._mark or 0):
                    return True
                self._mark = mark
        return False

    def _removed_by(
        self, commit: Commit, actions: Sequence[Action], known: FileRecords
    ) -> Mapping[str, LiveFile] | None:
        """Return the live files that a commit removes, by path; None if not all of them are known for certain."""
        if commit.removes and self._by_partition and commit.operation not in REWRITING:
            return None  # it may replace partitions: their other files matter
        removed: dict[str, LiveFile] = {}
        sizes = [action["remove"].get("size") for action in actions if action.get("remove")]
        for file, size in zip(commit.removes, sizes):
            key = file.key
            if type(size) is not int or is_absolute(file.path) or file.path in removed or key in commit.added:
                return None
            live, checksum = self._new.pop(key, None), path_checksum(file.path)
            if live is not None:
                self._added[checksum] -= 1
            elif key not in self.older:
                ids = file.base_row_id, file.default_row_commit_version
                live = known.find(LiveFile(file.path, size, *ids, deletion_vector=file.deletion_vector))
                if live is not None:
                    self.older[key] = live
                    self._removed[checksum] += 1
            if live is None:
                return None
            removed[file.path] = live
        return removed

    def _is_about_older(self, file: LiveFile, removed: Mapping[str, LiveFile], known: FileRecords) -> bool:
        """Return True if a file may have been live before, or have ids that were assigned before.

        A file may replace the same file with another deletion vector, which the same commit removes.
        """
        checksum = path_checksum(file.path)
        is_live = known.number_of(file.path) + self._added[checksum] > self._removed[checksum]
        self._added[checksum] += 1
        if is_live or is_absolute(file.path):
            return True
        before = removed.get(file.path)
        if before is not None:
            return before[:5] != file[:5]
        given_before = file.base_row_id is not None and (self._mark is None or file.base_row_id <= self._mark)
        return file.deletion_vector is not None or given_before or self._removed[checksum] > 0


class FastPath:
    """The fast path of an audit: skips checks of lines and commits that match the pattern of correct earlier ones.

    :param fields: fields that patterns may leave open
    :param violations: open violations; if a commit may fix one of them, commits are checked one by one
    :param files: tracker of the files
    """

    def __init__(
        self,
        fields: OpenFields,
        violations: Violations,
        files: LiveFileTracker,
        restorations: RestoreDetector,
        tracking: RowTrackingAudit,
    ) -> None:
        self._violations = violations
        self._files = files
        self._restorations = restorations
        self._tracking = tracking
        self._lines = TablePatterns(fields)
        self._takes_commits = fields.commits

    def read(self, name: str, content: bytes, before: TableState) -> Sequence[Action]:
        """Read a commit file. Lines that match a pattern are not parsed.

        :param before: the state before it
        :raises BrokenLogError: if a line is not an action
        """
        return self._lines.read(name, content, before)

    def learn_lines(self, lines: CommitLines, transition: Transition, is_right: Callable[[Action], bool]) -> None:
        """Learn the patterns of lines from a checked commit.

        Files that a copy takes over may have names of dropped columns, so nothing is learned from it.

        :param is_right: returns True if an action has no finding, whichever commit it is in
        """
        if transition.commit.info.get("operation") not in FOREIGN_FILES:
            self._lines.learn(lines, transition.after, is_right)

    def effect(self, commit: Commit, lines: CommitLines, replay: Replay) -> CommitEffect | None:
        """Return the kind of a routine commit; None for any other commit.

        In a routine commit, all lines except commitInfo match patterns. Tables with identity columns have none: their
        values are compared with high water marks, which no pattern knows.

        :param replay: replay of the state before it
        """
        if not self._takes_commits or self._violations.is_waiting or not replay.is_complete:
            return None
        metadata = replay.head(commit.version - 1).metadata
        if len(lines.unmatched) != 1 or commit.first_kind != "commitInfo" or IDENTITY_KEY in metadata.schema_string:
            return None
        change = change_by(commit.adds, commit.removes, replay.files)
        if change is None:
            return None
        if change.effect is Effect.REWRITE and commit.operation not in REWRITING:
            return None
        if change.effect is Effect.DELETE_ROWS and not metadata.properties.deletion_vectors:
            return None
        return effect_of(change, commit.domains, commit.transactions)

    def learn(self, lines: CommitLines, state: TableState, effect: CommitEffect) -> None:
        """Learn from a commit without findings.

        :param state: the state after it
        """
        self._lines.learn_commit(lines, state, effect)

    def take(
        self, contents: Sequence[bytes], replay: Replay, before: Commit, head: TableState
    ) -> Iterator[RoutineCommit]:
        """Take commits as long as they are routine. Yield each after it is taken.

        :param contents: contents of their files, in order
        :param before: the commit before them
        :param head: the state before them, without files
        """
        violations, version = self._violations, before.version
        if not self._takes_commits or violations.is_waiting or violations.any_open(MISSING_IDS):
            return
        timestamp = before.info.get("inCommitTimestamp")
        for commit in self._lines.read_routine(contents, head):
            change = change_by(commit.adds, commit.removes, replay.files)
            if change is None or not self._is_routine(commit, change, timestamp):
                return
            if violations.has_files and any(violations.is_wrong(path) for path, _ in change.removed_files):
                return  # their removal fixes a violation
            version += 1
            if not self._tracking.take_routine(version, change, commit.marks, head):
                return
            self._files.take_routine(change, head)
            replay.change_files(change.added, change.removed_files, commit.marks)
            self._restorations.change_files(change, version, head)
            timestamp = commit.timestamp
            yield commit

    def _is_routine(self, commit: RoutineCommit, change: Change, timestamp: int | None) -> bool:
        """Return True if a commit does the same as others, to files that need not be checked one by one.

        :param timestamp: the in-commit timestamp before it
        """
        effect = effect_of(change, commit.marks, commit.transactions)
        if effect not in commit.effects or self._files.may_be_live(change):
            return False
        return commit.timestamp is None or not isinstance(timestamp, int) or commit.timestamp > timestamp
