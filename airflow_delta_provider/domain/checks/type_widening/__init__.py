"""``TW``: type widening. PROTOCOL.md, Type Widening."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import Restore, RuleFamily

SPEC = "PROTOCOL.md, Type Widening"
WRITERS = "PROTOCOL.md, Writer Requirements for Type Widening"
READERS = "PROTOCOL.md, Reader Requirements for Type Widening"

FAMILY = RuleFamily(
    "TW",
    "type widening",
    "Changed types of columns and their record in delta.typeChanges, which tells readers that older files hold "
    "narrower types.",
    "PROTOCOL.md, Type Change Metadata",
    compares=True,
)

RESTORE = Restore()
RESTORE_OR_REWRITE = Restore(instead="rewrite the older files")
UNEXPECTED_TYPES = "Readers may not expect the types of all files."
UNKNOWING = "Readers without support for the feature fail on older files, or read them incorrectly."
