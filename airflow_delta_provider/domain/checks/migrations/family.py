"""The family of rules about plans of migrations."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily

FAMILY = RuleFamily(
    "MG",
    "migrations",
    "What a migration breaks, loses or cannot undo. These rules look at the plan, before anything is changed; a policy "
    "file says what each of them weighs, by table.",
)
