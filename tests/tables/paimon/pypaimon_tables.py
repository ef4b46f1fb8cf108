"""Writes the tables of ``pypaimon.tar.gz`` with ``pypaimon[datafusion]`` 2.1.0, in an environment of its own.

``python tests/tables/paimon/pypaimon_tables.py FOLDER``, then ``tar czf pypaimon.tar.gz -C FOLDER/db.db .``
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pyarrow
from pypaimon import CatalogFactory, Schema  # type: ignore[import-not-found]  # only in the environment of pypaimon
from pypaimon.multimodal.table import WhenMatched, WhenNotMatched  # type: ignore[import-not-found]  # likewise

EVOLUTION = {"data-evolution.enabled": "true"}
PLAIN = pyarrow.schema([("id", pyarrow.int64()), ("v", pyarrow.string())])
PARTITIONED = PLAIN.append(pyarrow.field("dt", pyarrow.string()))
BLOBS = pyarrow.schema([("id", pyarrow.int64()), ("b", pyarrow.large_binary())])
Made = Callable[..., Any]


def rows(first: int, last: int, schema: pyarrow.Schema = PLAIN) -> pyarrow.Table:
    columns = {
        "id": list(range(first, last)),
        "v": [f"v{number}" for number in range(first, last)],
        "dt": [f"d{number % 2}" for number in range(first, last)],
        "b": [b"%04d" % number * 100 for number in range(first, last)],
    }
    return pyarrow.table({name: columns[name] for name in schema.names}, schema=schema)


def write(
    table: Any, *parts: pyarrow.Table, over: dict[str, str] | None = None, names: list[str] | None = None
) -> None:
    """Write each part in a commit of its own."""
    for part in parts:
        builder = table.new_batch_write_builder()
        builder = builder if over is None else builder.overwrite(over)
        writer = builder.new_write()
        writer = writer.with_write_type(names) if names else writer
        writer.write_arrow(part)
        builder.new_commit().commit(writer.prepare_commit())


def change(table: Any, how: Callable[[Any], Any]) -> None:
    """Commit an update."""
    builder = table.new_batch_write_builder()
    builder.new_commit().commit(how(builder.new_update()))


def set_values(ids: list[int], **values: list[Any]) -> Callable[[Any], Any]:
    changed = pyarrow.table({"_ROW_ID": pyarrow.array(ids, pyarrow.int64()), **values})
    return lambda update: update.with_update_type(list(values)).update_by_arrow_with_row_id(changed)


def merge(source: pyarrow.Table, matched: list[Any], others: list[Any]) -> Callable[[Any], Any]:
    return lambda update: update.merge_into(source, on={"id": "id"}, when_matched=matched, when_not_matched=others)


def main(folder: str) -> None:
    catalog = CatalogFactory.create({"warehouse": folder})
    catalog.create_database("db", True)

    def make(name: str, schema: pyarrow.Schema, options: dict[str, str], keys: list[str] | None = None) -> Any:
        options = {"row-tracking.enabled": "true", **options}
        declared = Schema.from_pyarrow_schema(schema, partition_keys=keys, options=options)
        catalog.create_table(f"db.{name}", declared, False)
        return catalog.get_table(f"db.{name}")

    table = make("overwrite", PLAIN, {})
    write(table, rows(0, 5), rows(5, 9))
    write(table, rows(20, 29), over={})
    write(table, rows(40, 44))
    table = make("partitions", PARTITIONED, {}, ["dt"])
    write(table, rows(0, 10, PARTITIONED), rows(10, 20, PARTITIONED))
    write(table, rows(20, 30, PARTITIONED).filter(pyarrow.compute.field("dt") == "d0"), over={"dt": "d0"})
    table = make("rollback", PLAIN, {})
    write(table, rows(0, 3))
    table.create_tag("one")
    write(table, rows(3, 6), rows(6, 8))
    table.rollback_to(2)
    write(catalog.get_table("db.rollback"), rows(8, 10))
    table = make("updates", PLAIN, EVOLUTION)
    write(table, rows(0, 5), rows(5, 9))
    change(table, set_values([0, 6], v=["u0", "u6"]))
    change(table, lambda update: update.upsert_by_arrow_with_key(rows(2, 12), ["id"]))
    write(table, rows(30, 33), over={})
    write(table, rows(33, 35))
    table = make("deletes", PLAIN, {**EVOLUTION, "deletion-vectors.enabled": "true"})
    write(table, rows(0, 5), rows(5, 9))
    change(table, lambda update: update.delete_by_row_id([1, 6]))
    change(table, lambda update: update.delete_by_row_id([2]))
    write(table, rows(9, 11))
    table = make("branches", PLAIN, {})
    write(table, rows(0, 5))
    table.create_tag("start")
    write(table, rows(5, 8))
    catalog.create_branch("db.branches", "work", "start")
    write(catalog.get_table("db.branches$branch_work"), rows(50, 53), rows(53, 55))
    catalog.fast_forward("db.branches", "work")
    write(catalog.get_table("db.branches"), rows(8, 10))
    table = make("merges", PLAIN, {**EVOLUTION, "deletion-vectors.enabled": "true"})
    write(table, rows(0, 5), rows(5, 9))
    source = pyarrow.table({"id": pyarrow.array([1, 6, 20], pyarrow.int64()), "v": ["m1", "m6", "m20"]})
    matched, others = [WhenMatched.delete(condition="t.id = 1"), WhenMatched.update("*")], [WhenNotMatched(insert="*")]
    for clauses in (matched, matched[1:]):  # the row that the first deletes is inserted by the second
        change(table, merge(source, clauses, others))
    write(table, rows(30, 32))
    table = make("blobs", BLOBS, EVOLUTION)
    write(table, rows(0, 5, BLOBS), rows(5, 9, BLOBS))
    change(table, set_values([1], b=pyarrow.array([b"new"], pyarrow.large_binary())))
    write(table, rows(9, 11, BLOBS))
    # Blob files after the first of a commit get sequence numbers that the commit does not have.
    table = make("rolled_blobs", BLOBS, {**EVOLUTION, "blob.target-file-size": "1 kb"})
    write(table, rows(0, 7, BLOBS))
    # A writer that leaves out a column looks as if its file was lost.
    table = make("partial_blobs", BLOBS, EVOLUTION)
    write(table, rows(0, 5, BLOBS))
    write(table, rows(5, 7, BLOBS).select(["id"]), names=["id"])
    # Without data evolution, an update by row id adds the rows a second time.
    table = make("repeated", PLAIN, {})
    write(table, rows(0, 5), rows(5, 8))
    change(table, set_values([0, 6], v=["u0", "u6"]))


if __name__ == "__main__":
    main(sys.argv[1])
