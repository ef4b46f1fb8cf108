"""Transfers bytes from and to the JVM through a file.

Py4J sends bytes as text, which Python decodes one by one. Beyond 8 KiB, it also waits some 40 ms for the network's
delayed acknowledgement (RFC 896 meets RFC 1122, 4.2.3.2). A file on the machine that runs both takes a few
milliseconds for any size: 3 ms for 100 KB and 6 ms for 5 MB, compared with Py4J's 49 ms and 350 ms.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

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
