"""``RQ``: what a request got wrong. A refused table was not changed, unless its report says so."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily, Scope
from airflow_delta_provider.domain.report.finding import Finding

_FEATURES = "PROTOCOL.md, Table Features"
_WIDENING = "PROTOCOL.md, Type Widening"

FAMILY = RuleFamily(
    "RQ",
    "requests",
    "What a request got wrong, or asked of the wrong table. A refused table was not changed, unless its report says "
    "so.",
)
_rule = FAMILY.of(Scope.REQUEST).error

NO_SUCH_TABLE = _rule(
    1,
    "no such table",
    remedy="Check the name or the path; a path needs no catalog.",
)
NOT_DELTA = _rule(
    2,
    "not a Delta table",
    remedy="Name a Delta table, by its own directory where it is a path.",
)
BROKEN_LOG = _rule(
    3,
    "the log cannot be read as one table",
    remedy="Bring the file of the log back from a backup or another replica.",
    source="PROTOCOL.md, Delta Log Entries",
)
CATALOG_MANAGED = _rule(
    4,
    "catalog-managed table",
    remedy="Change the table through the catalog that owns it.",
    source="PROTOCOL.md, Catalog-managed tables",
)
UNSUPPORTED_BY_ENGINE = _rule(
    5,
    "the engine cannot do this",
    remedy="Use an engine that knows the table's features and can make the change.",
    source="PROTOCOL.md, Table Features",
)
UNKNOWN_FEATURE = _rule(
    6,
    "unknown table feature",
    remedy="Name one of the features that the message lists.",
    source="PROTOCOL.md, Valid Feature Names in Table Features",
)
SPECIAL_FEATURE = _rule(
    7,
    "feature that needs another way, or allow_special",
    remedy="Go the way that the message names, or repeat the request with allow_special=True if the feature is meant.",
)
PROPERTY_NOT_ALLOWED = _rule(
    8,
    "property that this job does not set",
    remedy="Leave the property out, and do in its place what the message says.",
)
PROTOCOL_UPGRADE = _rule(
    9,
    "protocol upgrade not allowed",
    remedy="If every reader and writer of the table can follow, repeat the request with allow_protocol_upgrade=True.",
    source="PROTOCOL.md, Protocol Evolution",
)
UNKNOWN_COLUMN = _rule(
    10,
    "unknown column",
    remedy="Name a column that the table has; for a key, one whose values can be compared.",
)
ILLEGAL_TYPE_CHANGE = _rule(
    11,
    "type change not allowed",
    remedy="Name one of the wider types that the message lists.",
    source=_WIDENING,
)
COLUMN_IN_USE = _rule(
    12,
    "an expression depends on the column",
    remedy="Drop the CHECK constraint, widen the column, and add the constraint again; under a generated column, widen "
    "it in a new table.",
)
WIDENING_DISABLED = _rule(
    13,
    "type widening is not enabled",
    remedy="Enable the feature typeWidening first, or repeat the request with enable_type_widening=True.",
    source=_WIDENING,
)
ICEBERG_COMPATIBILITY = _rule(
    14,
    "type change not allowed with Iceberg compatibility",
    remedy="Choose a type that Iceberg can promote to, or disable the compatibility first.",
    source="PROTOCOL.md, Iceberg Compatibility V2",
)
TABLE_MOVED = _rule(
    15,
    "the table was changed by someone else meanwhile",
    remedy="Run the job again.",
)
LOCATION_NOT_ALLOWED = _rule(
    16,
    "location outside allowed_locations",
    remedy="Name a table below one of the allowed locations, or have an administrator extend them.",
)
COLUMN_TWICE = _rule(
    18,
    "column named twice",
    remedy="Name it once.",
)
ENGINE_REFUSED = _rule(
    17,
    "the engine refused the change",
    remedy="See to what the engine's own message says, and run the job again.",
)
NO_SUCH_VERSION = _rule(
    19,
    "no such version",
    remedy="Name the newest version of the table, or an earlier one.",
)
NOT_REMOVABLE = _rule(
    30,
    "feature that cannot be dropped",
    remedy="Do in its place what the message says, or leave the feature where it is.",
    source=_FEATURES,
)
FEATURE_IN_USE = _rule(
    31,
    "something in the table still needs the feature",
    remedy="Remove first what the message names, or drop that feature in the same request.",
    source=_FEATURES,
)
REWRITE_NOT_ALLOWED = _rule(
    32,
    "data files would be rewritten",
    remedy="If that may be, repeat the request with allow_rewrite=True.",
)
HISTORY_LOSS = _rule(
    33,
    "history would be lost",
    remedy="If nobody needs the older versions, repeat the request with acknowledge_history_loss=True.",
)
ROW_ID_LOSS = _rule(
    34,
    "row ids would lose their identity",
    remedy="If nothing keeps row ids, repeat the request with acknowledge_row_id_loss=True.",
    source="PROTOCOL.md, Row Tracking",
)
COLUMN_EXISTS = _rule(
    50,
    "a column of that name is there",
    remedy="Choose another name, or drop or rename the column that has it first.",
)
COLUMN_NEEDED = _rule(
    51,
    "column that the table cannot be without",
    remedy="Leave the column as it is, or take it first out of what the message says.",
)
UNSUPPORTED_COLUMN = _rule(
    52,
    "column that cannot be added like this",
    remedy="Give a type that the message allows, alone; enable the table feature first where the type needs one.",
    source="PROTOCOL.md, Schema Serialization Format",
)
ILLEGAL_NAME = _rule(
    53,
    "name that no column of this table can have",
    remedy="Choose another name; enable the feature columnMapping first where the message says that it needs it.",
)
MAPPING_NEEDED = _rule(
    54,
    "change that needs column mapping",
    remedy="Enable the feature columnMapping first.",
    source="PROTOCOL.md, Column Mapping",
)
TRACKING_INCOMPLETE = _rule(
    35,
    "usage tracking of column mapping that does not fit together",
    remedy="As the message says: unset delta.columnMapping.hasDroppedOrRenamed, or drop the feature and enable it "
    "again.",
    source="RFC Column Mapping Usage Tracking, Usage Tracking",
)
NOT_BY_HAND = _rule(
    40,
    "no commit of this provider's own to this table",
    remedy="See to what the message names first; or let the engine that owns the table make the change.",
)
UNSAFE_LOG_STORE = _rule(
    41,
    "the log store does not keep writers apart",
    remedy="Configure a log store for several writers, or repeat the request with allow_unsafe_log_store=True where no "
    "other process writes to the table.",
)
WOULD_BREAK_RULES = _rule(
    42,
    "the commit would break a rule of the protocol",
    remedy="Look up the rule that the message names; nothing was written.",
)
NOT_PAIMON = _rule(
    43,
    "not an Apache Paimon table",
    remedy="Name an Apache Paimon table, by its own directory where it is a path.",
)
WRITER_LOCKOUT = _rule(
    55,
    "every engine would be locked out of writing",
    remedy="If that is meant, repeat the request with acknowledge_writer_lockout=True.",
    source="RFC Column Mapping Usage Tracking, Writer Requirements for Usage Tracking",
)
USAGE_UNKNOWN = _rule(
    56,
    "nobody knows whether columns were dropped or renamed",
    remedy="Rewrite the files that were written before, or enable columnMapping first, and run the job again.",
    source="RFC Column Mapping Usage Tracking, Writer Requirements for Usage Tracking",
)
NOT_TOGETHER = _rule(
    57,
    "features that cannot be enabled in one request",
    remedy="Enable the others first, in a request of their own.",
)
TABLE_EXISTS = _rule(
    58,
    "there is something at the place of the new table",
    remedy="Choose a directory that is empty or not there.",
)


def broken_log(table: str, error: Exception) -> Finding:
    """Return the refusal of a table whose log is damaged.

    :param error: says what is wrong with it
    """
    return BROKEN_LOG.finding(
        f"The log of {table} cannot be read as one table: {error}. Nothing was changed. Restore the file from "
        "a backup or another replica of the log."
    )


def catalog_managed(table: str, by: str) -> Finding:
    """Return the refusal of a table whose directory does not say what it is.

    :param by: the feature or property that says so
    """
    return CATALOG_MANAGED.finding(
        f"{table} is managed by its catalog ({by}): its directory alone does not say what the table is. Change it "
        "through the catalog that owns it."
    )
