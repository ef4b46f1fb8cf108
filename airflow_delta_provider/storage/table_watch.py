"""Looking at a table as often as it takes: what fails is counted, and what was said is not said again."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from airflow_delta_provider.exceptions import DeltaProviderError
from airflow_delta_provider.storage.errors import DeltaLogUnreadableError

log = logging.getLogger(__name__)

#: So many failed looks in a row end the wait.
MAX_FAILURES = 5


class Observation(Protocol):
    """What one look saw."""

    @property
    def holds(self) -> bool:
        """Whether the wait is over."""
        ...

    def to_json(self, table: str) -> dict[str, Any]:
        """Return the wire form, which is also the sensor's XCom value."""
        ...


Seen = TypeVar("Seen", bound=Observation)


class TableWatch(ABC, Generic[Seen]):
    """Looks at a table. Says in the log what it saw, but only what is news.

    :param table: path or URI of the table
    :param failures: how many looks before this one failed in a row
    """

    #: What is read, for messages.
    subject: ClassVar[str]

    def __init__(self, table: str, *, failures: int = 0) -> None:
        self._table = table
        self._said = ""
        self.failures = failures

    def look(self) -> Seen:
        """Read, and say whether the wait is over. Blocks: keep it out of an event loop.

        :raises DeltaLogUnreadableError: if reading failed ``MAX_FAILURES`` times in a row
        :raises DeltaWatchImpossibleError: if a package is missing, or the table's directory does not tell
        """
        try:
            seen = self._read()
        except DeltaProviderError:
            raise
        except Exception as error:
            self._count_failure(error)
            return self._nothing()
        self.failures = 0
        return self._judge(seen)

    @abstractmethod
    def _read(self) -> Any:
        """Read what is judged."""

    @abstractmethod
    def _judge(self, read: Any) -> Seen:
        """Say what was read."""

    @abstractmethod
    def _nothing(self) -> Seen:
        """Return what is seen where nothing could be read."""

    def _count_failure(self, error: Exception) -> None:
        self.failures += 1
        what = f"{type(error).__name__}: {error}"
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
