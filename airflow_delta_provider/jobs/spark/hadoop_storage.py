"""Storage of the session's Spark, with its credentials; bytes pass between Python and the JVM through files."""

from __future__ import annotations

import itertools
import os
import re
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timezone
from functools import cached_property, wraps
from importlib.resources import files
from itertools import repeat
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, NamedTuple, TypeVar, cast

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.table_name import is_relative
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from airflow_delta_provider.jobs.storage.local_storage import PLAIN, LocalStorage, spellings
from airflow_delta_provider.jobs.storage.remote_storage import ReadAhead, persistent
from airflow_delta_provider.jobs.storage.storage import S, Storage, T

#: More bytes than any stream has.
_ENDLESS = (1 << 63) - 1


class JvmStreams:
    """Reads streams of the JVM, and passes streams to it. May be used by many threads."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        # Looked up once: each part of such a name is a call.
        self._input, self._output = jvm.java.io.FileInputStream, jvm.java.io.FileOutputStream
        self._copy = jvm.org.apache.commons.io.IOUtils.copyLarge
        self._directory = tempfile.TemporaryDirectory(prefix="airflow_delta_provider-")
        self._numbers = itertools.count()

    @contextmanager
    def giving(self, content: bytes) -> Iterator[Any]:
        """Pass bytes to the JVM, as a ``java.io.InputStream`` that is closed afterwards."""
        with self._file() as path:
            with open(path, "wb") as given:
                given.write(content)
            stream = self._input(path)
            try:
                yield stream
            finally:
                stream.close()

    def read(self, stream: Any, most: int = _ENDLESS) -> bytes:
        """Return the content of a stream, and close it.

        :param stream: ``java.io.InputStream``
        :param most: maximum number of bytes to read
        :raises Py4JJavaError: if the stream cannot be read
        """
        with self._file() as path:
            try:
                file = self._output(path)
                try:
                    self._copy(stream, file, 0, most)
                finally:
                    file.close()
            finally:
                stream.close()
            with open(path, "rb") as taken:
                return taken.read()

    @contextmanager
    def _file(self) -> Iterator[str]:
        path = os.path.join(self._directory.name, str(next(self._numbers)))
        try:
            yield path
        finally:
            if os.path.exists(path):
                os.remove(path)


#: Number of concurrent copies, and of concurrent reads of ranges.
_THREADS, _CALLS = 64, 32
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


M = TypeVar("M", bound=Callable[..., Any])

#: Number of files below which reading ahead does not pay off.
_FEW = 8
#: Number of directories whose last listing is kept.
_LISTINGS = 32
#: Object stores in which a file appears as a whole when it is closed. Renaming means copying there.
_PUT_WHOLE = frozenset({"s3", "s3a", "s3n", "gs"})
#: Object stores without links or mounts.
_WITHOUT_LINKS = frozenset({"s3", "s3a", "s3n", "gs", "abfs", "abfss", "wasb", "wasbs", "adl"})
#: Characters that make a path a pattern to Hadoop.
_PATTERN = re.compile(r"[{}\[\]*?\\]")


def literal(paths: Iterable[str]) -> list[str]:
    """Return paths with pattern characters such as ``[`` and ``{`` escaped, for Spark's readers.

    Spark's own option for that, ``__globPaths__``, reads all paths once for each path that looks like a pattern.
    """
    return [_PATTERN.sub(r"\\\g<0>", path) for path in paths]


def _asked(method: M) -> M:
    """Let a method read local files directly, which is faster, and try again if that may help."""

    @persistent(lambda error: understand(error).retryable)
    @wraps(method)
    def here_or_there(self: HadoopStorage, path: str, *arguments: Any, **named: Any) -> Any:
        if self.is_local(path):
            return getattr(self._local, method.__name__)(path, *arguments, **named)
        return method(self, path, *arguments, **named)

    return cast("M", here_or_there)


class HadoopStorage(Storage):
    """Lists and reads files through Hadoop's FileSystem, and local files directly, which is faster.

    :param folder: base folder of relative local paths; by default the working directory of the JVM
    """

    def __init__(self, spark: SparkSession, folder: str = "") -> None:
        self._folder = folder
        self._local = LocalStorage(folder)
        self._spark = spark
        self._jvm: Any = spark._jvm
        self._configuration: Any = spark._jsparkSession.sessionState().newHadoopConf()
        self._streams = JvmStreams(spark)
        self._listed: dict[str, Any] = {}
        self._listing = threading.Lock()
        self._calls = ReadAhead(most_threads=_CALLS)
        self._path = self._jvm.org.apache.hadoop.fs.Path  # looked up once: each part of the name is a call

    @_asked
    def list_names(self, directory: str) -> list[str]:
        statuses = self._list(directory)
        with self._listing:
            self._listed[directory] = statuses
            if len(self._listed) > _LISTINGS:
                del self._listed[next(iter(self._listed))]
        paths = self._jvm.scala.Predef.genericWrapArray(self._jvm.org.apache.hadoop.fs.FileUtil.stat2Paths(statuses))
        joined = paths.addString(self._jvm.scala.collection.mutable.StringBuilder(), "\n")
        text = self._streams.read(self._jvm.org.apache.commons.io.IOUtils.toInputStream(joined, "UTF-8"))
        return [line.rsplit("/", 1)[-1] for line in text.decode().split("\n") if line]

    @_asked
    def list_folders(self, directory: str) -> list[str]:
        return [found.getPath().getName() for found in self._list(directory) if found.isDirectory()]

    def _list(self, directory: str) -> Any:
        """Return an array with the status of each entry directly in a directory."""
        file_system, path = self._resolve(directory)
        try:
            found = file_system.listStatus(path)
        except Py4JJavaError as error:
            raise MissingFileError(directory) if _is_not_found(error) else error from None
        # Py4J finds a method only for the exact type, and some storages return an array of their own type.
        statuses = self._statuses(len(found))
        self._jvm.java.lang.System.arraycopy(found, 0, statuses, 0, len(found))
        return statuses

    def _statuses(self, size: int) -> Any:
        return self._spark.sparkContext._gateway.new_array(self._jvm.org.apache.hadoop.fs.FileStatus, size)

    @_asked
    def read(self, path: str) -> bytes:
        file_system, hadoop_path = self._resolve(path)
        try:
            return self._streams.read(file_system.open(hadoop_path))
        except Py4JJavaError as error:
            raise MissingFileError(path) if _is_not_found(error) else error from None

    def read_ahead(self, paths: Sequence[str]) -> Iterator[bytes]:
        for path, content in zip(paths, self._copied(paths)):
            yield self.read(path) if content is None else content

    def read_present(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        for path, content in zip(paths, self._copied(paths)):
            if content is None:
                with suppress(MissingFileError):
                    content = self.read(path)
            yield content

    def _copied(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        """Yield the contents of files that are read ahead, and None for a file that is not, or that failed."""
        if len(paths) < _FEW or self.is_local(paths[0]) or any("\n" in path for path in paths):
            return repeat(None)
        file_system, _ = self._resolve(paths[0])
        with self._listing:
            listing = self._listed.get(paths[0].rpartition("/")[0])
        return self._copies.contents(file_system, paths, self._statuses(0) if listing is None else listing)

    def read_each(self, location: str, read: Callable[[S], T], items: Iterable[S]) -> Iterator[tuple[S, T]]:
        return super().read_each(location, read, items) if self.is_local(location) else self._calls.each(read, items)

    @cached_property
    def _copies(self) -> FileCopies:
        return FileCopies(self._spark)

    @_asked
    def size(self, path: str) -> int:
        return int(self._status(path, *self._resolve(path)).getLen())

    @_asked
    def written_at(self, path: str) -> datetime:
        milliseconds = int(self._status(path, *self._resolve(path)).getModificationTime())
        return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)

    @_asked
    def read_range(self, path: str, start: int, end: int) -> bytes:
        file_system, hadoop_path = self._resolve(path)
        status = self._status(path, file_system, hadoop_path)
        end = min(end, status.getLen())
        if start >= end:
            return b""
        # If they get the status, object stores need not request it again.
        stream = file_system.openFile(hadoop_path).withFileStatus(status).build().get()
        stream.seek(start)
        return self._streams.read(stream, end - start)

    @_asked
    def write(self, path: str, content: bytes) -> None:
        file_system, target = self._resolve(path)
        if str(target.toUri().getScheme()) in _PUT_WHOLE:
            self._create(file_system, target, content)
            return
        partial_path = self._path(f"{path}.{uuid.uuid4().hex}.tmp")
        try:
            self._create(file_system, partial_path, content)
            self._put_in_place(file_system, partial_path, target)
        except BaseException:
            with suppress(Py4JJavaError):
                file_system.delete(partial_path, False)
            raise

    @_asked
    def copy(self, path: str, target: str) -> None:
        """Copy a file within Hadoop: its bytes do not pass through Python."""
        file_system, source = self._resolve(path)
        to_system, to = self._resolve(target)
        configuration = self._configuration
        self._jvm.org.apache.hadoop.fs.FileUtil.copy(file_system, source, to_system, to, False, True, configuration)
        if self.size(target) != self.size(path):
            raise OSError(f"{target} is not a whole copy of {path}")

    @_asked
    def delete(self, path: str) -> None:
        file_system, target = self._resolve(path)
        if not file_system.delete(target, False):
            raise MissingFileError(path)

    def replace(self, path: str, content: bytes, stamp: str | None) -> bool:
        """Write a file if it has not changed; return True if it was written.

        Hadoop has no conditional writes: if two processes write at the same moment, the last one wins.
        """
        if self.is_local(path):
            return self._local.replace(path, content, stamp)
        return super().replace(path, content, stamp)

    def _create(self, file_system: Any, path: Any, content: bytes) -> None:
        stream = file_system.create(path, True)
        try:
            stream.write(content)
        finally:
            stream.close()

    def _put_in_place(self, file_system: Any, partial: Any, target: Any) -> None:
        """Rename a file over an existing one, in one step if the storage can do that, as HDFS can."""
        rename = getattr(self._jvm.org.apache.hadoop.fs, "Options$Rename")
        options = self._spark.sparkContext._gateway.new_array(rename, 1)
        options[0] = rename.OVERWRITE
        try:
            file_system.rename(partial, target, options)
        except Py4JJavaError:
            raise
        except Py4JError:  # the file system has no such method
            file_system.delete(target, False)
            if not file_system.rename(partial, target):
                raise OSError(f"{partial} could not be renamed to {target}") from None

    def is_local(self, location: str) -> bool:
        """Return True if files of ``location`` are read without the JVM and without a network."""
        return self._local.is_local(location)

    def spellings(self, uri: str) -> set[str]:
        if PLAIN.fullmatch(uri):
            return spellings(uri)
        return spellings(uri, str(self._path(uri).toUri().toString()))

    def qualify(self, location: str) -> str:
        """Return the absolute URI of a location, as the session interprets it."""
        file_system, path = self._resolve(location)
        qualified = str(file_system.makeQualified(path).toString())
        at_folder = self._folder and is_relative(location) and self.is_local(qualified)
        return self._local.qualify(location) if at_folder else qualified

    def real_location(self, location: str) -> str:
        """Return the absolute URI of a location as :meth:`qualify` does, with links and mounts followed.

        If the location does not exist, the existing part of its path is followed.
        """
        qualified = self.qualify(location)
        if qualified.partition(":")[0] in _WITHOUT_LINKS:
            return qualified
        if self.is_local(qualified):
            return self._local.real_location(qualified)
        file_system, path = self._resolve(qualified)
        missing: list[str] = []
        while path is not None:
            try:
                found = "/".join([str(file_system.resolvePath(path).toString()).rstrip("/"), *missing])
                return found if found == qualified else self.real_location(found)
            except Py4JJavaError as error:
                if not _is_not_found(error):
                    raise
            missing.insert(0, str(path.getName()))
            path = path.getParent()
        return qualified

    def _status(self, path: str, file_system: Any, hadoop_path: Any) -> Any:
        try:
            return file_system.getFileStatus(hadoop_path)
        except Py4JJavaError as error:
            raise MissingFileError(path) if _is_not_found(error) else error from None

    def _resolve(self, location: str) -> tuple[Any, Any]:
        path = self._path(location)
        return path.getFileSystem(self._configuration), path


def _is_not_found(error: Py4JJavaError) -> bool:
    return bool(error.java_exception.getClass().getName() == "java.io.FileNotFoundException")
