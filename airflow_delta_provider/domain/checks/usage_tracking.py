"""``UT``: usage tracking of column mapping. RFC ``column-mapping-usage-tracking.md``, delta-io/delta#2682.

Nothing is reported for tables without the feature, except UT02. The property alone does not show that the mapping can
be removed: see the rules of physical paths for the other requirements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_change, on_state
from airflow_delta_provider.domain.checks.rule import Need, RepairMethod, RuleFamily, Scope
from airflow_delta_provider.domain.delta.features.columns import USAGE_TRACKING
from airflow_delta_provider.domain.delta.metadata import MappedSchema, column_changes
from airflow_delta_provider.domain.delta.protocol import WRITER_FEATURES_VERSION
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding, Severity

SPEC = "RFC Column Mapping Usage Tracking, Usage Tracking"
WRITERS = "RFC Column Mapping Usage Tracking, Writer Requirements for Usage Tracking"
THREAD = ("delta-io/delta#2682",)

FAMILY = RuleFamily(
    "UT",
    "usage tracking of column mapping",
    "Whether a table is right to state that no column was ever dropped or renamed. Writers rely on it when they "
    "store a new column under its own name, or remove the mapping without rewriting files. The feature "
    "`columnMappingUsageTracking` is proposed, not part of the protocol.",
    WRITERS,
    compares=True,
    repairs=(RepairMethod.EARLIER_VALUES,),
)

SET_TRUE = f"Set {DROPPED_OR_RENAMED} to true."


_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_state = FAMILY.of(Scope.STATE, SPEC)

NO_PROPERTY = _state.error(
    1,
    "usage tracking without its property",
    name="usage-tracking-without-property",
    effect="It is unknown whether a column was ever dropped or renamed, and a new column may get the values of a "
    "dropped one.",
    remedy=SET_TRUE,
    threads=THREAD,
)
PROPERTY_WITHOUT_FEATURE = _state.warning(
    2,
    "property of usage tracking without the feature",
    name="usage-tracking-property-without-feature",
    effect="Writers drop and rename columns without setting it, so it is meaningless and misleads those who rely on "
    "it.",
    remedy=f"Unset {DROPPED_OR_RENAMED}.",
)


@on_state(NO_PROPERTY, PROPERTY_WITHOUT_FEATURE)
def _property(state: TableState) -> Iterator[Finding]:
    value = state.metadata.properties.dropped_or_renamed
    if state.protocol.supports(USAGE_TRACKING):
        if value not in ("true", "false"):
            what = "is missing" if value is None else "is {value!r}, neither true nor false"
            yield NO_PROPERTY.found(
                f"The protocol lists {{feature}}, but {{property}} {what}.",
                feature=USAGE_TRACKING.name,
                property=DROPPED_OR_RENAMED,
                value=value,
            )
    elif value is not None:
        yield PROPERTY_WITHOUT_FEATURE.found(
            "{property} is {value!r}, but the protocol ({protocol}) does not list {feature}.",
            property=DROPPED_OR_RENAMED,
            value=value,
            protocol=str(state.protocol),
            feature=USAGE_TRACKING.name,
        )


NOT_WRITERS_ONLY = _state.error(
    8,
    "usage tracking not listed as a writer feature",
    name="usage-tracking-not-listed-for-writers",
    effect="Writers that do not know the feature drop and rename columns untracked, or readers refuse the table.",
    remedy="Write a protocol action with writer version 7 that has the feature in writerFeatures only.",
    source=WRITERS,
    shows="protocol",
)


@on_state(NOT_WRITERS_ONLY)
def _list(state: TableState) -> Iterator[Finding]:
    protocol = state.protocol
    for_readers = USAGE_TRACKING.name in (protocol.reader_features or ())
    listed = protocol.supports(USAGE_TRACKING)
    if listed and (for_readers or protocol.min_writer_version != WRITER_FEATURES_VERSION):
        where = "readerFeatures" if for_readers else "a protocol with writer version {writer}"
        yield NOT_WRITERS_ONLY.found(
            f"{{feature}} is listed in {where}; it belongs only in writerFeatures, with writer version 7.",
            feature=USAGE_TRACKING.name,
            for_readers=for_readers,
            writer=protocol.min_writer_version,
        )


OTHER_NAMES = _state.warning(
    3,
    "nothing dropped or renamed, yet names differ",
    name="names-differ-without-tracked-rename",
    effect="Either a rename was not tracked, or the names always differed: the mapping cannot simply be removed.",
    remedy=f"Set {DROPPED_OR_RENAMED} to true, unless the columns are known to have had these physical names from the "
    "beginning.",
)


@on_state(OTHER_NAMES)
def _names(state: TableState) -> Iterator[Finding]:
    if state.metadata.properties.dropped_or_renamed != "false" or not state.protocol.supports(USAGE_TRACKING):
        return
    schema = state.metadata.readable_mapped_schema
    if schema is None or not schema.is_mapped:
        return
    other = [
        field
        for field in schema.fields
        if field.name is not None and field.name != field.column.field.name and not is_unique(field.name)
    ]
    if other:
        yield OTHER_NAMES.found(
            "{property} is false, but data files store {column} under the physical name {name!r}"
            + (", and {more:more column has|more columns have} other names as well." if len(other) > 1 else "."),
            column=other[0].column,
            property=DROPPED_OR_RENAMED,
            name=other[0].name,
            more=len(other) - 1,
        )


def check_state(state: TableState) -> Iterator[Finding]:
    """Yield all findings about the usage tracking of one version."""
    for check in (_property, _list, _names):
        yield from check(state)


def is_unique(physical_name: str) -> bool:
    """Return True if a name contains a UUID.

    A column gets such a name when it is added, so the name does not show that the column was renamed.
    """
    return _UUID.search(physical_name) is not None


_RESURRECTED = (
    "The next column with the name of a dropped one may get its values back, or the table can no longer be read."
)
_pair = FAMILY.of(Scope.PAIR, remedy=SET_TRUE, needs=(Need.STATE, Need.FILES, Need.VERSIONS))

SET_BACK = FAMILY.of(Scope.HISTORY).error(
    4,
    "usage tracking set back from true to false",
    name="usage-tracking-set-back",
    effect=_RESURRECTED,
    remedy=SET_TRUE,
    needs=(Need.STATE, Need.FILES, Need.EVER_DROPPED),
)


@on_change(SET_BACK)
def _set_back(transition: Transition) -> Iterator[Finding]:
    if not transition.after.protocol.supports(USAGE_TRACKING):
        return
    # RESTORE is not an excuse: its files may have the dropped columns. Nor is an overwrite: RESTORE brings those back.
    old, new = transition.before.metadata, transition.after.metadata
    before, after = old.properties.dropped_or_renamed, new.properties.dropped_or_renamed
    if after == "false" and before != "false" and (before == "true" or transition.past.ever_dropped):
        yield SET_BACK.found(
            "The commit sets {property} back to false, after it had been true.",
            # Of a table that is created again, the RFC does not say whether it begins with false.
            severity=Severity.WARNING if transition.replaces_all and old.id != new.id else None,
            property=DROPPED_OR_RENAMED,
        )


TURNED_ON_AS_UNUSED = _pair.error(
    5,
    "usage tracking enabled as if nothing had been dropped",
    name="usage-tracking-ignores-earlier-drops",
    effect="Columns that were dropped before are not taken into account. " + _RESURRECTED,
)


@on_change(TURNED_ON_AS_UNUSED)
def _turned_on(transition: Transition) -> Iterator[Finding]:
    if _mapped_schemas(transition) is None or transition.before.protocol.supports(USAGE_TRACKING):
        return
    if transition.after.metadata.properties.dropped_or_renamed == "false":
        yield TURNED_ON_AS_UNUSED.found(
            "The commit enables {feature} with {property}=false, though the table was mapped before: columns may have "
            "been dropped or renamed without being tracked.",
            feature=USAGE_TRACKING.name,
            property=DROPPED_OR_RENAMED,
        )


NOT_TRACKED = _pair.error(
    6,
    "column dropped or renamed without being tracked",
    name="drop-or-rename-not-tracked",
    effect=_RESURRECTED,
)


@on_change(NOT_TRACKED)
def _not_tracked(transition: Transition) -> Iterator[Finding]:
    properties = transition.after.metadata.properties
    schemas = _mapped_schemas(transition)
    if schemas is None or properties.has_dropped_or_renamed:
        return
    before, after = schemas
    if not (after.is_mapped and transition.before.protocol.supports(USAGE_TRACKING)):
        return
    for change in column_changes(before, after):
        yield NOT_TRACKED.found(
            "The commit "
            + ("drops {column}" if change.now is None else "renames {column} to {now}")
            + (
                ", but {property} is missing after it."
                if properties.dropped_or_renamed is None
                else ", but {property} is {value} after it."
            ),
            column=change.was.column,
            now=None if change.now is None else str(change.now.column),
            property=DROPPED_OR_RENAMED,
            value=properties.dropped_or_renamed,
        )
        return


NAME_NOT_UNIQUE = _pair.error(
    7,
    "new column without a unique physical name",
    name="new-column-without-unique-physical-name",
    effect="Data files may have a dropped column under that name. Its values are then read as values of the new "
    "column.",
    remedy="Drop the column, and add it with an engine that supports usage tracking.",
)


@on_change(NAME_NOT_UNIQUE)
def _not_unique(transition: Transition) -> Iterator[Finding]:
    schemas = _mapped_schemas(transition)
    if schemas is None or not transition.after.metadata.properties.has_dropped_or_renamed:
        return
    before, after = schemas
    if not after.is_mapped:
        return
    for number, field in after.by_id.items():
        if number in before.ids or field.path in before.by_path or field.name is None or is_unique(field.name):
            continue
        yield NAME_NOT_UNIQUE.found(
            "The commit adds {column} under the physical name {name!r}, though {property} is true.",
            column=field.column,
            name=field.name,
            property=DROPPED_OR_RENAMED,
        )


def _mapped_schemas(transition: Transition) -> tuple[MappedSchema, MappedSchema] | None:
    """Return the schemas before and after a commit, if the rules of this module apply to it.

    None if the table is not tracked after it, was not mapped before it, was replaced, or was restored.
    """
    if not transition.after.protocol.supports(USAGE_TRACKING) or transition.replaces_all or transition.restores:
        return None
    before, after = (state.metadata.readable_mapped_schema for state in (transition.before, transition.after))
    return None if before is None or after is None or not before.is_mapped else (before, after)
