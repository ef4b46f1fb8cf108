"""Changes that a commit makes to the protocol: TF09 to TF12, and TF14."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from airflow_delta_provider.domain.checks.check import on_change, on_first_commit
from airflow_delta_provider.domain.checks.protocol import (
    ENABLE,
    EVOLUTION,
    FAMILY,
    NEW_TABLES,
    RECONCILIATION,
    SUPPORTED,
)
from airflow_delta_provider.domain.checks.protocol.missing_features import CHECKED_ELSEWHERE, used_features
from airflow_delta_provider.domain.checks.rule import OR_BY_COMMIT, Need, RepairMethod, Restore, Scope
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.features.feature import stable_name
from airflow_delta_provider.domain.delta.protocol import (
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    contradicts_itself,
    has_feature,
    reader_features,
)
from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding

_ENABLE_AGAIN = (
    "Enable the feature again with enable-feature (DeltaEnableFeatureOperator); to remove it permanently: "
    "ALTER TABLE … DROP FEATURE. "
    f"{OR_BY_COMMIT}"
)
#: Maximum number of protocols of one commit that are shown.
_MOST_PROTOCOLS = 3
_commit = FAMILY.of(Scope.COMMIT)
_pair = FAMILY.of(Scope.PAIR, needs=(Need.STATE, Need.VERSIONS))

FIRST_WITHOUT_PROTOCOL = _commit.error(
    10,
    "first version without protocol action",
    name="first-version-without-protocol",
    effect="It is unknown which features readers must support, and engines refuse the table.",
    remedy="Restore the log file from a backup or another replica.",
    source=RECONCILIATION,
)


@on_first_commit(FIRST_WITHOUT_PROTOCOL)
def _first(commit: Commit) -> Iterator[Finding]:
    if not commit.protocols:
        yield FIRST_WITHOUT_PROTOCOL.found(
            "Version {first}, the first one, has no protocol action.", first=commit.version
        )


SEVERAL_PROTOCOLS = _commit.error(
    9,
    "several protocol actions in a commit",
    name="several-protocol-actions-in-commit",
    effect="Readers may follow any of them, so some ignore a feature that others support.",
    remedy="Write one protocol action that lists the features in use, and update the engine that wrote the commit.",
    source="PROTOCOL.md, Delta Log Entries",
    survives_replacement=True,
)


@on_first_commit(SEVERAL_PROTOCOLS)
def _several_in_first(commit: Commit) -> Iterator[Finding]:
    if len(commit.protocols) > 1:
        yield SEVERAL_PROTOCOLS.found(
            "The commit has {actions} protocol actions ({protocols}), but only one is allowed.",
            actions=len(commit.protocols),
            protocols=" and ".join(map(str, commit.protocols[:_MOST_PROTOCOLS])),
        )


@on_change(SEVERAL_PROTOCOLS)
def _several(transition: Transition) -> Iterator[Finding]:
    return _several_in_first(transition.commit)


FEATURE_VANISHED = _pair.error(
    11,
    "feature removed from the protocol without DROP FEATURE",
    name="feature-removed-without-drop-feature",
    effect="Files and properties that need the feature may still be there, and engines no longer know.",
    remedy=_ENABLE_AGAIN,
    source=SUPPORTED,
)
VERSION_LOWERED = _pair.error(
    12,
    "protocol version lowered",
    name="protocol-version-lowered",
    effect="Engines that do not know the removed features may read and write the table again, incorrectly.",
    remedy=_ENABLE_AGAIN,
    source=EVOLUTION,
    threads=("delta-io/delta#1432",),
)
USED_FEATURE_NOT_LISTED = _pair.error(
    14,
    "feature in use not listed after an upgrade",
    name="upgrade-omits-feature-in-use",
    effect="Writers no longer support a feature that the table uses or used.",
    remedy=ENABLE,
    source=NEW_TABLES,
    needs=(Need.STATE, Need.VERSIONS, Need.USED_FEATURES),
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_change(FEATURE_VANISHED, VERSION_LOWERED, USED_FEATURE_NOT_LISTED)
def _lost_features(transition: Transition) -> Iterator[Finding]:
    """Yield at most one finding about features that the protocol had before.

    A version may be lowered if no feature is lost: writers then fall back to an equivalent pair of versions.
    """
    before, after = transition.before.protocol, transition.after.protocol
    with_lists = (before.min_reader_version, before.min_writer_version) == (
        READER_FEATURES_VERSION,
        WRITER_FEATURES_VERSION,
    )
    if not transition.commit.protocols or contradicts_itself(after):
        return  # the rules of the state report this
    if contradicts_itself(before) and not with_lists:  # if one list is missing, the other one still names features
        return
    if (transition.restores and transition.past.had_protocol) or (
        transition.replaces_all and transition.commit.metadata
    ):
        return  # another table, or an earlier version of this one
    removed = {name for name in before.features if not has_feature(after.features, name)}
    removed |= {name for name in reader_features(before) if not has_feature(reader_features(after), name)}
    in_use = used_features(transition.after) - {feature.name for feature in CHECKED_ELSEWHERE}
    lost = removed - {name for name in _dropped(transition.commit, removed) if not has_feature(in_use, name)}
    if not lost:
        return
    lower = after.min_reader_version < before.min_reader_version or after.min_writer_version < before.min_writer_version
    if lower:
        yield VERSION_LOWERED.found(
            "The commit lowered the protocol from ({before}) to ({after}), which removes {lost}.",
            lost=sorted(lost),
            before=str(before),
            after=str(after),
        )
    elif before.min_writer_version == WRITER_FEATURES_VERSION:
        yield FEATURE_VANISHED.found(
            "The commit removed {lost} from the protocol without dropping the feature."
            if not lost & in_use
            else "The commit removed {lost} from the protocol, though the table uses it.",
            lost=sorted(lost),
        )
    elif used := lost & transition.past.used_features.union(*map(used_features, (transition.before, transition.after))):
        yield USED_FEATURE_NOT_LISTED.found(
            "The commit upgraded the protocol from ({before}), which implies {used}, to ({after}), which does not, "
            "though the table uses or used it.",
            used=sorted(used),
            before=str(before),
            after=str(after),
        )


def _dropped(commit: Commit, lost: Collection[str]) -> frozenset[str]:
    """Return the features in ``lost`` that the commit says it drops.

    Its operation has to be trusted, as a drop leaves no other trace.
    """
    if commit.operation != "DROP FEATURE":
        return frozenset()
    parameters = commit.info.get("operationParameters")
    named = parameters.get("featureName") if isinstance(parameters, Mapping) else None
    if not isinstance(named, str):
        return frozenset(lost)
    return frozenset(name for name in lost if stable_name(name).casefold() == stable_name(named.strip('"`')).casefold())


_outcome = FAMILY.of(
    Scope.OUTCOME,
    remedy="Run the job again; if the finding remains, check the table's history for another writer that reverts the "
    "change.",
)

FEATURE_NOT_ENABLED = _outcome.error(
    18,
    "feature not enabled after it was enabled",
    name="feature-not-enabled-as-requested",
    effect="Consumers relying on the feature do not get it.",
)
PROPERTY_NOT_SET = _outcome.error(
    19,
    "property not as it was set",
    name="property-not-set-as-requested",
    effect="Consumers relying on the property find another value.",
)
FEATURE_NOT_DROPPED = _outcome.error(
    23,
    "feature still there after it was dropped",
    name="dropped-feature-still-present",
    effect="Engines that do not know the feature stay locked out.",
)
DROP_WAITS = _outcome.undecided(
    24,
    "feature waits for its history to be truncated",
    name="feature-drop-waits-for-truncation",
    effect="The table no longer uses the feature, but engines that do not know it stay locked out until it is dropped.",
    remedy="Run the same job again when the history may be truncated; it then drops the feature.",
)

SHREDDED_WITHOUT_FEATURE = FAMILY.of(Scope.DATA).error(
    29,
    "shredded variants without the table feature",
    name="shredded-variants-without-feature",
    effect="Nothing keeps readers that do not know shredded variants from the file: they fail on it, or read NULL or "
    "parts of the values.",
    remedy=Restore(
        ", and write its rows again with an engine that shreds variants only if the table allows it",
        of_file=True,
    ),
    source="PROTOCOL.md, Variant Shredding",
)
NOT_WRITTEN_FOR_ICEBERG = FAMILY.of(Scope.DATA).error(
    30,
    "data file not written as compatibility with Iceberg, or materialized partitions, require",
    name="data-file-not-written-for-iceberg",
    effect="Iceberg readers, which get the file as it is, fail on it or read NULL in the column.",
    remedy="Write the file again, for example with REORG TABLE … APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION=2)), "
    "and update the engine that wrote it.",
    source="PROTOCOL.md, Writer Requirements for IcebergCompatV1 and V2",
)
