"""Looks at tables: one at a time for all watchers of a table; one that hangs delays no other table."""

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

#: A look that takes longer, in seconds, is given up and another one begun. Doubled for each that hangs already, so
#: that a store that is away for weeks costs a dozen threads, and is seen again when it is back.
GIVEN_UP_AFTER = 300.0


class SharedLook(Generic[Read]):
    """Looks at one table for all who watch it in this process, each look in a thread of its own.

    :param new_reader: returns what reads the table. It is kept from look to look, and never called by two threads:
        a look that was given up keeps its reader, and the next one gets another
    :param patience: seconds after which a look is given up; None for ``GIVEN_UP_AFTER``
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
        """Return a look that began at ``since`` or later, or one that is under way; where there is none, begin one.

        :param since: on the monotonic clock
        """
        with self._lock:
            if self._latest is not None and (self._begun >= since or self._is_under_way(self._latest)):
                return self._latest
            look: Future[Read] = Future()
            look.set_running_or_notify_cancel()  # so no single waiter cancels it for all
            self._latest, self._begun = look, time.monotonic()
            # A method of this object, which is kept by that as long as the look is under way.
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
    """Return the one of all who ask for ``key``, as long as one of them keeps it or a look is under way."""
    with _lock:
        found: SharedLook[Read] | None = _shared.get(key)
        if found is None:
            found = _shared[key] = SharedLook(new_reader, patience)
        return found


async def answer_of(look: Future[Read], seconds: float) -> Read:
    """Wait for a look in an event loop. It continues if the one who waits is cancelled, or has waited long enough.

    Before Python 3.12 ``asyncio.wait_for`` takes a cancellation for done if the look ends in the same moment, and who
    should have ended waits for ever.

    :raises TimeoutError: if it takes longer
    :raises Exception: what the look raises
    """
    waiting = asyncio.wrap_future(look)
    done, _ = await asyncio.wait([waiting], timeout=seconds)
    if not done:
        raise TimeoutError(f"no answer within {seconds:g} seconds")
    return waiting.result()


class DaemonThreads(Executor):
    """A thread for each call, none of which keeps the process from ending.

    Python's own pools have a number of threads, which calls that hang take for good, and are waited for at the end.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function in a new thread."""
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
_tasks: set[asyncio.Task[Any]] = set()  # an event loop alone does not keep them


def run_in_thread(function: Callable[[], None]) -> None:
    """Run a function in a thread of its own, in this context: from it Airflow knows whose log it is.

    Where an event loop runs, through asgiref: a triggerer of Airflow 3.1 finds connections in no other thread.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        _threads.submit(contextvars.copy_context().run, function)
        return
    from asgiref.sync import sync_to_async

    # The type asks for an executor of the library's own; any other one does.
    call = sync_to_async(function, thread_sensitive=False, executor=_threads)  # type: ignore[call-overload]  # the stub wants a ThreadPoolExecutor
    task = loop.create_task(call())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
