"""Processes that tests start, and what these start in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import psutil

from demo.process_tree import end_tree

_Seen = TypeVar("_Seen")


class ProcessTree:
    """A process and all that it started.

    :param pid: the root
    """

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)

    def below(self, *words: str) -> list[psutil.Process]:
        """Return the processes below the root whose command line has all of ``words``."""
        found = []
        for process in self._descendants():
            try:
                line = " ".join(process.cmdline())
            except psutil.Error:
                continue
            if all(word in line for word in words):
                found.append(process)
        return found

    def end(self) -> None:
        """Kill the whole tree."""
        end_tree(self._root.pid)

    def _descendants(self) -> list[psutil.Process]:
        try:
            return self._root.children(recursive=True)
        except psutil.NoSuchProcess:
            return []


def with_descendants(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Return the processes and everything below them."""
    found = {process.pid: process for process in processes}
    for process in processes:
        try:
            found |= {child.pid: child for child in process.children(recursive=True)}
        except psutil.NoSuchProcess:
            continue
    return list(found.values())


def running(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Return those that still run; a zombie does not."""
    alive = []
    for process in processes:
        try:
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                alive.append(process)
        except psutil.NoSuchProcess:
            continue
    return alive


def names_of(processes: Sequence[psutil.Process]) -> set[str]:
    """Return the names of the processes; one that ends meanwhile has none."""
    names = set()
    for process in processes:
        try:
            names.add(process.name())
        except psutil.Error:
            continue
    return names


def wait_for(look: Callable[[], _Seen], what: str, seconds: float = 600, every: float = 0.3) -> _Seen:
    """Look until what is seen is true, and return it.

    :param what: what is waited for, for the message
    :param seconds: a busy machine takes many times as long as a quiet one: shorter only if the time is what is tested
    """
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {seconds:g} seconds; last seen: {seen!r}")
        time.sleep(every)
    return seen
