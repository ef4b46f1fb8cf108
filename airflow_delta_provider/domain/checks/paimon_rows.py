"""``PD``: row tracking of Apache Paimon, in the rows of a table. Paimon, Append Table, Row Tracking."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily, Scope

FAMILY = RuleFamily(
    "PD",
    "rows of Paimon tables",
    "Row tracking of Apache Paimon, in the rows of data files: ids and sequence numbers, in one snapshot and from one "
    "to the next. The version of a finding is the id of a snapshot.",
    "Apache Paimon, Row Tracking",
)

_ROLL_BACK = "Roll the table back to the previous snapshot (sys.rollback), and find the writer of this one."
_NEW_TABLE = "Roll the table back to the previous snapshot, or write its rows into a new table, where they get new ids."
_RESTORE_FILE = "Restore the file from a backup or replica, or roll the table back to a snapshot that does not need it."
_OTHER_ROW = "Consumers that follow row ids mistake one row for another."
_CHANGES = "Consumers that read changes by _SEQUENCE_NUMBER miss rows, or see unchanged ones."
_ROWS_SEEM_REPLACED = "Consumers that follow row ids see the rows as deleted, and the same rows inserted again."

_data = FAMILY.of(Scope.DATA, remedy=_ROLL_BACK)

NO_ID = _data.error(
    1, "row without an id", name="paimon-row-without-id", effect="Reading _ROW_ID of the row fails.", remedy=_NEW_TABLE
)
REPEATED_ID = _data.error(
    2,
    "two live rows with one row id",
    name="paimon-rows-share-id",
    effect="Anything that joins on row ids confuses these rows.",
    remedy=_NEW_TABLE,
)
OUT_OF_RANGE = _data.error(
    3,
    "row id or sequence number out of range",
    name="paimon-row-metadata-out-of-range",
    effect="Ids that are not below nextRowId are assigned again; wrong sequence numbers hide changes or invent them.",
    remedy=_NEW_TABLE,
)
SEQUENCE_WENT_BACK = _data.error(
    4, "sequence number of a row went back", name="paimon-row-sequence-number-lowered", effect=_CHANGES
)
SILENT_CHANGE = _data.error(
    5,
    "row changed under the same sequence number",
    name="paimon-row-changed-under-same-sequence",
    effect=f"{_OTHER_ROW} {_CHANGES}",
)
OTHER_SEQUENCE = _data.error(
    6, "sequence number that is not the commit's own", name="paimon-sequence-number-of-other-commit", effect=_CHANGES
)
INVENTED_ID = _data.error(
    7, "new row with an id that was assigned before", name="paimon-new-row-reuses-id", effect=_OTHER_ROW
)
EXCHANGED_KEYS = _data.error(8, "keys exchanged their row ids", name="paimon-keys-exchange-row-ids", effect=_OTHER_ROW)
COMPACTION = _data.error(
    9,
    "compaction did not keep rows unchanged",
    name="paimon-compaction-changes-rows",
    effect="Rows that nobody touched are lost or changed.",
)
NOT_AS_RECORDED = _data.error(
    10,
    "data file differs from its manifest entry",
    name="paimon-file-differs-from-manifest",
    effect="Readers derive wrong row ids, or fail.",
    remedy=_RESTORE_FILE,
    source="Apache Paimon, Specification, Manifest",
)
REASSIGNED = _data.warning(
    11,
    "row ids reassigned",
    name="paimon-new-ids-for-same-rows",
    effect=_ROWS_SEEM_REPLACED,
    remedy="If nothing follows row ids, nothing needs to be done. Otherwise do not run this operation on the table.",
)
UNREADABLE = _data.error(
    12,
    "data file or deletion vector missing or damaged",
    name="paimon-data-file-missing-or-damaged",
    effect="Reading the table fails.",
    remedy=_RESTORE_FILE,
    source="Apache Paimon, Specification, Manifest",
)
UNREAD = _data.undecided(
    13,
    "rows that could not be read",
    name="paimon-rows-not-read",
    effect="These rows are not part of the proof.",
    remedy='Check the table with source="catalog", or write its files as Parquet.',
)
KEYS_NOT_USABLE = _data.undecided(
    14,
    "key columns do not identify rows",
    name="paimon-key-columns-not-unique",
    effect="It is unknown whether these keys kept their row ids.",
    remedy="Set key_columns (--key) to columns whose values identify one row.",
)
NEW_IDS_FOR_OLD_ROWS = _data.error(
    15,
    "a commit that adds no rows gave rows new ids",
    name="paimon-new-ids-for-updated-rows",
    effect=_ROWS_SEEM_REPLACED,
)
LOST_ROWS = _data.error(
    16, "UPDATE lost rows", name="paimon-rows-missing-after-update", effect="Rows that nobody deleted are gone."
)
NOT_AS_STATED = _data.error(
    17,
    "rows contradict the kind or operation of their commit",
    name="paimon-rows-contradict-operation",
    effect="Consumers that trust the kind of a commit, such as incremental reads, miss changes.",
)
