"""Rules about what a table's log says, under the codes of their family.

This holds the rules that the jobs of today verify after their own work; the audit adds the rest.
"""

from __future__ import annotations

from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.rules.rule import Rule

MISSING_DEPENDENCY = Rule("TF08", Severity.ERROR, "a feature's dependency is missing", "PROTOCOL.md, Table Features")
UNKNOWN_READER_FEATURE = Rule(
    "TF17", Severity.UNDECIDED, "unknown reader feature", "PROTOCOL.md, Valid Feature Names in Table Features"
)
FEATURE_NOT_ENABLED = Rule("TF18", Severity.ERROR, "feature not enabled after it was enabled")
PROPERTY_NOT_SET = Rule("TF19", Severity.ERROR, "property not as it was set")

RULES = tuple(rule for rule in list(globals().values()) if isinstance(rule, Rule))
