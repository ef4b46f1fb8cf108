"""``MD``: the metaData action. PROTOCOL.md, Change Metadata.

- ``state.py``, ``schema.py``: metadata and schema of one version; ``changes.py``: changes that a commit makes.
- ``domains.py``: metadata domains that Delta defines, clustering included.
- ``identity.py``: identity columns; ``guards.py``: guards of rows, such as constraints, that a data write removes.

Imports ``rule`` and ``check`` of ``checks``, ``domain/delta``, ``formats`` and ``report``. ``domain/audit``, the
families ``actions`` and ``type_widening``, and ``jobs`` import it.

- A new rule about one version: copy ``NO_ID`` in ``state.py``. About a change: copy ``ID_CHANGED`` in ``changes.py``.
- A new rule about a domain: copy ``BROKEN_CLUSTERING`` in ``domains.py``.
- A property with a limited form: a line in ``FORMS`` (``domain/delta/table_properties.py``), which
  ``UNREADABLE_VALUE`` checks.
"""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RepairMethod, Restore, RuleFamily

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
    repairs=(RepairMethod.EARLIER_VALUES,),
)

RESTORE = Restore()
#: Maximum number of characters shown of a wrong value.
MOST_TEXT = 300
