"""Versions and feature lists of one protocol action: TF01 to TF07, TF13, TF16, TF17, TF20, TF21 and TF28.

If a list is missing, the rules about its contents report nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_demand, on_state
from airflow_delta_provider.domain.checks.protocol import (
    EVOLUTION,
    FAMILY,
    NAMES,
    NEW_TABLES,
    RECONCILIATION,
    SUPPORTED,
    TABLE_FEATURES,
)
from airflow_delta_provider.domain.checks.rule import BY_COMMIT, RepairMethod, Scope
from airflow_delta_provider.domain.delta.features.feature import FeatureKind, stable_name
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_meant_by, feature_named
from airflow_delta_provider.domain.delta.protocol import (
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    Protocol,
    lacks_a_list,
    reader_features,
)
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding, Severity

_LIST_FEATURES = f"Write a protocol action that lists the features in use, {BY_COMMIT}."
_LIST_IN_BOTH = (
    "Write a protocol action that lists the feature for readers and for writers, as the next commit of the log: "
    "engines refuse the table, or take the feature for enabled."
)
_state = FAMILY.of(Scope.STATE, EVOLUTION)

NO_PROTOCOL = _state.error(
    13,
    "no protocol action",
    name="protocol-action-missing",
    effect="It is unknown which features readers must support.",
    remedy="Restore the missing log files from a backup or another replica.",
    source=RECONCILIATION,
)


@on_demand(NO_PROTOCOL)
def no_protocol(version: int) -> Finding:
    """Return the finding about a log without a protocol action up to ``version``."""
    return NO_PROTOCOL.found(
        "There is no protocol action up to version {version}, neither in a commit nor in a checkpoint.", version=version
    )


UNKNOWN_VERSION = _state.undecided(
    20,
    "unknown protocol version",
    name="unknown-protocol-version",
    effect="The requirements of such a protocol for readers and writers cannot be checked.",
    remedy="Check whether a newer release of the provider knows it.",
)


NO_VERSION = _state.error(
    28,
    "protocol version below 1",
    name="protocol-version-below-one",
    effect="There are no such versions, and strict engines refuse the table.",
    remedy=_LIST_FEATURES,
)


@on_state(UNKNOWN_VERSION, NO_VERSION)
def _unknown_version(state: TableState) -> Iterator[Finding]:
    if min(state.protocol.min_reader_version, state.protocol.min_writer_version) < 1:
        yield NO_VERSION.found(
            "The protocol has reader version {reader} and writer version {writer}; both begin at 1.",
            reader=state.protocol.min_reader_version,
            writer=state.protocol.min_writer_version,
        )
    elif not _has_known_versions(state.protocol):
        yield UNKNOWN_VERSION.found(
            "The protocol has reader version {reader} and writer version {writer}; the known versions are 1 to 3 and "
            "1 to 7.",
            reader=state.protocol.min_reader_version,
            writer=state.protocol.min_writer_version,
        )


WRITER_VERSION_TOO_LOW = _state.error(
    5,
    "reader version 3 with a writer version below 7",
    name="writer-version-behind-reader-version",
    effect="Engines refuse the table, or write it without its features.",
    remedy=f"Write a protocol action with writer version 7 that lists the features in use, {BY_COMMIT}.",
    source=NEW_TABLES,
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_state(WRITER_VERSION_TOO_LOW)
def _writer_version_too_low(state: TableState) -> Iterator[Finding]:
    reader, writer = state.protocol.min_reader_version, state.protocol.min_writer_version
    if _has_known_versions(state.protocol) and reader == READER_FEATURES_VERSION and writer != WRITER_FEATURES_VERSION:
        yield WRITER_VERSION_TOO_LOW.found(
            "The protocol has reader version 3 with writer version {writer}; only 7 is allowed.", writer=writer
        )


NO_READER_FEATURES = _state.error(
    1,
    "reader version 3 without readerFeatures",
    name="reader-version-3-without-reader-features",
    effect="It is unknown which features readers must support, and strict engines refuse the table.",
    remedy=_LIST_FEATURES,
    source=TABLE_FEATURES,
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_state(NO_READER_FEATURES)
def _no_reader_features(state: TableState) -> Iterator[Finding]:
    protocol = state.protocol
    versions = (protocol.min_reader_version, protocol.min_writer_version)
    lists_nothing = protocol.writer_features is None  # TF02 reports it
    if (
        versions == (READER_FEATURES_VERSION, WRITER_FEATURES_VERSION)
        and protocol.reader_features is None
        and not lists_nothing
    ):
        yield NO_READER_FEATURES.found("The protocol has reader version 3, but no readerFeatures.")


NO_WRITER_FEATURES = _state.error(
    2,
    "writer version 7 without writerFeatures",
    name="writer-version-7-without-writer-features",
    effect="It is unknown which features writers must support, and strict engines refuse the table.",
    remedy=_LIST_FEATURES,
    source=TABLE_FEATURES,
)


@on_state(NO_WRITER_FEATURES)
def _no_writer_features(state: TableState) -> Iterator[Finding]:
    if state.protocol.min_writer_version == WRITER_FEATURES_VERSION and state.protocol.writer_features is None:
        yield NO_WRITER_FEATURES.found("The protocol has writer version 7, but no writerFeatures.")


READER_FEATURES_NOT_ALLOWED = _state.error(
    3,
    "readerFeatures below reader version 3",
    name="reader-features-below-reader-version-3",
    effect="Some engines refuse the table; others ignore the list, and may read the table incorrectly.",
    remedy=f"Write a protocol action without the list, or with reader version 3 and writer version 7, {BY_COMMIT}.",
    threads=("delta-io/delta-rs#3354", "duckdb/duckdb-delta#151"),
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_state(READER_FEATURES_NOT_ALLOWED)
def _reader_features_not_allowed(state: TableState) -> Iterator[Finding]:
    protocol = state.protocol
    if protocol.min_reader_version < READER_FEATURES_VERSION and protocol.reader_features is not None:
        yield READER_FEATURES_NOT_ALLOWED.found(
            "The protocol has readerFeatures [{listed}] with reader version {reader}; only reader version 3 has them.",
            listed=sorted(protocol.reader_features),
            reader=protocol.min_reader_version,
        )


WRITER_FEATURES_NOT_ALLOWED = _state.error(
    4,
    "writerFeatures below writer version 7",
    name="writer-features-below-writer-version-7",
    effect="Some engines refuse the table; others ignore the list, and write without its features.",
    remedy=f"Write a protocol action without the list, or with writer version 7, {BY_COMMIT}.",
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_state(WRITER_FEATURES_NOT_ALLOWED)
def _writer_features_not_allowed(state: TableState) -> Iterator[Finding]:
    protocol = state.protocol
    both_low = protocol.min_reader_version == READER_FEATURES_VERSION  # TF05 reports it
    if protocol.min_writer_version < WRITER_FEATURES_VERSION and protocol.writer_features is not None and not both_low:
        yield WRITER_FEATURES_NOT_ALLOWED.found(
            "The protocol has writerFeatures [{listed}] with writer version {writer}; only writer version 7 has them.",
            listed=sorted(protocol.writer_features),
            writer=protocol.min_writer_version,
        )


READER_FEATURE_ONLY = _state.error(
    6,
    "feature for readers, but not for writers",
    name="feature-not-listed-for-writers",
    effect="Writers do not know that they must support the feature, and strict engines refuse the table.",
    remedy=_LIST_IN_BOTH,
    source=SUPPORTED,
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_state(READER_FEATURE_ONLY)
def _reader_feature_only(state: TableState) -> Iterator[Finding]:
    only = _listed_for_readers(state.protocol) - _listed_for_writers(state.protocol)
    if only and not lacks_a_list(state.protocol):
        yield READER_FEATURE_ONLY.found("In readerFeatures, but not in writerFeatures: {only}.", only=sorted(only))


WRITER_FEATURE_ONLY = _state.error(
    7,
    "reader feature listed for writers only",
    name="reader-feature-listed-for-writers-only",
    effect="Readers that do not know the feature still open the table and may read it incorrectly; some engines "
    "refuse it.",
    remedy=_LIST_IN_BOTH,
    source=SUPPORTED,
    threads=("trinodb/trino#24910", "delta-io/delta-kernel-rs#3097"),
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_state(WRITER_FEATURE_ONLY)
def _writer_feature_only(state: TableState) -> Iterator[Finding]:
    protocol = state.protocol
    too_early = protocol.reader_features is not None and protocol.min_reader_version < READER_FEATURES_VERSION
    if protocol.min_writer_version != WRITER_FEATURES_VERSION or too_early or lacks_a_list(protocol):
        return
    only = {
        name
        for name in _listed_for_writers(protocol) - reader_features(protocol)
        if feature_named(name).kind is FeatureKind.READER_WRITER
    }
    if only:
        yield WRITER_FEATURE_ONLY.found(
            "In writerFeatures, but not required of readers: {only}.",
            # The protocol says "should" for reader features in general, and "must" in the sections of features that it
            # specifies.
            severity=None if any(feature_named(name).is_specified for name in only) else Severity.WARNING,
            only=sorted(only),
        )


WRITERS_FEATURE_FOR_READERS = _state.warning(
    21,
    "writer feature listed for readers",
    name="writer-feature-listed-for-readers",
    effect="Readers that do not know the feature refuse the table unnecessarily.",
    remedy=f"Write a protocol action that lists the feature for writers only, {BY_COMMIT}.",
    source=SUPPORTED,
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_state(WRITERS_FEATURE_FOR_READERS)
def _writers_feature_for_readers(state: TableState) -> Iterator[Finding]:
    listed = _listed_for_readers(state.protocol)
    wrong = {name for name in listed if feature_named(name).kind is FeatureKind.WRITER}
    if wrong and not lacks_a_list(state.protocol):
        yield WRITERS_FEATURE_FOR_READERS.found(
            "In readerFeatures, though it concerns writers only: {wrong}.", wrong=sorted(wrong)
        )


PREVIEW_AND_STABLE = _state.warning(
    16,
    "a feature and its preview both listed",
    name="feature-and-preview-both-listed",
    effect="Engines that do not know the preview are locked out unnecessarily. Some engines follow the preview, "
    "others the stable feature.",
    remedy="Drop the preview: ALTER TABLE … DROP FEATURE.",
    source=NAMES,
)


@on_state(PREVIEW_AND_STABLE)
def _previews(state: TableState) -> Iterator[Finding]:
    listed = _listed(state.protocol)
    for preview in sorted(listed):
        stable = stable_name(preview)
        if stable != preview and stable in listed:
            yield PREVIEW_AND_STABLE.found("The protocol lists {preview} and {stable}.", preview=preview, stable=stable)


UNKNOWN_FEATURE = _state.undecided(
    17,
    "unknown feature, or one that is not judged",
    name="unknown-table-feature",
    effect="Engines that do not know the feature refuse the table, and its requirements cannot be checked.",
    remedy="Check whether another name is meant, or whether a newer release of the provider knows it.",
    source=NAMES,
    threads=("delta-io/delta-kernel-rs#2557",),
)


@on_state(UNKNOWN_FEATURE)
def _unknown_features(state: TableState) -> Iterator[Finding]:
    for name in sorted(_listed(state.protocol) & FEATURES.keys()):
        if not FEATURES[name].is_judged:
            yield UNKNOWN_FEATURE.found(
                "The protocol lists the feature {feature!r}, which is known, but not judged ({source}).",
                effect="Whether the table meets the requirements of the feature is not checked.",
                remedy="Check them with an engine that supports the feature, or accept the finding by a waiver.",
                feature=name,
                source=FEATURES[name].source,
            )
    for name in sorted(_listed(state.protocol) - FEATURES.keys()):
        known = feature_meant_by(name).name
        meant = "" if known == name else " {meant} may be meant, which is the protocol's name."
        of_readers = name in _listed_for_readers(state.protocol)
        yield UNKNOWN_FEATURE.found(
            f"The protocol lists an unknown feature {{feature!r}}, for {{of}}.{meant}",
            effect=None
            if of_readers
            else (
                "Readers may ignore the feature. Writers that do not know it must refuse the table, and its "
                "requirements cannot be checked."
            ),
            feature=name,
            of="readers and writers" if of_readers else "writers",
            meant=known,
        )


def _has_known_versions(protocol: Protocol) -> bool:
    return (
        1 <= protocol.min_reader_version <= READER_FEATURES_VERSION
        and 1 <= protocol.min_writer_version <= WRITER_FEATURES_VERSION
    )


def _listed_for_readers(protocol: Protocol) -> frozenset[str]:
    return protocol.reader_features or frozenset()


def _listed_for_writers(protocol: Protocol) -> frozenset[str]:
    return protocol.writer_features or frozenset()


def _listed(protocol: Protocol) -> frozenset[str]:
    return _listed_for_readers(protocol) | _listed_for_writers(protocol)
