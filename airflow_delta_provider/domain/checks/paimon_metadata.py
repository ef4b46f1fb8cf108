"""``PM``: row tracking of Apache Paimon, in a table's metadata. Paimon, Append Table, Row Tracking; Specification."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily, Scope
from airflow_delta_provider.domain.report.report import Finding, Severity

_TRACKING = "Apache Paimon, Row Tracking"
_SNAPSHOT = "Apache Paimon, Specification, Snapshot"
_MANIFEST = "Apache Paimon, Specification, Manifest"

FAMILY = RuleFamily(
    "PM",
    "metadata of Apache Paimon",
    "Row tracking of Apache Paimon, as snapshots, schemas and manifests describe it. The version of a finding is the "
    "id of a snapshot.",
    _TRACKING,
)
_state = FAMILY.of(Scope.STATE)
_history = FAMILY.of(Scope.HISTORY, _SNAPSHOT)

_ROLL_BACK = "Roll the table back to the previous snapshot (sys.rollback), and find the writer of this one."
_NEW_TABLE = "Roll the table back to the previous snapshot, or write its rows into a new table, where they get new ids."
_RESTORE_FILE = "Restore the file from a backup or replica, or roll the table back to a snapshot that does not need it."
_TWO_ROWS_ONE_ID = "Anything that joins on row ids confuses these rows."
_ROWS_SEEM_REPLACED = "Consumers that follow row ids see the rows as deleted, and the same rows inserted again."

_commit = FAMILY.of(Scope.COMMIT, remedy=_ROLL_BACK)
_pair = FAMILY.of(Scope.PAIR, remedy=_ROLL_BACK)

TRACKING_OFF = _state.error(
    1,
    "row tracking disabled while the table has rows",
    name="paimon-row-tracking-disabled",
    effect="Rows that are written now get no ids, and reading _ROW_ID fails.",
    remedy="Set row-tracking.enabled to true, and write those rows again, or write all rows into a new table.",
)
UNSUITED_OPTIONS = _state.error(
    2,
    "options or columns incompatible with row tracking",
    name="paimon-table-incompatible-with-row-tracking",
    effect="Paimon's connectors refuse to open the table, or do not keep the ids of its rows.",
    remedy="Write the rows into a new table without primary key, buckets and columns of reserved names.",
)
NEXT_ROW_ID_OR_SNAPSHOTS = _history.error(
    3,
    "nextRowId missing or lowered, or a snapshot missing",
    name="paimon-next-row-id-not-continuous",
    effect="Ids are assigned a second time, or the changes between two snapshots are unknown.",
    remedy=_ROLL_BACK,
)
GROWTH = _pair.error(
    4,
    "growth of nextRowId differs from the number of new rows",
    name="paimon-next-row-id-growth-wrong",
    effect="Ids are skipped, or will be assigned a second time.",
    source=_SNAPSHOT,
)
NO_ROW_IDS = _commit.error(
    5,
    "data file without row ids",
    name="paimon-file-without-row-ids",
    effect="Reading _ROW_ID of its rows fails.",
    remedy=_NEW_TABLE,
    source=_MANIFEST,
)
ABOVE_NEXT_ROW_ID = _commit.error(
    6,
    "row ids not below nextRowId",
    name="paimon-row-ids-beyond-next-id",
    effect="The next inserts assign these ids again.",
    source=_SNAPSHOT,
)
NOT_TILED = _pair.error(
    7,
    "new files do not have the new row ids, each once",
    name="paimon-new-files-with-wrong-ids",
    effect="Two rows share an id, or an id belonged to another row before.",
)
OVERLAPPING_ROW_IDS = _state.error(
    8,
    "two live files with the same row ids",
    name="paimon-files-share-row-ids",
    effect=_TWO_ROWS_ONE_ID,
    remedy=_NEW_TABLE,
)
SEQUENCE_NUMBERS = _commit.error(
    9,
    "sequence numbers of a file that its commit cannot assign",
    name="paimon-file-sequence-numbers-impossible",
    effect="Consumers that read changes by _SEQUENCE_NUMBER miss rows, or see unchanged ones.",
    source=_MANIFEST,
)
CONTRADICTING_MANIFESTS = _pair.error(
    10,
    "manifests contradict the previous snapshot",
    name="paimon-manifests-contradict-snapshot",
    effect="Readers fail, or rows appear and vanish that no commit wrote or deleted.",
    source=_MANIFEST,
)
RECORD_COUNT = _state.error(
    11,
    "totalRecordCount differs from the number of rows in live files",
    name="paimon-total-record-count-wrong",
    effect="Counts that engines take from metadata are wrong; files may be lost or listed twice.",
    remedy=_ROLL_BACK,
    source=_SNAPSHOT,
)
RECORDED_SIZES = _state.error(
    12,
    "metadata file missing, or of another size than recorded",
    name="paimon-metadata-file-missing-or-resized",
    effect="Paimon reads the file as empty, without an error: the rows that it lists vanish.",
    remedy=_RESTORE_FILE,
    source=_MANIFEST,
)
REASSIGNED = _pair.warning(
    13,
    "row ids reassigned",
    name="paimon-row-ids-reassigned",
    effect=_ROWS_SEEM_REPLACED,
    remedy="If nothing follows row ids, nothing needs to be done. Otherwise do not run this operation on the table.",
)
#: The effect if the same rows have other ids.
IF_SAME_ROWS = "If these are the same rows, consumers that follow row ids see them as deleted and inserted again."


def severity_of_reassigned(finding: Finding) -> Severity | None:
    """Return the severity of reassigned row ids if they are to fail a check; None for other findings.

    Ids of rows with equal statistics are undecided. Without statistics of the rows, the finding stays a warning.
    """
    if finding.code != REASSIGNED.code:
        return None
    likeness = (finding.facts or {}).get("likeness")
    return None if likeness == "unknown" else Severity.UNDECIDED if likeness == "alike" else Severity.ERROR


UNREADABLE_METADATA = _state.error(
    14,
    "snapshot, schema or manifest unreadable",
    name="paimon-metadata-unreadable",
    effect="Engines fail on the snapshots that need the file.",
    remedy=_RESTORE_FILE,
    source=_SNAPSHOT,
)

# Tables without anything to check, or that cannot be checked.
NOT_TRACKED = _state.undecided(
    15,
    "no row tracking",
    name="paimon-table-without-row-tracking",
    effect="The rows have no ids, so there is nothing to check.",
    remedy="Create the table with row-tracking.enabled, without primary key and buckets, and write the rows into it.",
)
UNKNOWN_VERSION = _state.undecided(
    16,
    "metadata of an unknown version or format",
    name="paimon-metadata-version-unknown",
    effect="Its meaning is unknown, so it is not checked.",
    remedy='Update airflow-delta-provider, or check the table with source="catalog".',
    source=_SNAPSHOT,
)
NOT_STILL = _history.undecided(
    17,
    "snapshots expire faster than they can be read",
    name="paimon-snapshots-expire-too-fast",
    effect="The list of snapshots changed during every attempt to read it.",
    remedy="Keep more snapshots (snapshot.num-retained.min, snapshot.time-retained), or check while none expire.",
)
ROWS_NOT_READ = _state.undecided(
    18,
    "rows cannot be checked",
    name="paimon-rows-not-checkable",
    effect="It is unknown whether ids and sequence numbers of rows are right.",
    remedy="First fix the problems of the table's metadata that the other findings report.",
)
METADATA_NOT_READ = _state.undecided(
    21,
    "manifest too large to be read",
    name="paimon-manifest-too-large",
    effect="Snapshots that need the file are not checked. The file may be undamaged.",
    remedy="Let Paimon write smaller manifests (manifest.target-file-size), or report this as a bug in the provider.",
    source=_SNAPSHOT,
)

NOT_READ = _state.undecided(
    22,
    "metadata file outside the table",
    name="paimon-metadata-outside-allowed-locations",
    effect="The content of the file is not checked.",
    remedy="If the table may use this place, add it to [delta_provider] allowed_locations (--allowed-location), "
    "together with the table's own location.",
    source=_MANIFEST,
)

NEW_IDS_FOR_OLD_ROWS = _pair.error(
    19,
    "a commit that adds no rows assigned new row ids",
    name="paimon-update-assigns-new-row-ids",
    effect=_ROWS_SEEM_REPLACED,
)
LOST_ROWS = _pair.error(
    20, "UPDATE lost rows", name="paimon-update-lowers-row-count", effect="Rows that nobody deleted are gone."
)
NOT_AS_STATED = _pair.error(
    23,
    "a commit contradicts its kind or operation",
    name="paimon-commit-contradicts-operation",
    effect="Consumers that trust the kind of a commit, such as incremental reads, miss rows that came or went.",
    source=_SNAPSHOT,
)
ROW_GROUP = _commit.error(
    24,
    "files of one row group have other rows",
    name="paimon-row-group-incomplete",
    effect="Reading these rows fails, or their columns are NULL, or hold the values of other rows.",
    source="Apache Paimon, Data Evolution; DataEvolutionSplitRead",
)
