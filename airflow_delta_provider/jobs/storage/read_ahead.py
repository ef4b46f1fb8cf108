"""Concurrent reads of many files, for storages with high latency."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cached_property

from airflow_delta_provider.jobs.storage.missing_file import MissingFileError

#: Number of files up to which reading ahead does not pay off.
_FEW = 2
#: Number of concurrent reads, shared by all callers.
_THREADS = 128
#: Limits on reading ahead of the current file: number of files, and bytes.
_AHEAD, _BYTES = 96, 1 << 26


class ReadAhead:
    """Reads files ahead of the consumer.

    The sizes of unread files are unknown, so the limit in bytes is estimated from the files read before.

    :param read: reads one file; may be called from several threads
    """

    def __init__(self, read: Callable[[str], bytes], ahead: int = _AHEAD, most_bytes: int = _BYTES) -> None:
        self._read = read
        self._ahead = ahead
        self._most_bytes = most_bytes

    def contents(self, paths: Sequence[str]) -> Iterator[bytes]:
        """Yield the contents of files, in order; a few files are read one by one.

        :raises MissingFileError: if a file is missing
        """
        if len(paths) <= _FEW:
            return map(self._read, paths)
        return (result.result() for result in self.results(paths))

    def present(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        """Yield the contents of files, in order, and None for a missing file."""
        for result in self.results(paths):
            try:
                yield result.result()
            except MissingFileError:
                yield None

    def results(self, paths: Iterable[str]) -> Iterator[Future[bytes]]:
        """Yield each file's content or read error, in order."""
        rest = iter(paths)
        reading: deque[Future[bytes]] = deque()
        count = total = expected = 0
        try:
            while True:
                room = min(self._ahead, max(1, self._most_bytes // expected)) if expected else self._ahead
                while len(reading) < room and (path := next(rest, None)) is not None:
                    reading.append(self._pool.submit(self._read, path))
                if not reading:
                    return
                first = reading.popleft()
                wait((first,))
                if first.exception() is None:
                    size = len(first.result())
                    count, total = count + 1, total + size
                    expected = max(size, total // count)
                yield first
        finally:
            for unread in reading:
                unread.cancel()

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(_THREADS, thread_name_prefix="read-ahead")
