"""The process of a job: its progress and time, its packages, and the program that submitted it."""

from __future__ import annotations

import errno
import gc
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from time import monotonic
from typing import IO, TypeVar

from airflow_delta_provider.domain.report.report import TableReport, Verdict


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


#: New objects before a collection. Python's own 700 cause thousands of collections that find nothing.
_YOUNG = 50_000
#: Collections of the young generation before one of the middle, and of the middle before a full one.
_OLDER, _ALL = 20, 100


def collect_seldom() -> None:
    """Collect garbage less often: a job needs nearly all that it reads, and creates few cycles.

    Checking a history of a thousand Paimon snapshots takes three quarters of the time.
    """
    gc.set_threshold(_YOUNG, _OLDER, _ALL)


T = TypeVar("T")


class OutOfTimeError(Exception):
    """The time limit has passed."""


class TimeBudget:
    """A time limit that starts when this object is created.

    :param seconds: length of the limit; None for no limit
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._started = monotonic()

    @property
    def is_spent(self) -> bool:
        """Return True if no time is left."""
        return self.left is not None and self.left <= 0

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Yield ``items`` as long as there is time.

        :raises OutOfTimeError: if no time is left for the next item
        """
        for item in items:
            if self.is_spent:
                raise OutOfTimeError
            yield item

    @property
    def left(self) -> float | None:
        """Seconds left, zero or negative if the time is spent; None if there is no limit."""
        return None if self.seconds is None else self._started + self.seconds - monotonic()


#: Receives one line for people to read.
Progress = Callable[[str], None]

#: With more tables than this, only their number is reported.
_TOLD_ONE_BY_ONE = 20
_SECONDS_BETWEEN = 30.0


def silent(_: str) -> None:
    """Report nothing."""


class TableCount:
    """Reports each step of a few tables; of many, only the number done, from time to time.

    :param total: number of tables
    :param progress: receives the lines
    """

    def __init__(self, total: int, progress: Progress) -> None:
        self._total = total
        self._progress = progress
        self._done = 0
        self._not_passed = 0
        self._told = time.monotonic()
        self._takes_long = False
        self._one = threading.Lock()

    @property
    def each_step(self) -> Progress:
        """Receiver for the lines of single tables; may be called from several threads."""
        return self._tell if self._total <= _TOLD_ONE_BY_ONE else silent

    def _tell(self, line: str) -> None:
        with self._one:
            self._progress(line)

    def count(self, report: TableReport) -> None:
        """Count a finished table."""
        self._done += 1
        self._not_passed += report.verdict is not Verdict.PASS
        now = time.monotonic()
        is_time = now - self._told >= _SECONDS_BETWEEN
        if self._total > _TOLD_ONE_BY_ONE and (is_time or (self._takes_long and self._done == self._total)):
            self._told, self._takes_long = now, True
            self._tell(f"{self._done:,} of {self._total:,} tables, {self._not_passed:,} of them not PASS")


#: Packages that PySpark looks for. This package also uses NumPy and PyArrow.
_SOUGHT = ("numpy", "pandas", "pyarrow")


class MissingPackageError(Exception):
    """A required Python package is not installed.

    :param purpose: beginning of a sentence that says why the package is needed
    """

    def __init__(self, purpose: str, package: str) -> None:
        super().__init__(f"{purpose}, the Python package {package} is needed, and it is not installed")
        self.package = package


def forgo_pandas() -> None:
    """Keep PySpark from importing pandas, NumPy and PyArrow when it starts.

    They are optional for PySpark, but PySpark 4.2 looks for them at its first call into the JVM, which takes more
    than a second if they are installed. They stay hidden until :func:`have` is called.
    """
    for package in _SOUGHT:
        sys.modules.setdefault(package, None)  # type: ignore[arg-type]  # a None in sys.modules makes an import fail


def has_pyspark() -> bool:
    """Return True if PySpark and Py4J are installed. pyspark-client, which comes with Airflow, has no Py4J."""
    return find_spec("pyspark") is not None and find_spec("py4j") is not None


def has_java() -> bool:
    """Return True if Spark's scripts find Java: below ``JAVA_HOME``, or without it on the path."""
    import shutil  # late: it loads libraries of compression

    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin") if home else None) is not None


#: Files with the limit of a container's memory: of the second version of control groups, and of the first.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_limit() -> int:
    """Return the memory of this machine, or of this container if that is less, in bytes."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _LIMITS:
        with suppress(OSError, ValueError), open(file, encoding="ascii") as limit:  # not Linux, or no limit
            limits.append(int(limit.read()))
    return min(limits)


@cache
def have(*modules: str) -> bool:
    """Import modules; return True if all of them are installed."""
    for package in _SOUGHT:  # all of them: PyArrow looks for pandas and fails if it is hidden
        if package in sys.modules and sys.modules[package] is None:
            del sys.modules[package]
    try:
        for module in modules:
            import_module(module)
    except ImportError:
        return False
    return True


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
    def has_ended(self) -> bool:
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
        if self.has_ended:
            raise SubmitterGoneError("The process that submitted this job is gone. Nothing more is done.")

    def watch(self) -> None:
        """End this process within seconds after the submitter, whatever it is doing: commits are atomic."""
        if self._lock is not None:
            threading.Thread(target=self._end_with_it, name="submitter-watch", daemon=True).start()

    def _end_with_it(self) -> None:
        waiting = threading.Event()
        while not self.has_ended:
            waiting.wait(_EVERY)
        os._exit(_EXIT_CODE)


def _open(path: str, flags: int) -> int:
    """Open a regular file without following a link. Refuse a pipe, because opening one would wait."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.ENOTSUP, "Not a regular file", path)
    return descriptor
