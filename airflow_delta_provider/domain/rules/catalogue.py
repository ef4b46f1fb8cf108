"""All rules by code."""

from __future__ import annotations

from airflow_delta_provider.domain.rules import (
    column_mapping,
    data_files,
    faults,
    log,
    protocol,
    requests,
    row_tracking,
    type_widening,
)
from airflow_delta_provider.domain.rules.rule import Rule

CATALOGUE: dict[str, Rule] = {
    rule.code: rule
    for family in (requests, faults, log, protocol, column_mapping, type_widening, row_tracking, data_files)
    for rule in family.RULES
}
