"""Reading files where the session's Spark can read them, with its credentials."""

from __future__ import annotations

import os
from typing import Any

from pyspark.sql import DataFrameReader, SparkSession


def literal_paths(spark: SparkSession) -> DataFrameReader:
    """Return a reader that takes paths as they are: without it ``[`` and ``{`` in one make it a pattern."""
    return spark.read.option("__globPaths__", "false")


class HadoopStorage:
    """Lists and reads files through Hadoop's FileSystem; local files directly, which is faster."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark._jvm
        self._configuration: Any = spark._jsparkSession.sessionState().newHadoopConf()

    def list_names(self, directory: str) -> list[str]:
        """Return the names of what lies directly in ``directory``.

        :raises FileNotFoundError: if there is no such directory
        """
        local = _local_path(directory)
        if local is not None:
            try:
                return os.listdir(local)
            except NotADirectoryError:
                raise FileNotFoundError(directory) from None
        file_system, path = self._resolve(directory)
        if not file_system.exists(path):
            raise FileNotFoundError(directory)
        statuses = file_system.listStatus(path)
        paths = self._jvm.org.apache.hadoop.fs.FileUtil.stat2Paths(statuses)
        joined: str = self._jvm.org.apache.commons.lang3.StringUtils.join(paths, "\n")
        return [line.rsplit("/", 1)[-1] for line in joined.splitlines()]

    def read(self, path: str) -> bytes:
        """Return the content of a file.

        :raises FileNotFoundError: if there is no such file
        """
        local = _local_path(path)
        if local is not None:
            with open(local, "rb") as file:
                return file.read()
        file_system, hadoop_path = self._resolve(path)
        if not file_system.exists(hadoop_path):
            raise FileNotFoundError(path)
        stream = file_system.open(hadoop_path)
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def qualify(self, location: str) -> str:
        """Return the absolute URI of a location, as the session understands it."""
        file_system, path = self._resolve(location)
        return str(file_system.makeQualified(path).toString())

    def _resolve(self, location: str) -> tuple[Any, Any]:
        path = self._jvm.org.apache.hadoop.fs.Path(location)
        return path.getFileSystem(self._configuration), path


def _local_path(location: str) -> str | None:
    if location.startswith("file:"):
        return "/" + location[len("file:") :].lstrip("/")
    return None
