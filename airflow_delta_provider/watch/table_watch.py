"""Base of the watches: they count failed looks and do not repeat log messages."""

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

#: Number of failed looks in a row that ends the wait.
MAX_FAILURES = 5
_MAX_SAID = 1000


class TableWatch(ABC):
    """Looks at a table, shared with equal watches in this process, and logs news.

    A look returns the value that the sensor pushes, or None while the wait is not over.

    :param table: path or URI of the table
    :param storage_conn_id: Airflow connection of the store, or None
    """

    #: Name of the files that are read, for messages.
    subject: ClassVar[str]
    #: Seconds after which a look counts as failed. It continues, and the next one waits for it.
    time_limit: ClassVar[float] = 60.0
    #: Seconds after which a look is abandoned and another one begins; None for the default.
    patience: ClassVar[float | None] = None

    def __init__(self, table: str, storage_conn_id: str | None = None) -> None:
        self._table = table
        self._conn_id = storage_conn_id
        self._said = ""
        self._look: tuple[Hashable, SharedLook[Any]] | None = None
        #: Number of failed looks in a row, including looks of earlier processes.
        self.failures = 0

    @property
    def said(self) -> str:
        """The last message about the table, shortened; empty if there was none."""
        return shortened(self._said, _MAX_SAID)

    @property
    def known(self) -> Any:
        """The state that looks compare with, as plain JSON; None if there is none yet, or they compare with nothing."""
        return None

    def look(self) -> dict[str, Any] | None:
        """Look once; return None if the wait is not over.

        It blocks for at most ``time_limit``, so do not call it in an event loop.

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
        """Look once without blocking the event loop; otherwise like :meth:`look`.

        :param since: earliest start, on the monotonic clock, of another watch's look that may be used
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
        """Return a key that is equal for all watches that may share their reads."""

    @abstractmethod
    def _reader(self) -> Callable[[], Any]:
        """Return a function that reads the table. It runs in a thread, once per look."""

    @abstractmethod
    def _judge(self, read: Any) -> dict[str, Any] | None:
        """Return the value to push if the wait is over, else None. This reads nothing more."""

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
        if not look.done():  # the error comes from the wait; Python 3.10 has several classes for it
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
