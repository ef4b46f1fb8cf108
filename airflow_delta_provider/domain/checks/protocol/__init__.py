"""``TF``: the protocol action and table features. PROTOCOL.md, Protocol Evolution and Table Features.

- ``lists.py``: versions and feature lists of one protocol action.
- ``missing_features.py``: features that a property, a column or another feature needs.
- ``changes.py``: changes that a commit or a job makes; ``iceberg_compat.py``: Iceberg compatibility.

Imports ``rule`` and ``check`` of ``checks``, ``domain/delta`` with its records of features, and ``report``.
``domain/audit``, ``domain/changes``, and the families ``data_files`` and ``log`` import it.

- A new rule about one version: copy ``WRITER_VERSION_TOO_LOW`` in ``lists.py``.
- A new rule about a change: copy ``FEATURE_VANISHED`` in ``changes.py``.
- A new table feature needs no rule here: checks read its record in ``domain/delta/features``.
"""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import OR_BY_COMMIT, RepairMethod, RuleFamily

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
    repairs=(RepairMethod.EARLIER_VALUES, RepairMethod.LISTED_FEATURES),
)

ENABLE = f"Enable the feature with enable-feature (DeltaEnableFeatureOperator). {OR_BY_COMMIT}"
