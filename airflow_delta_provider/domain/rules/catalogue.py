"""All rules by code."""

from __future__ import annotations

from airflow_delta_provider.domain.rules import (
    column_mapping,
    data_files,
    faults,
    log,
    metadata,
    protocol,
    requests,
    row_tracking,
    type_widening,
)
from airflow_delta_provider.domain.rules.rule import Rule

_FAMILIES = (requests, faults, log, protocol, metadata, column_mapping, type_widening, row_tracking, data_files)

CATALOGUE: dict[str, Rule] = {rule.code: rule for family in _FAMILIES for rule in family.RULES}
