"""What a commit must not do to the protocol: TF09 to TF12, and TF14."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from airflow_delta_provider.domain.checks.check import on_change
from airflow_delta_provider.domain.checks.protocol import rules
from airflow_delta_provider.domain.checks.protocol.feature_usage import used_features
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.features.feature import stable_name
from airflow_delta_provider.domain.delta.features.lists import contradicts_itself, has_feature, listing, reader_features
from airflow_delta_provider.domain.delta.protocol import WRITER_FEATURES_VERSION
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding


def check_first(commit: Commit) -> Iterator[Finding]:
    """Yield what the protocol actions of version 0 do wrong."""
    if not commit.protocols:
        yield rules.FIRST_WITHOUT_PROTOCOL.finding(
            f"Version {commit.version}, the first one, has no protocol action: nobody can tell what it takes to read "
            "the table, and engines refuse it. Restore the file from a backup or another replica of the log.",
            **commit.provenance,
        )
    yield from _several(commit)


@on_change()
def check_transition(transition: Transition) -> Iterator[Finding]:
    """Yield what a commit's protocol action did wrong.

    Of several ones each reader may take another, so that TF09 is then all there is to say; an action
    that contradicts itself is said by the rules of the state.
    """
    found = list(_several(transition.commit))
    yield from found
    before, after = transition.before.protocol, transition.after.protocol
    if found or not transition.commit.protocols or contradicts_itself(before) or contradicts_itself(after):
        return
    if (transition.restores and transition.past.had_protocol) or (
        transition.replaces_all and transition.commit.metadata
    ):
        return  # another table, or an earlier version of this one
    yield from _lost_features(transition, transition.past.used_features)


def _several(commit: Commit) -> Iterator[Finding]:
    if len(commit.protocols) > 1:
        yield rules.SEVERAL_PROTOCOLS.finding(
            f"The commit of version {commit.version} holds {len(commit.protocols)} protocol actions where one is "
            f"allowed ({' and '.join(str(protocol) for protocol in commit.protocols[:3])}): which one counts is up to "
            "the reader, so that some may ignore a feature that others keep to. Write one protocol action that lists "
            "the features in use, and update the engine that wrote this commit.",
            **commit.provenance,
        )


def _lost_features(transition: Transition, used_before: Collection[str]) -> Iterator[Finding]:
    """Yield one finding at most about features that the protocol had before: TF11, TF12 or TF14.

    A version may be lowered where nothing is lost: writers fall back to a pair of versions that means the same.
    """
    before, after = transition.before.protocol, transition.after.protocol
    gone = {name for name in before.features if not has_feature(after.features, name)}
    gone |= {name for name in reader_features(before) if not has_feature(reader_features(after), name)}
    lost = gone - _dropped(transition.commit, gone)
    if not lost:
        return
    lower = after.min_reader_version < before.min_reader_version or after.min_writer_version < before.min_writer_version
    if lower:
        yield rules.VERSION_LOWERED.finding(
            f"The commit lowered the protocol from {before} to {after}, which gives up {listing(lost)}: engines that "
            "do not know these features may read and write the table again, wrongly so. Enable them again: "
            f"DeltaEnableFeatureOperator(features={sorted(lost)}); to give one up for good: ALTER TABLE … DROP "
            "FEATURE.",
            **transition.commit.provenance,
        )
    elif before.min_writer_version == WRITER_FEATURES_VERSION:
        yield rules.FEATURE_VANISHED.finding(
            f"The commit took {listing(lost)} out of the protocol without dropping it: data files and properties "
            "that need it may still be there, and engines no longer know. Enable it again: "
            f"DeltaEnableFeatureOperator(features={sorted(lost)}); to give it up: ALTER TABLE … DROP FEATURE.",
            **transition.commit.provenance,
        )
    else:
        used = lost & {*used_before, *used_features(transition.before), *used_features(transition.after)}
        if used:
            yield rules.USED_FEATURE_NOT_LISTED.finding(
                f"The commit upgraded the protocol from {before}, which implies {listing(used)}, to {after}, which "
                "does not, though the table makes or made use of it: writers no longer keep to it. Enable it: "
                f"DeltaEnableFeatureOperator(features={sorted(used)}).",
                **transition.commit.provenance,
            )


def _dropped(commit: Commit, lost: Collection[str]) -> frozenset[str]:
    """Return those of ``lost`` that the commit says it drops: a name must do, as a drop leaves nothing to see.

    What a drop has to clear away is looked at where it would be: TF15, TF22, and the families' own rules.
    """
    if commit.operation != "DROP FEATURE":
        return frozenset()
    parameters = commit.info.get("operationParameters")
    named = parameters.get("featureName") if isinstance(parameters, Mapping) else None
    if not isinstance(named, str):
        return frozenset(lost)
    return frozenset(name for name in lost if stable_name(name).casefold() == stable_name(named.strip('"`')).casefold())
