"""What Spark's JVM prints: Ivy's resolution, warnings, progress bars. Never a part of a job's result."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

_STDOUT, _STDERR = 1, 2
#: Of many lines, the last say why a start failed.
_LINES, _BYTES = 40, 16_384
#: How Spark logs one.
_ERROR = " ERROR "


class JvmOutput:
    """Takes what a JVM prints that is started here; one that runs already keeps its output.

    :param shown: print it to standard error, rather than keep it until it is asked for
    """

    def __init__(self, *, shown: bool) -> None:
        self._kept: IO[bytes] | None = None if shown else tempfile.TemporaryFile()  # noqa: SIM115 - kept as long as the process lives

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take all that a process prints that is started within, as long as it lives."""
        target = _STDERR if self._kept is None else self._kept.fileno()
        _flush()
        own = list(_copies())
        try:
            for descriptor, _ in own:
                os.dup2(target, descriptor)
            yield
        finally:
            _flush()
            for descriptor, copy in own:
                os.dup2(copy, descriptor)
                os.close(copy)

    def last_lines(self, *, errors_only: bool) -> list[str]:
        """Return the last lines of what was kept.

        :param errors_only: only what Spark logged as errors; else all, as of a JVM that said why it ended
        """
        if self._kept is None:
            return []
        # Read at a place: the JVM, whose descriptor it is as well, keeps writing at the end.
        size = os.fstat(self._kept.fileno()).st_size
        tail = os.pread(self._kept.fileno(), _BYTES, max(0, size - _BYTES))
        lines = [line for line in tail.decode(errors="replace").splitlines() if not errors_only or _ERROR in line]
        return lines[-_LINES:]


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # as where a process has neither
            stream.flush()


def _copies() -> Iterator[tuple[int, int]]:
    """Yield the descriptors of this process's output that are open, each with a copy."""
    for descriptor in (_STDOUT, _STDERR):
        try:
            copy = os.dup(descriptor)
        except OSError:
            continue
        yield descriptor, copy
