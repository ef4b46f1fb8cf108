"""A condition on the features of a table, for tasks that wait for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from airflow_delta_provider.domain.delta.features.feature import FeatureKind
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_named
from airflow_delta_provider.domain.delta.features.state import FeatureState, feature_state
from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.domain.suggestion import did_you_mean


class FeatureConditionError(ValueError):
    """A condition that is invalid or could never come true; the message has the remedy."""


class WantedState(str, Enum):
    """The state that every feature of a condition has to reach."""

    SUPPORTED = "supported"
    """The protocol lists it, or its versions imply it."""
    ENABLED = "enabled"
    """Supported, and the property that puts it in force is set."""
    ABSENT = "absent"
    """The protocol does not list it."""


@dataclass(frozen=True)
class FeatureCondition:
    """Features, and the state that all of them must reach.

    :param features: names in the protocol's own spelling, each once
    """

    features: tuple[str, ...]
    state: WantedState

    @classmethod
    def parse(cls, features: str | Sequence[str], state: str | WantedState) -> FeatureCondition:
        """Read a condition: one name or several, in any case.

        :raises FeatureConditionError: for no name, a duplicate name, an unknown name or an unknown state
        """
        names = tuple(map(watchable_feature, _as_sequence(features)))
        if not names:
            raise FeatureConditionError("features is empty. Name at least one table feature.")
        for name in names:
            if names.count(name) > 1:
                raise FeatureConditionError(f"features names {name!r} more than once.")
        return cls(names, wanted_state(state))

    def states(self, head: TableHead) -> dict[str, FeatureState]:
        """Return the state of each of the condition's features in a table."""
        return {name: feature_state(feature_named(name), head.protocol, head.metadata) for name in self.features}

    def holds(self, states: Mapping[str, FeatureState]) -> bool:
        """Return True if all features are in the wanted state."""
        return all(state in _ACCEPTED[self.state] for state in states.values())


_ACCEPTED = {
    WantedState.SUPPORTED: frozenset(FeatureState) - {FeatureState.ABSENT},
    WantedState.ENABLED: frozenset({FeatureState.ENABLED}),
    WantedState.ABSENT: frozenset({FeatureState.ABSENT}),
}


def wanted_state(state: object) -> WantedState:
    """Return the state with that name.

    :raises FeatureConditionError: if there is none
    """
    try:
        return WantedState(state)
    except ValueError:
        names = ", ".join(repr(member.value) for member in WantedState)
        hint = did_you_mean(state, (member.value for member in WantedState)) if isinstance(state, str) else ""
        raise FeatureConditionError(f"state is {state!r}; it is one of {names}.{hint}") from None


def watchable_feature(name: object) -> str:
    """Return a feature's name in the protocol's spelling, if a table's own log shows its state.

    An unknown name is refused: otherwise a typo would make a task wait for its whole timeout.

    :raises FeatureConditionError: if it is not a name, is unknown, or is decided by the catalog
    """
    if not isinstance(name, str) or not name.strip():
        raise FeatureConditionError(f"features holds {name!r}, which is not the name of a table feature.")
    feature = feature_named(name.strip())
    if feature.kind is FeatureKind.UNKNOWN:
        raise FeatureConditionError(f"{name!r} is not a table feature known here.{did_you_mean(name, FEATURES)}")
    if feature.catalog_managed:
        raise FeatureConditionError(
            f"{feature.name} cannot be waited for: its tables are defined by a catalog, not by their directories. Ask "
            "the catalog."
        )
    return feature.name


def _as_sequence(features: object) -> Sequence[object]:
    if isinstance(features, str):
        return (features,)
    if isinstance(features, Sequence):
        return features
    raise FeatureConditionError(f"features is {features!r}; give one name or a list of names.")
