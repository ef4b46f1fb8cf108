"""What to do when the supervisor of a task's process is gone.

Airflow counts such a task as failed and starts another try, while its process, which waits for ``spark-submit``, would
go on.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds between two looks.
_EVERY = 2.0


@contextmanager
def supervised(end: Callable[[], None]) -> Iterator[None]:
    """Call ``end``, once, if the supervisor ends before the block does.

    Without effect where this process has no supervisor, as in ``dag.test()``.
    """
    if not _has_supervisor():
        yield
        return
    done = threading.Event()
    parent = os.getppid()

    def watch() -> None:
        while not done.wait(_EVERY):
            if os.getppid() != parent:
                end()
                return

    threading.Thread(target=watch, name="supervisor-watch", daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _has_supervisor() -> bool:
    """Whether this is a task's process, started by a supervisor that it talks to over a socket."""
    runner = sys.modules.get("airflow.sdk.execution_time.task_runner")
    return getattr(getattr(runner, "SUPERVISOR_COMMS", None), "socket", None) is not None
