"""``TF``: the protocol action and table features. PROTOCOL.md, Protocol Evolution and Table Features."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily

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

#: Remedy for a table that no engine opens, so that none can change it.
BY_COMMIT = "as the next commit of the log: Delta Spark and deltalake refuse the table"
#: Delta Spark opens such a table only if the versions of its protocol imply features.
OR_BY_COMMIT = "If Delta Spark refuses, list it in a protocol action, as the next commit."
ENABLE = f"Enable the feature with DeltaEnableFeatureOperator. {OR_BY_COMMIT}"
