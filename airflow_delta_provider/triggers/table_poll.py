"""Polls of a table, shared by all event triggers that watch it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from airflow_delta_provider.triggers.table_trigger import next_poll, pause_after
from airflow_delta_provider.watch.head_reader import ObjectStorageLog
from airflow_delta_provider.watch.log_follower import LogFollower, PollResult
from airflow_delta_provider.watch.table_watch import answer_of, shared_poll

log = logging.getLogger(__name__)

#: Seconds after which a poll counts as failed. It continues, and the next one waits for it.
TIME_LIMIT = 60.0
#: Most seconds of the pause after a failed poll, in addition to the interval; doubled for each further failure.
BACKOFF = 15.0


@dataclass
class Poll:
    """One poll.

    :param followed: result of the poll
    :param over: True once its events are stored, or Airflow has given up storing them
    """

    followed: PollResult
    over: bool = False
    _afterwards: list[Callable[[], Awaitable[None]]] = field(default_factory=list)

    def when_stored(self, action: Callable[[], Awaitable[None]]) -> None:
        """Run an action once the events of this poll are stored."""
        self._afterwards.append(action)

    async def settle(self) -> None:
        """Run the postponed actions.

        A failed action is not repeated: the next poll with news stores a later position. Until then a restart would
        report the same events again.
        """
        for action in self._afterwards:
            try:
                await action()
            except Exception as error:
                log.warning(
                    "A reported event of a table could not be stored; a restart would report it again. %r",
                    error,
                )
        self.over = True


async def ticks(table: str, storage_conn_id: str | None, interval: float) -> AsyncIterator[Poll]:
    """Yield polls of a table forever. If storage fails, try again with growing pauses."""
    table_log = ObjectStorageLog(table, storage_conn_id)
    poll = shared_poll((LogFollower, table_log.key), lambda: LogFollower(ObjectStorageLog(table, storage_conn_id)).read)
    failures, last_text = 0, ""
    while True:
        due = next_poll(table, interval, pause_after(failures, BACKOFF))
        await asyncio.sleep(due - time.monotonic())
        try:
            followed = await answer_of(poll.begin(due), TIME_LIMIT)
        except Exception as error:
            failures += 1
            text = f"Reading the log of {table} failed, and is tried again. {error!r}"
            log.log(logging.WARNING if text != last_text else logging.DEBUG, text)
            last_text = text
            continue
        if failures:
            log.info("The log of %s can be read again, after %d failures.", table, failures)
        failures, last_text = 0, ""
        yield Poll(followed)
