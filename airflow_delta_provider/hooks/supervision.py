"""What to do when the supervisor of a task's process is gone.

Airflow counts such a task as failed and starts another try, while its process, which waits for ``spark-submit``, would
continue.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psutil

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


def with_descendants(process: subprocess.Popen[Any] | None) -> list[psutil.Process]:
    """Return a process that runs, and all that it started; nothing where it has ended."""
    if process is None or process.poll() is not None:
        return []
    try:
        root = psutil.Process(process.pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def kill(processes: Sequence[psutil.Process]) -> None:
    """Kill processes, and wait until they are gone, for 10 seconds at most."""
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(processes, timeout=10)
