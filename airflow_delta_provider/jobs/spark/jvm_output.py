"""Output of Spark's JVM: Ivy's resolution, warnings, progress bars. It is never part of a job's result."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

_STDOUT, _STDERR = 1, 2
#: Limits on the last lines and bytes to show: the last ones explain why a start failed.
_LINES, _BYTES = 40, 16_384

#: Marker of an error in Spark's log.
_ERROR = " ERROR "


class JvmOutput:
    """Captures the output of a JVM that is started here. A JVM that already runs keeps its output.

    :param shown: True to print it to standard error; False to keep it until it is requested
    """

    def __init__(self, *, shown: bool) -> None:
        self._kept: IO[bytes] | None = None if shown else tempfile.TemporaryFile()  # noqa: SIM115 - kept as long as the process lives

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Capture all output of a process that is started within the block, as long as the process lives."""
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
        """Return the last lines that were kept.

        :param errors_only: True for only errors in Spark's log; False for all lines, for example of a JVM that ended
        """
        if self._kept is None:
            return []
        # Read at an offset: the JVM shares the descriptor and keeps writing at the end.
        size = os.fstat(self._kept.fileno()).st_size
        tail = os.pread(self._kept.fileno(), _BYTES, max(0, size - _BYTES))
        lines = [line for line in tail.decode(errors="replace").splitlines() if not errors_only or _ERROR in line]
        return lines[-_LINES:]


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # None if the process has no such stream
            stream.flush()


def _copies() -> Iterator[tuple[int, int]]:
    """Yield the open output descriptors of this process, each with a copy."""
    for descriptor in (_STDOUT, _STDERR):
        try:
            copy = os.dup(descriptor)
        except OSError:
            continue
        yield descriptor, copy
