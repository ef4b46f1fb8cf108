"""All rules by family and code, with their possible causes. Importing it imports and so registers all checks."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from airflow_delta_provider.domain import checks
from airflow_delta_provider.domain.checks import (
    compatibility,
    disable_mapping,
    drift,
    faults,
    paimon_metadata,
    paimon_rows,
    requests,
)
from airflow_delta_provider.domain.checks.actions import family as actions
from airflow_delta_provider.domain.checks.column_mapping import family as column_mapping
from airflow_delta_provider.domain.checks.data_files import family as data_files
from airflow_delta_provider.domain.checks.log import family as log
from airflow_delta_provider.domain.checks.metadata import family as metadata
from airflow_delta_provider.domain.checks.migrations import family as migrations
from airflow_delta_provider.domain.checks.protocol import family as protocol
from airflow_delta_provider.domain.checks.row_tracking import family as row_tracking
from airflow_delta_provider.domain.checks.rule import Rule, RuleFamily, Scope
from airflow_delta_provider.domain.checks.type_widening import family as type_widening
from airflow_delta_provider.domain.checks.usage_tracking import family as usage_tracking
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

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
    disable_mapping.FAMILY,
    type_widening.FAMILY,
    row_tracking.FAMILY,
    data_files.FAMILY,
    migrations.FAMILY,
    compatibility.FAMILY,
    drift.FAMILY,
    paimon_metadata.FAMILY,
    paimon_rows.FAMILY,
)

#: All rules by code.
RULES: Mapping[str, Rule] = {rule.code: rule for family in FAMILIES for rule in family.rules}
#: Placeholder for the rules of other releases.
UNKNOWN = Rule(RuleFamily("", "", ""), "", Severity.UNDECIDED, "unknown rule", Scope.PLATFORM)


def rule_of(finding: Finding) -> Rule:
    """Return the rule of a finding; ``UNKNOWN`` if only another release has it."""
    return RULES.get(finding.code, UNKNOWN)


def _causes() -> Mapping[str, tuple[str, ...]]:
    found = {
        rule.code: [_code(cause) for cause in (*rule.follows_from.rules, *rule.follows_from.afterwards)]
        for rule in RULES.values()
    }
    for rule in RULES.values():
        for consequence in rule.leads_to:
            found[consequence.code].append(rule.code)
    return {code: tuple(codes) for code, codes in found.items() if codes}


def _code(rule: Rule | str) -> str:
    """Return the code of a rule that is given as its code or as an object.

    :raises KeyError: if there is none
    """
    return rule.code if isinstance(rule, Rule) else RULES[rule].code


#: Codes of possible causes by the code of the consequence, the likeliest first.
CAUSES: Mapping[str, tuple[str, ...]] = _causes()
