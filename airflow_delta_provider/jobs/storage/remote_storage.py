"""Parts that all remote storages share: URIs of stores, further tries, and reads ahead of their use."""

from __future__ import annotations

import posixpath
import re
import time
from abc import ABC
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property, wraps
from itertools import islice
from typing import ParamSpec
from urllib.parse import quote

from airflow_delta_provider.jobs.storage.errors import MissingFileError, StorageError
from airflow_delta_provider.jobs.storage.storage import S, Storage, T

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)


#: Characters that Java's URIs do not encode, besides letters, digits and all non-ASCII characters.
_LITERAL = "/:@!$&'()*+,;=-._~"


_ASCII = re.compile(r"[\x00-\x7f]+")


@dataclass(frozen=True)
class StoreUri:
    """A bucket or container, and a key in it. The key is not decoded: a percent sign is literal.

    :param scheme: scheme in lower case, such as ``s3a``
    :param authority: bucket, or ``container@account.host``
    :param key: key without slashes at its ends; empty for the bucket itself
    """

    scheme: str
    authority: str
    key: str

    @classmethod
    def of(cls, uri: str) -> StoreUri:
        """Parse a URI as Hadoop does: repeated slashes count as one, and ``..`` leads up.

        :raises StorageError: if it is not a valid URI
        """
        match = _URI.fullmatch(uri)
        if match is None or not match[2]:
            raise StorageError(f"{uri!r} does not name a bucket", "Give a URI of the form s3://BUCKET/PATH.")
        key = posixpath.normpath(re.sub("/+", "/", f"/{match[3]}")).lstrip("/")
        return cls(match[1].lower(), match[2], key)

    def __str__(self) -> str:
        return f"{self.root}/{self.key}".rstrip("/")

    @property
    def root(self) -> str:
        """The URI of the bucket."""
        return f"{self.scheme}://{self.authority}"

    @property
    def container(self) -> str:
        """Name of the bucket or container."""
        return self.authority.partition("@")[0]


def encoded(uri: str) -> str:
    """Return a URI as Java writes it: percent signs, spaces and similar are encoded, non-ASCII letters are not."""
    return _ASCII.sub(lambda part: quote(part[0], safe=_LITERAL), uri)


P = ParamSpec("P")


#: Seconds before each further try.
WAITS = (0.2, 1.0)


def persistent(may_pass: Callable[[Exception], bool]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a method try again if the storage failed in a way that may be temporary.

    :param may_pass: returns True if another try may help; not called for missing files
    """

    def decorate(method: Callable[P, T]) -> Callable[P, T]:
        @wraps(method)
        def tried(*arguments: P.args, **named: P.kwargs) -> T:
            for seconds in WAITS:
                try:
                    return method(*arguments, **named)
                except MissingFileError:
                    raise
                except Exception as error:
                    if not may_pass(error):
                        raise
                    time.sleep(seconds)
            return method(*arguments, **named)

        return tried

    return decorate


#: Number of files up to which reading ahead does not pay off.
_FEW = 2


#: Number of concurrent reads, shared by all callers.
_THREADS = 128


#: Limits on reading ahead of the current file: number of files, and bytes.
_AHEAD, _BYTES = 96, 1 << 26


class ReadAhead:
    """Reads files ahead of the consumer, in threads that all callers share.

    The sizes of unread files are unknown, so the limit in bytes is estimated from the files read before.

    :param most_threads: number of concurrent reads
    """

    def __init__(self, most_threads: int = _THREADS) -> None:
        self._most_threads = most_threads

    def contents(self, read: Callable[[S], T], paths: Sequence[S]) -> Iterator[T]:
        """Yield the contents of files, in order; a few files are read one by one.

        :param read: reads one file; it is called from several threads, and must not read ahead itself
        :raises MissingFileError: if a file is missing
        """
        if len(paths) <= _FEW:
            return map(read, paths)
        return (content for _, content in self.each(read, paths))

    def present(self, read: Callable[[S], T], paths: Iterable[S]) -> Iterator[T | None]:
        """Yield the contents of files, in order, and None for a missing file."""
        for _, result in self._results(read, paths):
            try:
                yield result.result()
            except MissingFileError:
                yield None

    def each(self, read: Callable[[S], T], items: Iterable[S]) -> Iterator[tuple[S, T]]:
        """Call a function for each item, and yield items with results, in order."""
        return ((item, result.result()) for item, result in self._results(read, items))

    def _results(self, read: Callable[[S], T], items: Iterable[S]) -> Iterator[tuple[S, Future[T]]]:
        """Yield each item with its result or error, in order."""
        rest = iter(items)
        reading: deque[tuple[S, Future[T]]] = deque()
        count = total = expected = 0
        try:
            while True:
                room = min(_AHEAD, max(1, _BYTES // expected)) if expected else _AHEAD
                more = islice(rest, max(room - len(reading), 0))
                reading.extend((item, self._pool.submit(read, item)) for item in more)
                if not reading:
                    return
                item, first = reading.popleft()
                wait((first,))
                if first.exception() is None:
                    content = first.result()
                    size = len(content) if isinstance(content, bytes) else 0
                    count, total = count + 1, total + size
                    expected = max(size, total // count)
                yield item, first
        finally:
            for _, unread in reading:
                unread.cancel()

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._most_threads, thread_name_prefix="read-ahead")


class RemoteStorage(Storage, ABC):
    """A storage with high latency, so that many files are read at once. It has no links."""

    def __init__(self) -> None:
        self._ahead, self._each = ReadAhead(), ReadAhead()

    def read_ahead(self, paths: Sequence[str]) -> Iterator[bytes]:
        return self._ahead.contents(self.read, paths)

    def read_present(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        return self._ahead.present(self.read, paths)

    def read_each(
        self,
        location: str,  # noqa: ARG002  # all are remote
        read: Callable[[S], T],
        items: Iterable[S],
    ) -> Iterator[tuple[S, T]]:
        return self._each.each(read, items)

    def spellings(self, uri: str) -> set[str]:
        """Return the URIs that Spark may write for a file: encoded or not."""
        return {uri, encoded(uri)}

    def qualify(self, location: str) -> str:
        return str(StoreUri.of(location))
