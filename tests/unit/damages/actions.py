"""Damages of a commit's actions, and of the log: codes AC and LG."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from airflow_delta_provider.domain.delta.data_type import DecimalType
from tests.unit.damages.case import FILES, KEPT, NEVER, UNDO, Case, Step
from tests.unit.damages.edits import (
    added,
    both,
    bound,
    configured,
    domain,
    extra,
    first,
    info,
    last_first,
    nothing,
    removed,
    statistics,
    twice,
    vector,
    without,
)
from tests.unit.damages.histories import (
    append_only,
    deletions_off,
    fed,
    legacy,
    mapped,
    mapped_partitions,
    partitioned,
    partitioned_by,
    partitioned_structs,
    plain,
    priced,
    timed,
    timed_late,
    tracked,
    variants,
    vectors_off,
    with_a_vector,
    with_vectors,
)
from tests.unit.damages.steps import add_again, append, enable_timestamps, set_property
from tests.unit.log_builder import DOMAIN, Actions, Damage, Table, body
from tests.unit.mapped_tables import Json

SINCE = "delta__inCommitTimestampEnablementVersion"
SHOWN = "delta.inCommitTimestampEnablementTimestamp"


def overwrite_a_partition(table: Table) -> None:
    """Replace the rows of the only partition that there is."""
    removed = [table._removed(key) for key in table.now.files]
    table.commit("WRITE", *table._written([10]), *removed, mode="Overwrite", predicate="p = 1")


def delete_a_row(table: Table) -> Table:
    return table.mark_deleted(table.paths[0])


def update(table: Table) -> Table:
    return table.update(table.paths[0])


def rows(number: int) -> Damage:
    """Statistics of another number of rows."""
    return statistics(lambda stats: stats.update(numRecords=number))


def priced_at(bound: Any) -> Damage:
    """Both bounds of a decimal."""
    return statistics(lambda stats: [stats[part].update(price=bound) for part in ("minValues", "maxValues")])


def in_partition(value: Any) -> Damage:
    return added(partitionValues={"p": value})


def in_partition_of(data_type: str, value: str) -> Case:
    """A value that no reader of the column's type reads."""
    before = partial(partitioned_by, data_type)
    name = f"{value} of {data_type}"
    return Case("AC12", before, append, in_partition(value), value, column="p", healed_by=FILES, name=name)


def read_differently(data_type: str | DecimalType, value: str) -> Case:
    """A value that engines read in different ways."""
    before = partial(partitioned_by, data_type)
    shown = json.dumps(value, ensure_ascii=False)
    name = f"{shown} of {data_type}"
    return Case("AC40", before, append, in_partition(value), shown, column="p", healed_by=FILES, name=name)


def change_data(**changes: Any) -> Json:
    body = {"path": "_change_data/c.parquet", "partitionValues": {}, "size": 10, "dataChange": False, **changes}
    return {"cdc": {key: value for key, value in body.items() if value is not None}}


def removed_again(actions: Actions) -> None:
    """With a deletion vector that the file never had."""
    actions.append({"remove": {**body(actions, "remove"), "deletionVector": VECTOR}})


def add_as(path: Callable[[str], str], **changes: Any) -> Step:
    """A file that is live, under another path."""

    def step(table: Table) -> None:
        live = next(iter(table.now.files.values()))
        table.commit("WRITE", {"add": {**live, **changes, "path": path(live["path"])}}, mode="Append")

    return step


def of_rewrite(code: str, damage: Damage, shows: str, name: str = "", before: Any = plain, **more: Any) -> Case:
    """A damage of what the commit of an UPDATE says beside the file that it adds."""
    return Case(code, before, update, damage, shows, healed_by=NEVER, name=name, **more)


def of_vector(name: str, **changes: Any) -> Case:
    return Case("AC21", with_vectors, delete_a_row, vector(**changes), "deletionVector", healed_by=FILES, name=name)


#: A deletion vector of another commit.
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}
#: One that deletes the rows 3, 4 and 7 inside the log.
INLINE: dict[str, Any] = {
    "storageType": "i",
    "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000625c8Xg0@@D72lj-7",
    "offset": None,
    "sizeInBytes": 38,
    "cardinality": 3,
}

#: Where RESTORE leaves the file as it is.
REPLACED = frozenset({"replace"})

CASES = (
    Case("LG03", plain, append, twice("add"), "add", healed_by=FILES),
    Case(
        "LG03",
        with_vectors,
        delete_a_row,
        removed_again,
        "remove",
        healed_by=REPLACED,
        name="removed with two vectors",
    ),
    Case("LG04", with_vectors, delete_a_row, without("remove"), "deletionVector", healed_by=FILES),
    Case("LG06", timed, lambda t: t.support("catalogManaged"), nothing, "catalogManaged", healed_by=UNDO),
    Case("AC01", timed, append, info(inCommitTimestamp=None), "commitInfo", healed_by=NEVER),
    Case("AC01", timed, append, last_first, "commitInfo", healed_by=NEVER, name="not first"),
    Case(
        "AC01",
        timed,
        append,
        first(change_data()),
        "commitInfo",
        healed_by=NEVER,
        name="changes first",
    ),
    Case("AC02", timed, append, info(inCommitTimestamp=1), '"inCommitTimestamp": 1', healed_by=NEVER),
    Case("AC03", append_only, lambda t: t.delete(t.paths[0]), nothing, "remove", healed_by=frozenset({"restore"})),
    Case("AC04", tracked, append, twice("domainMetadata"), DOMAIN, then=set_property, healed_by=FILES),
    Case("AC05", plain, append, extra(domain("mine")), "mine", healed_by=UNDO),
    Case("AC06", plain, delete_a_row, nothing, "deletionVector", healed_by=FILES),
    Case("AC08", plain, append, added(partitionValues=None), "stats", healed_by=FILES, name="not there"),
    Case("AC08", partitioned, append, added(partitionValues=None), "stats", healed_by=FILES, name="not there, needed"),
    Case("AC08", mapped, append, added(partitionValues=None), "stats", healed_by=FILES, name="not there, mapped"),
    Case("AC08", partitioned, append, added(partitionValues={}), "partitionValues", column="p", healed_by=FILES),
    Case(
        "AC08",
        partitioned,
        append,
        added(partitionValues={"p": "1", "q": "1"}),
        "partitionValues",
        column="q",
        healed_by=FILES,
        name="one too many",
    ),
    Case("AC09", plain, lambda t: t.optimize(), rows(29), "remove", healed_by=FILES),
    Case("AC09", plain, lambda t: t.optimize(), rows(31), "remove", healed_by=FILES, name="more"),
    Case("AC09", plain, lambda t: t.optimize(), without("add"), "remove", healed_by=FILES, name="all"),
    Case("AC10", with_vectors, delete_a_row, added(stats=None), "deletionVector", healed_by=FILES),
    Case("AC10", with_vectors, delete_a_row, rows(0), "deletionVector", healed_by=FILES, name="too few"),
    Case("AC11", plain, enable_timestamps, configured(**{SINCE: None}), "metaData", healed_by=KEPT),
    Case("AC11", plain, enable_timestamps, configured(**{SINCE: "1"}), SHOWN, healed_by=KEPT, name="wrong"),
    Case("AC11", timed_late, set_property, configured(**{SINCE: None}), SHOWN, healed_by=KEPT, name="taken away"),
    Case("AC12", partitioned, append, in_partition("one"), '"one"', column="p", healed_by=FILES),
    Case("AC13", vectors_off, delete_a_row, nothing, "deletionVector", healed_by=FILES),
    Case(
        "AC13",
        deletions_off,
        lambda t: t.mark_deleted(t.paths[-1]),
        vector(cardinality=1),
        "deletionVector",
        healed_by=FILES,
        name="smaller",
    ),
    Case(
        "AC13",
        deletions_off,
        lambda t: t.mark_deleted(t.paths[-1]),
        vector(cardinality=2),
        "deletionVector",
        healed_by=FILES,
        name="of other rows",
    ),
    Case(
        "AC28",
        partitioned,
        overwrite_a_partition,
        in_partition("2"),
        '"2"',
        column="p",
        healed_by=FILES,
        about_operation=True,
    ),
    Case("AC14", plain, update, removed(path="part-no.parquet"), "part-no", healed_by=FILES),
    Case(
        "AC14", plain, lambda t: t.optimize(), removed(path="part-no.parquet"), "part-no", healed_by=FILES, name="moved"
    ),
    Case("AC15", plain, add_again, added(size=1), '"size": 1', healed_by=REPLACED),
    Case(
        "AC07",
        plain,
        append,
        both(*[extra({"txn": {"appId": "a", "version": n}}) for n in (1, 2)]),
        "txn",
        healed_by=NEVER,
    ),
    Case("AC16", plain, append, added(dataChange=None), "modificationTime", healed_by=FILES),
    Case("AC16", plain, append, added(dataChange="true"), '"true"', healed_by=FILES, name="text"),
    Case("AC16", partitioned, append, in_partition(1), '"p": 1', healed_by=FILES, name="partition value is a number"),
    Case(
        "AC16",
        plain,
        append,
        added(partitionValues=[]),
        "partitionValues",
        healed_by=FILES,
        name="list of values",
    ),
    Case("AC16", plain, update, removed(dataChange=None), "remove", healed_by=NEVER, name="remove"),
    Case("AC16", plain, append, added(stats=5), '"stats": 5', healed_by=FILES, name="statistics are a number"),
    Case("AC17", plain, append, extra({"sidecar": {"path": "s.parquet"}}), "s.parquet", healed_by=NEVER),
    Case("AC16", plain, append, extra({"txn": {"appId": "a"}}), "appId", healed_by=NEVER, name="transaction"),
    Case(
        "AC16",
        lambda: plain().support("domainMetadata"),
        append,
        extra({"domainMetadata": {"domain": "a", "configuration": "{}"}}),
        "domainMetadata",
        healed_by=NEVER,
        name="domain",
    ),
    Case("AC16", plain, append, added(path="part %zz.parquet"), "%zz", healed_by=FILES, name="path is not a URI"),
    Case("AC16", plain, append, added(path=""), '"path": ""', healed_by=FILES, name="path is empty"),
    Case("AC16", plain, append, added(size=-1), '"size": -1', healed_by=FILES, name="negative size"),
    Case("AC16", plain, append, added(modificationTime=None), "dataChange", healed_by=FILES, name="no time"),
    Case("AC16", plain, append, added(tags={"a": 1}), "tags", healed_by=FILES, name="tag is a number"),
    of_rewrite("AC16", removed(size=None), "remove", "no size in extended metadata"),
    of_rewrite("AC16", removed(partitionValues=None), "remove", "no partition values in extended metadata"),
    of_rewrite("AC16", removed(deletionTimestamp="now"), "now", "deletion time is a text"),
    of_rewrite("AC16", removed(path="part %zz.parquet"), "%zz", "removed path is not a URI", follows={"AC14"}),
    of_rewrite("AC16", extra(change_data(path=None)), "cdc", "change data without path"),
    of_rewrite("AC16", extra(change_data(partitionValues=None)), "cdc", "change data without partition values"),
    of_rewrite("AC16", extra(change_data(size=None)), "cdc", "change data without size"),
    of_rewrite("AC16", extra(change_data(dataChange=None)), "cdc", "change data without dataChange"),
    in_partition_of("byte", "128"),
    in_partition_of("integer", "1.5"),
    in_partition_of("long", "9223372036854775808"),
    in_partition_of("decimal(4,2)", "123.45"),
    in_partition_of("decimal(4,2)", "1.234"),
    in_partition_of("double", "1,5"),
    in_partition_of("boolean", "yes"),
    in_partition_of("date", "2023-02-29"),
    in_partition_of("timestamp", "2024-01-01 25:00:00"),
    in_partition_of("timestamp", "2024-01-01"),
    in_partition_of("timestamp_ntz", "2024-01-01T00:00:00Z"),
    in_partition_of("integer", "__HIVE_DEFAULT_PARTITION__"),
    read_differently("string", ""),
    read_differently("string", "__HIVE_DEFAULT_PARTITION__"),
    read_differently("binary", ""),
    read_differently("binary", "\\u0061"),
    read_differently("binary", "\u00ff"),
    read_differently("date", "12345-01-01"),
    read_differently("timestamp", "2024-01-01 00:00:00"),
    read_differently("timestamp", "2024-01-01T00:00:00+02:00"),
    read_differently(DecimalType(4, 2), "-0.50"),
    Case("AC09", plain, append, added(dataChange=False), "add", healed_by=FILES, name="from nowhere"),
    Case(
        "AC14",
        with_a_vector,
        lambda t: t.delete(t.paths[-1]),
        removed(deletionVector=VECTOR),
        "remove",
        healed_by=FILES,
        name="other vector",
    ),
    Case("AC18", plain, append, added(stats="{"), '"{"', healed_by=FILES, name="not JSON"),
    Case("AC18", plain, append, added(stats="[]"), '"[]"', healed_by=FILES, name="not an object"),
    Case("AC18", plain, append, statistics(lambda s: s.update(numRecords=-1)), "-1", healed_by=FILES, name="rows"),
    Case("AC18", plain, append, statistics(lambda s: s.update(tightBounds="no")), "no", healed_by=FILES, name="tight"),
    Case(
        "AC18",
        plain,
        append,
        statistics(lambda s: s.update(tightBounds=1)),
        "1",
        healed_by=FILES,
        name="tight by number",
    ),
    Case("AC18", plain, append, statistics(lambda s: s.update(minValues=[1])), "[1]", healed_by=FILES, name="least"),
    Case("AC18", plain, append, bound("nullCount", "v", -1), "-1", column="v", healed_by=FILES, name="nulls"),
    Case("AC18", plain, append, bound("minValues", "v", "1"), "minValues", column="v", healed_by=FILES, name="type"),
    Case(
        "AC18", plain, append, bound("maxValues", "v", 1 << 31), "maxValues", column="v", healed_by=FILES, name="range"
    ),
    Case("AC18", plain, append, added(stats="0"), '"0"', healed_by=FILES, name="a number"),
    Case(
        "AC18", variants, append, bound("minValues", "w", "000001"), "000001", column="w", healed_by=FILES, name="Z85"
    ),
    Case("AC19", plain, append, bound("minValues", "v", 10), "minValues", column="v", healed_by=FILES),
    Case("AC19", plain, append, bound("nullCount", "v", 11), "nullCount", column="v", healed_by=FILES, name="nulls"),
    Case(
        "AC19",
        plain,
        append,
        bound("nullCount", "v", 10),
        "nullCount",
        column="v",
        healed_by=FILES,
        name="bounds of NULL",
    ),
    Case("AC18", priced, append, priced_at(1e16), "1e+16", column="price", healed_by=FILES, name="decimal too large"),
    Case("AC18", priced, append, priced_at("NaN"), "NaN", column="price", healed_by=FILES, name="decimal not a number"),
    Case(
        "AC18",
        plain,
        append,
        added(stats='{"numRecords":1,"maxValues":{"v":Infinity}}'),
        "Infinity",
        healed_by=FILES,
        name="infinity",
    ),
    Case("AC39", priced, append, priced_at(9999999999999998.0), "price", column="price", healed_by=FILES),
    of_vector("no bytes", sizeInBytes=0),
    of_vector("too many bytes", sizeInBytes=1 << 31),
    of_vector("no UUID", pathOrInlineDv="abc"),
    of_vector("not Z85", pathOrInlineDv="ab^-aqEH.-t@S}K{vb[ k^"),
    of_vector("no offset", offset=None),
    of_vector("at the start", offset=0),
    of_vector("no rows", cardinality=0),
    of_vector("relative path", storageType="p", pathOrInlineDv="vector.bin"),
    of_vector("inline with offset", **{**INLINE, "offset": 1}),
    of_vector("inline of other size", **{**INLINE, "sizeInBytes": 30}),
    of_vector("inline of other rows", **{**INLINE, "cardinality": 2}),
    of_vector("inline not Z85", **{**INLINE, "pathOrInlineDv": "wi5b "}),
    Case("AC22", with_vectors, delete_a_row, rows(9), "deletionVector", healed_by=FILES),
    Case("AC22", plain, add_again, rows(11), "stats", follows={"AC09"}, healed_by=REPLACED, name="without vectors"),
    Case("AC23", plain, add_as("./{}".format), nothing, '"./', healed_by=FILES),
    Case("AC23", plain, add_as(lambda path: f"%70{path[1:]}"), nothing, "%70", healed_by=FILES, name="encoded"),
    Case("AC23", plain, add_as("file:///t/{}".format), nothing, "file", healed_by=FILES, name="absolute"),
    of_rewrite("AC24", removed(partitionValues={"p": "x"}), "remove", before=partitioned, column="p"),
    of_rewrite("AC24", removed(partitionValues={"q": "1"}), "remove", "other column", partitioned, column="p"),
    of_rewrite("AC24", removed(partitionValues={"id": "1"}), "remove", "logical name", mapped_partitions, column="id"),
    of_rewrite(
        "AC24",
        removed(partitionValues={"x": "1"}),
        "remove",
        "name of a nested field",
        partitioned_structs,
        column="p",
    ),
    of_rewrite(
        "AC24",
        extra(change_data(partitionValues={"id": "1"})),
        "cdc",
        "change data, logical name",
        mapped_partitions,
        column="id",
    ),
    of_rewrite("AC24", extra(change_data()), "cdc", "change data", partitioned, column="p"),
    of_rewrite("AC25", extra(change_data(dataChange=True)), "cdc"),
    of_rewrite("AC26", nothing, "remove", before=fed, about_operation=True),
    of_rewrite("AC26", nothing, "remove", "legacy", legacy, about_operation=True),
    Case("AC03", append_only, update, nothing, "remove", healed_by=frozenset({"restore"}), name="rows changed"),
    of_vector(
        "inline with another magic number",
        **{**INLINE, "pathOrInlineDv": "00000" + INLINE["pathOrInlineDv"][5:]},
    ),
    Case(
        "AC16",
        plain,
        append,
        extra({"txn": {"version": 1}}),
        "txn",
        healed_by=NEVER,
        name="transaction without application",
    ),
    Case("AC27", plain, append, added(path="_hidden/part-1.parquet"), "_hidden", healed_by=FILES),
)
