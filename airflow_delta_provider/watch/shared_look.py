"""Looks at tables: one at a time for all watchers of a table.

A look that hangs does not delay other tables.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

Read = TypeVar("Read")

#: Seconds after which a look is abandoned and another one begins. The time doubles for each look that already hangs. So
#: a store that is away for weeks costs about a dozen threads, and its return is noticed.
GIVEN_UP_AFTER = 300.0


class SharedLook(Generic[Read]):
    """Looks at one table for all its watchers in this process, each look in a thread of its own.

    :param new_reader: function that returns a reader of the table. The reader is kept from look to look, and never
        called by two threads: an abandoned look keeps its reader, and the next one gets another
    :param patience: seconds after which a look is abandoned; None for ``GIVEN_UP_AFTER``
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
        """Return a look that began at ``since`` or later, or one that is under way.

        If there is none, begin one.

        :param since: time on the monotonic clock
        """
        with self._lock:
            if self._latest is not None and (self._begun >= since or self._is_under_way(self._latest)):
                return self._latest
            look: Future[Read] = Future()
            look.set_running_or_notify_cancel()  # so that a single waiter cannot cancel it for all
            self._latest, self._begun = look, time.monotonic()
            # A bound method: it keeps this object alive while the look is under way.
            run_in_thread(partial(self._run, look, self._reader))
            return look

    def _is_under_way(self, look: Future[Read]) -> bool:
        if look.done():
            return False
        self._hanging = [other for other in self._hanging if not other.done()]
        if time.monotonic() - self._begun < (self._patience or GIVEN_UP_AFTER) * 2 ** len(self._hanging):
            return True
        self._hanging.append(look)
        self._reader = self._new_reader()
        return False

    def _run(self, look: Future[Read], reader: Callable[[], Read]) -> None:
        try:
            look.set_result(reader())
        except BaseException as error:
            look.set_exception(error)


_shared: WeakValueDictionary[Hashable, SharedLook[Any]] = WeakValueDictionary()
_lock = threading.Lock()


def shared_look(
    key: Hashable, new_reader: Callable[[], Callable[[], Read]], patience: float | None = None
) -> SharedLook[Read]:
    """Return the shared look for ``key``.

    It exists as long as a caller keeps it or a look is under way.
    """
    with _lock:
        found: SharedLook[Read] | None = _shared.get(key)
        if found is None:
            found = _shared[key] = SharedLook(new_reader, patience)
        return found


async def answer_of(look: Future[Read], seconds: float) -> Read:
    """Wait for a look in an event loop. The look continues if the wait is cancelled or times out.

    Before Python 3.12, ``asyncio.wait_for`` ignores a cancellation if the look ends at the same moment, and the task
    that was to end waits forever.

    :raises TimeoutError: if it takes longer than ``seconds``
    :raises Exception: the error of the look
    """
    waiting = asyncio.wrap_future(look)
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

        threading.Thread(target=run, name="delta-look", daemon=True).start()
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
