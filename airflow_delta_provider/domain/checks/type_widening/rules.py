"""``TW``: type widening. PROTOCOL.md, Type Widening."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.metadata import rules as metadata
from airflow_delta_provider.domain.checks.protocol.changes import FEATURE_VANISHED, VERSION_LOWERED
from airflow_delta_provider.domain.checks.protocol.lists import LISTS
from airflow_delta_provider.domain.checks.rule import Need, RuleFamily, Scope, causes

_SPEC = "PROTOCOL.md, Type Widening"
_RECORD = "PROTOCOL.md, Type Change Metadata"
_WRITERS = "PROTOCOL.md, Writer Requirements for Type Widening"
_READERS = "PROTOCOL.md, Reader Requirements for Type Widening"

FAMILY = RuleFamily(
    "TW",
    "type widening",
    "Changed types of columns and their record in delta.typeChanges, by which readers know that older files hold "
    "narrower types.",
    _RECORD,
    compares=True,
)
_state = FAMILY.of(Scope.STATE)
_pair = FAMILY.of(Scope.PAIR)
_outcome = FAMILY.of(Scope.OUTCOME, "")
_data = FAMILY.of(Scope.DATA)

_RESTORE = "RESTORE the table to the version before."
_RESTORE_OR_REWRITE = "RESTORE the table to the version before, or rewrite the older files."
_UNEXPECTED_TYPES = "Readers may not expect the types of all files."
_UNKNOWING = "Readers that do not know the feature fail on older files, or read them wrongly."

# The state of a table.
ENABLED_WITHOUT_FEATURE = _state.error(
    1,
    "type widening enabled without the feature",
    effect="Writers may widen types, and readers that do not know the feature then fail on older files or read them "
    "wrongly.",
    remedy="Enable the feature typeWidening, or unset the property.",
    source=_SPEC,
    follows_from=causes(FEATURE_VANISHED, VERSION_LOWERED, "TW15", *LISTS),
)
RECORD_WITHOUT_FEATURE = _state.warning(
    2,
    "delta.typeChanges without the feature",
    effect=_UNKNOWING,
    remedy="Enable the feature typeWidening.",
    source=_SPEC,
    follows_from=causes(FEATURE_VANISHED, VERSION_LOWERED, "TW15"),
)
MALFORMED_RECORD = _state.error(
    3,
    "delta.typeChanges malformed",
    effect="Engines fail to read the table.",
    remedy=_RESTORE,
    follows_from=causes("TW12"),
)
UNSUPPORTED_RECORD = _state.error(
    4,
    "unsupported change in delta.typeChanges",
    effect="Engines refuse to read the table, or convert old values wrongly.",
    remedy=_RESTORE,
    source=_READERS,
    threads=("delta-io/delta#3744",),
    follows_from=causes("TW12", "TW08"),
)
UNRESOLVED_FIELD_PATH = _state.error(
    5,
    "fieldPath that leads nowhere",
    effect="Readers cannot tell which values changed their type, and may fail.",
    remedy=_RESTORE,
    follows_from=causes("TW12"),
)
BROKEN_CHAIN = _state.warning(
    6,
    "recorded type changes do not follow on each other",
    effect=_UNEXPECTED_TYPES,
    remedy=_RESTORE_OR_REWRITE,
    follows_from=causes("TW12"),
)
OTHER_LAST_TYPE = _state.warning(
    7,
    "last recorded type is not the column's type",
    effect=_UNEXPECTED_TYPES,
    remedy=_RESTORE_OR_REWRITE,
    follows_from=causes("TW08", "TW09", "TW12", "TW11"),
)
PREVIEW_LEFTOVER = _state.warning(
    10,
    "tableVersion left from the preview feature",
    effect="Readers ignore it.",
    remedy="Nothing has to be done, unless an engine stumbles over it.",
)
ICEBERG_COMPATIBILITY = _state.error(
    13,
    "type change that Iceberg compatibility forbids",
    effect="Iceberg readers fail, or read wrong values.",
    remedy="Disable the compatibility, or rewrite the data into a table with the new type.",
    source=_WRITERS,
)
TIMESTAMP_WITHOUT_FEATURE = _state.error(
    14,
    "widened to timestamp_ntz without timestampNtz",
    effect="Readers that do not know the type try to read the table, and fail.",
    remedy="Enable the feature timestampNtz.",
    source="PROTOCOL.md, Timestamp without timezone",
)

# A commit and the state before it.
UNSUPPORTED_CHANGE = _pair.error(
    8,
    "unsupported change of a type",
    effect="Readers fail on older files, or read wrong values.",
    remedy=_RESTORE,
    source=_WRITERS,
    follows_from=causes(metadata.UNKNOWN_TYPE_OR_VALUE, metadata.DUPLICATE_COLUMN),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
    about_older_files=True,
)
UNRECORDED_TYPE_CHANGE = _pair.error(
    9,
    "type change not recorded in delta.typeChanges",
    effect="Readers cannot tell that older files hold the narrower type; they fail or read wrong values.",
    remedy="RESTORE the table to the version before, and widen the column again with an engine that records it.",
    follows_from=causes("TW11", "TW04"),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
    about_older_files=True,
)
CHANGE_NOT_ENABLED = _pair.error(
    11,
    "type changed while type widening was not enabled",
    effect=_UNKNOWING,
    remedy="RESTORE the table to the version before, enable the feature typeWidening, and widen the column again.",
    source=_SPEC,
    threads=("delta-io/delta#7127",),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)
LOST_TYPE_CHANGES = _pair.error(
    12,
    "earlier delta.typeChanges lost or rewritten",
    effect="Readers cannot tell any more that older files hold other types; they fail or read wrong values.",
    remedy=_RESTORE,
    follows_from=causes("TW03", "TW08"),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)
RECORD_LEFT_BY_DROP = _pair.error(
    15,
    "feature dropped, its traces left",
    effect="Readers that do not know the feature open the table now, and fail on older files or read them wrongly.",
    remedy="Enable the feature typeWidening again, and let ALTER TABLE … DROP FEATURE drop it.",
    source=_WRITERS,
    follows_from=causes(FEATURE_VANISHED, VERSION_LOWERED),
    needs=(Need.STATE,),
    survives_replacement=True,
)

# The data files of a table.
UNREACHABLE_TYPE = _data.error(
    16,
    "type of a data file not reachable by recorded changes",
    effect="Readers fail on the file, or read wrong values from it.",
    remedy="RESTORE the table to a version before the file was added, and write its rows again with an engine that "
    "writes the type of the table.",
    source=_READERS,
    follows_from=causes("TW08", "TW09", "TW12", earlier=True),
)

# After a change that a job made.
TYPE_NOT_CHANGED = _outcome.error(
    17,
    "column has not the type it was widened to",
    effect="What relies on the wider type does not find it.",
    remedy="Look in the table's history for a writer that changed it meanwhile, then run the job again.",
)
VALUES_CHANGED = _data.error(
    18,
    "values read differently after widening",
    effect="Readers get other values than before the change.",
    remedy="Do not write to the table; RESTORE it to the version before the change, and report the engine that wrote "
    "its files.",
    source=_READERS,
)
