"""``TW``: type widening. PROTOCOL.md, Type Widening.

- ``state.py``: type widening and ``delta.typeChanges`` in one version of a table.
- ``changes.py``: changes of types, and of their record, that a commit must not make; rules of jobs that widen types.

Imports ``rule`` and ``check`` of ``checks``, one module of ``metadata``, ``domain/delta`` and ``report``.
``domain/audit``, ``domain/changes``, ``jobs/changes`` and the family ``data_files`` import it.

- A new rule about one version: copy ``ENABLED_WITHOUT_FEATURE`` in ``state.py``.
- A new rule about a change: copy ``RECORD_LEFT_BY_DROP`` in ``changes.py``.
- A newly allowed widening: ``can_widen`` in ``domain/delta/features/columns.py``, not here.
"""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RepairMethod, Restore, RuleFamily

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
    repairs=(RepairMethod.TYPE_CHANGES, RepairMethod.EARLIER_VALUES),
)

RESTORE = Restore()
RESTORE_OR_REWRITE = Restore(instead="rewrite the older files")
UNEXPECTED_TYPES = "Readers may not expect the types of all files."
UNKNOWING = "Readers without support for the feature fail on older files, or read them incorrectly."
