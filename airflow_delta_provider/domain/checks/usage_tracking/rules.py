"""``UT``: usage tracking of column mapping. RFC ``column-mapping-usage-tracking.md``, delta-io/delta#2682."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.column_mapping import changes as column_mapping
from airflow_delta_provider.domain.checks.protocol.lists import (
    READER_FEATURE_ONLY,
    WRITER_FEATURES_NOT_ALLOWED,
    WRITER_VERSION_TOO_LOW,
    WRITERS_FEATURE_FOR_READERS,
)
from airflow_delta_provider.domain.checks.rule import Need, RuleFamily, Scope, causes

_SPEC = "RFC Column Mapping Usage Tracking, Usage Tracking"
_WRITERS = "RFC Column Mapping Usage Tracking, Writer Requirements for Usage Tracking"
_THREAD = ("delta-io/delta#2682",)

FAMILY = RuleFamily(
    "UT",
    "usage tracking of column mapping",
    "Whether a table says truly that no column was ever dropped or renamed. Who relies on it gives a new column the "
    "name of a dropped one in the data files, or takes the mapping away without rewriting them. The feature "
    "`columnMappingUsageTracking` is proposed, not part of the protocol.",
    _WRITERS,
    compares=True,
)
_state = FAMILY.of(Scope.STATE)
_pair = FAMILY.of(Scope.PAIR)
_history = FAMILY.of(Scope.HISTORY)

_RESURRECTED = "The next column of a dropped one's name may get its values back, or the table cannot be read."
_SET_TRUE = "Set delta.columnMapping.hasDroppedOrRenamed to true."

NO_PROPERTY = _state.error(
    1,
    "usage tracking without its property",
    effect="Nobody can tell whether a column was ever dropped or renamed, and writers may guess wrongly.",
    remedy=_SET_TRUE,
    source=_SPEC,
    threads=_THREAD,
)
PROPERTY_WITHOUT_FEATURE = _state.warning(
    2,
    "property of usage tracking without the feature",
    effect="Writers drop and rename columns without setting it, so that it says nothing; who trusts it is misled.",
    remedy="Unset delta.columnMapping.hasDroppedOrRenamed.",
    source=_SPEC,
)
OTHER_NAMES = _state.warning(
    3,
    "nothing dropped or renamed, yet names differ",
    effect="Either a rename was not tracked, or the names were never the same: the mapping cannot just be taken away.",
    remedy="Set delta.columnMapping.hasDroppedOrRenamed to true, unless the columns are known to be called so from "
    "the beginning.",
    source=_SPEC,
    follows_from=causes("UT05", "UT06", column_mapping.PHYSICAL_NAME_CHANGED),
)
NOT_WRITERS_ONLY = _state.error(
    8,
    "usage tracking not listed as a feature of writers",
    effect="Writers that do not know the feature drop and rename columns untracked, or readers refuse the table.",
    remedy="Write a protocol action with writer version 7 that has the feature in writerFeatures only.",
    follows_from=causes(
        WRITER_FEATURES_NOT_ALLOWED,
        WRITER_VERSION_TOO_LOW,
        READER_FEATURE_ONLY,
        WRITERS_FEATURE_FOR_READERS,
    ),
    shows="protocol",
)
SET_BACK = _history.error(
    4,
    "usage tracking set back from true to false",
    effect=_RESURRECTED,
    remedy=_SET_TRUE,
    needs=(Need.STATE, Need.FILES, Need.EVER_DROPPED),
)
TURNED_ON_AS_UNUSED = _pair.error(
    5,
    "usage tracking turned on as if nothing had been dropped",
    effect="Columns that were dropped before are not known of. " + _RESURRECTED,
    remedy=_SET_TRUE,
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)
NOT_TRACKED = _pair.error(
    6,
    "column dropped or renamed without a trace",
    effect=_RESURRECTED,
    remedy=_SET_TRUE,
    follows_from=causes("UT01", later=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)
NAME_NOT_UNIQUE = _pair.error(
    7,
    "new column without a unique physical name",
    effect="A dropped column may lie under that name in data files, and its values are read as the new one's.",
    remedy="Drop the column, and let an engine with usage tracking add it.",
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)
