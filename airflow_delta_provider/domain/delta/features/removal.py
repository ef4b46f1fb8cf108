"""In which order features are dropped, and why some cannot be."""

from __future__ import annotations

from airflow_delta_provider.domain.delta.features.feature import Feature, Removal
from airflow_delta_provider.domain.delta.features.registry import FEATURES, dependents

#: How each feature is dropped that can be, by name.
REMOVALS: dict[str, Removal] = {
    name: feature.removal for name, feature in FEATURES.items() if feature.removal is not None
}


def why_not_removable(feature: Feature) -> str:
    """Return why a feature cannot be dropped that has no removal, and what to do instead."""
    reason = "No Delta release can drop it."
    if feature.instead_of_removal:
        return f"{reason} {feature.instead_of_removal}"
    if feature.enabling_property is not None and feature.is_enabling("true"):
        return (
            f"{reason} Set {feature.enabling_property} to false, which ends its effect on new commits; the feature "
            "stays."
        )
    return f"{reason} To be rid of it, write the table again without what needs it."


def _rank(name: str) -> tuple[bool, bool]:
    removal = REMOVALS.get(name)
    return (removal is not None and removal.only_truncating, removal is None or not removal.without_sql)


def in_order(features: tuple[str, ...]) -> tuple[str, ...]:
    """Return features so that each comes before those that it requires; what protects history goes last.

    First come those that no engine knows: it drops none of the others while they are there.
    """
    ordered: list[str] = []
    waiting = sorted(features, key=_rank)
    while waiting:
        free = next(name for name in waiting if not dependents(name, frozenset(waiting)))
        waiting.remove(free)
        ordered.append(free)
    return tuple(ordered)
