"""Damages of a commit's actions, and of the log: codes AC and LG."""

from __future__ import annotations

from typing import Any

from tests.unit.damages.case import FILES, KEPT, NEVER, UNDO, Case
from tests.unit.damages.edits import (
    added,
    both,
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
    without,
)
from tests.unit.damages.histories import (
    append_only,
    mapped,
    partitioned,
    plain,
    timed,
    timed_late,
    tracked,
    vectors_off,
    with_vectors,
)
from tests.unit.damages.steps import add_again, append, enable_timestamps, set_property
from tests.unit.log_builder import DOMAIN, Damage, Table

SINCE = "delta__inCommitTimestampEnablementVersion"
SHOWN = "delta.inCommitTimestampEnablementTimestamp"


def delete_a_row(table: Table) -> Table:
    return table.mark_deleted(table.paths[0])


def update(table: Table) -> Table:
    return table.update(table.paths[0])


def rows(number: int) -> Damage:
    """Statistics of another number of rows."""
    return statistics(lambda stats: stats.update(numRecords=number))


def in_partition(value: Any) -> Damage:
    return added(partitionValues={"p": value})


CASES = (
    Case("LG03", plain, append, twice("add"), "add", healed_by=FILES),
    Case("LG04", with_vectors, delete_a_row, without("remove"), "deletionVector", healed_by=FILES),
    Case("LG06", timed, lambda t: t.support("catalogManaged"), nothing, "catalogManaged", healed_by=UNDO),
    Case("AC01", timed, append, info(inCommitTimestamp=None), "commitInfo", healed_by=NEVER),
    Case("AC01", timed, append, last_first, "commitInfo", healed_by=NEVER, name="not first"),
    Case(
        "AC01",
        timed,
        append,
        first({"cdc": {"path": "c.parquet"}}),
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
    Case("AC14", plain, update, removed(path="part-no.parquet"), "part-no", healed_by=FILES),
    Case(
        "AC14", plain, lambda t: t.optimize(), removed(path="part-no.parquet"), "part-no", healed_by=FILES, name="moved"
    ),
    Case("AC15", plain, add_again, added(size=1), '"size": 1', healed_by=frozenset({"replace"})),
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
    Case("AC16", plain, update, removed(dataChange=None), "remove", healed_by=NEVER, name="remove"),
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
)
