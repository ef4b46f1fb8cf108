"""Durations of the phases of a job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timings(dict[str, float]):
    """Seconds by phase. A phase that occurs again adds to its earlier time."""

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time the body of the ``with`` statement."""
        started = time.monotonic()
        try:
            yield
        finally:
            self[name] = self.get(name, 0.0) + time.monotonic() - started
