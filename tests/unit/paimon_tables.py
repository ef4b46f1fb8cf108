"""A table of the archive as the domain reads it, whole, snapshot by snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import pyarrow
import zstandard

from airflow_delta_provider.domain.formats.avro.file import STANDARD_CODECS, Codec, one_by_one
from airflow_delta_provider.domain.formats.avro.primitives import AvroError
from airflow_delta_provider.domain.paimon.index_manifest import IndexFile, read_index_manifests
from airflow_delta_provider.domain.paimon.layout import (
    manifest_path,
    schema_ids,
    schema_path,
    snapshot_ids,
    snapshot_path,
)
from airflow_delta_provider.domain.paimon.manifest import (
    DataFile,
    FileKey,
    FileKind,
    ManifestEntry,
    read_manifest_lists,
    read_manifests,
)
from airflow_delta_provider.domain.paimon.schema import PaimonFormatError, TableSchema
from airflow_delta_provider.domain.paimon.snapshot import ManifestListFile, Snapshot

T = TypeVar("T")


def _decompress(block: bytes) -> bytes:
    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(block)
    except zstandard.ZstdError as error:
        raise AvroError(str(error)) from None


def _decompress_snappy(block: bytes) -> bytes:
    size = sum((byte & 0x7F) << 7 * index for index, byte in enumerate(_leading_number(block)))
    try:
        return bytes(pyarrow.decompress(block[:-4], size, "snappy"))
    except (OSError, ValueError) as error:
        raise AvroError(str(error)) from None


def _leading_number(block: bytes) -> bytes:
    """Return the number that a block begins with: its bytes but the last have the highest bit set."""
    return block[: next((index for index, byte in enumerate(block) if byte < 0x80), 0) + 1]


CODECS: Mapping[str, Codec] = {
    **STANDARD_CODECS,
    "zstandard": one_by_one(_decompress),
    "snappy": one_by_one(_decompress_snappy),
}


def read(result: list[T | PaimonFormatError]) -> T:
    """Return what one file came to; raise why it came to nothing."""
    [found] = result
    if isinstance(found, PaimonFormatError):
        raise found
    return found


class PaimonTable:
    def __init__(self, root: Path) -> None:
        self.root = root

    def bytes_of(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def snapshot_ids(self) -> list[int]:
        return snapshot_ids(path.name for path in (self.root / "snapshot").iterdir())

    def snapshot(self, snapshot_id: int) -> Snapshot:
        return Snapshot.from_json(self.bytes_of(snapshot_path(snapshot_id)))

    def schemas(self) -> list[TableSchema]:
        ids = schema_ids(path.name for path in (self.root / "schema").iterdir())
        return [TableSchema.from_json(self.bytes_of(schema_path(schema_id))) for schema_id in ids]

    def entries(self, manifest_list: ManifestListFile) -> list[ManifestEntry]:
        manifests = read(read_manifest_lists([self.bytes_of(manifest_path(manifest_list.name))], CODECS))
        contents = [self.bytes_of(manifest_path(manifest.name)) for manifest in manifests]
        return [entry for found in read_manifests(contents, CODECS) for entry in read([found])]

    def live_files(self, snapshot: Snapshot) -> list[DataFile]:
        live: dict[FileKey, DataFile] = {}
        for entry in self.entries(snapshot.base) + self.entries(snapshot.delta):
            if entry.kind is FileKind.ADD:
                live[entry.file.key] = entry.file
            else:
                del live[entry.file.key]
        return list(live.values())

    def index_files(self, snapshot: Snapshot) -> tuple[IndexFile, ...]:
        if snapshot.index_manifest is None:
            return ()
        return read(read_index_manifests([self.bytes_of(manifest_path(snapshot.index_manifest))], CODECS))
