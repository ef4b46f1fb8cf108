"""Takes commits that do what others did that nothing was wrong with, many at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.audit.known.commits import Change, Doing, UsualCommit, change_by, doing_of
from airflow_delta_provider.domain.audit.known.lines import CommitLines, KnownLines
from airflow_delta_provider.domain.audit.live_file_tracker import LiveFileTracker
from airflow_delta_provider.domain.audit.restore_detection import Restorations
from airflow_delta_provider.domain.audit.row_tracking import MISSING_IDS, RowTrackingAudit
from airflow_delta_provider.domain.audit.violations import Violations
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.table_state import Replay, TableState


class UsualJudge:
    """Learns from commits what is usual, and takes those that are.

    :param violations: while one of them waits for commits to heal it, commits are judged one by one
    :param lines: knows what lines look like
    :param files: follows the files
    """

    def __init__(
        self,
        violations: Violations,
        lines: KnownLines,
        files: LiveFileTracker,
        restorations: Restorations,
        tracking: RowTrackingAudit,
    ) -> None:
        self._violations = violations
        self._lines = lines
        self._files = files
        self._restorations = restorations
        self._tracking = tracking

    def doing(self, commit: Commit, lines: CommitLines, replay: Replay) -> Doing | None:
        """Return what a commit does, if others may do the same and all its lines are known but for its commitInfo.

        :param replay: holds the state before it
        """
        if len(lines.unknown) != 1 or commit.first_kind != "commitInfo" or self._violations.is_waiting:
            return None
        change = change_by(commit.adds, commit.removes, replay.files)
        enabled = replay.head(commit.version - 1).metadata.properties.deletion_vectors
        if change is None or (change.gone and not enabled):
            return None
        return doing_of(change, commit.domains, commit.transactions)

    def learn(self, lines: CommitLines, state: TableState, doing: Doing) -> None:
        """Learn from a commit that nothing was wrong with.

        :param state: after it
        """
        self._lines.learn_usual(lines, state, doing)

    def take(
        self, contents: Sequence[bytes], replay: Replay, before: Commit, head: TableState
    ) -> Iterator[UsualCommit]:
        """Take commits as long as they are usual; yield each when it is taken.

        :param contents: of their files, in order
        :param before: the commit before them
        :param head: the state before them, without files
        """
        violations, version = self._violations, before.version
        if violations.is_waiting or violations.any_open(MISSING_IDS):
            return
        timestamp = before.info.get("inCommitTimestamp")
        for commit in self._lines.read_usual(contents, head):
            change = change_by(commit.adds, commit.removes, replay.files)
            if change is None or not self._is_usual(commit, change, timestamp):
                return
            version += 1
            if not self._tracking.take_usual(version, change, commit.marks, head):
                return
            self._files.take_usual(change)
            replay.change_files(change.added, change.gone, commit.marks)
            self._restorations.change_files(change, version, head)
            timestamp = commit.timestamp
            yield commit

    def _is_usual(self, commit: UsualCommit, change: Change, timestamp: int | None) -> bool:
        """Whether a commit does what others did, to files that need not be looked at one by one.

        :param timestamp: the in-commit timestamp before it
        """
        doing = doing_of(change, commit.marks, commit.transactions)
        if doing not in commit.known or self._files.has_to_look_at(change):
            return False
        return commit.timestamp is None or not isinstance(timestamp, int) or commit.timestamp > timestamp
