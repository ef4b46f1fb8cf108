"""Threads that nothing waits for, neither the end of the process nor later callers."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


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
    """Run a function in a thread of its own, in this context: by it Airflow tells whose log it is.

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
