"""Base of the watches: they count failed polls and do not repeat log messages."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakValueDictionary

from airflow_delta_provider.domain.text import shortened
from airflow_delta_provider.exceptions import DeltaProviderError
from airflow_delta_provider.watch.metadata_folder import DeltaLogUnreadableError

Read = TypeVar("Read")

#: Seconds after which a poll is abandoned and another one begins. The time doubles for each poll that already hangs. So
#: a store that is away for weeks costs about a dozen threads, and its return is noticed.
GIVEN_UP_AFTER = 300.0


class SharedPoll(Generic[Read]):
    """Polls of one table for all its watchers in this process, each poll in a thread of its own.

    :param new_reader: function that returns a reader of the table. The reader is kept from poll to poll, and never
        called by two threads: an abandoned poll keeps its reader, and the next one gets another
    :param patience: seconds after which a poll is abandoned; None for ``GIVEN_UP_AFTER``
    """

    def __init__(self, new_reader: Callable[[], Callable[[], Read]], patience: float | None = None) -> None:
        self._patience = patience
        self._new_reader = new_reader
        self._reader = new_reader()
        self._lock = threading.Lock()
        self._latest: Future[Read] | None = None
        self._begun = 0.0
        self._hanging: list[Future[Read]] = []

    def begin(self, since: float) -> Future[Read]:
        """Return a poll that began at ``since`` or later, or one that is under way.

        If there is none, begin one.

        :param since: time on the monotonic clock
        """
        with self._lock:
            if self._latest is not None and (self._begun >= since or self._is_under_way(self._latest)):
                return self._latest
            poll: Future[Read] = Future()
            poll.set_running_or_notify_cancel()  # so that a single waiter cannot cancel it for all
            self._latest, self._begun = poll, time.monotonic()
            # A bound method: it keeps this object alive while the poll is under way.
            run_in_thread(partial(self._run, poll, self._reader))
            return poll

    def _is_under_way(self, poll: Future[Read]) -> bool:
        if poll.done():
            return False
        self._hanging = [other for other in self._hanging if not other.done()]
        if time.monotonic() - self._begun < (self._patience or GIVEN_UP_AFTER) * 2 ** len(self._hanging):
            return True
        self._hanging.append(poll)
        self._reader = self._new_reader()
        return False

    def _run(self, poll: Future[Read], reader: Callable[[], Read]) -> None:
        try:
            poll.set_result(reader())
        except BaseException as error:
            poll.set_exception(error)


_shared: WeakValueDictionary[Hashable, SharedPoll[Any]] = WeakValueDictionary()
_lock = threading.Lock()


def shared_poll(
    key: Hashable, new_reader: Callable[[], Callable[[], Read]], patience: float | None = None
) -> SharedPoll[Read]:
    """Return the shared poll for ``key``.

    It exists as long as a caller keeps it or a poll is under way.
    """
    with _lock:
        found: SharedPoll[Read] | None = _shared.get(key)
        if found is None:
            found = _shared[key] = SharedPoll(new_reader, patience)
        return found


async def answer_of(poll: Future[Read], seconds: float) -> Read:
    """Wait for a poll in an event loop. The poll continues if the wait is cancelled or times out.

    Before Python 3.12, ``asyncio.wait_for`` ignores a cancellation if the poll ends at the same moment, and the task
    that was to end waits forever.

    :raises TimeoutError: if it takes longer than ``seconds``
    :raises Exception: the error of the poll
    """
    waiting = asyncio.wrap_future(poll)
    done, _ = await asyncio.wait([waiting], timeout=seconds)
    if not done:
        raise TimeoutError(f"no answer within {seconds:g} seconds")
    return waiting.result()


class DaemonThreads(Executor):
    """Runs each call in a thread of its own; no thread keeps the process from ending.

    Python's own pools have a limited number of threads, which hanging calls occupy forever, and wait for them at exit.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()

        def run() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, name="delta-poll", daemon=True).start()
        return future


_threads = DaemonThreads()
_tasks: set[asyncio.Task[Any]] = set()  # an event loop keeps only weak references


def run_in_thread(function: Callable[[], None]) -> None:
    """Run a function in a thread of its own, in this context: Airflow derives the task's log from it.

    With a running event loop, use asgiref: a triggerer of Airflow 3.1 finds connections in no other thread.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        _threads.submit(contextvars.copy_context().run, function)
        return
    from asgiref.sync import sync_to_async

    # The type requires the library's own executor, but any other one works.
    call = sync_to_async(function, thread_sensitive=False, executor=_threads)  # type: ignore[call-overload]  # the stub wants a ThreadPoolExecutor
    task = loop.create_task(call())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


log = logging.getLogger(__name__)

#: Number of failed polls in a row that ends the wait.
MAX_FAILURES = 5
_MAX_MESSAGE = 1000


class TableWatch(ABC):
    """Polls a table, shared with equal watches in this process, and logs news.

    A poll returns the value that the sensor pushes, or None while the wait is not over.

    :param table: path or URI of the table
    :param storage_conn_id: Airflow connection of the store, or None
    """

    #: Name of the files that are read, for messages.
    subject: ClassVar[str]
    #: Seconds after which a poll counts as failed. It continues, and the next one waits for it.
    time_limit: ClassVar[float] = 60.0
    #: Seconds after which a poll is abandoned and another one begins; None for the default.
    patience: ClassVar[float | None] = None

    def __init__(self, table: str, storage_conn_id: str | None = None) -> None:
        self._table = table
        self._conn_id = storage_conn_id
        self._last_message = ""
        self._poll: tuple[Hashable, SharedPoll[Any]] | None = None
        #: Number of failed polls in a row, including polls of earlier processes.
        self.failures = 0

    @property
    def last_message(self) -> str:
        """The last message about the table, shortened; empty if there was none."""
        return shortened(self._last_message, _MAX_MESSAGE)

    @property
    def known(self) -> Any:
        """The state that polls compare with, as plain JSON; None if there is none yet, or they compare with nothing."""
        return None

    def poll(self) -> dict[str, Any] | None:
        """Poll once; return None if the wait is not over.

        It blocks for at most ``time_limit``, so do not call it in an event loop.

        :raises DeltaLogUnreadableError: if reading failed ``MAX_FAILURES`` times in a row
        :raises DeltaWatchImpossibleError: if a package is missing, or the table's directory is not authoritative
        """
        poll = self._begin(time.monotonic())
        try:
            read = poll.result(self.time_limit)
        except Exception as error:
            self._failed(error, poll)
            return None
        return self._saw(read)

    async def poll_async(self, since: float) -> dict[str, Any] | None:
        """Poll once without blocking the event loop; otherwise like :meth:`poll`.

        :param since: earliest start, on the monotonic clock, of another watch's poll that may be used
        """
        poll = self._begin(since)
        try:
            read = await answer_of(poll, self.time_limit)
        except Exception as error:
            self._failed(error, poll)
            return None
        return self._saw(read)

    @abstractmethod
    def _key(self) -> Hashable:
        """Return a key that is equal for all watches that may share their reads."""

    @abstractmethod
    def _reader(self) -> Callable[[], Any]:
        """Return a function that reads the table. It runs in a thread, once per poll."""

    @abstractmethod
    def _evaluate(self, read: Any) -> dict[str, Any] | None:
        """Return the value to push if the wait is over, else None. This reads nothing more."""

    def _begin(self, since: float) -> Future[Any]:
        key = self._key()
        if self._poll is None or self._poll[0] != key:
            self._poll = key, shared_poll(key, self._reader, self.patience)
        return self._poll[1].begin(since)

    def _saw(self, read: Any) -> dict[str, Any] | None:
        self.failures = 0
        return self._evaluate(read)

    def _failed(self, error: Exception, poll: Future[Any]) -> None:
        if isinstance(error, DeltaProviderError):
            raise error
        what = f"{type(error).__name__}: {error}"
        if not poll.done():  # the error comes from the wait; Python 3.10 has several classes for it
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
        if text != self._last_message:
            log.info(text)
            self._last_message = text
