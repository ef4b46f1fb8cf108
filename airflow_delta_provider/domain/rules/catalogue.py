"""All rules by family and by code."""

from __future__ import annotations

from airflow_delta_provider.domain.rules import (
    actions,
    column_mapping,
    data_files,
    faults,
    leaving_mapping,
    log,
    metadata,
    paimon,
    paimon_rows,
    protocol,
    requests,
    row_tracking,
    type_widening,
    usage_tracking,
)
from airflow_delta_provider.domain.rules.rule import Rule, RuleFamily

_MODULES = (
    requests,
    faults,
    log,
    actions,
    protocol,
    metadata,
    column_mapping,
    usage_tracking,
    leaving_mapping,
    type_widening,
    row_tracking,
    data_files,
    paimon,
    paimon_rows,
)

FAMILIES: dict[RuleFamily, tuple[Rule, ...]] = {module.FAMILY: module.RULES for module in _MODULES}

CATALOGUE: dict[str, Rule] = {rule.code: rule for rules in FAMILIES.values() for rule in rules}
