"""In-commit timestamps: whether a table has them, and since which version.

PROTOCOL.md, In-Commit Timestamps.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_delta_provider.domain.delta.features.commits import IN_COMMIT_TIMESTAMP
from airflow_delta_provider.domain.delta.table_properties import ENABLEMENT_TIMESTAMP, ENABLEMENT_VERSION
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition


def has_timestamps(state: TableState) -> bool:
    """Return True if in-commit timestamps are enabled."""
    return state.metadata.properties.in_commit_timestamps and state.protocol.supports(IN_COMMIT_TIMESTAMP)


def due_enablement(transition: Transition) -> Mapping[str, str]:
    """Return the properties that a commit must set to record the version and time of enablement."""
    if not has_timestamps(transition.before):
        now = transition.commit.info.get("inCommitTimestamp")
        return {ENABLEMENT_VERSION: str(transition.commit.version), ENABLEMENT_TIMESTAMP: str(now)}
    said = transition.before.metadata.configuration
    if said.get(ENABLEMENT_VERSION, "0") == "0":
        return {}  # since the creation of the table, as far as known
    return {name: said[name] for name in (ENABLEMENT_VERSION, ENABLEMENT_TIMESTAMP) if name in said}
