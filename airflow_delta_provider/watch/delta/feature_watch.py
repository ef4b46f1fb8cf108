"""Watch for a condition on the features of a table."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.delta.features.condition import FeatureCondition
from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.watch.delta.head_watch import HeadWatch


class FeatureWatch(HeadWatch):
    """Looks at a table until its features are in a state.

    :param table: path or URI of the table
    :param condition: condition to wait for
    :param storage_conn_id: Airflow connection of the store, or None
    """

    def __init__(self, table: str, condition: FeatureCondition, storage_conn_id: str | None = None) -> None:
        super().__init__(table, storage_conn_id)
        self._condition = condition

    def _judge_head(self, head: TableHead) -> dict[str, Any] | None:
        states = self._condition.states(head)
        features = {name: state.value for name, state in states.items()}
        listed = ", ".join(f"{name} {state}" for name, state in features.items())
        self._say(f"{self._table} at version {head.version}: {listed}; wanted: {self._condition.state.value}.")
        if not self._condition.holds(states):
            return None
        return {"table": self._table, "version": head.version, "features": features}
