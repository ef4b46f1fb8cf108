"""What the registered checks of single families find."""

from __future__ import annotations

import airflow_delta_provider.domain.checks.registry  # noqa: F401 - registers all checks
from airflow_delta_provider.domain.checks.check import on_change, on_first_commit, on_state
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding


def check_state(state: TableState, *families: str) -> list[Finding]:
    """Return what is wrong with a state, by the rules whose codes begin so."""
    return [finding for finding in on_state.run(state) if finding.code.startswith(families)]


def check_change(transition: Transition, *families: str) -> list[Finding]:
    """Return what is wrong with a change of protocol or metadata, by the rules whose codes begin so."""
    return [finding for finding in on_change.run(transition) if finding.code.startswith(families)]


def check_first(commit: Commit, *families: str) -> list[Finding]:
    """Return what is wrong with the commit that creates a table, by the rules whose codes begin so."""
    return [finding for finding in on_first_commit.run(commit) if finding.code.startswith(families)]
