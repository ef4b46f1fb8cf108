"""``AC``: the actions of a commit, as far as no other family covers them. PROTOCOL.md, Actions.

One module per kind of data that a commit writes: ``commit_info.py``, ``files.py``, ``partition_values.py``,
``statistics.py``, ``deletion_vectors.py``; ``fields.py`` has fields and actions that must not be there.

Imports ``rule`` and ``check`` of ``checks``, ``domain/delta``, ``report``, and one module of ``metadata``. Only
``domain/audit`` imports it, for checks that it calls itself.

- A new rule about one action: copy ``WRONG_FIELD`` (``fields.py``) or ``MALFORMED_STATISTICS`` (``statistics.py``).
- A new rule about a commit and the table before it: copy ``NO_TRANSACTION_ID`` in ``commit_info.py``.
"""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import Restore, RuleFamily

ADD_AND_REMOVE = "PROTOCOL.md, Add File and Remove File"
RECONCILIATION = "PROTOCOL.md, Action Reconciliation"
VECTORS = "PROTOCOL.md, Writer Requirement for Deletion Vectors"

FAMILY = RuleFamily(
    "AC",
    "actions of a commit",
    "Actions that must not be in one commit together, or not on such a table, beyond what the other families say.",
    "PROTOCOL.md, Delta Log Entries",
    shows="commitInfo",
)

UPDATE = "Update the engine that wrote the commit."
WRITE_AGAIN = Restore(", write the change again, and update the engine that wrote the commit")
