"""Fast handling of many commits that do the same as earlier commits without findings."""

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
    """Learns the kinds of usual commits, and takes commits of these kinds.

    :param violations: open violations; if a commit may fix one of them, commits are checked one by one
    :param lines: patterns of known lines
    :param files: tracker of the files
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
        """Return the kind of a usual commit; None if it is unusual.

        In a usual commit, all lines except commitInfo match patterns.

        :param replay: replay of the state before it
        """
        if len(lines.unknown) != 1 or commit.first_kind != "commitInfo" or self._violations.is_waiting:
            return None
        change = change_by(commit.adds, commit.removes, replay.files)
        enabled = replay.head(commit.version - 1).metadata.properties.deletion_vectors
        if change is None or (change.gone and not enabled):
            return None
        return doing_of(change, commit.domains, commit.transactions)

    def learn(self, lines: CommitLines, state: TableState, doing: Doing) -> None:
        """Learn from a commit without findings.

        :param state: the state after it
        """
        self._lines.learn_usual(lines, state, doing)

    def take(
        self, contents: Sequence[bytes], replay: Replay, before: Commit, head: TableState
    ) -> Iterator[UsualCommit]:
        """Take commits as long as they are usual. Yield each after it is taken.

        :param contents: contents of their files, in order
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
        """Return True if a commit does the same as others, to files that need not be checked one by one.

        :param timestamp: the in-commit timestamp before it
        """
        doing = doing_of(change, commit.marks, commit.transactions)
        if doing not in commit.known or self._files.has_to_look_at(change):
            return False
        return commit.timestamp is None or not isinstance(timestamp, int) or commit.timestamp > timestamp
