"""``PM``: row tracking of Apache Paimon, in a table's metadata. Paimon, Append Table, Row Tracking; Specification."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily, Scope

_TRACKING = "Apache Paimon, Row Tracking"
_SNAPSHOT = "Apache Paimon, Specification, Snapshot"
_MANIFEST = "Apache Paimon, Specification, Manifest"

FAMILY = RuleFamily(
    "PM",
    "metadata of Apache Paimon",
    "Row tracking of Apache Paimon, as snapshots, schemas and manifests tell it. The version of a finding is the id "
    "of a snapshot.",
    _TRACKING,
)
_state = FAMILY.of(Scope.STATE)
_commit = FAMILY.of(Scope.COMMIT)
_pair = FAMILY.of(Scope.PAIR)
_history = FAMILY.of(Scope.HISTORY)

_ROLL_BACK = "Roll the table back to the snapshot before (sys.rollback), and find the writer that made this one."
_WRITE_ANEW = (
    "Roll the table back to the snapshot before, or write its rows into a new table, where all of them get new ids."
)
_BRING_BACK = "Bring the file back from a backup or a replica, or roll the table back to a snapshot that lacks it."
_ONE_ID_FOR_TWO = "Whatever joins on row ids takes different rows for one."

TRACKING_OFF = _state.error(
    1,
    "row tracking off while the table has rows",
    effect="Rows written meanwhile have no ids, and reading _ROW_ID of them fails.",
    remedy="Set row-tracking.enabled to true, and write those rows again, or write all rows into a new table.",
)
UNSUITED_OPTIONS = _state.error(
    2,
    "options or columns that row tracking does not go with",
    effect="Paimon's connectors refuse to open the table, or do not keep the ids of its rows.",
    remedy="Write the rows into a new table without primary key, buckets and columns of reserved names.",
)
NEXT_ROW_ID_OR_SNAPSHOTS = _history.error(
    3,
    "nextRowId missing or lowered, or a snapshot missing",
    effect="Ids that were given out are given out again, or what happened between two snapshots cannot be read.",
    remedy=_ROLL_BACK,
    source=_SNAPSHOT,
)
GROWTH = _pair.error(
    4,
    "nextRowId grew by another number than that of the new rows",
    effect="Ids are skipped, or will be given out a second time.",
    remedy=_ROLL_BACK,
    source=_SNAPSHOT,
)
NO_ROW_IDS = _commit.error(
    5,
    "data file without row ids",
    effect="Reading _ROW_ID of its rows fails.",
    remedy=_WRITE_ANEW,
    source=_MANIFEST,
)
ABOVE_NEXT_ROW_ID = _commit.error(
    6,
    "row ids not below nextRowId",
    effect="The next insert gives out ids that exist already.",
    remedy=_ROLL_BACK,
    source=_SNAPSHOT,
)
NOT_TILED = _pair.error(
    7,
    "new files do not share out the new row ids",
    effect="Two rows have one id, or an id is another row's from before.",
    remedy=_ROLL_BACK,
)
OVERLAPPING_ROW_IDS = _state.error(
    8,
    "two live files give out the same row ids",
    effect=_ONE_ID_FOR_TWO,
    remedy=_WRITE_ANEW,
)
SEQUENCE_NUMBERS = _commit.error(
    9,
    "sequence numbers of a file that its commit cannot give",
    effect="Whoever reads changes by _SEQUENCE_NUMBER misses rows, or sees them without need.",
    remedy=_ROLL_BACK,
    source=_MANIFEST,
)
CONTRADICTING_MANIFESTS = _pair.error(
    10,
    "manifests contradict the snapshot before",
    effect="Readers fail, or rows appear and vanish that no commit wrote or deleted.",
    remedy=_ROLL_BACK,
    source=_MANIFEST,
)
RECORD_COUNT = _state.error(
    11,
    "totalRecordCount is not the number of rows in live files",
    effect="Counts that engines take from metadata are wrong, and files may be lost or taken twice.",
    remedy=_ROLL_BACK,
    source=_SNAPSHOT,
)
RECORDED_SIZES = _state.error(
    12,
    "file of metadata missing, or of another size than recorded",
    effect="Paimon takes it for an empty one and says nothing: the rows that it tells of vanish.",
    remedy=_BRING_BACK,
    source=_MANIFEST,
)
REASSIGNED = _pair.warning(
    13,
    "row ids reassigned",
    effect="Whatever follows row ids sees rows deleted and others inserted that nobody changed.",
    remedy="Nothing, if nobody follows row ids; otherwise keep sort compaction, and MERGE on tables with deletion "
    "vectors, away from the table.",
)
UNREADABLE_METADATA = _state.error(
    14,
    "snapshot, schema or manifest cannot be read",
    effect="Engines fail on the snapshots that need the file.",
    remedy=_BRING_BACK,
    source=_SNAPSHOT,
)

# Nothing to prove, or no way to.
NOT_TRACKED = _state.undecided(
    15,
    "no row tracking",
    effect="The rows have no ids.",
    remedy="Create the table with row-tracking.enabled, without primary key and buckets, and write the rows into it.",
)
UNKNOWN_VERSION = _state.undecided(
    16,
    "metadata of a version or format that is not known",
    effect="What it means cannot be told, so nothing of it is judged.",
    remedy='Update airflow-delta-provider, or check the table with source="catalog".',
    source=_SNAPSHOT,
)
NOT_STILL = _history.undecided(
    17,
    "snapshots vanish faster than they are read",
    effect="Which snapshots there are changed each time that they were read.",
    remedy="Keep more snapshots (snapshot.num-retained.min, snapshot.time-retained), or check while none expire.",
    source=_SNAPSHOT,
)
ROWS_NOT_READ = _state.undecided(
    18,
    "rows cannot be checked",
    effect="Whether ids and sequence numbers of rows are right is not known.",
    remedy="See to what the other findings say of the table's metadata first.",
)
