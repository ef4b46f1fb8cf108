"""Detection of commits that return to an earlier version, and of the parts that they bring back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from airflow_delta_provider.domain.audit.fast_path.routine_commits import Change
from airflow_delta_provider.domain.audit.past import EarlierStates, PastLog, identity_of, leads_back
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.table_state import TableState, Transition

#: A condition on a commit.
Matters = Callable[[Transition], bool]


class RestoreResult(NamedTuple):
    """The result of a commit that may return to an earlier version.

    :param version: newest earlier version whose metadata and files it leads to; None if there is none
    :param protocol: True if that version had the same protocol
    :param identity: True if that version had the same table id
    :param unknown_version: version that the commit says it restores, if that version is no longer known
    """

    version: int | None = None
    protocol: bool = False
    identity: bool = False
    unknown_version: int | None = None


def restored_by(
    transition: Transition, live: Mapping[FileKey, LiveFile], states: EarlierStates, log: PastLog, *, begun_late: bool
) -> RestoreResult:
    """Return the effect of a commit that may restore an earlier version, even one before the first audited version.

    :param live: the files after the commit
    :param states: states of the audited versions; this one is added
    :param begun_late: True if there were versions before those
    """
    known = states.take(transition)
    if not (transition.commit.protocols or transition.commit.metadata):
        return RestoreResult(known, states.had_protocol, states.had_identity)
    named = _named(transition) if known is None and begun_late else None
    if named is None:
        return RestoreResult(known, states.had_protocol, states.had_identity)
    then = log.state_at(named)
    if then is None:
        return RestoreResult(unknown_version=named)
    after = replace(transition.after, files=live)
    if not leads_back(then, after):
        return RestoreResult()
    return RestoreResult(
        named, then.protocol == after.protocol, identity_of(then.metadata) == identity_of(after.metadata)
    )


class RestoreDetector:
    """Finds the commits that return to earlier versions; takes all commits, oldest first.

    :param begun_late: True if there were versions before the first one that it takes
    """

    def __init__(self, log: PastLog, begun_late: bool) -> None:
        self._log = log
        self._begun_late = begun_late
        self._states = EarlierStates()
        self._first = -1
        self._earlier: EarlierStates | None = None
        self._has_read = False

    def begin(self, state: TableState) -> None:
        """Start from a state with its files."""
        self._states.begin(state)
        self._first, self._has_read = state.version, False

    def resume(self) -> None:
        """Note that commits were skipped."""
        self._begun_late = True

    def change_files(self, change: Change, version: int, state: TableState) -> None:
        """Record a commit that changes only files, without checking whether it returns to an earlier version.

        :param version: its version
        :param state: an earlier state with the same protocol and metadata
        """
        self._states.change_files(change.added, change.removed_files, version, state)

    def take(self, transition: Transition, live: Mapping[FileKey, LiveFile], matters: Matters) -> RestoreResult:
        """Record a commit. Return the version that it restores, if any, with details.

        Versions before the first are read again only if that matters, as far as the log has them.

        :param live: the files after the commit
        :param matters: returns True if findings depend on whether the commit returns to an earlier version
        """
        restored = restored_by(transition, live, self._states, self._log, begun_late=self._begun_late)
        is_change = transition.commit.protocols or transition.commit.metadata
        if not (self._begun_late and is_change) or restored.version is not None or not matters(transition):
            return restored
        if not self._has_read:
            self._earlier, self._has_read = self._log.states_up_to(self._first), True
        version = None if self._earlier is None else self._states.latest_equal_version(self._earlier, transition.after)
        if version is None:
            return restored
        return RestoreResult(version, self._states.had_protocol, self._states.had_identity)


def _named(transition: Transition) -> int | None:
    """Return the version that a commit says it restores; None if it restores none."""
    parameters = transition.commit.info.get("operationParameters")
    if transition.commit.operation != "RESTORE" or not isinstance(parameters, dict):
        return None
    commit = transition.commit
    if transition.before.metadata == transition.after.metadata and not (commit.adds or commit.removes):
        return None  # it changes nothing, or only the protocol, which a RESTORE leaves alone
    try:
        return int(str(parameters.get("version")))
    except ValueError:
        return None
