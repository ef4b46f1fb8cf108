"""Looking at one table for a condition on its features, as often as it takes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from airflow_delta_provider.domain.delta.features.condition import FeatureCondition
from airflow_delta_provider.domain.delta.features.registry import CATALOG_MANAGED
from airflow_delta_provider.domain.delta.features.state import FeatureState
from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.watch.delta.head_reader import HeadReader
from airflow_delta_provider.watch.delta.object_storage_log import ObjectStorageLog
from airflow_delta_provider.watch.errors import CatalogManagedTableError
from airflow_delta_provider.watch.table_watch import TableWatch


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


class FeatureWatch(TableWatch[Observation]):
    """Looks at a table for the state of features.

    :param table: path or URI of the table
    :param condition: what is waited for
    :param storage_conn_id: Airflow connection of the store, or None
    :param failures: how many looks before this one failed in a row
    """

    subject: ClassVar[str] = "the log"

    def __init__(
        self, table: str, condition: FeatureCondition, storage_conn_id: str | None = None, *, failures: int = 0
    ) -> None:
        super().__init__(table, failures=failures)
        self._condition = condition
        self._conn_id = storage_conn_id
        self._log_key = self._log().key

    def _key(self) -> Hashable:
        return HeadReader, self._log_key

    def _reader(self) -> Callable[[], TableHead | None]:
        return HeadReader(self._log()).read

    def _log(self) -> ObjectStorageLog:
        return ObjectStorageLog(self._table, self._conn_id)

    def _nothing(self) -> Observation:
        return Observation()

    def _judge(self, head: TableHead | None) -> Observation:
        if head is None:
            self._say(f"There is no Delta table at {self._table} yet (no commit in _delta_log); waiting for it.")
            return Observation()
        self._refuse_catalog_managed(head)
        states = self._condition.states(head)
        listed = ", ".join(f"{name} {state.value}" for name, state in states.items())
        self._say(f"{self._table} at version {head.version}: {listed}; wanted: {self._condition.state.value}.")
        return Observation(self._condition.holds(states), head.version, states)

    def _refuse_catalog_managed(self, head: TableHead) -> None:
        managed = sorted(head.protocol.features.intersection(CATALOG_MANAGED))
        if managed:
            raise CatalogManagedTableError(
                f"{self._table} is managed by a catalog ({managed[0]}, version {head.version}): its newest commits "
                "need not be in its directory, so the directory does not tell its features. Ask the catalog."
            )
