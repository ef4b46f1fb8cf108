"""Usage tracking in one version of a table: UT01 to UT03, and UT08.

Nothing is reported for tables without the feature, except UT02. The property alone does not show that the mapping can
be removed: see the rules of physical paths for the other requirements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.column_mapping.changes import PHYSICAL_NAME_CHANGED
from airflow_delta_provider.domain.checks.protocol.lists import (
    READER_FEATURE_ONLY,
    WRITER_FEATURES_NOT_ALLOWED,
    WRITER_VERSION_TOO_LOW,
    WRITERS_FEATURE_FOR_READERS,
)
from airflow_delta_provider.domain.checks.rule import Scope, causes
from airflow_delta_provider.domain.checks.usage_tracking.family import FAMILY, SET_TRUE, SPEC, THREAD, WRITERS
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.protocol import WRITER_FEATURES_VERSION
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_state = FAMILY.of(Scope.STATE, SPEC)

NO_PROPERTY = _state.error(
    1,
    "usage tracking without its property",
    effect="It is unknown whether a column was ever dropped or renamed, and a new column may get the values of a "
    "dropped one.",
    remedy=SET_TRUE,
    threads=THREAD,
)
PROPERTY_WITHOUT_FEATURE = _state.warning(
    2,
    "property of usage tracking without the feature",
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
    effect="Writers that do not know the feature drop and rename columns untracked, or readers refuse the table.",
    remedy="Write a protocol action with writer version 7 that has the feature in writerFeatures only.",
    source=WRITERS,
    follows_from=causes(
        WRITER_FEATURES_NOT_ALLOWED, WRITER_VERSION_TOO_LOW, READER_FEATURE_ONLY, WRITERS_FEATURE_FOR_READERS
    ),
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
    effect="Either a rename was not tracked, or the names always differed: the mapping cannot simply be removed.",
    remedy=f"Set {DROPPED_OR_RENAMED} to true, unless the columns are known to have had these physical names from the "
    "beginning.",
    follows_from=causes("UT05", "UT06", PHYSICAL_NAME_CHANGED),
)


@on_state(OTHER_NAMES)
def _names(state: TableState) -> Iterator[Finding]:
    if state.metadata.properties.dropped_or_renamed != "false" or not state.protocol.supports(USAGE_TRACKING):
        return
    schema = MappedSchema.readable(state.metadata)
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
