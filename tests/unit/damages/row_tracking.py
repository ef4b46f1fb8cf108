"""Damages of row tracking: codes RT."""

from __future__ import annotations

from tests.unit.damages.case import FILES, KEPT, NEVER, Case
from tests.unit.damages.edits import added, both, configured, domain, extra, info, marked, nothing, removed, without
from tests.unit.damages.histories import KEY, V, plain, supported, tracked, tracked_vectors
from tests.unit.damages.steps import append, set_property
from tests.unit.log_builder import COMMIT_VERSION, DOMAIN, ROW_ID, SUSPENDED, TRACKING, Table
from tests.unit.mapped_tables import MODE, NAME
from tests.unit.states import field


def _delete_last(table: Table) -> Table:
    return table.delete(table.paths[-1])


def _enable(table: Table) -> None:
    names = {ROW_ID: "_row-id", COMMIT_VERSION: "_row-commit-version", TRACKING: "true"}
    table.set_properties(**{key.replace(".", "__"): value for key, value in names.items()})


def _clone(table: Table) -> None:
    """CREATE OR REPLACE TABLE … SHALLOW CLONE of what it was cloned from before: the same files, with other ids."""
    base, added = table.mark + 1, []
    for add in table.now.files.values():
        added.append({"add": {**add, "baseRowId": base, "defaultRowCommitVersion": table.version + 1}})
        base += 10
    table.commit("CLONE", *added, domain(DOMAIN, f'{{"rowIdHighWaterMark":{base - 1}}}'))


CASES = (
    Case("RT01", plain, set_property, configured(delta__enableRowTracking="true"), TRACKING, healed_by=KEPT),
    Case(
        "RT02",
        tracked,
        set_property,
        configured(delta__rowTrackingSuspended="true"),
        SUSPENDED,
        follows={"RT05"},
        healed_by=KEPT,
    ),
    Case(
        "RT03",
        tracked,
        set_property,
        configured(**{key.replace(".", "__"): None for key in (ROW_ID, COMMIT_VERSION)}),
        TRACKING,
        healed_by=KEPT,
    ),
    Case(
        "RT04",
        tracked,
        set_property,
        configured(**{ROW_ID.replace(".", "__"): "V"}),
        ROW_ID,
        column="v",
        follows={"RT17"},
        healed_by=KEPT,
    ),
    Case("RT05", tracked, append, added(baseRowId=None), "defaultRowCommitVersion", healed_by=FILES),
    Case(
        "RT05",
        tracked,
        append,
        both(added(baseRowId=None, defaultRowCommitVersion=None), without("domainMetadata")),
        "part-",
        name="a writer that does not know row tracking",
        healed_by=FILES,
    ),
    Case(
        "RT05",
        lambda: plain().support("rowTracking"),
        _enable,
        nothing,
        TRACKING,
        name="enabled without ids",
    ),
    Case(
        "RT04",
        tracked,
        set_property,
        configured(**{key.replace(".", "__"): "_both" for key in (ROW_ID, COMMIT_VERSION)}),
        ROW_ID,
        follows={"RT17"},
        healed_by=KEPT,
        name="one name for both",
    ),
    Case(
        "RT04",
        tracked,
        lambda t: t.add_column(field(t.configuration[ROW_ID], "long")),
        nothing,
        "schemaString",
        column=f"`{tracked().configuration[ROW_ID]}`"
        if "." in tracked().configuration[ROW_ID]
        else tracked().configuration[ROW_ID],
        follows=(),
        name="column added",
    ),
    Case(
        "RT04",
        lambda: Table(
            KEY, V, features=["rowTracking", "columnMapping"], properties={TRACKING: "true", MODE: "name"}
        ).append(2),
        lambda t: t.set_properties(**{ROW_ID.replace(".", "__"): t.schema["fields"][1]["metadata"][NAME]}),
        nothing,
        ROW_ID,
        column="v",
        follows={"RT17"},
        name="physical name",
    ),
    Case(
        "RT13",
        supported,
        append,
        added(defaultRowCommitVersion=None),
        "baseRowId",
        healed_by=FILES,
        name="commit version",
    ),
    Case("RT06", tracked, append, added(stats=None), "baseRowId", healed_by=FILES, of_newest=True),
    Case("RT07", tracked, append, without("domainMetadata"), "baseRowId", follows={"RT08"}),
    Case("RT08", tracked, lambda t: t.append(2), added(1, baseRowId=35), '"baseRowId": 35', healed_by=FILES),
    Case(
        "RT09",
        tracked,
        append,
        added(defaultRowCommitVersion=99),
        '"defaultRowCommitVersion": 99',
        follows={"RT16"},
        healed_by=FILES,
    ),
    Case(
        "RT10",
        tracked,
        append,
        marked('{"highWaterMark":39}'),
        "highWaterMark",
        follows={"RT07", "RT08", "RT11", "RT15"},
        healed_by=frozenset({"undo", "replace"}),
    ),
    Case("RT11", tracked, append, marked('{"rowIdHighWaterMark":9}'), DOMAIN, follows={"RT07", "RT08"}),
    Case(
        "RT11",
        tracked,
        set_property,
        extra(domain(DOMAIN, '{"rowIdHighWaterMark":9}')),
        DOMAIN,
        follows={"RT08"},
        name="alone",
    ),
    Case("RT12", tracked, lambda t: t.delete(t.paths[1]), removed(baseRowId=0), '"baseRowId": 0', healed_by=NEVER),
    Case(
        "RT12",
        tracked,
        lambda t: t.delete(t.paths[1]),
        removed(defaultRowCommitVersion=0),
        '"defaultRowCommitVersion": 0',
        healed_by=NEVER,
        name="commit version",
    ),
    Case(
        "RT12",
        tracked,
        lambda t: t.delete(t.paths[1]),
        removed(baseRowId=None, defaultRowCommitVersion=None),
        '"remove"',
        healed_by=NEVER,
        name="without ids",
    ),
    Case(
        "RT12",
        tracked,
        lambda t: t.restore(1),
        removed(baseRowId=7),
        '"baseRowId": 7',
        healed_by=NEVER,
        name="restored",
    ),
    Case("RT13", supported, append, added(baseRowId=None), "defaultRowCommitVersion", healed_by=FILES),
    Case(
        "RT14",
        tracked_vectors,
        lambda t: t.mark_deleted(t.paths[1]),
        both(added(baseRowId=30), extra(domain(DOMAIN, '{"rowIdHighWaterMark":39}'))),
        '"baseRowId": 30',
        healed_by=FILES,
    ),
    Case(
        "RT14",
        tracked_vectors,
        lambda t: t.mark_deleted(t.paths[1]),
        added(baseRowId=0),
        '"baseRowId": 0',
        follows={"RT08"},
        name="those of another file",
        healed_by=FILES,
    ),
    Case(
        "RT14",
        lambda: tracked().delete_all(),
        lambda t: t.restore(1),
        both(added(baseRowId=40), marked('{"rowIdHighWaterMark":49}')),
        '"baseRowId": 40',
        healed_by=FILES,
        needs_history=True,
        name="restored",
    ),
    Case(
        "RT14",
        lambda: tracked().delete_all(),
        lambda t: t.restore(1),
        added(defaultRowCommitVersion=4),
        '"defaultRowCommitVersion": 4',
        healed_by=FILES,
        needs_history=True,
        name="restored commit version",
    ),
    Case(
        "RT14",
        lambda: tracked().set_properties(delta__enableRowTracking="false"),
        _clone,
        nothing,
        '"baseRowId": 30',
        healed_by=FILES,
        name="cloned again while not enabled",
    ),
    Case("RT15", tracked, append, added(baseRowId=0), '"baseRowId": 0', follows={"RT08"}, healed_by=FILES),
    Case(
        "RT15",
        lambda: _delete_last(tracked().append()),
        append,
        added(baseRowId=30),
        '"baseRowId": 30',
        name="ids of rows that are gone",
        healed_by=FILES,
    ),
    Case("RT16", tracked, append, added(defaultRowCommitVersion=1), '"defaultRowCommitVersion": 1', healed_by=FILES),
    Case("RT17", tracked, set_property, configured(**{ROW_ID.replace(".", "__"): "_other"}), "_other"),
    Case(
        "RT18",
        tracked,
        lambda t: t.optimize(),
        info(tags=None, operation="CLONE"),
        "CLONE",
        healed_by=NEVER,
        name="by another name",
    ),
    Case(
        "RT15",
        tracked,
        append,
        added(baseRowId=-5),
        '"baseRowId": -5',
        follows={"RT08", "RT21"},
        healed_by=FILES,
        name="negative",
    ),
    Case(
        "RT33",
        lambda: supported().set_properties(delta__rowTrackingSuspended="true"),
        append,
        both(added(baseRowId=30, defaultRowCommitVersion=4), extra(domain(DOMAIN, '{"rowIdHighWaterMark":39}'))),
        '"baseRowId": 30',
        healed_by=FILES,
    ),
    Case(
        "RT18",
        tracked,
        lambda t: t.update(t.paths[0]),
        info(tags=None),
        "UPDATE",
        healed_by=NEVER,
        about_operation=True,
    ),
)
