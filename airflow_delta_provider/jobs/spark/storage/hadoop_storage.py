"""Reading files where the session's Spark can read them, with its credentials."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from functools import cached_property, wraps
from itertools import repeat
from typing import Any, TypeVar, cast

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.request.table_name import is_relative
from airflow_delta_provider.jobs.spark.session.engine_errors import understand
from airflow_delta_provider.jobs.spark.storage.file_copies import FileCopies
from airflow_delta_provider.jobs.spark.storage.jvm_stream import JvmStreams
from airflow_delta_provider.jobs.storage.local_storage import PLAIN, LocalStorage, spellings
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError
from airflow_delta_provider.jobs.storage.retries import persistent
from airflow_delta_provider.jobs.storage.storage import Storage

M = TypeVar("M", bound=Callable[..., Any])

#: Files for which it is not worth while to read ahead.
_FEW = 8
#: Directories whose last listing is kept.
_LISTINGS = 32
#: Object stores in which a file appears as a whole, when it is closed: there, to rename is to copy.
_PUT_WHOLE = frozenset({"s3", "s3a", "s3n", "gs"})
#: Object stores, which have neither links nor mounts.
_WITHOUT_LINKS = frozenset({"s3", "s3a", "s3n", "gs", "abfs", "abfss", "wasb", "wasbs", "adl"})
#: What makes a path a pattern to Hadoop.
_PATTERN = re.compile(r"[{}\[\]*?\\]")


def literal(paths: Iterable[str]) -> list[str]:
    """Return paths as Spark's readers take them for what they are: ``[``, ``{`` and the like in one make it a pattern.

    Spark's own option against that, ``__globPaths__``, reads all paths once for each that looks like a pattern.
    """
    return [_PATTERN.sub(r"\\\g<0>", path) for path in paths]


def _asked(method: M) -> M:
    """Let a method ask this machine for its own files, which is faster, and try again where that may help."""

    @persistent(lambda error: understand(error).retryable)
    @wraps(method)
    def here_or_there(self: HadoopStorage, path: str, *arguments: Any, **named: Any) -> Any:
        if self.is_local(path):
            return getattr(self._local, method.__name__)(path, *arguments, **named)
        return method(self, path, *arguments, **named)

    return cast("M", here_or_there)


class HadoopStorage(Storage):
    """Lists and reads files through Hadoop's FileSystem; local files directly, which is faster.

    :param folder: at which relative paths of this machine start; by default the working directory of the JVM
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
        self._path = self._jvm.org.apache.hadoop.fs.Path  # looked up once: each part of the name is a call

    @_asked
    def list_names(self, directory: str) -> list[str]:
        """Return the names of what lies directly in ``directory``."""
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
        """Return the names of the directories that lie directly in ``directory``."""
        return [found.getPath().getName() for found in self._list(directory) if found.isDirectory()]

    def _list(self, directory: str) -> Any:
        """Return an array of the status of what lies directly in a directory."""
        file_system, path = self._resolve(directory)
        try:
            found = file_system.listStatus(path)
        except Py4JJavaError as error:
            raise MissingFileError(directory) if _says_gone(error) else error from None
        # Py4J finds a method for the very type alone, and some storages give an array of their own.
        statuses = self._statuses(len(found))
        self._jvm.java.lang.System.arraycopy(found, 0, statuses, 0, len(found))
        return statuses

    def _statuses(self, size: int) -> Any:
        return self._spark.sparkContext._gateway.new_array(self._jvm.org.apache.hadoop.fs.FileStatus, size)

    @_asked
    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        file_system, hadoop_path = self._resolve(path)
        try:
            return self._streams.read(file_system.open(hadoop_path))
        except Py4JJavaError as error:
            raise MissingFileError(path) if _says_gone(error) else error from None

    def read_ahead(self, paths: Sequence[str]) -> Iterator[bytes]:
        """Yield the contents of files of one storage, in order; of some that are not here, many are read at once."""
        for path, content in zip(paths, self._copied(paths)):
            yield self.read(path) if content is None else content

    def read_present(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        """Yield the contents of files as :meth:`read_ahead` does, and None for one that is not there."""
        for path, content in zip(paths, self._copied(paths)):
            if content is None:
                with suppress(MissingFileError):
                    content = self.read(path)
            yield content

    def _copied(self, paths: Sequence[str]) -> Iterator[bytes | None]:
        """Yield the contents of files as far as they are read ahead, and None for one that is not, or failed."""
        if len(paths) < _FEW or self.is_local(paths[0]) or any("\n" in path for path in paths):
            return repeat(None)
        file_system, _ = self._resolve(paths[0])
        with self._listing:
            listing = self._listed.get(paths[0].rpartition("/")[0])
        return self._copies.contents(file_system, paths, self._statuses(0) if listing is None else listing)

    @cached_property
    def _copies(self) -> FileCopies:
        return FileCopies(self._spark)

    @_asked
    def size(self, path: str) -> int:
        """Return the size of a file, in bytes."""
        return int(self._status(path, *self._resolve(path)).getLen())

    @_asked
    def written_at(self, path: str) -> datetime:
        """Return when a file was last written, as the storage says, in UTC."""
        milliseconds = int(self._status(path, *self._resolve(path)).getModificationTime())
        return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)

    @_asked
    def read_range(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes of a file from ``start`` to before ``end``, fewer where it ends before."""
        file_system, hadoop_path = self._resolve(path)
        status = self._status(path, file_system, hadoop_path)
        end = min(end, status.getLen())
        if start >= end:
            return b""
        # With the status at hand, object stores need not ask for it again.
        stream = file_system.openFile(hadoop_path).withFileStatus(status).build().get()
        stream.seek(start)
        return self._streams.read(stream, end - start)

    @_asked
    def write(self, path: str, content: bytes) -> None:
        """Replace a file as a whole; readers see the old one or the new one."""
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

    def replace(self, path: str, content: bytes, stamp: str | None) -> bool:
        """Write a file if it still is what it was, and return whether that was so.

        Hadoop has no writes under a condition: of two that do so within the same moment, the last one wins.
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
        """Rename a file over what is there: in one step where the storage can, as HDFS."""
        rename = getattr(self._jvm.org.apache.hadoop.fs, "Options$Rename")
        options = self._spark.sparkContext._gateway.new_array(rename, 1)
        options[0] = rename.OVERWRITE
        try:
            file_system.rename(partial, target, options)
        except Py4JJavaError:
            raise
        except Py4JError:  # it has no such method
            file_system.delete(target, False)
            if not file_system.rename(partial, target):
                raise OSError(f"{partial} could not be renamed to {target}") from None

    def is_local(self, location: str) -> bool:
        """Whether files of ``location`` are read without the JVM and without a network."""
        return self._local.is_local(location)

    def spellings(self, uri: str) -> set[str]:
        """Return the ways in which Spark may write the URI of a file: encoded or not, with or without an authority."""
        if PLAIN.fullmatch(uri):
            return spellings(uri)
        return spellings(uri, str(self._path(uri).toUri().toString()))

    def qualify(self, location: str) -> str:
        """Return the absolute URI of a location, as the session understands it."""
        file_system, path = self._resolve(location)
        qualified = str(file_system.makeQualified(path).toString())
        at_folder = self._folder and is_relative(location) and self.is_local(qualified)
        return self._local.qualify(location) if at_folder else qualified

    def real_location(self, location: str) -> str:
        """Return the absolute URI of where a location really lies, as :meth:`qualify` does, with links and mounts
        followed; of what is not there, as far as its path is."""
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
                if not _says_gone(error):
                    raise
            missing.insert(0, str(path.getName()))
            path = path.getParent()
        return qualified

    def _status(self, path: str, file_system: Any, hadoop_path: Any) -> Any:
        try:
            return file_system.getFileStatus(hadoop_path)
        except Py4JJavaError as error:
            raise MissingFileError(path) if _says_gone(error) else error from None

    def _resolve(self, location: str) -> tuple[Any, Any]:
        path = self._path(location)
        return path.getFileSystem(self._configuration), path


def _says_gone(error: Py4JJavaError) -> bool:
    return bool(error.java_exception.getClass().getName() == "java.io.FileNotFoundException")
