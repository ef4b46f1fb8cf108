"""Manifest lists and manifests: which data files a commit added and deleted.

Apache Paimon, Specification, Manifest. A table has many entries, so they are named tuples, which cost a third of
what frozen dataclasses do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, TypeVar

from airflow_delta_provider.domain.formats.avro.codecs import Codec
from airflow_delta_provider.domain.formats.avro.primitives import AvroError, LargeAvroError
from airflow_delta_provider.domain.formats.avro.projection import Column, Row
from airflow_delta_provider.domain.formats.avro.reading import read_rows
from airflow_delta_provider.domain.paimon.format_error import LargeFileError, PaimonFormatError

T = TypeVar("T")

#: The version of an entry of a manifest or a manifest list; Paimon reads no other.
ENTRY_VERSION = 2
#: After the format in a file's name, where the whole file is compressed.
_COMPRESSIONS = frozenset({"gz", "bz2", "deflate", "snappy", "lz4", "zst"})


class FileKind(Enum):
    """What a commit did with a file."""

    ADD = 0
    DELETE = 1


class FileSource(Enum):
    """What wrote a file."""

    APPEND = 0
    COMPACT = 1
    UNKNOWN = -1


class ManifestFile(NamedTuple):
    """A manifest, as a manifest list has it.

    :param size: bytes that it has
    :param added: entries of kind ADD
    :param deleted: entries of kind DELETE
    :param schema_id: the highest of its files
    :param min_row_id: the smallest first row id of its files; None where one has none, or the writer was older
    :param max_row_id: the last row id that these give
    """

    name: str
    size: int
    added: int
    deleted: int
    schema_id: int
    min_row_id: int | None
    max_row_id: int | None


class FileKey(NamedTuple):
    """What distinguishes a live file from the others; a DELETE entry has the key of the file that it deletes."""

    partition: bytes
    bucket: int
    level: int
    name: str
    extra_files: tuple[str, ...]
    embedded_index: bytes | None
    external_path: str | None


class DataFile(NamedTuple):
    """A data file.

    :param partition: the partition's values, for :func:`binary_row.read_partition`
    :param bucket: 0 where the table has no buckets, -2 where the bucket is not yet chosen
    :param size: in bytes
    :param row_count: rows in it, those of deletion vectors included
    :param min_sequence: lowest sequence number of its rows
    :param level: 0 in an append table
    :param extra_files: files next to it, as indexes
    :param created_millis: milliseconds since 1970 in the writer's time zone
    :param delete_row_count: rows in it that delete others; None from older writers
    :param external_path: the whole path where it does not lie in the table
    :param first_row_id: the row id of its first row; None where the rows have their ids in the file
    :param write_cols: columns that it has; None for those of its schema
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
        """What distinguishes it from the other live files."""
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
        """The format that its name says, as ``parquet``; empty where it says none."""
        endings = self.name.split(".")[1:]
        if len(endings) > 1 and endings[-1] in _COMPRESSIONS:
            endings.pop()
        return endings[-1].lower() if endings else ""

    @property
    def holds_rows(self) -> bool:
        """Whether its rows are rows of the table: those of blob and vector files are columns of other files' rows."""
        return not self.name.endswith(".blob") and ".vector." not in self.name


class ManifestEntry(NamedTuple):
    """A data file that a commit added or deleted."""

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

    :param files: their contents
    :param codecs: by Avro's names
    :returns: for each its manifests in order, or why it cannot be read
    """
    return read_entries(files, _MANIFEST_FILE, ENTRY_VERSION, codecs, lambda row: ManifestFile._make(row[1:]))


def read_manifests(
    files: Sequence[bytes], codecs: Mapping[str, Codec]
) -> list[tuple[ManifestEntry, ...] | PaimonFormatError]:
    """Read manifests.

    :param files: their contents
    :param codecs: by Avro's names
    :returns: for each its entries in order, or why it cannot be read
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

    :param version: what it has to be
    :param make: an entry from its columns; may raise :class:`PaimonFormatError`
    :returns: for each file its entries in order, or why it cannot be read
    """
    return [
        _refused(rows) if isinstance(rows, AvroError) else _made(rows, version, make)
        for rows in read_rows(files, columns, codecs)
    ]


def _refused(error: AvroError) -> PaimonFormatError:
    kind = LargeFileError if isinstance(error, LargeAvroError) else PaimonFormatError
    return kind(str(error))


def kind_of(value: int) -> FileKind:
    """Return the kind that a number stands for.

    :raises PaimonFormatError: if it stands for none
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
