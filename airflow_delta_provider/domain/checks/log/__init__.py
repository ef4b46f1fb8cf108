"""``LG``: the log as a whole, and the files derived from its commits. PROTOCOL.md, Delta Log Entries."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import Need, RuleFamily, Scope

CHECKPOINTS = "PROTOCOL.md, Checkpoints"
RECONCILIATION = "PROTOCOL.md, Action Reconciliation"

FAMILY = RuleFamily(
    "LG",
    "the log",
    "The log as a whole, and the files derived from its commits: whether they can be read, and describe one table "
    "together.",
    "PROTOCOL.md, Delta Log Entries",
)

#: Rules about more commits and checkpoints than a single commit.
HISTORY = FAMILY.of(Scope.HISTORY, needs=(Need.LOG,))

BRING_BACK = "Restore the file from a backup or another replica of the log."
