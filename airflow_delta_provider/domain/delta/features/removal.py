"""How each table feature is dropped: what that rewrites, what it leaves behind, what it needs.

From ``TableFeature.scala`` and ``PreDowngradeTableFeatureCommand.scala`` of Delta Spark v4.4.0, and measured with it. A
drop of a reader-writer feature protects the history that still has traces of it, by ``checkpointProtection``, unless
that history is truncated.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from airflow_delta_provider.domain.delta.features.table import FEATURES, Feature

PROTECTION = "checkpointProtection"


class Rewrites(Enum):
    """Which data files a drop writes anew."""

    NONE = "no files"
    WITH_VECTORS = "files with deletion vectors, and with columns that were dropped"
    OF_OTHER_TYPES = "files with other types than the columns have"
    ALL = "all files"


@dataclass(frozen=True)
class Removal:
    """How one feature is dropped.

    :param feature: its name
    :param since: first Delta Spark release whose DROP FEATURE takes it
    :param commits: commits before the one that drops it, checkpoints' empty ones left out
    :param protects: whether history keeps traces that have to be protected, or truncated
    :param only_truncating: whether it can be dropped by truncating history only
    :param by_hand: whether no SQL can drop it, but a commit of this provider
    :param leaves: what stays behind, or is lost, in a sentence
    """

    feature: str
    since: tuple[int, ...] = (4, 0)
    rewrites: Rewrites = Rewrites.NONE
    commits: int = 0
    protects: bool = False
    only_truncating: bool = False
    by_hand: bool = False
    leaves: str = ""

    @property
    def truncates(self) -> bool:
        """Whether TRUNCATE HISTORY means anything to it."""
        return self.protects or self.only_truncating


_TABLE = (
    Removal("checkConstraints"),
    Removal(
        "columnMapping",
        rewrites=Rewrites.ALL,
        commits=1,
        protects=True,
        leaves="Streams that read the table fail once, and have to be started anew.",
    ),
    Removal("deletionVectors", rewrites=Rewrites.WITH_VECTORS, commits=3, protects=True),
    Removal(
        "rowTracking",
        since=(4, 1),
        commits=2,
        leaves="Row ids lose their identity: enabled again, ids start at 0 and belong to other rows. domainMetadata "
        "stays in the protocol; name it too to drop it.",
    ),
    Removal("domainMetadata", since=(4, 1), leaves="Domain metadata that any writer left in the table is removed."),
    Removal("materializePartitionColumns", since=(4, 1)),
    Removal("v2Checkpoint", commits=1, protects=True),
    Removal("typeWidening", rewrites=Rewrites.OF_OTHER_TYPES, commits=3, protects=True),
    Removal("typeWidening-preview", rewrites=Rewrites.OF_OTHER_TYPES, commits=3, protects=True),
    Removal("inCommitTimestamp", commits=1, leaves="Time travel by timestamp goes by the times of files again."),
    Removal("vacuumProtocolCheck", protects=True),
    Removal("geospatial", since=(4, 3), protects=True),
    Removal("geospatial-dev", since=(4, 3), protects=True),
    Removal(PROTECTION, only_truncating=True, commits=1),
    Removal("columnMappingUsageTracking", by_hand=True),
)

REMOVALS: dict[str, Removal] = {removal.feature: removal for removal in _TABLE}

_BY_HAND = frozenset(removal.feature for removal in _TABLE if removal.by_hand)
_INSTEAD = {
    "clustering": "ALTER TABLE … CLUSTER BY NONE ends clustering; the feature stays.",
    "generatedColumns": "Write the table anew without generated columns.",
    "identityColumns": "Write the table anew without identity columns.",
    "invariants": "ALTER TABLE … ALTER COLUMN … DROP NOT NULL ends invariants; the feature stays.",
}


def why_not_removable(feature: Feature) -> str:
    """Return why a feature that has no entry here cannot be dropped, and what to do instead."""
    reason = "No Delta release can drop it."
    if feature.name in _INSTEAD:
        return f"{reason} {_INSTEAD[feature.name]}"
    if feature.enabling_property is not None and feature.enabled_value == "true":
        return (
            f"{reason} Set {feature.enabling_property} to false, which ends its effect on new commits; the feature "
            "stays."
        )
    return f"{reason} To be rid of it, write the table anew without what needs it."


def dependents(feature: str, present: frozenset[str]) -> tuple[str, ...]:
    """Return those features of ``present`` that require ``feature``, sorted."""
    return tuple(sorted(name for name in present if name in FEATURES and feature in FEATURES[name].requires))


def in_order(features: tuple[str, ...]) -> tuple[str, ...]:
    """Return features so that each comes before those that it requires, and ``checkpointProtection`` last.

    First come those that no engine knows: it drops none of the others while they are there.
    """
    ordered: list[str] = []
    waiting = sorted(features, key=lambda name: (name == PROTECTION, name not in _BY_HAND))
    while waiting:
        free = next(name for name in waiting if not dependents(name, frozenset(waiting)))
        waiting.remove(free)
        ordered.append(free)
    return tuple(ordered)
