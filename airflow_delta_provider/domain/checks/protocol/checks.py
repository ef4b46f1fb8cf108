"""What has to hold of the protocol action: TF01 to TF08, TF13, TF15 to TF17 and TF20 to TF22.

Where a list of features is missing, rules that would look into it are silent. The properties of row
tracking, type widening and column mapping are judged by the rules of their own families. Commits are
judged in :mod:`.protocol_changes`. PROTOCOL.md, Table Features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.protocol import rules
from airflow_delta_provider.domain.checks.protocol.feature_usage import needed_features, used_features
from airflow_delta_provider.domain.checks.protocol.protocol_changes import check_first, check_transition
from airflow_delta_provider.domain.delta.features.column_mapping import COLUMN_MAPPING
from airflow_delta_provider.domain.delta.features.feature import FeatureKind, stable_name
from airflow_delta_provider.domain.delta.features.lists import has_feature, lacks_a_list, listing, reader_features
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_meant_by, feature_named
from airflow_delta_provider.domain.delta.features.row_tracking import ROW_TRACKING
from airflow_delta_provider.domain.delta.features.types import TYPE_WIDENING, TYPE_WIDENING_PREVIEW
from airflow_delta_provider.domain.delta.protocol import READER_FEATURES_VERSION, WRITER_FEATURES_VERSION
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

__all__ = ["check_first", "check_state", "check_transition", "no_protocol", "used_features"]

#: Features whose property is judged by rules of their own: RT01, TW01, CM01.
_JUDGED_ELSEWHERE = (ROW_TRACKING, TYPE_WIDENING, TYPE_WIDENING_PREVIEW, COLUMN_MAPPING)


@on_state()
def check_state(state: TableState) -> Iterator[Finding]:
    """Yield what is wrong with the protocol of ``state``."""
    for rule in _RULES:
        yield from rule(state)
    if not lacks_a_list(state.protocol):
        for list_rule in _LIST_RULES:
            yield from list_rule(state)


def no_protocol(version: int) -> Finding:
    """Return the finding about a log without a protocol action up to ``version``: TF13."""
    return rules.NO_PROTOCOL.finding(
        f"There is no protocol action up to version {version}, neither in a commit nor in a checkpoint: nobody can "
        "tell what it takes to read the table. Restore the missing files of the log from a backup or another replica.",
        version=version,
    )


def _versions(state: TableState) -> Iterator[Finding]:
    protocol, at = state.protocol, state.version
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if not (1 <= reader <= READER_FEATURES_VERSION and 1 <= writer <= WRITER_FEATURES_VERSION):
        yield rules.UNKNOWN_VERSION.finding(
            f"The protocol has reader version {reader} and writer version {writer}; known are 1 to "
            f"{READER_FEATURES_VERSION} and 1 to {WRITER_FEATURES_VERSION}. What it demands cannot be judged here. "
            "Look whether a newer release of this provider knows it.",
            version=at,
        )
    elif reader == READER_FEATURES_VERSION and writer != WRITER_FEATURES_VERSION:
        yield rules.WRITER_VERSION_TOO_LOW.finding(
            f"The protocol has reader version 3 with writer version {writer}, where only 7 is allowed: engines "
            "refuse the table, or write it without its features. RESTORE does not help, as it keeps the protocol; "
            "write a protocol action with writer version 7 that lists the features in use.",
            version=at,
        )


def _lists(state: TableState) -> Iterator[Finding]:
    protocol, at = state.protocol, state.version
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if writer == WRITER_FEATURES_VERSION and protocol.writer_features is None:
        yield rules.NO_WRITER_FEATURES.finding(
            "The protocol has writer version 7, but no writerFeatures: nobody can tell which features writers have to "
            "keep, and strict engines refuse the table. Write a protocol action that lists the features in use.",
            version=at,
        )
    elif (reader, writer) == (READER_FEATURES_VERSION, WRITER_FEATURES_VERSION) and protocol.reader_features is None:
        yield rules.NO_READER_FEATURES.finding(
            "The protocol has reader version 3, but no readerFeatures: nobody can tell which features readers have to "
            "honour, and strict engines refuse the table. Write a protocol action that lists the features in use.",
            version=at,
        )
    if reader < READER_FEATURES_VERSION and protocol.reader_features is not None:
        yield rules.READER_FEATURES_NOT_ALLOWED.finding(
            f"The protocol has readerFeatures ({listing(protocol.reader_features)}) with reader version {reader}; "
            "they belong to reader version 3. Some engines refuse the table, others ignore the list and may read it "
            "wrong. Write a protocol action without the list, or with reader version 3 and writer version 7.",
            version=at,
        )
    both_low = reader == READER_FEATURES_VERSION  # TF05 says so
    if writer < WRITER_FEATURES_VERSION and protocol.writer_features is not None and not both_low:
        yield rules.WRITER_FEATURES_NOT_ALLOWED.finding(
            f"The protocol has writerFeatures ({listing(protocol.writer_features)}) with writer version {writer}; "
            "they belong to writer version 7. Some engines refuse the table, others ignore the list and write it "
            "without its features. Write a protocol action without the list, or with writer version 7.",
            version=at,
        )


def _unknown_features(state: TableState) -> Iterator[Finding]:
    readers = state.protocol.reader_features or frozenset()
    for name in sorted(readers | (state.protocol.writer_features or frozenset())):
        if name in FEATURES:
            continue
        known = feature_meant_by(name).name
        meant = "" if known == name else f" Perhaps {known} is meant, which is the protocol's name."
        who = "Readers that do not know it have" if name in readers else "Readers may ignore it; writers have"
        yield rules.UNKNOWN_FEATURE.finding(
            f"The protocol lists a feature {name!r} that is not known here.{meant} {who} to refuse the table, and what "
            "else it demands cannot be judged here.",
            version=state.version,
        )


def _readers_only(state: TableState) -> Iterator[Finding]:
    protocol = state.protocol
    if only := (protocol.reader_features or frozenset()) - (protocol.writer_features or frozenset()):
        yield rules.READER_FEATURE_ONLY.finding(
            f"In readerFeatures, but not in writerFeatures: {listing(only)}. Writers do not know that they have to "
            "keep to it, and strict engines refuse the table. Enable the feature again with an engine that lists it "
            "in both.",
            version=state.version,
        )


def _writers_only(state: TableState) -> Iterator[Finding]:
    protocol = state.protocol
    if protocol.min_writer_version != WRITER_FEATURES_VERSION:
        return
    missing = {
        name
        for name in (protocol.writer_features or frozenset()) - reader_features(protocol)
        if feature_named(name).kind is FeatureKind.READER_WRITER
    }
    if missing and not (protocol.reader_features is not None and protocol.min_reader_version < READER_FEATURES_VERSION):
        yield rules.WRITER_FEATURE_ONLY.finding(
            f"In writerFeatures, but not demanded of readers: {listing(missing)}. Readers that do not know the feature "
            "open the table all the same and may read it wrong; some engines refuse it. Enable the feature again with "
            "an engine that lists it in both.",
            version=state.version,
        )


def _writers_features_for_readers(state: TableState) -> Iterator[Finding]:
    listed = state.protocol.reader_features or frozenset()
    if wrong := {name for name in listed if feature_named(name).kind is FeatureKind.WRITER}:
        yield rules.WRITERS_FEATURE_FOR_READERS.finding(
            f"In readerFeatures, though it concerns writers only: {listing(wrong)}. Readers that do not know the "
            "feature refuse the table without need. Write a protocol action that lists it in writerFeatures only.",
            version=state.version,
        )


def _dependencies(state: TableState) -> Iterator[Finding]:
    supported = state.protocol.features | reader_features(state.protocol)
    for name in sorted(supported):
        feature = feature_named(name)
        missing = [required for required in feature.all_required if not has_feature(supported, required.name)]
        by_spec = [required for required in missing if required in feature.requires]
        for required in by_spec or missing:
            finding = rules.MISSING_DEPENDENCY.finding(
                f"{name} is supported, but {required}, which it requires, is not: engines refuse the table, or write "
                f"it without what {name} rests on. Add {required} to the protocol.",
                version=state.version,
            )
            yield finding if by_spec else replace(finding, severity=Severity.WARNING)


def _orphans(state: TableState) -> Iterator[Finding]:
    lacking: dict[str, str] = {}
    served: set[str] = set()
    for feature in FEATURES.values():
        key = feature.enabling_property
        if key is None or not feature.is_enabled_by(state.metadata):
            continue
        if feature in _JUDGED_ELSEWHERE or state.protocol.supports(feature):
            served.add(key)
        else:
            lacking.setdefault(key, feature.name)
    for key, name in lacking.items():
        if key not in served:
            yield rules.ORPHAN_PROPERTY.finding(
                f"The property {key} is {state.metadata.configuration[key]!r}, but the protocol ({state.protocol}) "
                f"does not have {name}: some engines go by the property and others by the protocol, and some refuse "
                f"the table. Enable it: DeltaEnableFeatureOperator(features=[{name!r}]), or unset the property.",
                version=state.version,
            )


def _previews(state: TableState) -> Iterator[Finding]:
    listed = (state.protocol.reader_features or frozenset()) | (state.protocol.writer_features or frozenset())
    for name in sorted(listed):
        stable = stable_name(name)
        if stable != name and stable in listed:
            yield rules.PREVIEW_AND_STABLE.finding(
                f"The protocol lists {name} and {stable}: whoever does not know the preview is locked out for "
                f"nothing, and engines differ in which of the two they follow. ALTER TABLE … DROP FEATURE {name}.",
                version=state.version,
            )


def _needs(state: TableState) -> Iterator[Finding]:
    listed = state.protocol.features
    for name, (what, column) in sorted(needed_features(state).items()):
        if has_feature(listed, name) or any(map(feature_named(name).is_alias, listed)):
            continue
        finding = rules.FEATURE_NEEDED.finding(
            f"{what} needs the feature {name}, which the protocol ({state.protocol}) does not have: some engines "
            f"refuse the table, others do not keep to it. Enable it: DeltaEnableFeatureOperator(features=[{name!r}]).",
            version=state.version,
            column=column,
        )
        yield finding if feature_named(name).column_type else replace(finding, severity=Severity.WARNING)


#: Rules that hold for any protocol, and those about what its lists say.
_RULES: tuple[Callable[[TableState], Iterator[Finding]], ...] = (_versions, _lists, _unknown_features, _previews)
_LIST_RULES: tuple[Callable[[TableState], Iterator[Finding]], ...] = (
    _readers_only,
    _writers_only,
    _writers_features_for_readers,
    _dependencies,
    _orphans,
    _needs,
)
