"""Ending a process with everything that it started."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import psutil


def end_tree(pid: int) -> None:
    """Kill a process and all below it. Each is stopped first, so that nothing new appears meanwhile."""
    try:
        root = psutil.Process(pid)
    except psutil.NoSuchProcess:
        return
    stopped: list[psutil.Process] = []
    while fresh := [process for process in _tree(root) if process not in stopped]:
        for process in fresh:
            _tell(process.suspend)
        stopped += fresh
    for process in stopped:
        _tell(process.kill)
    psutil.wait_procs(stopped, timeout=10)


def _tree(root: psutil.Process) -> list[psutil.Process]:
    try:
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _tell(signal: Callable[[], None]) -> None:
    with suppress(psutil.NoSuchProcess):
        signal()
