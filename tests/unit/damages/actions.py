"""Damages of a commit's actions, and of the log: codes AC and LG."""

from __future__ import annotations

from tests.unit.damages.case import FILES, NEVER, UNDO, Case
from tests.unit.damages.edits import added, both, domain, extra, info, last_first, nothing, twice, without
from tests.unit.damages.histories import append_only, mapped, partitioned, plain, timed, tracked, with_vectors
from tests.unit.damages.steps import append, set_property
from tests.unit.log_builder import DOMAIN

CASES = (
    Case("LG03", plain, append, twice("add"), "add", healed_by=FILES),
    Case(
        "LG04", with_vectors, lambda t: t.mark_deleted(t.paths[0]), without("remove"), "deletionVector", healed_by=FILES
    ),
    Case("LG06", timed, lambda t: t.support("catalogManaged"), nothing, "catalogManaged", healed_by=UNDO),
    Case("AC01", timed, append, info(inCommitTimestamp=None), "commitInfo", healed_by=NEVER),
    Case("AC01", timed, append, last_first, "commitInfo", healed_by=NEVER, name="not first"),
    Case("AC02", timed, append, info(inCommitTimestamp=1), '"inCommitTimestamp": 1', healed_by=NEVER),
    Case("AC03", append_only, lambda t: t.delete(t.paths[0]), nothing, "remove", healed_by=frozenset({"restore"})),
    Case("AC04", tracked, append, twice("domainMetadata"), DOMAIN, then=set_property, healed_by=FILES),
    Case("AC05", plain, append, extra(domain("mine")), "mine", healed_by=UNDO),
    Case("AC06", plain, lambda t: t.mark_deleted(t.paths[0]), nothing, "deletionVector", healed_by=FILES),
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
    Case(
        "AC07",
        plain,
        append,
        both(*[extra({"txn": {"appId": "a", "version": n}}) for n in (1, 2)]),
        "txn",
        healed_by=NEVER,
    ),
)
