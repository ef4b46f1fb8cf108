"""``UM``: disabling column mapping, and whether columns were renamed or dropped."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily, Scope

_SPEC = "PROTOCOL.md, Column Mapping"
_THREADS = ("delta-io/delta#2481", "delta-io/delta#2682")

FAMILY = RuleFamily(
    "UM",
    "disabling column mapping",
    "Whether column mapping can be disabled without rewriting data, and what is known about renamed and dropped "
    "columns. Without mapping, readers find columns in data files by name: a new column would show the values of a "
    "dropped column of the same name.",
    _SPEC,
)
_request = FAMILY.of(Scope.REQUEST)
_outcome = FAMILY.of(Scope.OUTCOME)
_history = FAMILY.of(Scope.HISTORY)

_REWRITE = "Repeat the request with allow_rewrite=True to let the engine rewrite the files."

WRONG_MODE = _request.error(
    1,
    "column mapping in mode id",
    remedy="Let the engine rewrite the table: ALTER TABLE … SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none').",
    threads=_THREADS,
)
OTHER_NAMES = _request.error(
    2,
    "columns have other names in data files",
    remedy=_REWRITE,
    threads=_THREADS,
)
DROPPED_IN_FILES = _request.error(
    3,
    "live data files may contain dropped columns",
    remedy="Restore lost files, rewrite files that contain such columns (REORG TABLE … APPLY (PURGE), or OPTIMIZE), "
    "then run the job again; or repeat the request with allow_rewrite=True.",
    threads=_THREADS,
)
REUSED_PATH = _request.error(
    4,
    "a column is stored under the name of a dropped column",
    remedy=_REWRITE,
    threads=_THREADS,
)
NEEDS_MAPPING = _request.error(
    5,
    "Iceberg compatibility or UniForm needs column mapping",
    remedy="Disable Iceberg compatibility and UniForm first.",
    source="PROTOCOL.md, Iceberg Compatibility V2",
)
ILLEGAL_NAMES = _request.error(
    6,
    "column names that are invalid without mapping",
    remedy="Rename the columns: no spaces, line breaks, tabs or any of ,;{}()=. A renamed column keeps its old name in "
    "data files, so the table has to be rewritten then.",
)
REWRITE_NOT_ALLOWED = _request.error(
    7,
    "rewriting the table is not allowed",
    remedy=_REWRITE,
    threads=_THREADS,
)
NOT_AS_BEFORE = _outcome.error(
    8,
    "the table changed when its column mapping was disabled",
    effect="Columns may read as NULL or with other values than before.",
    remedy="RESTORE the table to the version before.",
)
NOT_VERIFIED = _outcome.undecided(
    9,
    "not all of the table could be verified after its column mapping was disabled",
    effect="Files that could not be read may return other values than before.",
    remedy="Check the file as the message says; if it is damaged, restore it from a backup.",
)
USAGE_UNKNOWN = _history.undecided(
    10,
    "unknown whether columns were renamed or dropped",
    effect="Column mapping may be needed to read the table.",
    remedy="Keep the log longer (delta.logRetentionDuration) to know it for later versions; or rewrite every column "
    "under its own name, if the mapping can be disabled: disable-column-mapping with allow_rewrite=True.",
    source="RFC Column Mapping Usage Tracking, Usage Tracking",
    threads=("delta-io/delta#2682",),
)
CLUSTERED = _request.error(
    11,
    "clustered by columns that have other names in data files",
    effect="Without mapping the clustering columns would no longer be found: OPTIMIZE, DESCRIBE DETAIL and ALTER TABLE "
    "… CLUSTER BY would fail.",
    remedy="Run ALTER TABLE … CLUSTER BY NONE first; afterwards CLUSTER BY the columns again.",
    source="PROTOCOL.md, Writer Requirements for Clustered Table",
)
