"""Base of the triggers that watch a table."""

from __future__ import annotations

import asyncio
import random
import time
import zlib
from abc import abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_delta_provider.exceptions import DeltaProviderError
from airflow_delta_provider.watch.table_watch import TableWatch


class WaitStatus(str, Enum):
    """Outcome of a wait: the ``status`` of the trigger's event."""

    HOLDS = "holds"
    """The wait succeeded; the event has the value that the watch returned."""
    TIMED_OUT = "timed_out"
    """The deadline passed; the event has ``said``, the state of the table as the last poll saw it."""
    FAILED = "failed"
    """The table cannot be read; the event has ``error``, and ``retryable``."""


@dataclass(kw_only=True, eq=False, repr=False)
class TableTrigger(BaseTrigger):
    """Watches a table without Spark, in threads of its own: the event loop never waits for storage.

    Triggers that watch the same table share their reads. A poll that takes more than a minute counts as failed, like
    one that storage refuses.

    The first poll comes after a sleep: an event that arrives while the worker still reports the deferral fails the task
    (apache/airflow#67287).

    :param table: path or URI of the table
    :param deadline: end of the wait, in seconds since the epoch; absolute, so that it survives restarts
    :param storage_conn_id: Airflow connection of the store, or None
    :param poke_interval: seconds between two polls; the first one comes within this time after ``settling_time``
    """

    table: str
    deadline: float
    storage_conn_id: str | None = None
    poke_interval: float = 60.0
    #: Fewest seconds of the first sleep. The scheduler took 1.2 s to see the worker's end (3.3.2, idle).
    settling_time: ClassVar[float] = 5.0
    #: Most seconds of the pause after a failed poll, in addition to the interval; doubled for each further failure.
    backoff: ClassVar[float] = 15.0

    def __post_init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's has no types

    @abstractmethod
    def watch(self) -> TableWatch:
        """Return the watch, which reads the table.

        :raises ValueError: if an argument is wrong
        """

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class path and the arguments."""
        kind = type(self)
        arguments = {field.name: getattr(self, field.name) for field in fields(self)}
        return f"{kind.__module__}.{kind.__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one event: a dictionary with ``status``, one of :class:`WaitStatus`."""
        watch = self.watch()
        # From here on, use a clock that does not jump.
        ends = time.monotonic() + self.deadline - time.time()
        settled = time.monotonic() + self.settling_time
        pause = self.settling_time
        while True:
            due = next_poll(self.table, self.poke_interval, pause)
            due = max(settled, min(due, ends))
            await asyncio.sleep(due - time.monotonic())
            try:
                seen = await watch.poll_async(due)
            except DeltaProviderError as error:
                retryable = not isinstance(error, AirflowFailException)
                yield _event(WaitStatus.FAILED, error=str(error), retryable=retryable)
                return
            if seen is not None:
                yield _event(WaitStatus.HOLDS, **seen)
                return
            if time.monotonic() >= ends:
                yield _event(WaitStatus.TIMED_OUT, said=watch.last_message)
                return
            pause = pause_after(watch.failures, self.backoff)


def next_poll(table: str, interval: float, pause: float = 0.0) -> float:
    """Return the time of the next poll of a table, on the monotonic clock.

    All watchers of a table with the same interval poll at the same times, so that one poll serves all. Watchers of
    other tables poll at other times.

    :param pause: fewest seconds until then
    """
    soonest = time.monotonic() + pause
    if interval <= 0:
        return soonest
    phase = zlib.crc32(table.encode()) % interval
    return soonest + interval - (soonest - phase) % interval


#: Longest pause after failed polls, in seconds.
_LONGEST_PAUSE = 300.0


def pause_after(failures: int, first: float) -> float:
    """Return the seconds to leave storage alone after failed polls; random, so that not all watchers return at once.

    :param failures: number of failures in a row
    :param first: longest pause after the first failure; doubled for each further one
    """
    if not failures:
        return 0.0
    return min(_LONGEST_PAUSE, first * 2.0 ** min(failures - 1, 16)) * random.uniform(0.5, 1.0)


def _event(status: WaitStatus, **rest: Any) -> TriggerEvent:
    return TriggerEvent({"status": status.value, **rest})  # type: ignore[no-untyped-call]  # Airflow's has no types
