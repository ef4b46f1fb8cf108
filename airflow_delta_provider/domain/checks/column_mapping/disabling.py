"""``UM``: disabling column mapping, and whether columns were renamed or dropped."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily, Scope

_SPEC = "PROTOCOL.md, Column Mapping"
_THREADS = ("delta-io/delta#2481", "delta-io/delta#2682")

FAMILY = RuleFamily(
    "UM",
    "disabling column mapping",
    "Conditions for disabling column mapping without rewriting data, and facts about renamed and dropped columns. "
    "Without mapping, readers find columns in data files by name: a new column would show the values of a dropped "
    "column of the same name.",
    _SPEC,
)
_request = FAMILY.of(Scope.REQUEST)
_outcome = FAMILY.of(Scope.OUTCOME)
_history = FAMILY.of(Scope.HISTORY)

_REWRITE = "Repeat the request with allow_rewrite=True (--allow-rewrite) to let the engine rewrite all files."

WRONG_MODE = _request.error(
    1,
    "column mapping in mode id",
    name="column-mapping-in-mode-id",
    effect="Columns are found by ids, and their names in data files may be wrong.",
    remedy="Let the engine rewrite every file: ALTER TABLE … SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none').",
    threads=_THREADS,
)
OTHER_NAMES = _request.error(
    2,
    "columns have other names in data files",
    name="column-names-differ-in-files",
    effect="Without the mapping these columns would read as NULL.",
    remedy=_REWRITE,
    threads=_THREADS,
)
DROPPED_IN_FILES = _request.error(
    3,
    "live data files may contain dropped columns",
    name="live-files-may-hold-dropped-columns",
    effect="Without the mapping the values of a dropped column would reappear in a new column of that name.",
    remedy="Rewrite the existing files (REORG TABLE … APPLY (PURGE), or OPTIMIZE) and run the job again, or repeat the "
    "request with allow_rewrite=True (--allow-rewrite) to let the engine rewrite all files.",
    threads=_THREADS,
)
REUSED_PATH = _request.error(
    4,
    "a column is stored under the name of a dropped column",
    name="column-stored-under-dropped-name",
    effect="The values of the two columns cannot be distinguished.",
    remedy="Investigate that first; then have all files rewritten: repeat the request with allow_rewrite=True "
    "(--allow-rewrite).",
    threads=_THREADS,
)
NEEDS_MAPPING = _request.error(
    5,
    "Iceberg compatibility or UniForm needs column mapping",
    name="iceberg-needs-column-mapping",
    remedy="Disable Iceberg compatibility and UniForm first, if no Iceberg reader needs the table.",
    source="PROTOCOL.md, Iceberg Compatibility V2",
)
ILLEGAL_NAMES = _request.error(
    6,
    "column names that are invalid without mapping",
    name="column-names-invalid-without-mapping",
    effect="Without column mapping, names must not contain spaces, line breaks, tabs or any of ,;{}()=.",
    remedy="Rename these columns first, and allow the rewrite that is needed then: a renamed column keeps its old name "
    "in data files.",
)
REWRITE_NOT_ALLOWED = _request.error(
    7,
    "rewriting the table is not allowed",
    name="mapping-removal-rewrite-not-allowed",
    remedy="If rewriting files is acceptable, repeat the request with allow_rewrite=True (--allow-rewrite).",
    threads=_THREADS,
)
NOT_AS_BEFORE = _outcome.error(
    8,
    "the table changed when its column mapping was disabled",
    name="table-changed-by-disabling-mapping",
    effect="Columns may read as NULL or with other values than before.",
    remedy="RESTORE the table to the version before.",
)
NOT_VERIFIED = _outcome.undecided(
    9,
    "not all of the table could be verified after its column mapping was disabled",
    name="disabled-mapping-not-fully-verified",
    effect="Files that could not be read may return other values than before.",
    remedy="Check whether the file can be read; if it is damaged, restore it from a backup.",
)
USAGE_UNKNOWN = _history.undecided(
    10,
    "unknown whether columns were renamed or dropped",
    name="drops-or-renames-unknown",
    effect="Column mapping may be needed to read the table.",
    remedy="Keep the log longer (delta.logRetentionDuration) to know it for later versions; or disable column mapping "
    "with allow_rewrite=True (--allow-rewrite), which stores every column under its own name.",
    source="RFC Column Mapping Usage Tracking, Usage Tracking",
    threads=("delta-io/delta#2682",),
)
CLUSTERED = _request.error(
    11,
    "clustered by columns that have other names in data files",
    name="clustering-column-names-differ-in-files",
    effect="Without mapping the clustering columns would no longer be found: OPTIMIZE, DESCRIBE DETAIL and ALTER TABLE "
    "… CLUSTER BY would fail.",
    remedy="Run ALTER TABLE … CLUSTER BY NONE first; afterwards CLUSTER BY the columns again.",
    source="PROTOCOL.md, Writer Requirements for Clustered Table",
)
