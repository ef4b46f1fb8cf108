"""Measures what an installed release of ``deltalake`` does with each table feature, and prints it as JSON.

Not part of ``make docs`` or of CI: run it with the Python of a virtual environment that has the release (and pyarrow),
and compare the result with ``domain/engine/profiles.json``. It needs nothing of this package, so it runs with
releases that need an old Python library.

    python measure_deltalake.py FOLDER [FEATURE …]

Each feature gets a table of its own in FOLDER, whose log is written here: one file of two rows, the feature in the
protocol, and, where it says so, in use.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

READER_WRITER = [
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "variantType",
    "variantType-preview",
    "variantShredding",
    "variantShredding-preview",
    "geospatial",
    "catalogManaged",
]
WRITER = [
    "appendOnly",
    "invariants",
    "checkConstraints",
    "changeDataFeed",
    "generatedColumns",
    "identityColumns",
    "domainMetadata",
    "rowTracking",
    "clustering",
    "allowColumnDefaults",
    "inCommitTimestamp",
    "checkpointProtection",
    "materializePartitionColumns",
    "icebergCompatV1",
    "icebergCompatV2",
    "icebergCompatV3",
    "columnMappingUsageTracking",
]
#: What is in use beyond the protocol, by the name of the case: the column's type, its metadata, table properties.
IN_USE: dict[str, tuple[str, str, dict[str, Any], dict[str, str]]] = {
    "columnMapping in use": (
        "columnMapping",
        "integer",
        {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"},
        {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"},
    ),
    "columnMapping in use, by version": (
        "2.5",
        "integer",
        {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"},
        {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"},
    ),
    "typeWidening in use": (
        "typeWidening",
        "long",
        {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]},
        {"delta.enableTypeWidening": "true"},
    ),
    "invariants in use": (
        "invariants",
        "integer",
        {"delta.invariants": json.dumps({"expression": {"expression": "a > 0"}})},
        {},
    ),
    "checkConstraints in use": ("checkConstraints", "integer", {}, {"delta.constraints.positive": "a > 0"}),
    "changeDataFeed in use": ("changeDataFeed", "integer", {}, {"delta.enableChangeDataFeed": "true"}),
    "identityColumns in use": (
        "identityColumns",
        "long",
        {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": True},
        {},
    ),
}
_ATTEMPT = "--attempt"
VERSIONS = ((1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2, 5), (2, 6))


def protocol_of(feature: str) -> dict[str, Any]:
    """Return the protocol action that lists one feature; ``1.4`` is a pair of versions."""
    if feature[0].isdigit():
        reader, writer = map(int, feature.split("."))
        return {"minReaderVersion": reader, "minWriterVersion": writer}
    if feature in READER_WRITER:
        listed = {"readerFeatures": [feature], "writerFeatures": [feature]}
        return {"minReaderVersion": 3, "minWriterVersion": 7, **listed}
    return {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [feature]}


def make_table(path: str, name: str) -> None:
    """Write the table of a case."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    feature, kind, metadata, properties = IN_USE.get(name, (name, "integer", {}, {}))
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(os.path.join(path, "_delta_log"))
    column = metadata.get("delta.columnMapping.physicalName", "a")
    stored = pa.int64() if feature == "identityColumns" else pa.int32()
    field = pa.field(column, stored, metadata={"PARQUET:field_id": "1"})
    pq.write_table(pa.table([pa.array([1, 2], stored)], schema=pa.schema([field])), os.path.join(path, "f.parquet"))
    schema = {
        "type": "struct",
        "fields": [{"name": "a", "type": kind, "nullable": True, "metadata": metadata}],
    }
    size = os.path.getsize(os.path.join(path, "f.parquet"))
    actions: list[dict[str, Any]] = [
        {"commitInfo": {"timestamp": 1, "operation": "WRITE", "operationParameters": {}, "inCommitTimestamp": 1}},
        {"protocol": protocol_of(feature)},
        {
            "metaData": {
                "id": "11111111-1111-4111-8111-111111111111",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(schema),
                "partitionColumns": [],
                "configuration": properties,
                "createdTime": 1,
            }
        },
        {
            "add": {
                "path": "f.parquet",
                "partitionValues": {},
                "size": size,
                "modificationTime": 1,
                "dataChange": True,
                "stats": json.dumps({"numRecords": 2}),
            }
        },
    ]
    with open(os.path.join(path, "_delta_log", f"{0:020d}.json"), "w") as log:
        log.writelines(json.dumps(action) + "\n" for action in actions)


def _query(path: str) -> list[Any]:
    from deltalake import DeltaTable, QueryBuilder

    result = QueryBuilder().register("t", DeltaTable(path)).execute("select a from t order by a")
    if hasattr(result, "fetchall"):
        result = result.fetchall()
    import pyarrow as pa

    return (
        pa.Table.from_batches(result)["a"].to_pylist()
        if isinstance(result, list)
        else pa.table(result)["a"].to_pylist()
    )


def _arrow(path: str) -> list[Any]:
    from deltalake import DeltaTable

    return sorted(DeltaTable(path).to_pyarrow_table()["a"].to_pylist(), key=str)


def _polars(path: str) -> list[Any]:
    import polars

    return polars.scan_delta(path).collect()["a"].sort().to_list()


def _append(path: str) -> list[Any]:
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    kind = pa.int64() if "long" in str(DeltaTable(path).schema()) else pa.int32()
    write_deltalake(path, pa.table({"a": pa.array([3], kind)}), mode="append")
    return ["version", DeltaTable(path).version()]


WAYS: dict[str, Callable[[str], list[Any]]] = {
    "query": _query,
    "pyarrow": _arrow,
    "polars": _polars,
    "append": _append,
}


def attempt(way: str, path: str) -> str:
    """Return what one way gives: ``OK``, the wrong rows, or why it is refused."""
    try:
        rows = WAYS[way](path)
    except ImportError:
        return "not installed"
    except Exception as error:
        return f"refused: {type(error).__name__}: {str(error).splitlines()[0][:160]}"
    expected = ["version", 1] if way == "append" else [1, 2]
    return "OK" if rows == expected else f"wrong: {rows}"


def main(folder: str, only: list[str]) -> None:
    """Measure every case, each way in a process of its own: some releases abort."""
    import deltalake

    cases = only or [*READER_WRITER, *WRITER, *IN_USE, *(f"{reader}.{writer}" for reader, writer in VERSIONS)]
    found: dict[str, Any] = {"deltalake": deltalake.__version__}
    for name in cases:
        path = os.path.abspath(os.path.join(folder, name.replace(" ", "_")))
        make_table(path, name)
        found[name] = _in_process(path)
    print(json.dumps(found, indent=1))


def _in_process(path: str) -> dict[str, str]:
    """Try all ways in a process of its own: some releases abort."""
    done = subprocess.run(
        [sys.executable, __file__, _ATTEMPT, path], capture_output=True, text=True, timeout=60, check=False
    )
    found = dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
    return {way: found.get(way, "aborted") for way in WAYS}


if __name__ == "__main__":
    if sys.argv[1] == _ATTEMPT:
        for each in WAYS:
            print(json.dumps([each, attempt(each, sys.argv[2])]), flush=True)
        os._exit(0)
    main(sys.argv[1], sys.argv[2:])
