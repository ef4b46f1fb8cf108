"""``TF``: the protocol action and table features. PROTOCOL.md, Protocol Evolution and Table Features."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import OR_BY_COMMIT, RuleFamily

EVOLUTION = "PROTOCOL.md, Protocol Evolution"
TABLE_FEATURES = "PROTOCOL.md, Table Features"
SUPPORTED = "PROTOCOL.md, Supported Features"
NEW_TABLES = "PROTOCOL.md, Table Features for New and Existing Tables"
NAMES = "PROTOCOL.md, Valid Feature Names in Table Features"
RECONCILIATION = "PROTOCOL.md, Action Reconciliation"

FAMILY = RuleFamily(
    "TF",
    "protocol and table features",
    "The protocol action: who may read and write the table, and which features they must support.",
    shows="protocol",
    compares=True,
)

ENABLE = f"Enable the feature with DeltaEnableFeatureOperator. {OR_BY_COMMIT}"
