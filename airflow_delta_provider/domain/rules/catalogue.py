"""All rules by code."""

from __future__ import annotations

from airflow_delta_provider.domain.rules import faults, protocol, requests
from airflow_delta_provider.domain.rules.rule import Rule

CATALOGUE: dict[str, Rule] = {rule.code: rule for family in (requests, faults, protocol) for rule in family.RULES}
