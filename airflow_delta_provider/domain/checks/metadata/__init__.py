"""``MD``: the metaData action. PROTOCOL.md, Change Metadata."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import Restore, RuleFamily

SPEC = "PROTOCOL.md, Change Metadata"
ENTRIES = "PROTOCOL.md, Delta Log Entries"
SCHEMA = "PROTOCOL.md, Schema Serialization Format"
FILES = "PROTOCOL.md, Consistency Between Table Metadata and Data Files"
CLUSTERED = "PROTOCOL.md, Writer Requirements for Clustered Table"
IDENTITY = "PROTOCOL.md, Identity Columns"

FAMILY = RuleFamily(
    "MD",
    "metadata",
    "The metaData action: the table's id, schema, partition columns, format and properties.",
    SPEC,
    compares=True,
)

RESTORE = Restore()
#: Maximum number of characters shown of a wrong value.
MOST_TEXT = 300
