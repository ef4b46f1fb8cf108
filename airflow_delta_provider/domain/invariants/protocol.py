"""What has to hold of the protocol action: TF01 to TF17 and TF20 to TF22. PROTOCOL.md, Table Features.

Where a list of features is missing, rules that would look into it are silent. The properties of row
tracking, type widening and column mapping are judged by the rules of their own families.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.data_type import TIMESTAMP_NTZ, PrimitiveType
from airflow_delta_provider.domain.delta.feature import FEATURES, FeatureKind, feature_named
from airflow_delta_provider.domain.delta.feature_state import is_enabling
from airflow_delta_provider.domain.delta.protocol import READER_FEATURES_VERSION, WRITER_FEATURES_VERSION, Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.invariants.metadata import readable_columns
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.rules import protocol as rules

_PREVIEWS = ("-preview", "-dev")
#: Features whose property is judged by rules of their own: RT01, TW01, CM01.
_JUDGED_ELSEWHERE = frozenset({"rowTracking", "typeWidening", "typeWidening-preview", "columnMapping"})
#: Requirements that Delta Spark has and PROTOCOL.md has not.
_ONLY_BY_SPARK = frozenset(
    {
        ("catalogManaged", "vacuumProtocolCheck"),
        ("catalogOwned-preview", "inCommitTimestamp"),
        ("catalogOwned-preview", "vacuumProtocolCheck"),
        ("coordinatedCommits-preview", "inCommitTimestamp"),
        ("coordinatedCommits-preview", "vacuumProtocolCheck"),
        ("adaptiveMetadata-preview", "deletionVectors"),
        ("adaptiveMetadata-preview", "catalogManaged"),
        ("adaptiveMetadata-preview", "rowTracking"),
        ("adaptiveMetadata-preview", "columnMapping"),
        ("columnMappingUsageTracking", "columnMapping"),
    }
)
#: Metadata of a field by the feature that gives it its meaning.
_FIELD_METADATA = {
    "invariants": "delta.invariants",
    "generatedColumns": "delta.generationExpression",
    "identityColumns": "delta.identity.start",
    "allowColumnDefaults": "CURRENT_DEFAULT",
}
#: Types by the feature that they need.
_TYPES = {"timestampNtz": TIMESTAMP_NTZ, "variantType": PrimitiveType("variant")}
#: Under which some writers list timestampNtz: TF17 says so.
_MISNAMED_NTZ = "timestampwithouttimezone"


def check_state(state: TableState) -> Iterator[Finding]:
    """Yield what is wrong with the protocol of ``state``."""
    for rule in _RULES:
        yield from rule(state)
    if not _lacks_a_list(state.protocol):
        for list_rule in _LIST_RULES:
            yield from list_rule(state)


def check_first(commit: Commit) -> Iterator[Finding]:
    """Yield what the protocol actions of version 0 do wrong."""
    if not commit.protocols:
        yield rules.FIRST_WITHOUT_PROTOCOL.finding(
            f"Version {commit.version}, the first one, has no protocol action: nobody can tell what it takes to read "
            "the table, and engines refuse it. Restore the file from a backup or another replica of the log.",
            **commit.provenance,
        )
    yield from _several(commit)


def check_transition(transition: Transition, used_before: Collection[str] = ()) -> Iterator[Finding]:
    """Yield what a commit's protocol action did wrong.

    Of several ones each reader may take another, so that TF09 is then all there is to say; an action
    that contradicts itself is said by the rules of the state.

    :param used_before: features that some earlier version used, by :func:`used_features`; those that the
        versions before and after the commit use need not be among them
    """
    found = list(_several(transition.commit))
    yield from found
    before, after = transition.before.protocol, transition.after.protocol
    if found or not transition.commit.protocols or _contradicts_itself(before) or _contradicts_itself(after):
        return
    if transition.restores or (transition.replaces_all and transition.commit.metadata):
        return  # another table, or an earlier version of this one
    yield from _lost_features(transition, used_before)


def no_protocol(version: int) -> Finding:
    """Return the finding about a log without a protocol action up to ``version``: TF13."""
    return rules.NO_PROTOCOL.finding(
        f"There is no protocol action up to version {version}, neither in a commit nor in a checkpoint: nobody can "
        "tell what it takes to read the table. Restore the missing files of the log from a backup or another replica.",
        version=version,
    )


def used_features(state: TableState) -> frozenset[str]:
    """Return the features that properties, constraints and columns of ``state`` make use of."""
    configuration = state.metadata.configuration
    by_property = {
        feature.name
        for feature in FEATURES.values()
        if feature.enabling_property and is_enabling(feature, configuration.get(feature.enabling_property))
    }
    return frozenset(by_property) | _needed_features(state).keys()


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
            f"The protocol has readerFeatures ({_listed(protocol.reader_features)}) with reader version {reader}; "
            "they belong to reader version 3. Some engines refuse the table, others ignore the list and may read it "
            "wrong. Write a protocol action without the list, or with reader version 3 and writer version 7.",
            version=at,
        )
    both_low = reader == READER_FEATURES_VERSION  # TF05 says so
    if writer < WRITER_FEATURES_VERSION and protocol.writer_features is not None and not both_low:
        yield rules.WRITER_FEATURES_NOT_ALLOWED.finding(
            f"The protocol has writerFeatures ({_listed(protocol.writer_features)}) with writer version {writer}; "
            "they belong to writer version 7. Some engines refuse the table, others ignore the list and write it "
            "without its features. Write a protocol action without the list, or with writer version 7.",
            version=at,
        )


def _unknown_features(state: TableState) -> Iterator[Finding]:
    readers = state.protocol.reader_features or frozenset()
    for name in sorted(readers | (state.protocol.writer_features or frozenset())):
        if name in FEATURES:
            continue
        known = "timestampNtz" if name.casefold() == _MISNAMED_NTZ else feature_named(name).name
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
            f"In readerFeatures, but not in writerFeatures: {_listed(only)}. Writers do not know that they have to "
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
        for name in (protocol.writer_features or frozenset()) - _reader_features(protocol)
        if feature_named(name).kind is FeatureKind.READER_WRITER
    }
    if missing and not (protocol.reader_features is not None and protocol.min_reader_version < READER_FEATURES_VERSION):
        yield rules.WRITER_FEATURE_ONLY.finding(
            f"In writerFeatures, but not demanded of readers: {_listed(missing)}. Readers that do not know the feature "
            "open the table all the same and may read it wrong; some engines refuse it. Enable the feature again with "
            "an engine that lists it in both.",
            version=state.version,
        )


def _writers_features_for_readers(state: TableState) -> Iterator[Finding]:
    listed = state.protocol.reader_features or frozenset()
    if wrong := {name for name in listed if feature_named(name).kind is FeatureKind.WRITER}:
        yield rules.WRITERS_FEATURE_FOR_READERS.finding(
            f"In readerFeatures, though it concerns writers only: {_listed(wrong)}. Readers that do not know the "
            "feature refuse the table without need. Write a protocol action that lists it in writerFeatures only.",
            version=state.version,
        )


def _dependencies(state: TableState) -> Iterator[Finding]:
    supported = state.protocol.features | _reader_features(state.protocol)
    for name in sorted(supported):
        missing = [r for r in feature_named(name).requires if not _has(supported, r)]
        by_spec = [required for required in missing if (name, required) not in _ONLY_BY_SPARK]
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
        if key is None or not is_enabling(feature, state.metadata.configuration.get(key)):
            continue
        if feature.name in _JUDGED_ELSEWHERE or state.protocol.supports(feature.name):
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
        stable = _stable(name)
        if stable != name and stable in listed:
            yield rules.PREVIEW_AND_STABLE.finding(
                f"The protocol lists {name} and {stable}: whoever does not know the preview is locked out for "
                f"nothing, and engines differ in which of the two they follow. ALTER TABLE … DROP FEATURE {name}.",
                version=state.version,
            )


def _needs(state: TableState) -> Iterator[Finding]:
    listed = state.protocol.features
    for name, (what, column) in sorted(_needed_features(state).items()):
        if _has(listed, name) or (name == "timestampNtz" and any(n.casefold() == _MISNAMED_NTZ for n in listed)):
            continue
        finding = rules.FEATURE_NEEDED.finding(
            f"{what} needs the feature {name}, which the protocol ({state.protocol}) does not have: some engines "
            f"refuse the table, others do not keep to it. Enable it: DeltaEnableFeatureOperator(features=[{name!r}]).",
            version=state.version,
            column=column,
        )
        yield finding if name in _TYPES else replace(finding, severity=Severity.WARNING)


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
    gone = {name for name in before.features if not _has(after.features, name)}
    gone |= {name for name in _reader_features(before) if not _has(_reader_features(after), name)}
    lost = gone - _dropped(transition.commit, gone)
    if not lost:
        return
    lower = after.min_reader_version < before.min_reader_version or after.min_writer_version < before.min_writer_version
    if lower:
        yield rules.VERSION_LOWERED.finding(
            f"The commit lowered the protocol from {before} to {after}, which gives up {_listed(lost)}: engines that "
            "do not know these features may read and write the table again, wrongly so. Enable them again: "
            f"DeltaEnableFeatureOperator(features={sorted(lost)}); to give one up for good: ALTER TABLE … DROP "
            "FEATURE.",
            **transition.commit.provenance,
        )
    elif before.min_writer_version == WRITER_FEATURES_VERSION:
        yield rules.FEATURE_VANISHED.finding(
            f"The commit took {_listed(lost)} out of the protocol without dropping it: data files and properties "
            "that need it may still be there, and engines no longer know. Enable it again: "
            f"DeltaEnableFeatureOperator(features={sorted(lost)}); to give it up: ALTER TABLE … DROP FEATURE.",
            **transition.commit.provenance,
        )
    else:
        used = lost & {*used_before, *used_features(transition.before), *used_features(transition.after)}
        if used:
            yield rules.USED_FEATURE_NOT_LISTED.finding(
                f"The commit upgraded the protocol from {before}, which implies {_listed(used)}, to {after}, which "
                "does not, though the table makes or made use of it: writers no longer keep to it. Enable it: "
                f"DeltaEnableFeatureOperator(features={sorted(used)}).",
                **transition.commit.provenance,
            )


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


def _lacks_a_list(protocol: Protocol) -> bool:
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    return (
        (reader >= READER_FEATURES_VERSION and protocol.reader_features is None)
        or (writer >= WRITER_FEATURES_VERSION and protocol.writer_features is None)
        or (reader >= READER_FEATURES_VERSION and writer < WRITER_FEATURES_VERSION)
    )


def _contradicts_itself(protocol: Protocol) -> bool:
    return (
        _lacks_a_list(protocol)
        or (protocol.min_reader_version < READER_FEATURES_VERSION and protocol.reader_features is not None)
        or (protocol.min_writer_version < WRITER_FEATURES_VERSION and protocol.writer_features is not None)
    )


def _reader_features(protocol: Protocol) -> frozenset[str]:
    """Return what the protocol demands of readers: reader version 2 is column mapping."""
    implied = (
        frozenset({"columnMapping"}) if protocol.min_reader_version == READER_FEATURES_VERSION - 1 else frozenset()
    )
    return implied | (protocol.reader_features or frozenset())


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
    return frozenset(name for name in lost if _stable(name).casefold() == _stable(named.strip('"`')).casefold())


def _has(features: Collection[str], name: str) -> bool:
    return any(_stable(feature) == _stable(name) for feature in features)


def _stable(name: str) -> str:
    for suffix in _PREVIEWS:
        name = name.removesuffix(suffix)
    return name


def _needed_features(state: TableState) -> dict[str, tuple[str, str | None]]:
    """Return what needs a feature, and the column where it is one, by the feature: the first of each."""
    needed: dict[str, tuple[str, str | None]] = {}
    for name in state.metadata.check_constraints:
        needed.setdefault("checkConstraints", (f"The CHECK constraint {name}", None))
    for column in readable_columns(state.metadata) or ():
        for name, key in _FIELD_METADATA.items():
            if column.kinds[-1] == "field" and column.field.metadata.get(key) is not None:
                needed.setdefault(name, (f"The column {column}, with {key},", str(column)))
        for name, data_type in _TYPES.items():
            if column.data_type == data_type and not _was_widened(column):
                needed.setdefault(name, (f"The column {column} of the type {data_type}", str(column)))
    return needed


def _was_widened(column: Column) -> bool:
    """Whether the type is from a widening, whose rules judge it."""
    return column.field.metadata.get("delta.typeChanges") is not None


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "none"
