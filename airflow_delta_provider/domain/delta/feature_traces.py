"""Traces of a feature in a table or commit, and the time when the last of them may be removed.

``RemovableFeature.actionUsesFeature``, ``validateDropInvariants`` and ``MetadataCleanup`` of Delta Spark v4.4.0:
TRUNCATE HISTORY deletes the log up to a checkpoint after the last trace. It may do so once the commit before that
checkpoint is as old as ``delta.dropFeatureTruncateHistory.retentionDuration``, to the minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.features.feature import Feature, Removal
from airflow_delta_provider.domain.delta.features.registry import FEATURES, dependents
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState

#: The removal of each feature that can be dropped, by name.
REMOVALS: dict[str, Removal] = {
    name: feature.removal for name, feature in FEATURES.items() if feature.removal is not None
}


def why_not_removable(feature: Feature) -> str:
    """Return the reason why a feature without a removal cannot be dropped, and the alternative."""
    reason = "No Delta release can drop it."
    if feature.instead_of_removal:
        return f"{reason} {feature.instead_of_removal}"
    if feature.enabling_property is not None and feature.is_enabling("true"):
        return (
            f"{reason} Set {feature.enabling_property} to false, which ends its effect on new commits; the feature "
            "stays."
        )
    return f"{reason} To remove it, write the table again without the parts that need it."


def _rank(name: str) -> tuple[bool, bool]:
    removal = REMOVALS.get(name)
    return (removal is not None and removal.only_truncating, removal is None or not removal.without_sql)


def in_order(features: tuple[str, ...]) -> tuple[str, ...]:
    """Order features so that each comes before the features that it requires.

    Protection of history comes last. Features that no engine knows come first: the engine drops none of the others
    while they exist.
    """
    ordered: list[str] = []
    waiting = sorted(features, key=_rank)
    while waiting:
        free = next(name for name in waiting if not dependents(name, frozenset(waiting)))
        waiting.remove(free)
        ordered.append(free)
    return tuple(ordered)


def is_in_use(feature: str, state: TableState) -> bool:
    """Return True if a table's state has traces of the feature besides the protocol.

    :param state: state with its files
    :raises BrokenLogError: if the schema is damaged
    """
    removal = REMOVALS.get(feature)
    if removal is None:
        return False
    in_metadata = [found for found in (removal.in_metadata, removal.left_in_metadata) if found]
    return (
        any(found(state.metadata) for found in in_metadata)
        or (removal.left_in_domains is not None and removal.left_in_domains(state.domains))
        or (removal.left_in_file is not None and any(map(removal.left_in_file, state.live_files)))
    )


def last_traces(
    features: Iterable[str], state: TableState, base: Metadata | None, commits: Iterable[tuple[int, Sequence[Action]]]
) -> dict[str, int]:
    """Return the last version with traces of each feature that the newest state no longer uses.

    :param state: the newest state
    :param base: metadata in force before the first of the commits, None if there was none
    :param commits: all commits in the log, oldest first, with their versions; not read if they are not needed
    """
    removals = {feature: REMOVALS[feature] for feature in features if feature in REMOVALS}
    known = {feature: removal.last_trace(state.metadata) for feature, removal in removals.items() if removal.last_trace}
    found = {feature: version for feature, version in known.items() if version is not None}
    in_metadata = {feature: removal.in_metadata for feature, removal in removals.items() if removal.in_metadata}
    in_action = {feature: removal.in_action for feature, removal in removals.items() if removal.in_action}
    dirty = {feature for feature, is_trace in in_metadata.items() if base is not None and is_trace(base)}
    for version, actions in commits if in_metadata or in_action else ():
        for action in actions:
            if action.get("metaData"):
                metadata = Metadata.from_json(action["metaData"])
                dirty = {feature for feature, is_trace in in_metadata.items() if is_trace(metadata)}
        traced = {feature for feature, is_trace in in_action.items() if any(map(is_trace, actions))}
        found |= dict.fromkeys(dirty | traced, version)
    return found


def barrier(trace: int, checkpoints: Iterable[int]) -> int | None:
    """Return the first checkpoint after the last version with traces; None if there is none yet."""
    return min((version for version in checkpoints if version > trace), default=None)


def earliest_truncation(written: datetime, retention: timedelta) -> datetime:
    """Return the earliest time at which history may be truncated.

    :param written: time when the newest commit of that history was written
    """
    whole = written.replace(second=0, microsecond=0)
    return (whole if whole == written else whole + timedelta(minutes=1)) + retention
