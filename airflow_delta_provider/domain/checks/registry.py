"""All rules by family and by code."""

from __future__ import annotations

from airflow_delta_provider.domain.checks import disable_mapping, faults, paimon_rows, requests
from airflow_delta_provider.domain.checks import paimon_metadata as paimon
from airflow_delta_provider.domain.checks.actions import rules as actions
from airflow_delta_provider.domain.checks.column_mapping import rules as column_mapping
from airflow_delta_provider.domain.checks.data_files import rules as data_files
from airflow_delta_provider.domain.checks.log import rules as log
from airflow_delta_provider.domain.checks.metadata import rules as metadata
from airflow_delta_provider.domain.checks.protocol import rules as protocol
from airflow_delta_provider.domain.checks.row_tracking import rules as row_tracking
from airflow_delta_provider.domain.checks.rule import Rule, RuleFamily
from airflow_delta_provider.domain.checks.type_widening import rules as type_widening
from airflow_delta_provider.domain.checks.usage_tracking import rules as usage_tracking

_MODULES = (
    requests,
    faults,
    log,
    actions,
    protocol,
    metadata,
    column_mapping,
    usage_tracking,
    disable_mapping,
    type_widening,
    row_tracking,
    data_files,
    paimon,
    paimon_rows,
)

FAMILIES: dict[RuleFamily, tuple[Rule, ...]] = {module.FAMILY: module.RULES for module in _MODULES}

CATALOGUE: dict[str, Rule] = {rule.code: rule for rules in FAMILIES.values() for rule in rules}
