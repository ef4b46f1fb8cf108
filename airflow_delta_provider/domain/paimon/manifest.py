"""Manifest lists and manifests: the data files that commits added and deleted.

Apache Paimon, Specification, Manifest. A table has many entries, so they are named tuples, which cost a third of frozen
dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, TypeVar

from airflow_delta_provider.domain.formats.avro.file import Codec, read_rows
from airflow_delta_provider.domain.formats.avro.primitives import AvroError, LargeAvroError
from airflow_delta_provider.domain.formats.avro.schema import Column, Row
from airflow_delta_provider.domain.paimon.schema import LargeFileError, PaimonFormatError

T = TypeVar("T")

#: Version of an entry of a manifest or a manifest list; Paimon reads no other.
ENTRY_VERSION = 2
#: Endings after the format in a file's name, if the whole file is compressed.
_COMPRESSIONS = frozenset({"gz", "bz2", "deflate", "snappy", "lz4", "zst"})


class FileKind(Enum):
    """A change of a file by a commit."""

    ADD = 0
    DELETE = 1


class FileSource(Enum):
    """The kind of write that produced a file."""

    APPEND = 0
    COMPACT = 1
    UNKNOWN = -1


class ManifestFile(NamedTuple):
    """A manifest, as listed in a manifest list.

    :param size: size in bytes
    :param added: number of entries of kind ADD
    :param deleted: number of entries of kind DELETE
    :param schema_id: highest schema id of its files
    :param min_row_id: lowest first row id of its files; None if a file has none, or from older writers
    :param max_row_id: last row id of its files, with the same restrictions
    """

    name: str
    size: int
    added: int
    deleted: int
    schema_id: int
    min_row_id: int | None
    max_row_id: int | None


class FileKey(NamedTuple):
    """The identity of a live file; a DELETE entry has the key of the file that it deletes."""

    partition: bytes
    bucket: int
    level: int
    name: str
    extra_files: tuple[str, ...]
    embedded_index: bytes | None
    external_path: str | None


class DataFile(NamedTuple):
    """A data file.

    :param partition: values of the partition, for :func:`binary_row.read_partition`
    :param bucket: bucket; 0 if the table has no buckets, -2 if the bucket is not assigned yet
    :param size: size in bytes
    :param row_count: number of rows in it, including rows that deletion vectors delete
    :param min_sequence: lowest sequence number of its rows
    :param level: level in the merge tree; 0 in an append table
    :param extra_files: files next to it, such as indexes
    :param created_millis: creation time, in milliseconds since 1970 in the writer's time zone
    :param delete_row_count: number of rows in it that delete others; None from older writers
    :param external_path: absolute path, if it is outside the table's directory
    :param first_row_id: row id of its first row; None if the rows have their ids in the file
    :param write_cols: columns in the file; None for all columns of its schema
    """

    partition: bytes
    bucket: int
    name: str
    size: int
    row_count: int
    min_sequence: int
    max_sequence: int
    schema_id: int
    level: int
    extra_files: tuple[str, ...]
    created_millis: int | None
    delete_row_count: int | None
    embedded_index: bytes | None
    source: FileSource
    external_path: str | None
    first_row_id: int | None
    write_cols: tuple[str, ...] | None

    @property
    def key(self) -> FileKey:
        """The identity among live files."""
        return FileKey(
            self.partition,
            self.bucket,
            self.level,
            self.name,
            self.extra_files,
            self.embedded_index,
            self.external_path,
        )

    @property
    def format(self) -> str:
        """The format in its name, such as ``parquet``; empty if there is none."""
        endings = self.name.split(".")[1:]
        if len(endings) > 1 and endings[-1] in _COMPRESSIONS:
            endings.pop()
        return endings[-1].lower() if endings else ""

    @property
    def holds_rows(self) -> bool:
        """Return True if its rows are rows of the table.

        Rows of blob and vector files are columns of other files' rows.
        """
        return not self.name.endswith(".blob") and ".vector." not in self.name


class ManifestEntry(NamedTuple):
    kind: FileKind
    file: DataFile


_MANIFEST_FILE = (
    Column("_VERSION", "long"),
    Column("_FILE_NAME", "string"),
    Column("_FILE_SIZE", "long"),
    Column("_NUM_ADDED_FILES", "long"),
    Column("_NUM_DELETED_FILES", "long"),
    Column("_SCHEMA_ID", "long"),
    Column("_MIN_ROW_ID", "long", optional=True),
    Column("_MAX_ROW_ID", "long", optional=True),
)
_ENTRY = (
    Column("_VERSION", "long"),
    Column("_KIND", "long"),
    Column("_PARTITION", "bytes"),
    Column("_BUCKET", "long"),
    Column("_FILE._FILE_NAME", "string"),
    Column("_FILE._FILE_SIZE", "long"),
    Column("_FILE._ROW_COUNT", "long"),
    Column("_FILE._MIN_SEQUENCE_NUMBER", "long"),
    Column("_FILE._MAX_SEQUENCE_NUMBER", "long"),
    Column("_FILE._SCHEMA_ID", "long"),
    Column("_FILE._LEVEL", "long"),
    Column("_FILE._EXTRA_FILES", "array"),
    Column("_FILE._CREATION_TIME", "long", optional=True),
    Column("_FILE._DELETE_ROW_COUNT", "long", optional=True),
    Column("_FILE._EMBEDDED_FILE_INDEX", "bytes", optional=True),
    Column("_FILE._FILE_SOURCE", "long", optional=True),
    Column("_FILE._EXTERNAL_PATH", "string", optional=True),
    Column("_FILE._FIRST_ROW_ID", "long", optional=True),
    Column("_FILE._WRITE_COLS", "array", optional=True),
)
_KINDS = {kind.value: kind for kind in FileKind}
_SOURCES = {source.value: source for source in FileSource}


def read_manifest_lists(
    files: Sequence[bytes], codecs: Mapping[str, Codec]
) -> list[tuple[ManifestFile, ...] | PaimonFormatError]:
    """Read manifest lists.

    :param files: contents of the files
    :param codecs: codecs by Avro's names
    :returns: manifests of each list in order, or the error if it cannot be read
    """
    return read_entries(files, _MANIFEST_FILE, ENTRY_VERSION, codecs, lambda row: ManifestFile._make(row[1:]))


def read_manifests(
    files: Sequence[bytes], codecs: Mapping[str, Codec]
) -> list[tuple[ManifestEntry, ...] | PaimonFormatError]:
    """Read manifests.

    :param files: contents of the files
    :param codecs: codecs by Avro's names
    :returns: entries of each manifest in order, or the error if it cannot be read
    """
    return read_entries(files, _ENTRY, ENTRY_VERSION, codecs, _entry)


def read_entries(
    files: Sequence[bytes],
    columns: tuple[Column, ...],
    version: int,
    codecs: Mapping[str, Codec],
    make: Callable[[Row], T],
) -> list[tuple[T, ...] | PaimonFormatError]:
    """Read files of entries whose first column is the version of the entry.

    :param version: required version
    :param make: function that creates an entry from its columns; may raise :class:`PaimonFormatError`
    :returns: entries of each file in order, or the error if it cannot be read
    """
    return [
        _refused(rows) if isinstance(rows, AvroError) else _made(rows, version, make)
        for rows in read_rows(files, columns, codecs)
    ]


def _refused(error: AvroError) -> PaimonFormatError:
    kind = LargeFileError if isinstance(error, LargeAvroError) else PaimonFormatError
    return kind(str(error))


def kind_of(value: int) -> FileKind:
    """Return the kind with a number.

    :raises PaimonFormatError: if there is none
    """
    kind = _KINDS.get(value)
    if kind is None:
        raise PaimonFormatError(f"an entry is of kind {value}, which is neither ADD nor DELETE")
    return kind


def _made(rows: list[Row], version: int, make: Callable[[Row], T]) -> tuple[T, ...] | PaimonFormatError:
    for row in rows:
        if row[0] != version:
            return PaimonFormatError(f"an entry has version {row[0]}, not {version}")
    try:
        return tuple(map(make, rows))
    except PaimonFormatError as error:
        return error


def _entry(row: Row) -> ManifestEntry:
    _, kind, *plain, extra_files, created, deletes, index, source, external_path, first_row_id, write_cols = row
    columns = None if write_cols is None else tuple(write_cols)
    source = _SOURCES.get(source, FileSource.UNKNOWN)
    rest = (tuple(extra_files), created, deletes, index, source, external_path, first_row_id, columns)
    return ManifestEntry(kind_of(kind), DataFile._make((*plain, *rest)))
