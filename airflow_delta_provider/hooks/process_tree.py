"""The processes that spark-submit starts: the JVM and the Python driver."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Any

import psutil


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
