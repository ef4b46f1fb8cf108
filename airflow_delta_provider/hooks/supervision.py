"""Handling of a lost supervisor of a task's process.

Airflow counts such a task as failed and starts another try, while the process would continue to wait for
``spark-submit``.
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

    This has no effect if the process has no supervisor, as in ``dag.test()``.
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
    """Return True if this is a task's process, which communicates with its supervisor over a socket."""
    runner = sys.modules.get("airflow.sdk.execution_time.task_runner")
    return getattr(getattr(runner, "SUPERVISOR_COMMS", None), "socket", None) is not None


def with_descendants(process: subprocess.Popen[Any] | None) -> list[psutil.Process]:
    """Return a running process and all its descendants; nothing if it has ended."""
    if process is None or process.poll() is not None:
        return []
    try:
        root = psutil.Process(process.pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def kill(processes: Sequence[psutil.Process]) -> None:
    """Kill processes, and wait at most 10 seconds until they have ended."""
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(processes, timeout=10)
