"""How long the phases of a job take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timings(dict[str, float]):
    """Seconds by phase; a phase that comes again adds to what it took before."""

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what is done within."""
        started = time.monotonic()
        try:
            yield
        finally:
            self[name] = self.get(name, 0.0) + time.monotonic() - started
