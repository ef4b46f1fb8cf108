"""Judges how the actions of commits are written."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import chain

from airflow_delta_provider.domain.audit.known.lines import CommitLines, KnownLines
from airflow_delta_provider.domain.audit.live_file_tracker import LiveFileTracker
from airflow_delta_provider.domain.checks.check import on_action
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding


class ActionJudge:
    """Takes the actions of each commit, but for those on lines that are known.

    :param lines: knows lines; learns from those that nothing is wrong with
    :param files: follows the files
    """

    def __init__(self, lines: KnownLines, files: LiveFileTracker) -> None:
        self._lines = lines
        self._files = files

    def judge(
        self, transition: Transition, actions: Sequence[Action], old: Container[str], wrong: Container[str]
    ) -> Iterator[Finding]:
        """Yield what is wrong with the actions of a commit by themselves.

        :param old: paths that it adds which were there before
        :param wrong: paths that it removes of files that were wrong before: it repeats what their adds said
        """
        before, after = transition.before, transition.after
        lines = actions if isinstance(actions, CommitLines) else None
        judged = actions if lines is None else [action for _, action in lines.unknown]
        for finding in self.descriptions(judged, before, after, old):
            if finding.subject != "remove" or finding.path not in wrong:
                yield finding
        if lines is not None:
            self._lines.learn(lines, after, lambda action: not any(self.descriptions([action], before, after, ())))

    def descriptions(
        self, actions: Sequence[Action], before: TableState, after: TableState, old: Container[str]
    ) -> Iterator[Finding]:
        """Yield what is wrong with actions by themselves. :mod:`file_pattern` knows what of them that depends on."""
        written = (finding for action in actions for finding in on_action.run(action))
        return chain(written, self._files.descriptions(actions, before, after, old))
