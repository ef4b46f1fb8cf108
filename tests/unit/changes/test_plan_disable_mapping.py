"""Planning to disable column mapping, and verifying the result."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from airflow_delta_provider.domain.changes.disable_mapping.column_history import ColumnFacts, MappedTable
from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey
from airflow_delta_provider.domain.changes.disable_mapping.plan import (
    disable_in_metadata,
    foreign_files,
    nulls_differ,
    plan_disabling,
    plan_disabling_tracked,
    rebased_over,
    rows_differ,
    unread_files,
    verify_disabled,
)
from airflow_delta_provider.domain.changes.plan import Planned, is_tracked
from airflow_delta_provider.domain.changes.steps import DisableMapping, RewriteWithoutMapping
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.request.change_options import DisableColumnMappingOptions
from tests.unit.mapped_tables import MAPPING, MODE, Json, configured, mapped, table
from tests.unit.states import ENGINE, TABLE, field, struct

SCHEMA = struct(field("a", "long"), field("s", struct(field("x", "long"))))
OWN: Json = mapped(SCHEMA, lambda name, _: name)
OTHER: Json = mapped(SCHEMA)
TRACKING = MAPPING.supporting(["columnMappingUsageTracking"])
TRACKED = {"protocol": TRACKING, "delta__columnMapping__hasDroppedOrRenamed": "true"}
FILES = {(path, ""): LiveFile(path, 1_500_000, None, None, 10) for path in ("one", "two")}
WHOLE = ColumnFacts()
DROPPED = ColumnFacts(left={("b",): 3})
CLEAN = FooterSurvey()
HOLDING = FooterSurvey(foreign={"one": (("b",),)})
LOST = FooterSurvey(unread={"one": "there is no such file"}, lost={"one"})


def state(schema: Json = OWN, *, protocol: Protocol = MAPPING, mode: str = "name", **settings: str) -> TableState:
    configuration = configured(schema, mode) | {key.replace("__", "."): value for key, value in settings.items()}
    return replace(table(schema, configuration, protocol=protocol), files=FILES)


def plan(given: TableState, known: ColumnFacts = WHOLE, footers: FooterSurvey | None = None, **options: Any) -> Planned:
    last_stream = options.pop("last_stream", None)
    found = MappedTable(given, known, footers, last_stream)
    if is_tracked(given):
        return plan_disabling_tracked(TABLE, DisableColumnMappingOptions(**options), found)
    return plan_disabling(TABLE, DisableColumnMappingOptions(**options), found, ENGINE)


CLUSTERING = "delta.clustering"


def clustered(schema: Json, *parts: str) -> TableState:
    return replace(state(schema), domains={CLUSTERING: json.dumps({"clusteringColumns": [list(parts)]})})


def physical(schema: Json, number: int) -> str:
    name: str = schema["fields"][number]["metadata"]["delta.columnMapping.physicalName"]
    return name


@pytest.mark.parametrize("strategy", ["auto", "rewrite"])
def test_clustered_by_made_up_names_is_refused_since_clustering_would_keep_them(strategy):
    planned = plan(clustered(OTHER, physical(OTHER, 0)), strategy=strategy, allow_rewrite=True)
    assert codes(planned) == ["UM11"]
    assert "is clustered by a," in planned.refusals[0].message
    assert "CLUSTER BY NONE" in planned.refusals[0].message


def test_clustered_by_names_as_they_are_leaves_mapping():
    for parts in (("a",), ("S", "X")):
        assert plan(clustered(OWN, *parts)).plan.steps == (DisableMapping("history"),)
    assert plan(clustered(OTHER), strategy="rewrite", allow_rewrite=True).refusals == ()


def codes(planned: Planned) -> list[str]:
    return [finding.code for finding in planned.refusals]


REWRITE = RewriteWithoutMapping(2, 3_000_000)
STEPS: dict[str, tuple[Planned, list[object], list[str]]] = {
    "proven by history": (plan(state()), [DisableMapping("history")], []),
    "proven by history, a rewrite allowed": (plan(state(), allow_rewrite=True), [DisableMapping("history")], []),
    "proven by footers": (plan(state(), DROPPED, CLEAN, strategy="metadata-only"), [DisableMapping("footers")], []),
    "not proven": (plan(state(), DROPPED, HOLDING), [REWRITE], ["UM03", "UM07"]),
    "not proven, a rewrite allowed": (plan(state(), DROPPED, HOLDING, allow_rewrite=True), [REWRITE], []),
    "not proven, metadata only": (plan(state(), DROPPED, HOLDING, strategy="metadata-only"), [], ["UM03"]),
    "a file is lost": (plan(state(), DROPPED, LOST), [], ["UM03"]),
    "a file is lost, a rewrite allowed": (plan(state(), DROPPED, LOST, allow_rewrite=True), [REWRITE], []),
    "other names": (plan(state(OTHER)), [REWRITE], ["UM02", "UM07"]),
    "other names, a rewrite allowed": (plan(state(OTHER), allow_rewrite=True), [REWRITE], []),
    "no files": (plan(replace(state(OTHER), files={}), DROPPED, CLEAN), [DisableMapping("no files")], []),
    "files unknown": (plan(replace(state(OTHER), files=None)), [RewriteWithoutMapping(0, 0)], ["UM02", "UM07"]),
    "a rewrite asked for": (plan(state(), strategy="rewrite"), [REWRITE], ["UM07"]),
    "a rewrite asked for and allowed": (plan(state(), strategy="rewrite", allow_rewrite=True), [REWRITE], []),
    "no mapping": (plan(state(mode="none"), DROPPED, HOLDING), [], []),
}


@pytest.mark.parametrize(("planned", "steps", "refused"), STEPS.values(), ids=STEPS)
def test_steps(planned: Planned, steps: list[object], refused: list[str]) -> None:
    assert (list(planned.plan.steps) if planned.plan else [], codes(planned)) == (steps, refused)


REFUSED = {
    "mode id": (state(mode="id"), "UM01"),
    "Iceberg compatibility": (state(delta__enableIcebergCompatV2="true"), "UM05"),
    "UniForm": (state(delta__universalFormat__enabledFormats="iceberg"), "UM05"),
    "names": (state(mapped(struct(field("a b", "long")), lambda name, _: name)), "UM06"),
    "catalog-managed": (state(protocol=MAPPING.supporting(["catalogManaged"])), "RQ04"),
    "coordinated commits": (state(protocol=MAPPING.supporting(["coordinatedCommits-preview"])), "RQ04"),
    "a coordinator": (state(**{"delta__coordinatedCommits__commitCoordinator-preview": "dynamodb"}), "RQ04"),
    "usage tracking without its property": (state(protocol=TRACKING), "RQ35"),
    "a feature that nobody knows": (state(protocol=Protocol(2, 7, None, frozenset({"columnMapping", "x"}))), "RQ05"),
}


@pytest.mark.parametrize("options", [{}, {"strategy": "metadata-only"}, {"strategy": "rewrite", "allow_rewrite": True}])
@pytest.mark.parametrize(("given", "code"), REFUSED.values(), ids=REFUSED)
def test_refused_whatever_the_strategy(given: TableState, code: str, options: dict[str, Any]) -> None:
    planned = plan(given, **options)
    assert (planned.plan, codes(planned)) == (None, [code])


def test_usage_tracking_is_no_reason_to_keep_the_mapping_but_no_engine_rewrites_the_files() -> None:
    tracked, allowed = state(**TRACKED), {"allow_rewrite": True}
    assert plan(tracked) == plan(tracked, **allowed)
    assert plan(tracked).plan.steps == (DisableMapping("history"),)
    assert codes(plan(tracked, strategy="rewrite", **allowed)) == ["RQ05"]
    assert (plan(tracked, DROPPED, HOLDING).plan, codes(plan(tracked, DROPPED, HOLDING))) == (None, ["UM03", "RQ05"])
    assert codes(plan(tracked, DROPPED, HOLDING, **allowed)) == ["UM03", "RQ05"]
    for refusal in plan(tracked, DROPPED, HOLDING, **allowed).refusals:
        assert "allow_rewrite" not in refusal.message or "is dropped: do that first" in refusal.message
    assert plan(state(mode="none", **TRACKED)).plan.steps == ()


def test_files_and_bytes_are_told_before_a_rewrite() -> None:
    planned = plan(state(OTHER))
    assert "rewrite 2 data files (3.0 MB) of /lake/t" in planned.refusals[1].message
    assert planned.plan is not None
    (step,) = planned.plan.to_json()["steps"]
    assert step == {
        "sql": "ALTER TABLE delta.`/lake/t` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')",
        "explanation": "rewrite 2 data files (3.0 MB) without column mapping (1 commit)",
    }


def notes(planned: Planned) -> str:
    assert planned.plan is not None
    return " ".join(planned.plan.notes)


def test_readers_that_will_fail_are_warned_of_by_the_names_of_their_errors() -> None:
    told = notes(plan(state(delta__enableChangeDataFeed="true"), last_stream=7))
    for name in (
        "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE",
        "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG",
        "DELTA_METADATA_CHANGED",
        "checkpointProtection",
    ):
        assert name in told
    quiet = notes(plan(state(delta__enableChangeDataFeed="false")))
    assert "DELTA_" not in quiet
    assert "keeps columnMapping" in quiet
    assert plan(state(mode="none")).plan.notes == ()  # type: ignore[union-attr]  # there is one


def left(before: TableState, **changes: Any) -> list[str]:
    after = replace(before, version=4, metadata=disable_in_metadata(before.metadata))
    found = list(verify_disabled(before, replace(after, **changes), rewritten=False))
    assert all("RESTORE the table to version 3" in finding.message for finding in found)
    return [finding.message for finding in found]


def test_nothing_but_the_mapping_has_gone() -> None:
    before = state(delta__columnMapping__hasDroppedOrRenamed="false")
    assert left(before) == []
    off = replace(before.metadata, configuration={**disable_in_metadata(before.metadata).configuration, MODE: "none"})
    engine_says = replace(off, schema_string=disable_in_metadata(before.metadata).schema_string)
    assert left(before, metadata=engine_says) == []


DAMAGES: dict[str, tuple[dict[str, Any], str]] = {
    "mapping still there": ({"metadata": state().metadata}, "still set"),
    "a property lost": (
        {"metadata": replace(disable_in_metadata(state().metadata), configuration={})},
        "the configuration",
    ),
    "a column lost": (
        {"metadata": replace(disable_in_metadata(state().metadata), schema_string=json.dumps({**OWN, "fields": []}))},
        "the schema",
    ),
    "another table": ({"metadata": replace(disable_in_metadata(state().metadata), id="other")}, "id of the metadata"),
    "a file removed": ({"files": {("one", ""): FILES["one", ""]}}, "it removed 1 data file."),
    "a file added": ({"files": {**FILES, ("three", ""): FILES["one", ""]}}, "it added 1 data file."),
    "the protocol": ({"protocol": MAPPING.supporting(["typeWidening"])}, "the protocol"),
}


@pytest.mark.parametrize(("changes", "says"), DAMAGES.values(), ids=DAMAGES)
def test_what_else_has_changed_is_found(changes: dict[str, Any], says: str) -> None:
    assert says in " ".join(left(state(delta__appendOnly="false"), **changes))


def test_commits_that_must_not_come_between() -> None:
    add: dict[str, Any] = {"add": {"path": "x"}}
    assert list(rebased_over([(4, [add]), (5, [{"remove": {"path": "x"}}])], 6)) == []
    assert [f.code for f in rebased_over([(4, [add]), (5, [{"metaData": {}}, add])], 6)] == ["UM08"]
    assert [f.code for f in rebased_over([(4, [{"protocol": {}}])], 6)] == ["UM08"]
    assert [f.path for f in foreign_files(HOLDING, 6)] == ["one"]


def test_values_that_read_otherwise_are_found() -> None:
    assert list(nulls_differ({("a",): 3, ("s", "x"): None}, {("a",): 3, ("s", "x"): 5}, 4)) == []
    assert [f.column for f in nulls_differ({("a",): 3, ("s", "x"): 0}, {("a",): 3, ("s", "x"): 5}, 4)] == ["s.x"]
    assert [f.column for f in nulls_differ({("a",): 3}, {}, 4)] == ["a"]
    assert list(rows_differ((2, {"a": 1}), (2, {"a": 1}), 4)) == []
    assert [f.column for f in rows_differ((2, {"a": 1, "b": 2}), (3, {"a": 1, "b": 3}), 4)] == [None, "b"]
    assert [f.code for f in unread_files(FooterSurvey(unread={"one": "it is encrypted"}), 4)] == ["UM09"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"strategy": "metadata_only"}, "Did you mean 'metadata-only'"),
        ({"strategy": None}, "strategy is None"),
        ({"allow_rewrite": "yes"}, "allow_rewrite has to be True or False, not 'yes'"),
        ({"verify": "data"}, "verify is 'data'"),
        ({"strategy": "metadata-only", "allow_rewrite": True}, "never rewrites"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], says: str) -> None:
    with pytest.raises(RequestError, match=says):
        DisableColumnMappingOptions(**options)
