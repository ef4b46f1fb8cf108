"""Checkpoints of tables as engines write them: what commits add up to, as Parquet or JSON, with or without sidecars."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from airflow_delta_provider.domain.delta.snapshot import ActionBatch, file_key
from tests.unit.log_builder import Action, Actions

_MAP = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_IDS = [("baseRowId", pa.int64()), ("defaultRowCommitVersion", pa.int64()), ("clusteringProvider", pa.string())]
#: The columns of a checkpoint.
COLUMNS: dict[str, pa.DataType] = {
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
    "add": pa.struct(
        [
            ("path", pa.string()),
            ("partitionValues", _MAP),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
            ("tags", _MAP),
            ("deletionVector", _VECTOR),
            *_IDS,
            ("stats", pa.string()),
        ]
    ),
    "remove": pa.struct(
        [
            ("path", pa.string()),
            ("deletionTimestamp", pa.int64()),
            ("dataChange", pa.bool_()),
            ("extendedFileMetadata", pa.bool_()),
            ("partitionValues", _MAP),
            ("size", pa.int64()),
            ("deletionVector", _VECTOR),
        ]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", _MAP)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", _MAP),
            ("createdTime", pa.int64()),
        ]
    ),
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "domainMetadata": pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
    "checkpointMetadata": pa.struct([("version", pa.int64()), ("tags", _MAP)]),
    "sidecar": pa.struct(
        [("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64()), ("tags", _MAP)]
    ),
    "commitInfo": pa.struct([("timestamp", pa.int64()), ("operation", pa.string())]),
    "cdc": pa.struct([("path", pa.string()), ("size", pa.int64())]),
}
FILE_KINDS = ("add", "remove")
_NOT_PRESERVED = ("commitInfo", "cdc", "checkpointMetadata", "sidecar")


def reconciled(commits: Iterable[Actions]) -> Actions:
    """What commits add up to: everything that a checkpoint holds."""
    found: dict[Any, Action] = {}
    for action in (action for actions in commits for action in actions):
        (kind, body), *_ = action.items()
        if kind in FILE_KINDS:
            key: Any = ("file", file_key(body))
        elif kind in ("txn", "domainMetadata"):
            key = (kind, body.get("appId" if kind == "txn" else "domain"))
        else:
            key = kind
        if key == ("txn", None):
            continue  # which no engine could write to a checkpoint
        if kind in _NOT_PRESERVED or (kind == "domainMetadata" and body.get("removed")):
            found.pop(key, None)
            continue
        found[key] = {kind: {**body, "dataChange": False}} if kind in FILE_KINDS else action
    return list(found.values())


def actions_of(batches: Iterable[ActionBatch]) -> Actions:
    """The actions in batches, one by one."""
    return [dict(action) for batch in batches for action in batch.actions()]


def as_parquet(actions: Sequence[Action], parsed: Sequence[pa.Field] = ()) -> bytes:
    """A Parquet file of actions, with the columns that it needs.

    :param parsed: what ``add`` has besides
    """
    kinds = sorted({kind for action in actions for kind in action})
    columns = {kind: [action.get(kind) for action in actions] for kind in kinds}
    types = {**COLUMNS, "add": pa.struct([*COLUMNS["add"], *parsed])}
    table = pa.table({kind: pa.array(list(map(_pairs, rows)), types[kind]) for kind, rows in columns.items()})
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def as_json(actions: Sequence[Action]) -> bytes:
    return "".join(f"{json.dumps(action)}\n" for action in actions).encode()


def v2_metadata(version: int, **tags: str) -> Action:
    return {"checkpointMetadata": {"version": version, "tags": tags}}


def classic_name(version: int) -> str:
    return f"{version:020d}.checkpoint.parquet"


def uuid_name(version: int, form: str = "json") -> str:
    return f"{version:020d}.checkpoint.{uuid.UUID(int=version)}.{form}"


def part_name(version: int, part: int, parts: int) -> str:
    return f"{version:020d}.checkpoint.{part:010d}.{parts:010d}.parquet"


def _pairs(body: Any) -> Any:
    """PyArrow takes a map as pairs."""
    if not isinstance(body, dict):
        return body
    maps = ("partitionValues", "tags", "configuration", "options")
    return {
        key: list(value.items()) if key in maps and isinstance(value, dict) else _pairs(value)
        for key, value in body.items()
    }


def with_null_group(content: bytes, name: str = "format") -> bytes:
    """Give a group the logical type of columns that are always null, as statistics of a void column have."""
    head = b"\x18" + bytes([len(name)]) + name.encode() + b"\x15"
    at = content.rindex(head) + len(head) + 1
    changed = content[:at] + b"\x5c\xbc\x00\x00" + content[at:]
    size = int.from_bytes(changed[-8:-4], "little") + 4
    return changed[:-8] + size.to_bytes(4, "little") + changed[-4:]
