"""``AC``: the actions of a commit, as far as no other family covers them. PROTOCOL.md, Actions."""

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
