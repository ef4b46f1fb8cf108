"""Decodes deletion vectors in Spark's tasks, if there are too many for this process."""

from __future__ import annotations

import json
import re
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import RowCount, RowFile
from airflow_delta_provider.domain.delta.deletion_vector import (
    BrokenDeletionVectorError,
    DeletionVector,
    bitmap_in_range,
    check_file_version,
    deleted_rows,
    inline_bitmap,
)
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.engine.spark_library import is_local
from airflow_delta_provider.jobs.delta.session import DeltaFiles
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.engine_errors import condition_of
from airflow_delta_provider.jobs.spark.hadoop_storage import literal
from airflow_delta_provider.jobs.spark.session import ship
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError

#: Number of positions of a file that one row of the result covers.
_CHUNK = 32768
_WORD = 64
_VECTORS = "file: int, source: string, start: bigint, size: bigint, rows: bigint, vector: string"
_VERSION_AND_VECTOR = "concat(substring(content, 1, 1), substring(content, start + 1, size))"
_DECODED = "struct<error: string, chunks: array<struct<chunk: bigint, words: array<bigint>>>>"
_IS_DELETED = f"bit_get(words[CAST(position % {_CHUNK} DIV {_WORD} AS INT)], CAST(position % {_WORD} AS INT)) = 1"
MISSING = "its file is missing"


@dataclass
class VectorsInTasks:
    """The deletion vectors of some files, decoded on demand.

    :param files: files by path
    :param unreadable: receives each file whose deletion vector cannot be read, with the reason; its rows then count
        as deleted
    """

    session: SparkDeltaSession
    data: DeltaFiles
    files: Mapping[str, LiveFile]
    rows_of: RowCount
    unreadable: Callable[[LiveFile, str | UnreadFileError], None]
    _kept: list[DeletedPositions] = field(init=False, default_factory=list)

    def covers(self, file: RowFile) -> bool:
        """Return True if a file has a deletion vector."""
        return self.files[file.path].deletion_vector is not None

    def live(self, rows: DataFrame, files: Mapping[int, RowFile]) -> DataFrame:
        """Return the rows that are not deleted.

        :param rows: rows with the columns ``file`` and ``position``
        :param files: files by their number in the column ``file``
        """
        vectors = {number: (self.files[file.path], self.rows_of(file)) for number, file in files.items()}
        deleted = DeletedPositions(self.session, self.data, vectors)
        self._kept.append(deleted)
        for number, why in deleted.errors().items():
            self.unreadable(vectors[number][0], why)
        return deleted.live(rows)

    def release(self) -> None:
        """Free the decoded vectors."""
        for kept in self._kept:
            kept.release()


class DeletedPositions:
    """The positions of rows that deletion vectors delete.

    :param files: files and their numbers of rows, by a number that the caller assigns; files without a vector are
        ignored
    """

    def __init__(
        self, session: SparkDeltaSession, data: DeltaFiles, files: Mapping[int, tuple[LiveFile, int | None]]
    ) -> None:
        self._session = session
        self._unread: dict[int, UnreadFileError] = {}
        self._decoded = self._decode(data, files).persist()

    def errors(self) -> dict[int, str | UnreadFileError]:
        """Return the reason for each vector that cannot be read, by number of the file."""
        with self._session.reading_files():
            found = self._decoded.where("error IS NOT NULL").select("file", "error").collect()
        return {row["file"]: self._unread.get(row["file"], row["error"]) for row in found}

    def live(self, rows: DataFrame) -> DataFrame:
        """Return the rows that are not deleted.

        Rows of files whose vectors cannot be read count as deleted.

        :param rows: rows with the columns ``file`` and ``position``
        """
        chunks = self._decoded.select("file", sql.expr("inline(chunks)"))
        broken = self._decoded.where("error IS NOT NULL").select("file")
        return (
            rows.join(sql.broadcast(broken), "file", "left_anti")
            .withColumn("chunk", sql.expr(f"position DIV {_CHUNK}"))
            .join(chunks, ["file", "chunk"], "left")
            .where(f"words IS NULL OR NOT {_IS_DELETED}")
            .drop("chunk", "words")
        )

    def release(self) -> None:
        """Free the decoded vectors."""
        self._decoded.unpersist()

    def _decode(self, data: DeltaFiles, files: Mapping[int, tuple[LiveFile, int | None]]) -> DataFrame:
        spark = self._session.spark
        vectors: list[dict[str, Any]] = []
        for number, (file, rows) in files.items():
            vector = file.deletion_vector
            if vector is None:
                continue
            start, end = vector.byte_range
            try:
                source = _source(data, file, vector)
            except UnreadFileError as error:
                source, self._unread[number] = None, error
            wire = json.dumps(vector._asdict())
            vectors.append(
                {"file": number, "source": source, "start": start, "size": end - start, "rows": rows, "vector": wire}
            )
        sources = sorted({vector["source"] for vector in vectors if vector["source"]})
        context: Any = spark.sparkContext
        if is_local(context.master):  # the first Python on the path may be another one
            context.pythonExec = sys.executable
        shipped = ship(spark, vectors, _VECTORS)
        spelled = ship(
            spark,
            [{"source": uri, "path": spelling} for uri in sources for spelling in self._spellings(uri)],
            "source: string, path: string",
        )
        contents = self._contents(sources).join(spelled, "path").select("source", "content")
        decode = sql.udf(decoded, _DECODED, useArrow=False)
        return (
            shipped.join(contents, "source", "left")
            .withColumn("found", decode(sql.expr(_VERSION_AND_VECTOR), "vector", "rows"))
            .select("file", "found.*")
        )

    def _spellings(self, uri: str) -> set[str]:
        """Return the paths that Spark may write for a file that it reads whole."""
        spellings = self._session.storage.spellings(uri)
        return spellings | {re.sub(r"^file:/+", "file:/", spelling) for spelling in spellings}

    def _contents(self, sources: Sequence[str]) -> DataFrame:
        """Return files with their content. Files that do not exist are left out."""
        spark = self._session.spark
        reader = spark.read.format("binaryFile")
        if not sources:
            return spark.createDataFrame([], "path string, content binary")
        try:
            return reader.load(literal(sources)).select("path", "content")
        except AnalysisException as error:
            if condition_of(error) != "PATH_NOT_FOUND":
                raise
        present = [uri for uri in sources if self._exists(uri)]
        if len(present) == len(sources):
            raise MissingFileError("a file of deletion vectors came and went")
        return self._contents(present)

    def _exists(self, uri: str) -> bool:
        try:
            self._session.storage.read_range(uri, 0, 1)
        except MissingFileError:
            return False
        return True


def _source(data: DeltaFiles, file: LiveFile, vector: DeletionVector) -> str | None:
    """Return the location of a vector's file; None if the vector is inline in the log, or names no file."""
    try:
        path = vector.file
    except BrokenDeletionVectorError:
        return None
    return None if path is None else data.uri(file._replace(path=path))


def decoded(content: Any, wire: str, rows: int | None) -> tuple[str | None, list[tuple[int, list[int]]]]:
    """Return the error of a deletion vector, or its non-empty chunks as signed words. Runs in Spark's tasks.

    :param content: first byte of its file, then the bytes in its range; None if the vector is in the log or its file is
        missing
    """
    vector = DeletionVector(**json.loads(wire))
    try:
        if vector.file is None:
            bitmap = inline_bitmap(vector)
        elif content is None:
            return MISSING, []
        else:
            check_file_version(content)
            bitmap = bitmap_in_range(bytes(content[1:]), vector)
        bits = deleted_rows(bitmap, vector, rows)
    except BrokenDeletionVectorError as error:
        return str(error), []
    size = _CHUNK // 8
    data = bits.to_bytes((bits.bit_length() + _CHUNK - 1) // _CHUNK * size, "little")
    chunks = ((number, data[number * size : (number + 1) * size]) for number in range(len(data) // size))
    return None, [
        (number, list(struct.unpack(f"<{_CHUNK // _WORD}q", chunk))) for number, chunk in chunks if any(chunk)
    ]
