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
        pyarrow.array([datetime(2026, 1, 2, 3, 4, 5, 678), None], pyarrow.timestamp("us")),
        pyarrow.array([Decimal("1.25"), None], pyarrow.decimal128(10, 2)),
        [True, None],
        pyarrow.array([1.5, float("nan")], pyarrow.float32()),
        pyarrow.array([1, None], pyarrow.int8()),
        ["a b/c=%", "é"],
    ],
    ids=["date", "timestamp_ntz", "decimal", "boolean", "float", "byte", "string"],
)
def test_nothing_is_wrong_with_partitions_of_any_type(tmp_path, values):
    assert told(kept(commits_of_partitions(tmp_path, values)))[0] == []


@pytest.mark.parametrize(
    ("values", "value"),
    [
        (pyarrow.array([datetime(2026, 1, 2)], pyarrow.timestamp("us", "UTC")), "2026-01-02 00:00:00.000000"),
        ([b"x"], "\\u0078"),
        ([b""], ""),
        ([""], ""),
    ],
    ids=["timestamp", "binary", "empty binary", "empty string"],
)
def test_partition_values_that_other_engines_read_differently_are_found(tmp_path, values, value):
    (found,) = told(kept(commits_of_partitions(tmp_path, values)))[0]
    assert (found.code, found.severity, found.column) == ("AC40", Severity.WARNING, "p q")
    assert found.facts["value"] == value


def commits_of_partitions(tmp_path, values):
    for mode in ("error", "append"):
        data = pyarrow.table({"id": range(len(values)), "p q": values})
        deltalake.write_deltalake(tmp_path, data, partition_by=["p q"], mode=mode)
    return commits(tmp_path)


@pytest.mark.parametrize(
    ("precision", "scale", "values", "codes"),
    [
        (18, 2, ["9999999999999997.01", "9999999999999999.00"], ["AC39"]),
        (38, 10, ["1234567890123456789.1234567891"], ["AC39"]),
        (38, 0, ["12345678901234567890"], ["AC39"]),
        (16, 2, ["99999999999999.99"], ["AC18"]),
        (18, 2, ["-1.10", "9999999999999.99"], []),
        (18, 0, ["999999999999999999"], []),
        (38, 18, ["0"], []),
        (5, 2, ["-999.99", "999.99"], []),
    ],
)
def test_bounds_of_decimals_are_found_if_a_double_cannot_hold_them(tmp_path, precision, scale, values, codes):
    data = pyarrow.table({"x": pyarrow.array(map(Decimal, values), pyarrow.decimal128(precision, scale))})
    deltalake.write_deltalake(tmp_path, data)
    assert [finding.code for finding in told(kept(commits(tmp_path)))[0]] == codes


def test_each_column_with_rounded_bounds_is_found(tmp_path):
    price = pyarrow.array([Decimal("9999999999999997.01")], pyarrow.decimal128(18, 2))
    data = pyarrow.table(dict.fromkeys("abc", price) | {"d": price.cast(pyarrow.decimal128(38, 20))})
    for mode in ("error", "append"):
        deltalake.write_deltalake(tmp_path, data, mode=mode)
    found = told(kept(commits(tmp_path)))[0]
    assert sorted((finding.code, finding.column, finding.alike) for finding in found) == [
        ("AC39", name, 1) for name in "abcd"
    ]
