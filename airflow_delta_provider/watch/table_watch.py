"""Looking at a table as often as it takes: what fails is counted, and what was said is not said again."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, ClassVar

from airflow_delta_provider.domain.rendering.counts import shortened
from airflow_delta_provider.exceptions import DeltaProviderError
from airflow_delta_provider.watch.errors import DeltaLogUnreadableError
from airflow_delta_provider.watch.shared_look import SharedLook, answer_of, shared_look

log = logging.getLogger(__name__)

#: So many failed looks in a row end the wait.
MAX_FAILURES = 5
_MAX_SAID = 1000


class TableWatch(ABC):
    """Looks at a table, together with all others in this process that look for the same. Says what is news in the log.

    What a look returns is what the sensor pushes, None as long as the wait is not over.

    :param table: path or URI of the table
    :param storage_conn_id: Airflow connection of the store, or None
    """

    #: What is read, for messages.
    subject: ClassVar[str]
    #: Seconds after which a look counts as failed. It continues, and the next one waits for it.
    time_limit: ClassVar[float] = 60.0
    #: Seconds after which a look is given up, and another one begun; None for what is usual.
    patience: ClassVar[float | None] = None

    def __init__(self, table: str, storage_conn_id: str | None = None) -> None:
        self._table = table
        self._conn_id = storage_conn_id
        self._said = ""
        self._look: tuple[Hashable, SharedLook[Any]] | None = None
        #: How many looks failed in a row, those of earlier processes included.
        self.failures = 0

    @property
    def said(self) -> str:
        """What the last looks said of the table, shortened; empty if there was none."""
        return shortened(self._said, _MAX_SAID)

    @property
    def known(self) -> Any:
        """What looks compare with, as plain JSON; None where they compare with nothing, or have seen nothing yet."""
        return None

    def look(self) -> dict[str, Any] | None:
        """Read, and say whether the wait is over. Blocks, for ``time_limit`` at most: keep it out of an event loop.

        :raises DeltaLogUnreadableError: if reading failed ``MAX_FAILURES`` times in a row
        :raises DeltaWatchImpossibleError: if a package is missing, or the table's directory is not authoritative
        """
        look = self._begin(time.monotonic())
        try:
            read = look.result(self.time_limit)
        except Exception as error:
            self._failed(error, look)
            return None
        return self._saw(read)

    async def look_async(self, since: float) -> dict[str, Any] | None:
        """Like :meth:`look`, from an event loop, which never waits: a thread reads.

        :param since: on the monotonic clock: a look of another watch will do that began no earlier
        """
        look = self._begin(since)
        try:
            read = await answer_of(look, self.time_limit)
        except Exception as error:
            self._failed(error, look)
            return None
        return self._saw(read)

    @abstractmethod
    def _key(self) -> Hashable:
        """Return what all watches have in common that may share what they read."""

    @abstractmethod
    def _reader(self) -> Callable[[], Any]:
        """Return what reads what is judged, in a thread, again and again."""

    @abstractmethod
    def _judge(self, read: Any) -> dict[str, Any] | None:
        """Say what was read; nothing more is read."""

    def _begin(self, since: float) -> Future[Any]:
        key = self._key()
        if self._look is None or self._look[0] != key:
            self._look = key, shared_look(key, self._reader, self.patience)
        return self._look[1].begin(since)

    def _saw(self, read: Any) -> dict[str, Any] | None:
        self.failures = 0
        return self._judge(read)

    def _failed(self, error: Exception, look: Future[Any]) -> None:
        if isinstance(error, DeltaProviderError):
            raise error
        what = f"{type(error).__name__}: {error}"
        if not look.done():  # the error is that of waiting, which Python 3.10 has several classes for
            what = f"the storage did not answer within {self.time_limit:g} seconds"
        self.failures += 1
        if self.failures >= MAX_FAILURES:
            raise DeltaLogUnreadableError(
                f"{self.subject} of {self._table} could not be read {self.failures} times in a row. The last time: "
                f"{what}"
            ) from error
        log.warning(
            "Reading %s of %s failed, %d of %d times in a row; trying again at the next poll. %s",
            self.subject,
            self._table,
            self.failures,
            MAX_FAILURES,
            what,
        )

    def _say(self, text: str) -> None:
        if text != self._said:
            log.info(text)
            self._said = text
