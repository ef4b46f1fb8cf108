"""``PD``: row tracking of Apache Paimon, in the rows of a table. Paimon, Append Table, Row Tracking."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily, Scope

FAMILY = RuleFamily(
    "PD",
    "rows of Paimon tables",
    "Row tracking of Apache Paimon, as the rows of data files have it: ids and sequence numbers, in one snapshot and "
    "from one to the next. The version of a finding is the id of a snapshot.",
    "Apache Paimon, Row Tracking",
)
_data = FAMILY.of(Scope.DATA)

_ROLL_BACK = "Roll the table back to the snapshot before (sys.rollback), and find the writer that made this one."
_NEW_TABLE = (
    "Roll the table back to the snapshot before, or write its rows into a new table, where all of them get new ids."
)
_BRING_BACK = "Bring the file back from a backup or a replica, or roll the table back to a snapshot that lacks it."
_OTHER_ROW = "Whatever follows row ids takes one row for another."
_CHANGES = "Whoever reads changes by _SEQUENCE_NUMBER misses rows, or sees them without need."
_NOT_PROVEN = "The rows of these files are not part of the proof."

NO_ID = _data.error(
    1,
    "row without an id",
    effect="Reading _ROW_ID of the row fails.",
    remedy=_NEW_TABLE,
)
REPEATED_ID = _data.error(
    2,
    "two live rows with one row id",
    effect="Whatever joins on row ids takes different rows for one.",
    remedy=_NEW_TABLE,
)
OUT_OF_RANGE = _data.error(
    3,
    "row id or sequence number out of range",
    effect="Ids not below nextRowId are given out again; sequence numbers of other snapshots hide or feign changes.",
    remedy=_NEW_TABLE,
)
SEQUENCE_WENT_BACK = _data.error(4, "sequence number of a row went back", effect=_CHANGES, remedy=_ROLL_BACK)
SILENT_CHANGE = _data.error(
    5, "row changed under the same sequence number", effect=_OTHER_ROW + " " + _CHANGES, remedy=_ROLL_BACK
)
OTHER_SEQUENCE = _data.error(6, "sequence number that is not the commit's own", effect=_CHANGES, remedy=_ROLL_BACK)
INVENTED_ID = _data.error(
    7,
    "new row with an id that was given out before",
    effect=_OTHER_ROW,
    remedy=_ROLL_BACK,
)
EXCHANGED_KEYS = _data.error(8, "keys changed their row ids", effect=_OTHER_ROW, remedy=_ROLL_BACK)
COMPACTION = _data.error(
    9,
    "compaction did not leave rows as they were",
    effect="Rows are lost or changed that nobody touched.",
    remedy=_ROLL_BACK,
)
NOT_AS_RECORDED = _data.error(
    10,
    "data file is not what its manifest says",
    effect="Row ids that follow from its number of rows, or are expected in it, are others'.",
    remedy=_BRING_BACK,
    source="Apache Paimon, Specification, Manifest",
)
REASSIGNED = _data.warning(
    11,
    "row ids reassigned",
    effect="Whatever follows row ids sees rows deleted and others inserted that nobody changed.",
    remedy="Nothing, if nobody follows row ids; otherwise keep sort compaction, and MERGE on tables with deletion "
    "vectors, away from the table.",
)
UNREADABLE = _data.error(
    12,
    "data file or deletion vector missing or damaged",
    effect="Reading the table fails.",
    remedy=_BRING_BACK,
    source="Apache Paimon, Specification, Manifest",
)
UNREAD = _data.undecided(
    13,
    "rows that could not be read",
    effect=_NOT_PROVEN,
    remedy='Check the table with source="catalog", or write its files as Parquet.',
)
KEYS_NOT_USABLE = _data.undecided(
    14,
    "key columns do not tell rows apart",
    effect="Whether these keys kept their row ids is not known.",
    remedy="Name columns that together have no value twice.",
)
