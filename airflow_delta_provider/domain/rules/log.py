"""``LG``: the log as a whole."""

from __future__ import annotations

from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.rules.rule import Rule

TWO_DELETION_VECTORS = Rule(
    "LG04", Severity.ERROR, "file live with two deletion vectors", "PROTOCOL.md, Action Reconciliation"
)
CONTRADICTING_CHECKPOINT = Rule(
    "LG07", Severity.ERROR, "checkpoint contradicts the commits that it stands for", "PROTOCOL.md, Checkpoints"
)
CATALOG_MANAGED = Rule(
    "LG06", Severity.UNDECIDED, "the catalog knows more than the log", "PROTOCOL.md, Catalog-managed tables"
)

RULES = tuple(rule for rule in list(globals().values()) if isinstance(rule, Rule))
