"""Measuring engines with faults: fake packages that really hang, abort or fill memory, in processes of their own."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_delta_provider.jobs.migrations import try_engines
from scripts.measure_engines import __main__ as measuring
from scripts.measure_engines import sharing, trino
from scripts.measure_engines.releases import Measured
from scripts.measure_engines.try_engine import comparable

_ROWS = ['{"id": 1}', '{"id": 2}']
_FAULTS = """
import os, time

def read(path):
    kind = os.path.basename(path)
    if kind == "hangs":
        time.sleep(600)
    if kind == "aborts":
        os.abort()
    taken = []
    while kind == "memory":
        taken.append(b"x" * (16 << 20))
    if kind == "network":
        raise OSError("error sending request for url (http://store.invalid/t)")
    return [{"id": 2}, {"id": 1}]
"""
_DAFT = """
from faults import read

def read_deltalake(path):
    return Frame(path)

class Frame:
    def __init__(self, path): self.path = path
    def to_arrow(self): return self
    def to_pylist(self): return read(self.path)
"""
_SPARK = """
from faults import read

class SparkSession:
    def __getattr__(self, name): return lambda *_: self
    def load(self, path): return Frame(path)
    read = property(lambda self: self)

class Frame:
    def __init__(self, path): self.path = path
    def select(self, *_): return self
    def collect(self): return [Row(row) for row in read(self.path)]

class Row(dict):
    def asDict(self, recursive): return dict(self)

SparkSession.builder = SparkSession()
"""
_FOUND = {
    "hangs": "not measured: it did not end within 8 seconds",
    "aborts": "not measured: its process was ended by SIGABRT",
    "right": "OK",
    "memory": "not measured: it took more than half of the memory that it may have, 0.4 GB",
    "network": "not measured: OSError: error sending request for url (http://store.invalid/t)",
    "right too": "OK",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with environments of two fake engines."""
    packages = tmp_path / "packages"
    (packages / "pyspark").mkdir(parents=True)
    (packages / "faults.py").write_text(_FAULTS)
    (packages / "daft.py").write_text(_DAFT)
    (packages / "pyspark" / "__init__.py").touch()
    (packages / "pyspark" / "sql.py").write_text(_SPARK)
    for engine in ("daft", "spark"):
        place = tmp_path / "environments" / f"Fake-{engine}"
        (place / "bin").mkdir(parents=True)
        (place / ".installed").touch()
        python = place / "bin" / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
    monkeypatch.setattr(measuring, "_SECONDS", 8)
    monkeypatch.setattr(try_engines, "memory_limit", lambda: 800_000_000)
    return tmp_path


def situations_named(*names: str) -> dict[str, dict[str, Any]]:
    return {name: {"path": f"/tables/{name}", "predicates": [], "expected": [_ROWS]} for name in names}


@pytest.mark.parametrize("engine", ["daft", "spark"])
def test_each_fault_is_one_cell_with_its_reason(folder: Path, engine: str) -> None:
    release = Measured("Fake", engine, engine, (), jars="some:jar:1" if engine == "spark" else "")

    found = dict(measuring._reads(release, situations_named(*_FOUND), folder))

    assert found == {name: {"read, all": outcome} for name, outcome in _FOUND.items()}


def test_run_that_was_cut_off_goes_on_where_it_was(folder: Path) -> None:
    release = Measured("Fake", "spark", "spark", (), jars="some:jar:1")
    dict(measuring._reads(release, situations_named("right"), folder))
    kept = folder / "answers" / "Fake-spark-situations.jsonl"
    kept.write_text(kept.read_text().replace('\\"id\\": 2', '\\"id\\": 7') + '{"table": "right t')

    found = dict(measuring._reads(release, situations_named("right", "right too"), folder))

    assert found["right too"] == {"read, all": "OK"}
    assert found["right"] == {"read, all": 'wrong: {"id": 7} instead of {"id": 2}'}


def test_engine_that_does_not_start_is_tried_once(folder: Path) -> None:
    (folder / "packages" / "pyspark" / "sql.py").write_text(
        "import os\nopen('{}', 'a').write('x')\nos._exit(9)".format(folder / "starts")
    )
    release = Measured("Fake", "spark", "spark", (), jars="some:jar:1")

    found = dict(measuring._reads(release, situations_named("a", "b", "c", "d"), folder))

    assert set(map(str, found.values())) == {str({"read, all": "not measured: its process ended with code 9"})}
    assert (folder / "starts").read_text() == "x"


def test_tables_of_features_have_the_reason_too(folder: Path) -> None:
    (folder / "hangs").mkdir()
    table = {"path": str(folder / "hangs"), "columns": ["id"], "types": ["integer"], "rows": [[1, "1"]]}
    release = Measured("Fake", "spark", "spark", (), jars="some:jar:1")

    found = dict(measuring._tries(release, {"columnMapping": table}, folder))

    assert found["columnMapping"] == dict.fromkeys(("read", "append"), "not tried: it did not end within 8 seconds")


@pytest.mark.parametrize(
    ("gave", "expected", "outcome"),
    [
        (["1", "1"], ["1"], "wrong: 1 instead of no row"),
        (["1"], ["1", "1"], "wrong: no row instead of 1"),
        (["1", "2"], ["1", "2"], "OK"),
    ],
)
def test_rows_that_are_returned_too_often_are_wrong(gave: list[str], expected: list[str], outcome: str) -> None:
    assert measuring._compared(gave, expected) == outcome


def signature(kind: str, *arguments: Any) -> dict[str, Any]:
    return {"rawType": kind, "arguments": [{"value": argument} for argument in arguments]}


def named(name: str, kind: dict[str, Any]) -> dict[str, Any]:
    return {"fieldName": {"name": name}, "typeSignature": kind}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (signature("bigint"), 7, "7"),
        (signature("decimal", 20, 2), "1.50", '"1.50"'),
        (signature("double"), "NaN", '"nan"'),
        (signature("varbinary"), "YQ==", '"61"'),
        (signature("timestamp", 6), "2021-01-01 12:00:00.123456", '"2021-01-01 12:00:00.123456"'),
        (signature("timestamp with time zone", 3), "2021-01-01 12:00:00.000 UTC", '"2021-01-01 12:00:00"'),
        (signature("timestamp with time zone", 3), "+10000-01-01 00:00:00.000 UTC", '"+10000-01-01 00:00:00.000 UTC"'),
        (signature("array", signature("real")), [1.5, None], '["1.5", null]'),
        (signature("map", signature("varchar"), signature("date")), {"k": "2026-01-01"}, '{"k": "2026-01-01"}'),
        (signature("row", named("x", signature("double"))), [2], '{"x": "2.0"}'),
        (signature("row", named("x", signature("double"))), None, "null"),
    ],
)
def test_values_of_trino_compare_with_those_of_spark(kind: dict[str, Any], value: Any, expected: str) -> None:
    (row,) = comparable([{"c": trino._reader(kind)(value)}])
    assert row == f'{{"c": {expected}}}'


def test_trino_gets_the_oldest_java_that_it_accepts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for release in ("17.0.19", "99.0.1", "97"):
        (tmp_path / release / "bin").mkdir(parents=True)
        (tmp_path / release / "bin" / "java").touch(mode=0o755)
        (tmp_path / release / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{release}"\n')
    monkeypatch.setattr(trino, "_INSTALLED", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "17.0.19" / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "99.0.1"))
    assert trino.java() == str(tmp_path / "97" / "bin" / "java")
    (tmp_path / "97" / "release").unlink()
    assert trino.java() == str(tmp_path / "99.0.1" / "bin" / "java")
    monkeypatch.setattr(trino, "_LEAST_JAVA", 100)
    with pytest.raises(RuntimeError, match="Trino needs Java 100 or later"):
        trino.java()


_SHARED = {"schemaString": '{"type": "struct", "fields": []}', "partitionColumns": [], "id": "", "format": {}}
_VECTORS = "responseformat=delta;readerfeatures=deletionvectors,columnmapping,timestampntz"


def shared(
    monkeypatch: pytest.MonkeyPatch, capabilities: str, configuration: dict[str, str], reader: int = 3, **file: Any
) -> tuple[str, dict[str, Any]]:
    """Return the format of the answer for a table with one file, and its last line."""
    protocol = {"minReaderVersion": reader, "minWriterVersion": 7 if reader == 3 else 2}
    described = {"path": "a%2520b", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True, **file}
    entries = (0, protocol, {**_SHARED, "configuration": configuration}, [described])
    monkeypatch.setattr(sharing.java_kernel, "log_entries", lambda path: entries)
    monkeypatch.setattr(sharing.java_kernel, "vector_file", lambda vector: "v.bin")
    monkeypatch.setattr(sharing, "store", lambda: SimpleNamespace(signed=lambda key: f"signed {key}"))
    server = sharing.Sharing()
    server.paths["t"] = "t"
    asked = dict(each.split("=") for each in filter(None, capabilities.split(";")))
    _, form, lines = server.answer("t", asked, with_files=True)
    return form, lines[-1]["file"]


@pytest.mark.parametrize(
    ("capabilities", "reader", "form"),
    [
        ("", 3, "parquet"),
        (_VECTORS.replace("=delta", "=delta,parquet"), 3, "delta"),
        (_VECTORS.replace("=delta", "=delta,parquet"), 1, "parquet"),
        (_VECTORS, 1, "delta"),
    ],
)
def test_sharing_answers_in_the_format_of_the_reference_server(
    monkeypatch: pytest.MonkeyPatch, capabilities: str, reader: int, form: str
) -> None:
    found, file = shared(monkeypatch, capabilities, {}, reader)

    assert found == form
    assert (file["url"] if form == "parquet" else file["deltaSingleAction"]["add"]["path"]) == "signed t/a%20b"


@pytest.mark.parametrize(
    ("configuration", "vector", "why"),
    [
        ({"delta.columnMapping.mode": "name"}, None, "Unsupported Delta Table Properties"),
        ({"delta.enableDeletionVectors": "true"}, None, "Unsupported Delta Table Properties"),
        ({"delta.enableDeletionVectors": "false"}, {"storageType": "u"}, "Deletion Vector property disabled"),
    ],
)
def test_sharing_refuses_in_format_parquet_and_not_in_delta(
    monkeypatch: pytest.MonkeyPatch, configuration: dict[str, str], vector: dict[str, str] | None, why: str
) -> None:
    with pytest.raises(sharing.SharingError, match=why):
        shared(monkeypatch, "", configuration, deletionVector=vector)

    _, file = shared(monkeypatch, _VECTORS, configuration, deletionVector=vector)
    vectors = {"storageType": "p", "pathOrInlineDv": "signed t/v.bin"} if vector else None
    assert file["deltaSingleAction"]["add"].get("deletionVector") == vectors


@pytest.mark.parametrize(
    ("given", "kind", "value"),
    [
        (float("nan"), "long", None),
        (7.0, "integer", 7),
        (9007199254740992.0, "long", 9007199254740992),
        (7, "decimal(12,1)", Decimal("7.0")),
        (Decimal("1.2512"), "decimal(5,2)", Decimal("1.2512")),
        ([("k", 1.0)], {"type": "map", "keyType": "string", "valueType": "integer"}, {"k": 1}),
        (float("nan"), {"type": "array", "elementType": "integer"}, None),
    ],
)
def test_values_of_pandas_are_compared_as_the_types_of_the_table_have_them(given: Any, kind: Any, value: Any) -> None:
    found = sharing._value(given, kind)

    assert (found, str(found)) == (value, str(value))
