"""Whether a commit leads back to an earlier version, and how much of it it brings back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from airflow_delta_provider.domain.audit.earlier_states import EarlierStates, identity_of, leads_back
from airflow_delta_provider.domain.audit.known.commits import Change
from airflow_delta_provider.domain.audit.past_log import PastLog
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition

#: Whether something is so of a commit.
Matters = Callable[[Transition], bool]


@dataclass(frozen=True)
class Restored:
    """What a commit brings back.

    :param version: the newest of the earlier versions whose metadata and files it leads to; None where to none
    :param protocol: whether that had the same protocol
    :param identity: whether that had the same table id
    :param unknown_version: the version that it says it restores, where nobody knows that version any more
    """

    version: int | None = None
    protocol: bool = False
    identity: bool = False
    unknown_version: int | None = None


def restored_by(
    transition: Transition, live: Mapping[FileKey, LiveFile], states: EarlierStates, log: PastLog, *, begun_late: bool
) -> Restored:
    """Return what a commit brings back of any earlier version, of before the first that was judged as well.

    :param live: the files after the commit
    :param states: the versions that were judged; takes this one
    :param begun_late: whether there were versions before those
    """
    known = states.take(transition)
    if not (transition.commit.protocols or transition.commit.metadata):
        return Restored(known, states.had_protocol, states.had_identity)
    named = _named(transition) if known is None and begun_late else None
    if named is None:
        return Restored(known, states.had_protocol, states.had_identity)
    then = log.state_at(named)
    if then is None:
        return Restored(unknown_version=named)
    after = replace(transition.after, files=live)
    if not leads_back(then, after):
        return Restored()
    return Restored(named, then.protocol == after.protocol, identity_of(then.metadata) == identity_of(after.metadata))


class Restorations:
    """Takes commits, oldest first, and tells which lead back to earlier versions.

    :param begun_late: whether there were versions before those that it takes
    """

    def __init__(self, log: PastLog, begun_late: bool) -> None:
        self._log = log
        self._begun_late = begun_late
        self._states = EarlierStates()
        self._first = -1
        self._earlier: EarlierStates | None = None
        self._has_looked = False

    def begin(self, state: TableState) -> None:
        """Take the state that the history starts from, with its files."""
        self._states.begin(state)
        self._first, self._has_looked = state.version, False

    def resume(self) -> None:
        """Note that commits were left out."""
        self._begun_late = True

    def change_files(self, change: Change, version: int, state: TableState) -> None:
        """Take a commit that leaves protocol and metadata as they are, without a look at where it leads.

        :param version: its version
        :param state: an earlier one, with the same protocol and metadata
        """
        self._states.change_files(change.added, change.gone, version, state)

    def take(self, transition: Transition, live: Mapping[FileKey, LiveFile], matters: Matters) -> Restored:
        """Take a commit, and return what it brings back.

        Versions of before the first are read again, as far as the log has them, only where it matters.

        :param live: the files after the commit
        :param matters: whether it would be judged otherwise if it led back to an earlier version
        """
        restored = restored_by(transition, live, self._states, self._log, begun_late=self._begun_late)
        is_change = transition.commit.protocols or transition.commit.metadata
        if not (self._begun_late and is_change) or restored.version is not None or not matters(transition):
            return restored
        if not self._has_looked:
            self._earlier, self._has_looked = self._log.states_up_to(self._first), True
        version = None if self._earlier is None else self._states.look_back(self._earlier, transition.after)
        if version is None:
            return restored
        return Restored(version, self._states.had_protocol, self._states.had_identity)


def _named(transition: Transition) -> int | None:
    """Return the version that a commit says it restores."""
    parameters = transition.commit.info.get("operationParameters")
    if transition.commit.operation != "RESTORE" or not isinstance(parameters, dict):
        return None
    commit = transition.commit
    if transition.before.metadata == transition.after.metadata and not (commit.adds or commit.removes):
        return None  # it changes nothing, or the protocol only, which is not restored
    try:
        return int(str(parameters.get("version")))
    except ValueError:
        return None
