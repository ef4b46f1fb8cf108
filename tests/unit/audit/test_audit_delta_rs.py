"""Histories that delta-rs really writes: audits have nothing to say of them, but for what it does wrong."""

from __future__ import annotations

import threading
from datetime import date, datetime
from decimal import Decimal

import pyarrow
import pytest

from airflow_delta_provider.domain.report.report import Severity
from tests.unit.audits_in_parts import Kept, told

deltalake = pytest.importorskip("deltalake")


def rows(first, last, **more):
    numbers = range(first, last)
    values = {"v": pyarrow.array([n % 3 for n in numbers], pyarrow.int32()), "name": [f"n{n % 4}" for n in numbers]}
    return pyarrow.table({"id": pyarrow.array(numbers, pyarrow.int64()), **values, **more})


def merged(table, source, **known):
    merge = table().merge(source, "s.id = t.id", source_alias="s", target_alias="t", **known)
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


def changed(write, table):
    write(rows(20, 40), mode="append")
    table().update(updates={"v": "7"}, predicate="id < 5")
    table().delete("id > 35")
    merged(table, rows(3, 50))
    write(rows(70, 75, w=pyarrow.array([1.5] * 5)), mode="append", schema_mode="merge")
    table().alter.add_columns([deltalake.Field("extra", deltalake.schema.PrimitiveType("string"))])
    table().alter.add_constraint({"c": "id >= 0"})
    table().optimize.compact()
    table().optimize.z_order(["id"])
    table().alter.set_table_properties({"delta.checkpointInterval": "5"})
    table().alter.drop_constraint("c")
    table().alter.set_table_name("t")
    table().alter.set_column_metadata("v", {"comment": "x"})
    table().restore(2)
    write(rows(80, 90), mode="append", schema_mode="merge")
    write(rows(80, 90), mode="overwrite", predicate="id >= 80")
    write(rows(0, 9), mode="overwrite")
    table().vacuum(0, dry_run=False, enforce_retention_duration=False)
    once = deltalake.CommitProperties(app_transactions=[deltalake.Transaction("a", 1)], custom_metadata={"a": "b"})
    write(rows(1, 3), mode="append", commit_properties=once)
    table().delete()


def overwritten(write, table):
    write(pyarrow.table({"id": ["a", "b"], "z": [1, 2]}), mode="overwrite", schema_mode="overwrite")
    table().restore(0)
    write(rows(0, 3), mode="append")


def mapped(write, table):
    write(rows(20, 40), mode="append")
    table().update(updates={"v": "7"}, predicate="id < 5")
    table().delete("id > 35")
    merged(table, rows(3, 50))
    write(rows(0, 9), mode="overwrite")


def written_at_once(write, table):
    def append(number):
        for turn in range(3):
            write(rows(100 * number, 100 * number + 10 + turn), mode="append")

    threads = [threading.Thread(target=append, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def merged_with_new_columns(write, table):
    write(rows(100, 110), mode="append")
    merged(table, rows(5, 15, new=pyarrow.array([1] * 10)), merge_schema=True)


STORIES = {
    "changed": (changed, {}),
    "changed, with partitions": (changed, {"partition_by": ["name"]}),
    "changed, with a change data feed": (changed, {"configuration": {"delta.enableChangeDataFeed": "true"}}),
    "changed, with deletion vectors": (changed, {"configuration": {"delta.enableDeletionVectors": "true"}}),
    "overwritten": (overwritten, {}),
    "mapped": (mapped, {"configuration": {"delta.columnMapping.mode": "name"}}),
    "written at once": (written_at_once, {}),
    "merged with new columns": (merged_with_new_columns, {}),
}
#: What delta-rs 1.6.6 really does wrong: a MERGE that adds columns gives the table another id.
KNOWN = {"merged with new columns": [("MD08", Severity.WARNING, 2, "delta-rs")]}


def commits(path):
    return [log.read_bytes() for log in sorted(path.glob("_delta_log/*.json"))]


def kept(contents):
    storage = Kept([])
    storage.files = {f"{version:020d}.json": content for version, content in enumerate(contents)}
    return storage


@pytest.mark.parametrize("name", STORIES)
def test_nothing_is_wrong_with_what_delta_rs_wrote(tmp_path, name):
    story, options = STORIES[name]
    deltalake.write_deltalake(tmp_path, rows(0, 20), **options)
    story(
        lambda data, **known: deltalake.write_deltalake(tmp_path, data, **known),
        lambda: deltalake.DeltaTable(tmp_path),
    )
    contents = commits(tmp_path)
    assert len(contents) > 2
    found, memory = [], None
    for end in range(1, len(contents) + 1):
        found, memory, _ = told(kept(contents[:end]), memory)
    assert found == told(kept(contents))[0]
    said = [(f.code, f.severity, f.version, str(f.writer).split(" ")[0]) for f in found]
    assert said == KNOWN.get(name, [])


@pytest.mark.parametrize(
    "values",
    [
        [date(2026, 1, 2), None],
        pyarrow.array([datetime(2026, 1, 2, 3, 4, 5, 678), None], pyarrow.timestamp("us", "UTC")),
        pyarrow.array([datetime(2026, 1, 2, 3, 4, 5, 678), None], pyarrow.timestamp("us")),
        pyarrow.array([Decimal("1.25"), None], pyarrow.decimal128(10, 2)),
        [True, None],
        pyarrow.array([1.5, float("nan")], pyarrow.float32()),
        pyarrow.array([1, None], pyarrow.int8()),
        ["a b/c=%", "é"],
        [b"x", b""],
    ],
    ids=["date", "timestamp", "timestamp_ntz", "decimal", "boolean", "float", "byte", "string", "binary"],
)
def test_nothing_is_wrong_with_partitions_of_any_type(tmp_path, values):
    for mode in ("error", "append"):
        data = pyarrow.table({"id": [1, 2], "p q": values})
        deltalake.write_deltalake(tmp_path, data, partition_by=["p q"], mode=mode)
    assert told(kept(commits(tmp_path)))[0] == []
