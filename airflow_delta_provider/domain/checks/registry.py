"""All rules by family and code, with their possible causes. Importing it imports and so registers all checks."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from airflow_delta_provider.domain import checks
from airflow_delta_provider.domain.checks import (
    actions,
    column_mapping,
    compatibility,
    data_files,
    drift,
    faults,
    log,
    metadata,
    migrations,
    paimon_metadata,
    paimon_rows,
    protocol,
    requests,
    retention,
    row_tracking,
    type_widening,
    usage_tracking,
)
from airflow_delta_provider.domain.checks.column_mapping import disabling
from airflow_delta_provider.domain.checks.rule import Rule, RuleFamily, Scope
from airflow_delta_provider.domain.report.report import Finding, Severity

for _module in pkgutil.walk_packages(checks.__path__, f"{checks.__name__}."):
    import_module(_module.name)

FAMILIES: tuple[RuleFamily, ...] = (
    requests.FAMILY,
    faults.FAMILY,
    log.FAMILY,
    actions.FAMILY,
    protocol.FAMILY,
    metadata.FAMILY,
    column_mapping.FAMILY,
    usage_tracking.FAMILY,
    disabling.FAMILY,
    type_widening.FAMILY,
    row_tracking.FAMILY,
    data_files.FAMILY,
    migrations.FAMILY,
    compatibility.FAMILY,
    drift.FAMILY,
    retention.FAMILY,
    paimon_metadata.FAMILY,
    paimon_rows.FAMILY,
)

#: All rules by code.
RULES: Mapping[str, Rule] = {rule.code: rule for family in FAMILIES for rule in family.rules}
#: Placeholder for the rules of other releases.
UNKNOWN = Rule(RuleFamily("", "", ""), "", Severity.UNDECIDED, "unknown rule", "unknown-rule", Scope.PLATFORM)


def rule_of(finding: Finding) -> Rule:
    """Return the rule of a finding; ``UNKNOWN`` if only another release has it."""
    return RULES.get(finding.code, UNKNOWN)
