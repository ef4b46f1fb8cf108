"""Contents of many files of one storage, copied to this machine by the JVM.

A call to the JVM takes 0.1 ms, and a file needs several. Read one by one, a file takes 0.8 ms of this process,
however many threads wait. Copied by threads of the JVM, with one call for hundreds of files, it takes 0.03 ms.
Spark's executors do not make it faster: ``benchmarks/read_log.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.resources import files
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

#: Number of concurrent copies.
_THREADS = 64
#: Number of files in the first call and at most in any other, maximum growth from call to call, and maximum bytes.
_FIRST, _MOST, _GROWTH, _BYTES = 16, 1024, 4, 1 << 26


class _Copy(NamedTuple):
    """The place of a copy. Its size in bytes is -1 if there is none."""

    file: int
    start: int
    size: int


class FileCopies:
    """Copies files ahead: the next ones are copied while earlier ones are used."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._file = jvm.java.io.File
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
        compiler.cook(files(__package__).joinpath("FileCopies.java").read_text(encoding="utf-8"))
        self._copies = compiler.getClassLoader().loadClass("airflow_delta_provider.FileCopies").newInstance()

    def contents(self, file_system: Any, paths: Sequence[str], listing: Any) -> Iterator[bytes | None]:
        """Yield the contents of files, in order, and None for a file that could not be copied.

        :param file_system: ``org.apache.hadoop.fs.FileSystem`` of all the files
        :param listing: array of ``org.apache.hadoop.fs.FileStatus``, for files with a known status
        """
        with TemporaryDirectory(prefix="airflow_delta_provider-") as root, ThreadPoolExecutor(1) as pool:
            # Also in its thread: Py4J caches methods per thread by class name, which sessions share.
            listed = pool.submit(lambda: self._copies.byPath(listing)).result()
            rest = paths
            copying = pool.submit(self._copy, file_system, rest[:_FIRST], listed, root)
            while rest:
                folder, copies = copying.result()
                rest = rest[len(copies) :]
                if rest:
                    copying = pool.submit(self._copy, file_system, rest[: _next_count(copies)], listed, root)
                yield from _read(folder, copies)

    def _copy(self, file_system: Any, paths: Sequence[str], listed: Any, root: str) -> tuple[str, list[_Copy]]:
        """Return a new folder in ``root``, and the copies in it."""
        folder = mkdtemp(dir=root)
        threads = min(_THREADS, len(paths))
        lines = str(self._copies.copy(file_system, "\n".join(paths), listed, self._file(folder), threads))
        return folder, [_Copy(*map(int, line.split())) for line in lines.split("\n")]


def _next_count(copies: Sequence[_Copy]) -> int:
    """Return the number of files to copy next, judging by the sizes of earlier ones."""
    mean = max(1, sum(copy.size for copy in copies) // len(copies))
    return max(1, min(_BYTES // mean, _GROWTH * len(copies), _MOST))


def _read(folder: str, copies: Sequence[_Copy]) -> Iterator[bytes | None]:
    """Yield the copies in a folder, and remove them."""
    with ExitStack() as opened:
        names = sorted({copy.file for copy in copies})
        by_name = {name: opened.enter_context(open(os.path.join(folder, str(name)), "rb")) for name in names}
        for name in names:
            os.remove(os.path.join(folder, str(name)))
        for file, start, size in copies:
            if size < 0:
                yield None
            else:
                by_name[file].seek(start)
                yield by_name[file].read(size)
