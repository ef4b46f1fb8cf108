"""``MD``: the metaData action. PROTOCOL.md, Change Metadata."""

from __future__ import annotations

from airflow_delta_provider.domain.rules.rule import Rule, RuleFamily

_SPEC = "PROTOCOL.md, Change Metadata"
_ENTRIES = "PROTOCOL.md, Delta Log Entries"
_SCHEMA = "PROTOCOL.md, Schema Serialization Format"

_FAMILY = RuleFamily("MD", _SPEC)
_error = _FAMILY.error
_warning = _FAMILY.warning

# The state of a table.
NO_ID = _error(1, "table id missing")
BROKEN_SCHEMA = _error(2, "schema missing or damaged", f"{_SPEC}; delta-io/delta#4231, delta-io/delta-rs#1557")
BAD_PARTITION_COLUMNS = _error(5, "partition columns that the schema does not have")
DUPLICATE_COLUMN = _error(6, "column name twice, regardless of case", _SCHEMA)
OTHER_FORMAT = _warning(7, "format is not parquet", "PROTOCOL.md, Format Specification")
NO_METADATA = _error(9, "no metaData action", "PROTOCOL.md, Action Reconciliation")
UNKNOWN_TYPE_OR_VALUE = _error(13, "unknown type, or property that is no text", f"{_SPEC}; {_SCHEMA}")

# A commit, and a commit and the state before it.
SEVERAL_METADATA = _error(3, "several metaData actions in a commit", f"{_ENTRIES}; delta-io/delta-rs#3785")
FIRST_WITHOUT_METADATA = _error(4, "first version without metaData action")
ID_CHANGED = _error(8, "table id changed")
CREATED_TIME_CHANGED = _warning(10, "createdTime changed")
PARTITIONING_CHANGED = _error(
    11,
    "partition columns changed under live files",
    "PROTOCOL.md, Consistency Between Table Metadata and Data Files; delta-io/delta-rs#2468",
)
NOTHING_CHANGED = _warning(12, "metaData action that changes nothing")

RULES = tuple(rule for rule in list(globals().values()) if isinstance(rule, Rule))
