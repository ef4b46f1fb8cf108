"""The commits that are damaged, and those that come after."""

from __future__ import annotations

from tests.unit.log_builder import Table
from tests.unit.states import field


def append(table: Table) -> Table:
    return table.append()


def enable_vectors(table: Table) -> Table:
    return table.support("deletionVectors", delta__enableDeletionVectors="true")


def enable_timestamps(table: Table) -> Table:
    return table.support("inCommitTimestamp", delta__enableInCommitTimestamps="true")


def add_again(table: Table) -> None:
    """A file that is there, as when its statistics are collected anew."""
    add = next(iter(table.now.files.values()))
    table.commit("COMPUTE STATS", {"add": {**add, "dataChange": False}})


def set_property(table: Table) -> Table:
    return table.set_properties(owner="somebody")


def add_column(table: Table) -> Table:
    return table.add_column(field("extra", "string"))


def write_with_column(table: Table) -> None:
    """A write that adds a column, as an engine does that evolves the schema."""
    schema = table.schema
    schema["fields"].append({"name": "extra", "type": "string", "nullable": True, "metadata": {}})
    changed = table._changed(schema)
    table.commit("WRITE", changed, *table._written_under(changed["metaData"]), mode="Append")


def carry_on(table: Table) -> Table:
    """What comes after a damage: data, and metadata that carry it along."""
    return table.append().set_properties(note="innocent").append()


def only_append(table: Table) -> Table:
    return table.append().append()


def nothing_that_reads(table: Table) -> Table:
    """Commits that an engine can make which does not look at what is broken."""
    for number in range(2):
        add = {"path": f"raw-{number}.parquet", "partitionValues": {}, "size": 10, "dataChange": True}
        table.commit("WRITE", {"add": {**add, "modificationTime": 1}}, mode="Append")
    return table
