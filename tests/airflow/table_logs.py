"""Logs of Delta tables, written file by file: what a test needs, and nothing else of a table."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.io import attach
from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

Json = dict[str, Any]
#: Tables that Spark made; see their README.
REAL_TABLES = Path(__file__).parent / "tables"

_TEXT_MAP = pa.map_(pa.string(), pa.string())
_PROTOCOL = pa.struct(
    {
        "minReaderVersion": pa.int32(),
        "minWriterVersion": pa.int32(),
        "readerFeatures": pa.list_(pa.string()),
        "writerFeatures": pa.list_(pa.string()),
    }
)
_METADATA = pa.struct(
    {
        "id": pa.string(),
        "schemaString": pa.string(),
        "partitionColumns": pa.list_(pa.string()),
        "configuration": _TEXT_MAP,
    }
)
_CHECKPOINT = pa.schema({"add": pa.struct({"path": pa.string()}), "protocol": _PROTOCOL, "metaData": _METADATA})


def protocol(*features: str, reader: int = 3, writer: int = 7) -> Json:
    """A protocol action; without features, of the legacy versions given."""
    body: Json = {"minReaderVersion": reader, "minWriterVersion": writer}
    if writer >= 7:
        body["writerFeatures"] = list(features)
        body["readerFeatures"] = [name for name in features if name in ("typeWidening", "deletionVectors")]
    return {"protocol": body}


def metadata(configuration: Mapping[str, str] | None = None, table_id: str = "a-table") -> Json:
    """A metaData action with these properties."""
    schema = {"type": "struct", "fields": [{"name": "id", "type": "integer", "nullable": True, "metadata": {}}]}
    return {
        "metaData": {
            "id": table_id,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(schema),
            "partitionColumns": [],
            "configuration": dict(configuration or {}),
        }
    }


def append(transaction: str | None = None) -> list[Json]:
    """The actions of an append."""
    info: Json = {"operation": "WRITE", **({"txnId": transaction} if transaction else {})}
    return [{"commitInfo": info}, {"add": {"path": "f.parquet", "size": 1, "dataChange": True}}]


def checkpoint(*actions: Json, files: int = 3) -> bytes:
    """A Parquet checkpoint of these protocol and metaData actions, after rows of ``files`` files."""
    rows: list[Json] = [{"add": {"path": f"f{number}.parquet"}} for number in range(files)]
    for action in actions:
        body = dict(action.get("metaData", {}))
        if body:
            body["configuration"] = list(body["configuration"].items())
        rows.append({"metaData": body} if body else dict(action))
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=_CHECKPOINT), stream)
    return stream.getvalue()


class TableLog:
    """The log of one table, in any filesystem.

    :param location: the table's path in the filesystem
    """

    def __init__(self, location: str | Path, filesystem: AbstractFileSystem | None = None) -> None:
        self.location = str(location)
        self.filesystem = filesystem or LocalFileSystem()

    def write(self, name: str, content: bytes | str) -> None:
        """Write a file of the log as a whole: no reader sees half of it."""
        directory = f"{self.location}/_delta_log"
        self.filesystem.makedirs(directory, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        self.filesystem.pipe_file(f"{directory}/{name}.part", data)
        self.filesystem.mv(f"{directory}/{name}.part", f"{directory}/{name}")

    def remove(self, name: str) -> None:
        self.filesystem.rm(f"{self.location}/_delta_log/{name}")

    def drop(self) -> None:
        self.filesystem.rm(self.location, recursive=True)

    def commit(self, version: int, *actions: Json | Sequence[Json]) -> None:
        flat = [one for item in actions for one in ([item] if isinstance(item, dict) else item)]
        self.write(f"{version:020d}.json", "\n".join(map(json.dumps, flat)) + "\n")

    def checksum(self, version: int, protocol: Json, metadata: Json, transaction: str | None = None) -> None:
        body: Json = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1}
        body.update(protocol=protocol["protocol"], metadata=metadata["metaData"])
        if transaction:
            body["txnId"] = transaction
        self.write(f"{version:020d}.crc", json.dumps(body))


class RecordingFileSystem(MemoryFileSystem):
    """A store in memory that notes what was listed, read and asked for, and fails for as long as it is told to."""

    cachable = False
    protocol = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.asked: list[str] = []
        self.failures = 0

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        self.calls.append("ls")
        if self.failures:
            self.failures -= 1
            raise OSError("the store is away")
        return super().ls(path, detail=detail, **kwargs)

    def info(self, path: str, **kwargs: Any) -> Any:
        self.asked.append(path.rsplit("/", 1)[-1].lstrip("0") or "0")
        return super().info(path, **kwargs)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        self.calls.append(path.rsplit("/", 1)[-1].lstrip("0") or "0")
        content: bytes = super().cat_file(path, start, end, **kwargs)
        return content


def attach_store(monkeypatch: pytest.MonkeyPatch, filesystem: AbstractFileSystem, scheme: str = "memory") -> str:
    """Give Airflow a store behind a connection of its own, whose id is returned."""
    conn_id = f"store_{uuid.uuid4().hex}"
    monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", '{"conn_type": "generic"}')
    attach(scheme, conn_id=conn_id, fs=filesystem)
    return conn_id
