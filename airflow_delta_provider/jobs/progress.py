"""Telling whoever waits how far a job has come."""

from __future__ import annotations

from collections.abc import Callable

#: Takes one line for people.
Progress = Callable[[str], None]


def silent(_: str) -> None:
    """Tell nobody."""
