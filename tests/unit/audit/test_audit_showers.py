"""One damage is one error that stands alone: what else it breaks, then or later, follows from it."""

from __future__ import annotations

import json

import pytest

from airflow_delta_provider.domain.report.report import Finding, Severity
from tests.unit.audit.test_audit_history import damaged, named
from tests.unit.audit.test_audit_random import (
    Model,
    Operation,
    add_column,
    delete,
    drop_column,
    drop_widening,
    enable_mapping,
    enable_tracking,
    update,
    widen,
)
from tests.unit.audits_in_parts import Kept, told
from tests.unit.checkpoint_builder import as_parquet, classic_name, reconciled
from tests.unit.damages import CASES, edits, histories
from tests.unit.damages.case import Case
from tests.unit.damages.histories import KEY, S
from tests.unit.damages.steps import carry_on, set_property
from tests.unit.log_builder import TIMESTAMPS, TRACKING, WIDENING, Damage, Table, audited, roots
from tests.unit.mapped_tables import MODE, NAME
from tests.unit.states import field


def cases(*names: str) -> list[Case]:
    """Return cases by their codes, with the names that they have."""
    found = {f"{case.code} {case.name}".strip(): case for case in CASES}
    return [found[name] for name in names]


def errors(found: list[Finding]) -> list[tuple[str, int | None]]:
    return [(finding.code, finding.version) for finding in found if finding.severity is Severity.ERROR]


# -- ordinary commits after a damage ---------------------------------------------------------------


def can_be_renamed(case: Case) -> bool:
    """Whether a case is about a table whose columns can be renamed in the next commit."""
    if case.code[:2] not in ("CM", "MD", "TW") or case.code == "MD02":
        return False
    table, version = damaged(case, lambda table: table)
    return table.is_mapped and table.version == version


@pytest.mark.parametrize("case", [case for case in CASES if can_be_renamed(case)], ids=named)
def test_what_is_wrong_with_a_column_stays_so_when_it_is_renamed(case: Case) -> None:
    table, _ = damaged(case, lambda table: table)
    before = errors(audited(table.commits))
    for wire in table.schema["fields"]:
        table.rename_column(wire["name"], f"{wire['name']}-new")
    after = audited(table.commits)
    assert errors(after) == before
    assert [f.healed_version for f in after if f.severity is Severity.ERROR] == [None] * len(before)


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("CM06", add_column),
        ("CM07", add_column),
        ("CM10", add_column),
        ("CM20 mapped", drop_column),
        ("LG04", enable_tracking),
        ("MD05", enable_tracking),
        ("MD06", enable_mapping),
        ("AC18 rows", update),
        ("RT05 enabled without ids", delete),
        ("RT05 enabled without ids", update),
        ("TW07", widen),
        ("TW14", drop_widening),
    ],
)
def test_what_an_ordinary_commit_makes_of_a_damage_follows_from_it(name: str, operation: Operation) -> None:
    (case,) = cases(name)
    table, version = damaged(case, lambda table: table)
    operation(Model(table), 0)
    table.append()
    found = audited(table.commits)
    assert {(f.code, f.version) for f in roots(found)} == {(case.code, version)}


@pytest.mark.parametrize(
    ("damage", "code"),
    [(edits.configured(delta__columnMapping__mode=None), "CM09"), (edits.metadata(partitionColumns=[]), "MD11")],
)
def test_files_after_the_partition_columns_were_lost_follow_from_that(damage: Damage, code: str) -> None:
    table = everything(clustered=False)
    carry_on(set_property(table.damaged(damage)))
    assert errors(roots(audited(table.commits))) == [(code, table.version - 3)]


def test_checkpoint_of_a_wrong_form_that_also_contradicts_the_commits_is_one_error() -> None:
    table = histories.plain().append()
    storage = Kept(table.commits)
    live = next(iter(table.now.files.values()))
    removed = {"path": live["path"], "deletionTimestamp": 1_790_000_000_000, "dataChange": True}
    storage.files[classic_name(3)] = as_parquet([*reconciled(table.commits), {"remove": removed}])
    assert errors(roots(told(storage)[0])) == [("LG14", 3)]


# -- tables with many features ---------------------------------------------------------------------

PROPERTIES = {
    MODE: "name",
    WIDENING: "true",
    TRACKING: "true",
    TIMESTAMPS: "true",
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
}
FEATURES = (
    "columnMapping",
    "typeWidening",
    "rowTracking",
    "deletionVectors",
    "inCommitTimestamp",
    "domainMetadata",
    "changeDataFeed",
    "timestampNtz",
    "allowColumnDefaults",
    "checkConstraints",
    "generatedColumns",
    "identityColumns",
    "v2Checkpoint",
)


def everything(*, clustered: bool) -> Table:
    """A table with most features, widened, with a deletion vector; clustered, or partitioned."""
    columns = (KEY, field("v", "short"), S, field("d", "long"))
    listed = (*FEATURES, "clustering") if clustered else FEATURES
    table = Table(*columns, features=listed, properties=PROPERTIES, partition_by=[] if clustered else ["d"])
    if clustered:
        configuration = json.dumps({"clusteringColumns": [[table.schema["fields"][0]["metadata"][NAME]]]})
        body = {"domain": "delta.clustering", "configuration": configuration, "removed": False}
        table.commit("CLUSTER BY", {"domainMetadata": body})
    table.append(2).append()
    table.widen("v", "integer")
    table.append().mark_deleted(table.paths[0])
    return table.append()


@pytest.mark.parametrize("clustered", [True, False], ids=["clustered", "partitioned"])
def test_table_with_most_features_is_sound(clustered: bool) -> None:
    assert audited(everything(clustered=clustered).commits) == []


@pytest.mark.parametrize("clustered", [True, False], ids=["clustered", "partitioned"])
@pytest.mark.parametrize(
    "case",
    cases(
        *("AC10", "AC22 without vectors", "AC23", "AC23 absolute", "AC23 encoded", "AC18 not JSON"),
        *(
            "CM04",
            "CM09 names forgotten",
            "CM10",
            "CM15",
            "CM17",
            "MD03",
            "MD05",
            "MD06",
            "MD11",
            "MD19 nested",
            "MD28",
            "MD29",
        ),
        *("RT05", "RT08", "RT10", "RT11", "RT15", "RT33", "TF06", "TF08", "TF09", "TF11 domain metadata", "TF12"),
        *("TF11 row tracking", "TF28 below one", "TW04", "TW08", "TW09"),
    ),
    ids=named,
)
def test_damage_of_a_table_with_most_features_is_one_error(case: Case, clustered: bool) -> None:
    table = everything(clustered=clustered)
    version = table.version + 1
    case.step(table.damaged(case.damage))
    (case.then or carry_on)(table)
    found = errors(roots(audited(table.commits)))
    assert [number for _, number in found] == [version]
