"""``RQ``: what a request got wrong. A refused table was not changed, unless its report says so."""

from __future__ import annotations

from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.rules.rule import Rule, RuleFamily

_rule = RuleFamily("RQ").error

NO_SUCH_TABLE = _rule(1, "no such table")
NOT_DELTA = _rule(2, "not a Delta table")
BROKEN_LOG = _rule(3, "the log cannot be read as one table", "PROTOCOL.md, Delta Log Entries")
CATALOG_MANAGED = _rule(4, "catalog-managed table", "PROTOCOL.md, Catalog-managed tables")
UNSUPPORTED_BY_ENGINE = _rule(5, "the engine cannot do this", "PROTOCOL.md, Table Features")
UNKNOWN_FEATURE = _rule(6, "unknown table feature", "PROTOCOL.md, Valid Feature Names in Table Features")
SPECIAL_FEATURE = _rule(7, "feature that needs another way, or allow_special")
PROPERTY_NOT_ALLOWED = _rule(8, "property that this job does not set")
PROTOCOL_UPGRADE = _rule(9, "protocol upgrade not allowed", "PROTOCOL.md, Protocol Evolution")
UNKNOWN_COLUMN = _rule(10, "unknown column")
ILLEGAL_TYPE_CHANGE = _rule(11, "type change not allowed", "PROTOCOL.md, Type Widening")
COLUMN_IN_USE = _rule(12, "an expression depends on the column")
WIDENING_DISABLED = _rule(13, "type widening is not enabled", "PROTOCOL.md, Type Widening")
ICEBERG_COMPATIBILITY = _rule(
    14, "type change not allowed with Iceberg compatibility", "PROTOCOL.md, Iceberg Compatibility V2"
)
TABLE_MOVED = _rule(15, "the table was changed by someone else meanwhile")
LOCATION_NOT_ALLOWED = _rule(16, "location outside allowed_locations")
COLUMN_TWICE = _rule(18, "column named twice")
ENGINE_REFUSED = _rule(17, "the engine refused the change")
NO_SUCH_VERSION = _rule(19, "no such version")


def broken_log(table: str, error: Exception) -> Finding:
    """Return the refusal of a table whose log is damaged.

    :param error: says what is wrong with it
    """
    return BROKEN_LOG.finding(
        f"The log of {table} cannot be read as one table: {error}. Nothing was changed. Restore the file from "
        "a backup or another replica of the log."
    )


RULES = tuple(rule for rule in list(globals().values()) if isinstance(rule, Rule))
