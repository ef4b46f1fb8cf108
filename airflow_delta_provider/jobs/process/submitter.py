"""Checks that the process that submitted a job is still alive.

A process that is killed outright cannot stop its driver, which would keep changing tables while the next try of the
same task runs.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # no fcntl on this system

#: Seconds between two checks of the watch.
_EVERY = 2.0
#: Exit code of a driver that ends itself.
_EXIT_CODE = 75


class SubmitterGoneError(BaseException):
    """The submitting process has ended: nothing waits for the result, and another try may be running.

    Like ``KeyboardInterrupt``, it ends the job and is not a failure of the current table.
    """


class Submitter:
    """The process that submitted the job. It holds a lock on a file as long as it lives.

    :param lock: path of the file; if it does not exist, for example because it is on another machine, the submitter
        counts as alive
    """

    def __init__(self, lock: str | None = None) -> None:
        self._lock: IO[bytes] | None = None
        if lock is not None and fcntl is not None:
            try:
                self._lock = open(lock, "rb", opener=_open)  # noqa: SIM115  # kept open: the file may be removed meanwhile
            except OSError:
                self._lock = None

    @property
    def is_gone(self) -> bool:
        """Return True if the submitter has ended."""
        if self._lock is None:
            return False
        try:
            fcntl.flock(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        return True

    def check(self) -> None:
        """Check that the submitter is alive.

        :raises SubmitterGoneError: if it is not
        """
        if self.is_gone:
            raise SubmitterGoneError("The process that submitted this job is gone. Nothing more is done.")

    def watch(self) -> None:
        """End this process within seconds after the submitter, whatever it is doing: commits are atomic."""
        if self._lock is not None:
            threading.Thread(target=self._end_with_it, name="submitter-watch", daemon=True).start()

    def _end_with_it(self) -> None:
        waiting = threading.Event()
        while not self.is_gone:
            waiting.wait(_EVERY)
        os._exit(_EXIT_CODE)


def _open(path: str, flags: int) -> int:
    """Open a regular file without following a link. Refuse a pipe, because opening one would wait."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.ENOTSUP, "Not a regular file", path)
    return descriptor
