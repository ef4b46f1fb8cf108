"""``UM``: leaving column mapping, and what the history of a table tells of its columns."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily, Scope

_SPEC = "PROTOCOL.md, Column Mapping"
_THREADS = ("delta-io/delta#2481", "delta-io/delta#2682")

FAMILY = RuleFamily(
    "UM",
    "leaving column mapping",
    "Whether column mapping can go without rewriting data, and what is known of renamed and dropped columns. Without "
    "mapping, columns are found in data files by their own names: values of a dropped column would come back in the "
    "next one of its name.",
    _SPEC,
)
_request = FAMILY.of(Scope.REQUEST)
_outcome = FAMILY.of(Scope.OUTCOME)
_history = FAMILY.of(Scope.HISTORY)

_REWRITE = "Repeat the request with allow_rewrite=True, so that the engine rewrites the files."

WRONG_MODE = _request.error(
    1,
    "column mapping in mode id",
    remedy="Let the engine rewrite the table: ALTER TABLE … SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none').",
    threads=_THREADS,
)
OTHER_NAMES = _request.error(
    2,
    "columns lie under other names in data files",
    remedy=_REWRITE,
    threads=_THREADS,
)
DROPPED_IN_FILES = _request.error(
    3,
    "dropped columns may lie in live data files",
    remedy="Bring lost files back, rewrite those that hold such columns (REORG TABLE … APPLY (PURGE), or OPTIMIZE), "
    "and run the job again; or repeat the request with allow_rewrite=True.",
    threads=_THREADS,
)
REUSED_PATH = _request.error(
    4,
    "a column lies where a dropped one lay",
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
    "column names that are illegal without mapping",
    remedy="Rename the columns to names without spaces and any of ,;{}()= and line breaks or tabs. A renamed column "
    "lies under its older name in data files: then the table has to be rewritten.",
)
REWRITE_NOT_ALLOWED = _request.error(
    7,
    "rewriting the table was not allowed",
    remedy=_REWRITE,
    threads=_THREADS,
)
NOT_AS_BEFORE = _outcome.error(
    8,
    "the table is not as it was before its mapping was removed",
    effect="Columns may read NULL, or other values than before.",
    remedy="RESTORE the table to the version before.",
)
NOT_VERIFIED = _outcome.undecided(
    9,
    "not all of the table could be verified after its mapping was removed",
    effect="A file that cannot be read may not read as before.",
    remedy="Look at what the message says of the file; if it is damaged, bring it back from a backup.",
)
USAGE_UNKNOWN = _history.undecided(
    10,
    "it cannot be known whether columns were renamed or dropped",
    effect="Column mapping may be needed to read the table.",
    remedy="Keep the log longer (delta.logRetentionDuration) to know it of later versions; or, where the mapping can "
    "go, have every column written under its own name: disable-column-mapping with allow_rewrite=True.",
    source="RFC Column Mapping Usage Tracking, Usage Tracking",
    threads=("delta-io/delta#2682",),
)
CLUSTERED = _request.error(
    11,
    "clustered by columns that lie under other names in data files",
    effect="Without mapping the table would be clustered by columns that nobody finds: OPTIMIZE, DESCRIBE DETAIL and "
    "ALTER TABLE … CLUSTER BY fail on it.",
    remedy="ALTER TABLE … CLUSTER BY NONE first; afterwards CLUSTER BY the columns again.",
    source="PROTOCOL.md, Writer Requirements for Clustered Table",
)
