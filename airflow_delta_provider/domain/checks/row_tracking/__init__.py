"""``RT``: row tracking. PROTOCOL.md, Row Tracking."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import FileAspect, Restore, RuleFamily

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

#: Maximum number of findings of one rule that name files one by one.
MOST_FINDINGS = 10

RESTORE = Restore()
WRITE_AGAIN = Restore(", and write the rows again")
ASSIGN_AGAIN = "drop row tracking and enable it again, which assigns every row a new id"
NEW_IDS = Restore(instead=ASSIGN_AGAIN)
#: Delta Spark's RESTORE does not bring the mark back.
MARK_IS_LOST = (
    "Stop writing to the table. Drop row tracking and enable it again, which assigns every row a new id; RESTORE does "
    "not bring the mark back."
)
STOP_WRITING = Restore(first="Stop writing to the table.", instead=ASSIGN_AGAIN)
