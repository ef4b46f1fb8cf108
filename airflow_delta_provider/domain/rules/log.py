"""``LG``: the log as a whole."""

from __future__ import annotations

from airflow_delta_provider.domain.rules.rule import Rule, RuleFamily, Scope

FAMILY = RuleFamily("LG", "the log", "The log as a whole: whether its files, read together, tell one table.")
_state = FAMILY.of(Scope.STATE)
_history = FAMILY.of(Scope.HISTORY)

TWO_DELETION_VECTORS = _state.error(
    4,
    "file live with two deletion vectors",
    effect="Rows of the file are read twice, with the same row ids.",
    remedy="RESTORE the table to the version before.",
    source="PROTOCOL.md, Action Reconciliation",
)
CONTRADICTING_CHECKPOINT = _history.error(
    7,
    "checkpoint contradicts the commits that it stands for",
    effect="Readers that start from the checkpoint see another table than those that replay the commits.",
    remedy="Find out which of the two is right, and bring the other back from a backup.",
    source="PROTOCOL.md, Checkpoints",
)
CATALOG_MANAGED = _state.undecided(
    6,
    "the catalog knows more than the log",
    effect="There may be commits that the directory does not hold yet, so what it says is not the table.",
    remedy="Check the table where its catalog lets it be read.",
    source="PROTOCOL.md, Catalog-managed tables",
)

RULES = tuple(rule for rule in list(globals().values()) if isinstance(rule, Rule))
