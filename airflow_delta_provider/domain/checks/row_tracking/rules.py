"""``RT``: row tracking. PROTOCOL.md, Row Tracking."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.healing import Healing
from airflow_delta_provider.domain.checks.protocol import rules as protocol
from airflow_delta_provider.domain.checks.row_tracking import healing
from airflow_delta_provider.domain.checks.rule import Need, RuleFamily, Scope, causes

_SPEC = "PROTOCOL.md, Row Tracking"
_WRITERS = "PROTOCOL.md, Writer Requirements for Row Tracking"
_READERS = "PROTOCOL.md, Reader Requirements for Row Tracking"

FAMILY = RuleFamily(
    "RT",
    "row tracking",
    "Row ids and row commit versions, in the log and in the rows: that they are there, are unique, and stay.",
    _WRITERS,
)
_state = FAMILY.of(Scope.STATE)
_commit = FAMILY.of(Scope.COMMIT)
_pair = FAMILY.of(Scope.PAIR)
_history = FAMILY.of(Scope.HISTORY, _SPEC)
_data = FAMILY.of(Scope.DATA)

_RESTORE = "RESTORE the table to the version before."
_NEW_IDS = (
    "RESTORE the table to the version before, or drop row tracking and enable it again, which gives every row a new id."
)
_STOP = (
    "Stop writing to the table; RESTORE it to the version before, or drop row tracking and enable it again, which "
    "gives every row a new id."
)
_FILL_IN = "Set delta.enableRowTracking to false, then enable rowTracking again, which fills them in."
_FIND_WRITER = (
    "Find the writer of the commit; RESTORE the table to the version before it, or drop row tracking and enable it "
    "again, which gives every row a new id."
)
_TRACK = "Enable the feature rowTracking."
_NO_IDS = "The rows of these files have no row id or commit version of their own, and reading it fails."
_OTHER_ROW = "Whatever follows row ids sees one row deleted and another one inserted."

# The state of a table.
ENABLED_WITHOUT_FEATURE = _state.error(
    1,
    "row tracking enabled without the feature",
    effect="Readers expect row ids that no writer assigns.",
    remedy="Enable the feature rowTracking, or unset the property.",
    source=_SPEC,
    follows_from=causes(protocol.FEATURE_VANISHED, protocol.VERSION_LOWERED, *protocol.LISTS),
)
ENABLED_AND_SUSPENDED = _state.error(
    2,
    "row tracking enabled and suspended",
    effect="Readers rely on row ids, while writers assign none.",
    remedy="Unset one of the two properties.",
    source=_SPEC,
)
NO_MATERIALIZED_NAMES = _state.error(
    3,
    "names of the materialized columns missing",
    effect="Nobody can tell which column holds the ids of rows that were moved, and writers may choose another one.",
    remedy=_NEW_IDS,
)
MATERIALIZED_NAME_TAKEN = _state.error(
    4,
    "name of a materialized column is taken",
    effect="The column's values are read as row tracking's, or the other way about.",
    remedy="Rename the column where the table has column mapping, or restore the property.",
)
MISSING_ROW_IDS = _state.error(
    5,
    "live file without baseRowId or defaultRowCommitVersion",
    effect=_NO_IDS,
    remedy=_FILL_IN,
    follows_from=causes("RT02", "RT13", later=True),
    about_live_files=True,
)
UNKNOWN_ROW_COUNT = _state.undecided(
    6,
    "number of rows not in the log",
    effect="Which row ids the file gives out cannot be told from the log.",
    remedy="Check at level footers or data, which reads the number from the file.",
    source=_SPEC,
    about_live_files=True,
)
ABOVE_HIGH_WATER_MARK = _state.error(
    7,
    "row ids above the high water mark",
    effect="The next insert gives out ids that exist already.",
    remedy=_STOP,
    follows_from=causes("RT11", "RT10", "RT14", later=True),
    healing=Healing(healing.mark_is_too_low, healing.highest_added, needs_details=True, by_restore=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS, Need.HIGH_WATER_MARK),
    about_live_files=True,
)
OVERLAPPING_ROW_IDS = _state.error(
    8,
    "two files give out the same row ids",
    effect="Whatever joins on row ids mixes up the rows that share one.",
    remedy=_NEW_IDS,
    follows_from=causes("RT15", "RT14", "RT11", "RT10", "RT07", later=True),
    needs=(Need.STATE, Need.FILES),
    about_live_files=True,
)
COMMIT_VERSION_IN_FUTURE = _state.error(
    9,
    "defaultRowCommitVersion above the table's version",
    effect="The rows of these files seem to be of a commit that does not exist yet.",
    remedy=_NEW_IDS,
    about_live_files=True,
)
NO_HIGH_WATER_MARK = _state.error(
    10,
    "no row id high water mark",
    effect="Engines take the mark for 0, and give the same ids out again with the next insert.",
    remedy=_STOP,
    threads=("delta-io/delta#4923",),
    follows_from=causes(protocol.FEATURE_VANISHED, protocol.VERSION_LOWERED),
    healing=Healing(healing.mark_is_too_low, needs_details=True, by_restore=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS, Need.HIGH_WATER_MARK),
    shows="domainMetadata",
)

# A commit, and a commit and the state before it.
HIGH_WATER_MARK_LOWERED = _pair.error(
    11,
    "row id high water mark lowered",
    effect="Ids that were given out before are given out again by the next insert, to other rows.",
    remedy=_STOP,
    follows_from=causes("RT10", later=True),
    healing=Healing(healing.mark_is_too_low, healing.mark_before, needs_details=True, by_restore=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS, Need.HIGH_WATER_MARK),
    shows="domainMetadata",
)
REMOVED_WITH_OTHER_BASE = _pair.error(
    12,
    "file removed with other row ids than it had",
    effect="Whoever reads changes takes the rows that went away for other rows.",
    remedy="The log cannot be mended; read changes from a version after this one.",
    follows_from=causes("RT15", "RT14", later=True, same_file=True),
    needs=(Need.STATE, Need.FILES),
    shows="remove",
)
ADDED_WITHOUT_ROW_IDS = _commit.error(
    13,
    "file added without row ids",
    effect=_NO_IDS,
    remedy=_FILL_IN,
    about_live_files=True,
)
REASSIGNED_BASE = _pair.error(
    14,
    "row ids of a file changed",
    effect="Rows that nobody touched have other ids or commit versions than before.",
    remedy=_RESTORE,
    follows_from=causes("RT15", later=True, same_file=True),
    healing=Healing(healing.ids_are_others, healing.ids_before, needs_details=True, by_files=True),
    needs=(Need.STATE, Need.FILES),
    about_live_files=True,
)
REISSUED_ROW_IDS = _pair.error(
    15,
    "row ids given out a second time",
    effect="The ids of the new rows are, or once were, other rows'.",
    remedy="RESTORE the table to the version before, and write the rows again.",
    follows_from=causes("RT10", later=True),
    needs=(Need.STATE, Need.PATHS, Need.HIGH_WATER_MARK),
    about_live_files=True,
)
OTHER_COMMIT_VERSION = _commit.warning(
    16,
    "new file with another commit's defaultRowCommitVersion",
    effect="Whoever reads changes by row commit version sees these rows too early or too late.",
    remedy="If changes are read so, RESTORE the table to the version before, and write the rows again.",
    follows_from=causes("RT15", "RT09"),
    needs=(Need.STATE, Need.PATHS),
    about_live_files=True,
)
MATERIALIZED_NAMES_CHANGED = _pair.warning(
    17,
    "names of the materialized columns changed",
    effect="Rows in older files lose the ids or commit versions that were kept for them.",
    remedy="Restore the property.",
    follows_from=causes("RT04"),
    healing=Healing(healing.names_are_others, healing.names_before, needs_details=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)
NOT_PRESERVED = _commit.warning(
    18,
    "row ids not preserved by a rewrite",
    effect="Whoever follows row ids may take the rows that were moved for other ones.",
    remedy="Let an engine write the table that preserves row ids.",
    shows="commitInfo",
)

# The rows themselves.
DUPLICATE_ROW_IDS = _data.error(
    19,
    "row ids that are not unique",
    effect="Whatever joins on row ids takes different rows for one.",
    remedy=_FIND_WRITER,
    follows_from=causes("RT22", "RT15", "RT14", "RT11", later=True),
)
IMPOSSIBLE_ROW_ID = _data.error(
    21,
    "row id negative or above the high water mark",
    effect="Ids above the mark will be given out again by later inserts; negative ones no writer gives out.",
    remedy=_FIND_WRITER,
    source=_READERS,
    follows_from=causes("RT07", "RT22", later=True),
)
FOREIGN_ROW_ID = _data.error(
    22,
    "rewritten row with a row id that was not there before",
    effect="Whatever follows row ids takes these rows for others.",
    remedy="RESTORE the table to the version before the commit, and let an engine write it that keeps row ids.",
)
FOREIGN_COMMIT_VERSION = _data.error(
    23,
    "row commit version of a moved row changed",
    effect="Whoever reads changes by row commit version misses these rows, or sees them without need.",
    remedy="RESTORE the table to the version before the commit, and write it again.",
)
REPLACED_ROWS = _data.warning(
    24,
    "all rows replaced, none kept its row id",
    effect="To whoever follows row ids, all rows were deleted and others inserted.",
    remedy="Nothing, if that was meant; MERGE keeps the ids of rows that stay.",
    source=_SPEC,
)
MATERIALIZED_TYPE = _data.error(
    28,
    "materialized column of another type",
    effect="Engines fail on the column, or read other ids.",
    remedy="RESTORE the table to a version before the file was added, or bring the file back from a backup.",
    source=_READERS,
)
KEY_CHANGED_ROW_ID = _data.error(
    29,
    "key with another row id than before",
    effect=_OTHER_ROW,
    remedy="RESTORE the table to the version before the commit that wrote the rows, and write them with MERGE or "
    "UPDATE of an engine that keeps row ids.",
    source=_SPEC,
)
HISTORY_UNREADABLE = _history.undecided(
    30,
    "stability cannot be decided",
    effect="Nobody can tell whether rows kept their ids since the version they are compared with.",
    remedy="Compare with a later version, or by columns that tell the rows apart, as the message says.",
)
KEY_INSERTED_AGAIN = _data.warning(
    31,
    "key deleted and inserted again, or given to another row",
    effect=_OTHER_ROW,
    remedy="Nothing, if that was meant; MERGE keeps the ids.",
    source=_SPEC,
)
KEY_OVERWRITTEN = _data.warning(
    32,
    "key overwritten, its row id is new",
    effect=_OTHER_ROW,
    remedy="Nothing, if that was meant; MERGE and UPDATE keep the ids.",
    source=_SPEC,
)

# Nothing to prove.
ABSENT = _state.undecided(
    25,
    "no row tracking",
    effect="The rows have no ids.",
    remedy=_TRACK,
    source=_SPEC,
)
SUPPORTED_ONLY = _state.undecided(
    26,
    "row tracking supported, not enabled",
    effect="Writers do not keep the ids of rows that they move.",
    remedy=_TRACK,
    source=_SPEC,
)
SUSPENDED = _state.undecided(
    27,
    "row tracking suspended",
    effect="Writers give no ids to new rows, and none can be relied upon.",
    remedy="Unset delta.rowTrackingSuspended, then enable the feature rowTracking.",
    source=_SPEC,
)
