"""``RQ``: reasons for refusing a request. A refused table was not changed, unless its report says so."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import Prose, RuleFamily, Scope
from airflow_delta_provider.domain.errors import UnreadMetadataError
from airflow_delta_provider.domain.report.report import Finding

_FEATURES = "PROTOCOL.md, Table Features"
_WIDENING = "PROTOCOL.md, Type Widening"

FAMILY = RuleFamily(
    "RQ",
    "requests",
    "Reasons to refuse a request for a table. A refused table was not changed, unless its report says so.",
)
_rule = FAMILY.of(Scope.REQUEST).error

NO_SUCH_TABLE = _rule(
    1, "no such table", name="no-such-table", remedy="Check the name; a path or URI works without a catalog."
)
NOT_DELTA = _rule(
    2,
    "not a Delta table",
    name="not-a-delta-table",
    remedy="Name a Delta table; for a path, the table's own directory.",
)
BROKEN_LOG = _rule(
    3,
    "the log is damaged or incomplete",
    name="table-log-damaged",
    remedy="Restore the log file from a backup or another replica.",
    source="PROTOCOL.md, Delta Log Entries",
)
CATALOG_MANAGED = _rule(
    4,
    "catalog-managed table",
    name="table-managed-by-catalog",
    remedy="Change it through the catalog that owns it.",
    source="PROTOCOL.md, Catalog-managed tables",
)
UNSUPPORTED_BY_ENGINE = _rule(
    5,
    "not supported by the engine",
    name="unsupported-by-engine",
    remedy="Use an engine that does.",
    source="PROTOCOL.md, Table Features",
)
UNKNOWN_FEATURE = _rule(
    6,
    "unknown table feature",
    name="unknown-feature-requested",
    remedy="Name a known table feature.",
    source="PROTOCOL.md, Valid Feature Names in Table Features",
)
SPECIAL_FEATURE = _rule(
    7,
    "feature that is enabled in another way, or needs allow_special",
    name="special-feature-not-allowed",
    remedy="If that is intended, repeat the request with allow_special=True (--allow-special).",
)
PROPERTY_NOT_ALLOWED = _rule(
    8, "property that this job does not set", name="property-not-settable-by-job", remedy="Omit the property."
)
PROTOCOL_UPGRADE = _rule(
    9,
    "protocol upgrade not allowed",
    name="protocol-upgrade-not-allowed",
    effect="Readers and writers that do not support the added features are locked out.",
    remedy="If every reader and writer of the table supports them, repeat the request with "
    "allow_protocol_upgrade=True (--allow-protocol-upgrade).",
    source="PROTOCOL.md, Protocol Evolution",
)
UNKNOWN_COLUMN = _rule(
    10, "unknown column", name="unknown-column-requested", remedy="Name a column that the table has."
)
ILLEGAL_TYPE_CHANGE = _rule(
    11,
    "type change not allowed",
    name="type-change-not-allowed",
    remedy="Name a wider type, or keep the column's type.",
    source=_WIDENING,
)
COLUMN_IN_USE = _rule(
    12,
    "an expression depends on the column",
    name="expression-depends-on-column",
    effect="Delta does not change the type of such a column.",
    remedy="Drop the CHECK constraint, widen the column, then add the constraint again. A column that a generated "
    "column uses can be widened only in a new table.",
)
WIDENING_DISABLED = _rule(
    13,
    "type widening is not enabled",
    name="type-widening-not-enabled",
    remedy="Enable the feature typeWidening first, or repeat the request with enable_type_widening=True "
    "(--enable-type-widening).",
    source=_WIDENING,
)
ICEBERG_COMPATIBILITY = _rule(
    14,
    "type change not allowed with Iceberg compatibility",
    name="iceberg-forbids-requested-type-change",
    remedy="Choose a type that Iceberg can promote to, or disable Iceberg compatibility first.",
    source="PROTOCOL.md, Iceberg Compatibility V2",
)
TABLE_MOVED = _rule(
    15, "another writer changed the table", name="table-changed-by-other-writer", remedy="Run the job again."
)
LOCATION_NOT_ALLOWED = _rule(
    16,
    "location outside allowed_locations",
    name="location-not-allowed",
    remedy="Name a place below one of the allowed locations, in full, or have an administrator extend "
    "[delta_provider] allowed_locations.",
)
COLUMN_TWICE = _rule(18, "column named twice", name="column-named-twice", remedy="Name each column once.")
ENGINE_REFUSED = _rule(
    17,
    "the engine refused the change",
    name="engine-refused-change",
    remedy="Follow the engine's error message, then run the job again.",
)
NO_SUCH_VERSION = _rule(
    19, "no such version", name="no-such-version", remedy="Name the newest version of the table or an earlier one."
)
NOT_REMOVABLE = _rule(
    30, "feature that cannot be dropped", name="feature-not-droppable", remedy="Keep the feature.", source=_FEATURES
)
FEATURE_IN_USE = _rule(
    31,
    "feature is still needed",
    name="feature-still-needed",
    remedy="First remove every use of the feature, or drop the features that need it in the same request.",
    source=_FEATURES,
)
REWRITE_NOT_ALLOWED = _rule(
    32,
    "data files would be rewritten",
    name="data-file-rewrite-not-allowed",
    remedy="If rewriting files is acceptable, repeat the request with allow_rewrite=True (--allow-rewrite).",
)
HISTORY_LOSS = _rule(
    33,
    "history would be lost",
    name="history-would-be-lost",
    effect="RESTORE, time travel and change feeds no longer reach earlier versions.",
    remedy="If the older versions are not needed, repeat the request with acknowledge_history_loss=True "
    "(--acknowledge-history-loss).",
)
ROW_ID_LOSS = _rule(
    34,
    "row ids would be lost",
    name="row-ids-would-be-lost",
    remedy="If nothing relies on row ids, repeat the request with acknowledge_row_id_loss=True "
    "(--acknowledge-row-id-loss).",
    source="PROTOCOL.md, Row Tracking",
)
COLUMN_EXISTS = _rule(
    50,
    "column already exists",
    name="column-already-exists",
    remedy="Choose another name, or drop or rename the existing column first.",
)
COLUMN_NEEDED = _rule(
    51,
    "column is required",
    name="column-still-needed",
    remedy="Keep the column, or first remove it from everything that uses it.",
)
UNSUPPORTED_COLUMN = _rule(
    52,
    "column cannot be added with this type",
    name="added-column-type-not-supported",
    remedy="Use a type that Delta tables can have; if it needs a table feature, enable that first.",
    source="PROTOCOL.md, Schema Serialization Format",
)
ILLEGAL_NAME = _rule(53, "invalid column name", name="invalid-column-name", remedy="Choose another name.")
MAPPING_NEEDED = _rule(
    54,
    "change needs column mapping",
    name="change-needs-column-mapping",
    remedy="Enable the feature columnMapping first; that rewrites no data.",
    source="PROTOCOL.md, Column Mapping",
)
TRACKING_INCOMPLETE = _rule(
    35,
    "inconsistent usage tracking of column mapping",
    name="inconsistent-usage-tracking",
    effect="It is unknown whether columns were dropped or renamed, and nothing may rely on the property.",
    remedy="Drop the feature, then enable it again.",
    source="RFC Column Mapping Usage Tracking, Usage Tracking",
)
NOT_WRITABLE = _rule(
    40,
    "the provider cannot write a commit to this table itself",
    name="provider-cannot-write-commit",
    remedy="Fix that first, or make the change with the engine that owns the table.",
)
UNSAFE_LOG_STORE = _rule(
    41,
    "the log store is not safe for concurrent writers",
    name="unsafe-log-store",
    effect="Writers in different processes may overwrite each other's commits.",
    remedy="Configure a log store that prevents this, or, if no other process writes to the table, repeat the request "
    "with allow_unsafe_log_store=True (--allow-unsafe-log-store).",
)
WOULD_BREAK_RULES = _rule(
    42,
    "the commit would break a rule of the protocol",
    name="commit-would-violate-protocol",
    remedy="Nothing was written. Make the change with an engine, or report this as a bug in the provider.",
)
NOT_PAIMON = _rule(
    43,
    "not an Apache Paimon table",
    name="not-a-paimon-table",
    remedy="Name an Apache Paimon table; for a path, the table's own directory.",
)
WRITER_LOCKOUT = _rule(
    55,
    "every engine would be locked out of writing",
    name="every-writer-locked-out",
    effect="An engine can only read a table with a feature that it does not support.",
    remedy="If that is intended, repeat the request with acknowledge_writer_lockout=True "
    "(--acknowledge-writer-lockout).",
    source="RFC Column Mapping Usage Tracking, Writer Requirements for Usage Tracking",
)
USAGE_UNKNOWN = _rule(
    56,
    "unknown whether columns were dropped or renamed",
    name="column-usage-unknown-before-tracking",
    effect="A new column with the name of a dropped one would get its values.",
    remedy="Rewrite the data files (REORG TABLE … APPLY (PURGE), or OPTIMIZE), or enable columnMapping first: a table "
    "with column mapping is tracked as used.",
    source="RFC Column Mapping Usage Tracking, Writer Requirements for Usage Tracking",
)
NOT_TOGETHER = _rule(
    57,
    "features that cannot be enabled in one request",
    name="features-need-separate-requests",
    remedy="Enable everything else first, in a separate request: afterwards no engine can.",
)
TABLE_EXISTS = _rule(
    58,
    "target location is not empty",
    name="target-location-not-empty",
    remedy="Choose a directory that is empty or does not exist.",
)
NULLS_FOUND = _rule(
    70,
    "column that is to be NOT NULL contains NULL",
    name="existing-nulls-block-not-null",
    effect="Readers that rely on NOT NULL would fail on these rows or return wrong results.",
    remedy="Update or delete these rows, or leave the column nullable.",
)
VALUES_LOST = _rule(
    71,
    "values would be lost by a change of type",
    name="type-change-loses-values",
    remedy="Correct these values first, choose a type that holds them, or let them become NULL (on_loss: null).",
)
ROWS_BREAK_CONSTRAINT = _rule(
    73,
    "rows break a new CHECK constraint",
    name="existing-rows-break-new-constraint",
    remedy="Correct or delete these rows, or declare a constraint that they satisfy.",
)
NOT_ENFORCED = _rule(
    74,
    "NOT NULL that no writer enforces",
    name="unenforceable-not-null",
    effect="Delta Spark enforces NOT NULL on columns and fields of structs, and refuses it within arrays and maps.",
    remedy="Declare it nullable. A CHECK constraint can test the elements: forall(items, x -> x.price IS NOT NULL).",
    source="DELTA_NESTED_NOT_NULL_CONSTRAINT of Delta Spark",
)
NEEDS_TIME_ZONE = _rule(
    72,
    "change of type that depends on a time zone",
    name="type-change-needs-time-zone",
    effect="In another session, the same values would become other moments.",
    remedy="Set time_zone on the table in the spec to the zone that these dates and times are in, such as UTC or "
    "Europe/Berlin.",
)
VALUE_NOT_ACCEPTED = _rule(
    76,
    "property value that Delta Spark does not accept",
    name="property-value-refused-by-spark",
    effect="Delta Spark refuses to set the property, after other steps of the plan were committed.",
    remedy="Set a value that Delta Spark accepts, or leave the property out.",
    source="DeltaConfig.scala and StatisticsCollection.scala of Delta Spark v4.4.0",
)
NOT_CLUSTERABLE = _rule(
    77,
    "clustering column without statistics",
    name="clustering-column-without-statistics",
    effect="Writers collect no statistics of the column, so files cannot be clustered or skipped by it.",
    remedy="Cluster by other columns; or let the table keep statistics of these: name them in "
    "delta.dataSkippingStatsColumns, or set delta.dataSkippingNumIndexedCols.",
    source="PROTOCOL.md, Clustered Table; ClusteredTableUtils.scala of Delta Spark v4.4.0",
)
NOT_ADDITIVE = _rule(
    59,
    "change that is not an addition",
    name="change-not-additive",
    effect="The spec allows only changes that break no consumer (only_additive).",
    remedy="Take the change out of the spec, or set only_additive to false.",
)
NEEDS_REWRITE = _rule(
    60,
    "change that needs the data to be rewritten",
    name="change-needs-rewrite",
    remedy="If the data may be rewritten, set rewrite: true on the column, or on the table. Otherwise declare the "
    "table's current state.",
    source=_WIDENING,
)
DROP_OR_RENAME = _rule(
    61,
    "a drop and an addition that may be a rename",
    name="drop-may-be-rename",
    effect="A dropped column loses its values; a renamed one keeps them.",
    remedy="To rename it, set renamed_from on the new column and do not drop the old one. If it is really a new one, "
    "set renamed_from to null.",
)
ONLY_AT_CREATION = _rule(
    62,
    "declaration that only a new table can satisfy",
    name="declaration-needs-new-table",
    remedy="Take it out of the spec, or copy the table to a new one.",
)
ANOTHER_TABLE = _rule(
    63,
    "spec or plan of another table",
    name="spec-or-plan-of-other-table",
    remedy="Name the table that it was made for; if the table was replaced on purpose, write the spec or plan again.",
)
OTHER_PLAN = _rule(
    64,
    "the approved plan does not fit the table",
    name="approved-plan-no-longer-fits",
    remedy="Plan again, and have the new plan approved.",
)
UNUSABLE_EXPRESSION = _rule(
    65,
    "expression that writers cannot use",
    name="unusable-expression-in-spec",
    remedy="Correct the expression in the spec.",
    source="PROTOCOL.md, CHECK Constraints",
)
NOT_APPROVED = _rule(
    78,
    "plan that nobody approved",
    name="plan-not-approved",
    remedy="Have the plan approved. If a policy allows it without approval, also pass the policy to the job that "
    "applies the plan.",
)
UNDECLARABLE = _rule(
    66,
    "table that no spec can declare",
    name="table-not-declarable",
    remedy="Correct the named parts of the table, or write a spec that leaves them out.",
)
UNREAD_LOG = _rule(
    67,
    "the log cannot be read here",
    name="log-not-readable-here",
    effect="Nothing is known about the table. It may be undamaged.",
    remedy="Use the engine spark, or install the package that the message names.",
)


def broken_log(table: str, error: Exception) -> Finding:
    """Return the refusal of a table whose log is damaged, or cannot be read here.

    :param error: the error of reading the log
    """
    if isinstance(error, UnreadMetadataError):
        remedy = getattr(error, "remedy", None)
        return UNREAD_LOG.found(
            "The log of {table} cannot be read here: {error}.", remedy=remedy, table=table, error=Prose(error)
        )
    return BROKEN_LOG.found("The log of {table} is damaged or incomplete: {error}.", table=table, error=Prose(error))


def catalog_managed(table: str, by: str) -> Finding:
    """Return the refusal of a table that its catalog manages.

    :param by: the feature or property that shows it
    """
    return CATALOG_MANAGED.found(
        "{table} is managed by its catalog ({by}), so its directory alone does not define the table.",
        table=table,
        by=by,
    )
