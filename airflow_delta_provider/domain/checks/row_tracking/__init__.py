"""``RT``: row tracking. PROTOCOL.md, Row Tracking.

- ``state.py``, ``history.py``, ``commits.py``, ``live_files.py``: rules about the log.
- ``row_ids.py``, ``moved_rows.py``, ``keys.py``: rules about ids that a job has read from rows.
- ``fresh_ids.py``, ``id_sets.py``: ranges and sets of ids. They know no table format, and Paimon's jobs use them.

Imports ``rule`` and ``check`` of ``checks``, one module of ``log``, ``domain/delta``, ``formats/parquet`` and
``report``; ``fresh_ids.py`` and ``id_sets.py`` nothing of ``delta``. ``domain/audit``, ``domain/changes`` and
``jobs`` import it.

- A new rule about one version: copy ``NO_HIGH_WATER_MARK`` in ``state.py``, and call its check from ``check_state``.
- A new rule about a commit: copy ``REASSIGNED_BASE`` in ``commits.py``, and call its check from ``check_commit``.
- A new rule about rows: copy ``IMPOSSIBLE_ROW_ID`` in ``row_ids.py``; ``jobs/spark/row_tracking`` reads the rows.
"""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import FileAspect, RepairMethod, Restore, RuleFamily

SPEC = "PROTOCOL.md, Row Tracking"
WRITERS = "PROTOCOL.md, Writer Requirements for Row Tracking"
READERS = "PROTOCOL.md, Reader Requirements for Row Tracking"

FAMILY = RuleFamily(
    "RT",
    "row tracking",
    "Row ids and row commit versions, in the log and in the rows: whether they exist, are unique, and stay the same.",
    WRITERS,
    blames=FileAspect.ROW_IDS,
    repairs=(RepairMethod.EARLIER_VALUES,),
)

#: Fields that make up row tracking of a table; checks of commits read more.
TRACKING = ("protocol", "metaData", "domainMetadata")

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
