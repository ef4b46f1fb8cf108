"""``RT``: row tracking. PROTOCOL.md, Row Tracking."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import FileAspect, RuleFamily

SPEC = "PROTOCOL.md, Row Tracking"
WRITERS = "PROTOCOL.md, Writer Requirements for Row Tracking"
READERS = "PROTOCOL.md, Reader Requirements for Row Tracking"

FAMILY = RuleFamily(
    "RT",
    "row tracking",
    "Row ids and row commit versions, in the log and in the rows: whether they exist, are unique, and stay the same.",
    WRITERS,
    blames=FileAspect.ROW_IDS,
)

#: Findings of one rule that name files one by one.
MOST_FINDINGS = 10

RESTORE = "RESTORE the table to the previous version."
WRITE_AGAIN = "RESTORE the table to the previous version, and write the rows again."
NEW_IDS = (
    "RESTORE the table to the previous version, or drop row tracking and enable it again, which assigns every row a "
    "new id."
)
STOP_WRITING = (
    "Stop writing to the table; RESTORE it to the previous version, or drop row tracking and enable it again, which "
    "assigns every row a new id."
)
