"""Looking at one table for a condition on its features, as often as it takes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.delta.feature import CATALOG_MANAGED
from airflow_delta_provider.domain.delta.feature_condition import FeatureCondition
from airflow_delta_provider.domain.delta.feature_state import FeatureState
from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.exceptions import DeltaProviderError
from airflow_delta_provider.storage.errors import CatalogManagedTableError, DeltaLogUnreadableError
from airflow_delta_provider.storage.head_reader import HeadReader
from airflow_delta_provider.storage.object_storage_log import ObjectStorageLog

log = logging.getLogger(__name__)

#: So many failed looks in a row end the wait.
MAX_FAILURES = 5


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


class FeatureWatch:
    """Looks at a table. Says in the log what it saw, but only what is news.

    :param table: path or URI of the table
    :param condition: what is waited for
    :param storage_conn_id: Airflow connection of the store, or None
    :param failures: how many looks before this one failed in a row
    """

    def __init__(
        self, table: str, condition: FeatureCondition, storage_conn_id: str | None = None, *, failures: int = 0
    ) -> None:
        self._table = table
        self._condition = condition
        self._reader = HeadReader(ObjectStorageLog(table, storage_conn_id))
        self._said = ""
        self.failures = failures

    def look(self) -> Observation:
        """Read the log, and say whether the condition holds. Blocks: keep it out of an event loop.

        :raises DeltaLogUnreadableError: if reading failed ``MAX_FAILURES`` times in a row
        :raises DeltaWatchImpossibleError: if a package is missing, or the table is catalog-managed
        """
        try:
            head = self._reader.read()
        except DeltaProviderError:
            raise
        except Exception as error:
            self._count_failure(error)
            return Observation()
        self.failures = 0
        if head is None:
            self._say(f"There is no Delta table at {self._table} yet (no commit in _delta_log); waiting for it.")
            return Observation()
        self._refuse_catalog_managed(head)
        states = self._condition.states(head)
        listed = ", ".join(f"{name} {state.value}" for name, state in states.items())
        self._say(f"{self._table} at version {head.version}: {listed}; wanted: {self._condition.state.value}.")
        return Observation(self._condition.holds(states), head.version, states)

    def _count_failure(self, error: Exception) -> None:
        self.failures += 1
        what = f"{type(error).__name__}: {error}"
        if self.failures >= MAX_FAILURES:
            raise DeltaLogUnreadableError(
                f"the log of {self._table} could not be read {self.failures} times in a row. The last time: {what}"
            ) from error
        log.warning(
            "Reading the log of %s failed, %d of %d times in a row; trying again at the next poll. %s",
            self._table,
            self.failures,
            MAX_FAILURES,
            what,
        )

    def _refuse_catalog_managed(self, head: TableHead) -> None:
        managed = sorted(head.protocol.features.intersection(CATALOG_MANAGED))
        if managed:
            raise CatalogManagedTableError(
                f"{self._table} is managed by a catalog ({managed[0]}, version {head.version}): its newest commits "
                "need not be in its directory, so the directory does not tell its features. Ask the catalog."
            )

    def _say(self, text: str) -> None:
        if text != self._said:
            log.info(text)
            self._said = text
