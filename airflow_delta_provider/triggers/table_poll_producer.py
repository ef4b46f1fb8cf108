"""The poll that several event triggers share. Imported only with Airflow 3.3 and later."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from airflow.triggers.shared_stream import AdvanceItem, SharedStreamProducer

from airflow_delta_provider.triggers.table_poll import Poll, ticks


class TablePollProducer(SharedStreamProducer):
    """Polls a table, and lets each trigger keep its position once Airflow has stored its events of a poll.

    :param table: path or URI of the table
    :param storage_conn_id: Airflow connection of the store, or None
    :param interval: seconds between two polls
    """

    def __init__(self, table: str, storage_conn_id: str | None, interval: float) -> None:
        self._table = table
        self._conn_id = storage_conn_id
        self._interval = interval

    async def open_stream(self) -> AsyncIterator[tuple[Poll, Poll]]:
        """Yield polls forever."""
        async for tick in ticks(self._table, self._conn_id, self._interval):
            yield tick, tick

    async def advance(self, batch: Sequence[AdvanceItem]) -> None:
        """Keep the positions after a poll whose events were all stored."""
        for item in batch:
            if item.outcome.is_clean:
                await item.broker_payload.settle()
            item.broker_payload.over = True

    def get_advance_lane(self, broker_payload: Any) -> None:
        """Return the only lane: polls are handled in order."""
        del broker_payload
