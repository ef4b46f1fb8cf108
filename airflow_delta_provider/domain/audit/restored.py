"""Whether a commit leads back to an earlier version, and how much of it it brings back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from airflow_delta_provider.domain.audit.earlier_states import EarlierStates, identity_of, leads_back
from airflow_delta_provider.domain.audit.log_memory import LogMemory
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.transition import Transition


@dataclass(frozen=True)
class Restored:
    """What a commit brings back.

    :param version: the newest of the earlier versions whose metadata and files it leads to; None where to none
    :param protocol: whether that had the same protocol
    :param identity: whether that had the same table id
    :param untold: the version that it says it restores, where nobody knows that version any more
    """

    version: int | None = None
    protocol: bool = False
    identity: bool = False
    untold: int | None = None


def restored_by(
    transition: Transition,
    live: Mapping[FileKey, LiveFile],
    states: EarlierStates,
    log: LogMemory,
    *,
    begun_late: bool,
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
        return Restored(untold=named)
    after = replace(transition.after, files=live)
    if not leads_back(then, after):
        return Restored()
    return Restored(named, then.protocol == after.protocol, identity_of(then.metadata) == identity_of(after.metadata))


def looked_back(states: EarlierStates, earlier: EarlierStates | None, transition: Transition) -> Restored | None:
    """Return what a commit, which ``states`` has taken, brings back of a version of before them; None for nothing.

    :param earlier: those versions, as far as anybody knows them
    """
    version = None if earlier is None else states.look_back(earlier, transition.after)
    return None if version is None else Restored(version, states.had_protocol, states.had_identity)


def _named(transition: Transition) -> int | None:
    """Return the version that a commit says it restores."""
    parameters = transition.commit.info.get("operationParameters")
    if transition.commit.operation != "RESTORE" or not isinstance(parameters, dict):
        return None
    if transition.before.metadata == transition.after.metadata and not transition.before_files:
        return None  # it changes nothing, or the protocol only, which is not restored
    try:
        return int(str(parameters.get("version")))
    except ValueError:
        return None
