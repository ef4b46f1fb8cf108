"""Looking at one table for a condition on its features, as often as it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.delta.features.condition import FeatureCondition
from airflow_delta_provider.domain.delta.features.state import FeatureState
from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.watch.delta.head_watch import HeadWatch


@dataclass(frozen=True)
class Observation:
    """What one look saw.

    :param holds: whether the condition holds
    :param version: version of the table; None where there is no table yet, or it could not be read
    :param states: state of each feature; empty where ``version`` is None
    """

    holds: bool = False
    version: int | None = None
    states: Mapping[str, FeatureState] = field(default_factory=dict)

    def to_json(self, table: str) -> dict[str, Any]:
        """Return the wire form, which is also the sensor's XCom value."""
        states = {name: state.value for name, state in self.states.items()}
        return {"table": table, "version": self.version, "features": states}


class FeatureWatch(HeadWatch[Observation]):
    """Looks at a table for the state of features.

    :param table: path or URI of the table
    :param condition: what is waited for
    :param storage_conn_id: Airflow connection of the store, or None
    :param failures: how many looks before this one failed in a row
    """

    def __init__(
        self, table: str, condition: FeatureCondition, storage_conn_id: str | None = None, *, failures: int = 0
    ) -> None:
        super().__init__(table, storage_conn_id, failures=failures)
        self._condition = condition

    def _nothing(self) -> Observation:
        return Observation()

    def _judge_head(self, head: TableHead) -> Observation:
        states = self._condition.states(head)
        listed = ", ".join(f"{name} {state.value}" for name, state in states.items())
        self._say(f"{self._table} at version {head.version}: {listed}; wanted: {self._condition.state.value}.")
        return Observation(self._condition.holds(states), head.version, states)
