"""The trigger behind :class:`~airflow_delta_provider.sensors.feature.DeltaFeatureSensor`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from enum import Enum
from typing import Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_delta_provider.domain.delta.feature_condition import FeatureCondition
from airflow_delta_provider.exceptions import DeltaProviderError
from airflow_delta_provider.storage.feature_watch import FeatureWatch


class WaitStatus(str, Enum):
    """How a wait ended: the ``status`` of the trigger's event."""

    HOLDS = "holds"
    """The features are in the wanted state; the event has ``table``, ``version`` and ``features``."""
    TIMED_OUT = "timed_out"
    """The deadline passed."""
    FAILED = "failed"
    """The log cannot be read; the event has ``error``, and ``retryable``."""


class DeltaFeatureTrigger(BaseTrigger):
    """Waits until table features are in a state, reading the table's log without Spark.

    The log is read in a thread. The first look comes after a sleep: an event that arrives while the
    worker still reports the deferral fails the task (apache/airflow#67287).

    :param table: path or URI of the table
    :param features: names of table features
    :param state: ``supported``, ``enabled`` or ``absent``
    :param deadline: when to give up, in seconds since the epoch; absolute, so that it holds over restarts
    :param storage_conn_id: Airflow connection of the store, or None
    :param poke_interval: seconds between two looks; before the first one at least ``settling_time``
    """

    #: Seconds that the first sleep lasts at least. The scheduler took 1.2 s to see the worker's end (3.3.2, idle).
    settling_time: ClassVar[float] = 5.0

    def __init__(
        self,
        table: str,
        features: Sequence[str],
        state: str,
        deadline: float,
        storage_conn_id: str | None = None,
        poke_interval: float = 60.0,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's has no types
        self.table = table
        self.features = list(features)
        self.state = state
        self.deadline = deadline
        self.storage_conn_id = storage_conn_id
        self.poke_interval = poke_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class path and the arguments of ``__init__``."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "table": self.table,
                "features": self.features,
                "state": self.state,
                "deadline": self.deadline,
                "storage_conn_id": self.storage_conn_id,
                "poke_interval": self.poke_interval,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one event: a dictionary with ``status``, one of :class:`WaitStatus`."""
        watch = FeatureWatch(self.table, FeatureCondition.parse(self.features, self.state), self.storage_conn_id)
        at_least = self.settling_time
        while True:
            await asyncio.sleep(max(at_least, min(self.poke_interval, self.deadline - time.time())))
            at_least = 0.0
            try:
                seen = await asyncio.to_thread(watch.look)
            except DeltaProviderError as error:
                retryable = not isinstance(error, AirflowFailException)
                yield _event(WaitStatus.FAILED, error=str(error), retryable=retryable)
                return
            if seen.holds:
                yield _event(WaitStatus.HOLDS, **seen.to_json(self.table))
                return
            if time.time() >= self.deadline:
                yield _event(WaitStatus.TIMED_OUT)
                return


def _event(status: WaitStatus, **rest: Any) -> TriggerEvent:
    return TriggerEvent({"status": status.value, **rest})  # type: ignore[no-untyped-call]  # Airflow's has no types
