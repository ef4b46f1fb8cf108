"""All rules by code."""

from __future__ import annotations

from airflow_delta_provider.domain.rules import data_files, faults, log, protocol, requests, row_tracking
from airflow_delta_provider.domain.rules.rule import Rule

CATALOGUE: dict[str, Rule] = {
    rule.code: rule for family in (requests, faults, log, protocol, row_tracking, data_files) for rule in family.RULES
}
