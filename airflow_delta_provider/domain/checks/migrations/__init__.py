"""The family of rules about plans of migrations.

Their codes begin with ``MG``.

- ``planned.py``: ``PlannedMigration``, the value that the checks get, and the decorator ``on_plan``; streams.
- ``columns.py``: effects on columns; ``table.py``: effects on the table as a whole, and the table after a migration.

Imports ``rule`` and ``check`` of ``checks``, ``domain/delta`` and ``report``. ``domain/migrations`` fills the value,
and ``domain/spec/policy.py`` runs the checks. ``jobs/changes`` also imports it.

- A new rule: copy ``COLUMN_DROPPED`` with its check in ``columns.py``, or ``CLUSTERING_ENDS`` in ``table.py``.
- A new effect to check: a field of ``PlannedMigration``, filled by ``_effects`` in ``domain/migrations/planner.py``.
- Severities by table come from the policy file, not from code.
"""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily

FAMILY = RuleFamily(
    "MG",
    "migrations",
    "Changes of a migration that break consumers, lose data or cannot be undone. These rules check the plan before "
    "anything is changed; a policy file sets their severities, by table.",
)
