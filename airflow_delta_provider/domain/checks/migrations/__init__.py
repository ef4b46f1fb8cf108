"""The family of rules about plans of migrations."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily

FAMILY = RuleFamily(
    "MG",
    "migrations",
    "Changes of a migration that break consumers, lose data or cannot be undone. These rules check the plan before "
    "anything is changed; a policy file sets their severities, by table.",
)
