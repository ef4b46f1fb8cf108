"""What the rules about plans of migrations say, and of what they are silent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from airflow_delta_provider.domain.checks.migrations import FAMILY
from airflow_delta_provider.domain.checks.migrations.columns import holds_all, reserving
from airflow_delta_provider.domain.checks.migrations.planned import (
    AddedColumn,
    DroppedFeature,
    PlannedMigration,
    RenamedColumn,
    RetypedColumn,
    on_plan,
)
from airflow_delta_provider.domain.checks.migrations.table import still_needed
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.data_type import INTEGER, LONG, DataType, DecimalType
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding, Severity
from tests.unit.states import LEGACY, field, state_of, struct

FEED = {"delta.enableChangeDataFeed": "true"}
MAPPED = {"delta.columnMapping.mode": "name"}
STRING = parse_sql_type("string")


def before(configuration: Mapping[str, str] | None = None, **changes: Any) -> TableState:
    schema = struct(field("id", "long"), field("qty", "integer"), field("day", "date"))
    return replace(state_of(schema, configuration=configuration), **changes)


def partitioned(*names: str) -> TableState:
    state = before()
    return replace(state, metadata=replace(state.metadata, partition_columns=names))


def found(state: TableState | None = None, **changes: Any) -> list[Finding]:
    return list(on_plan.run(PlannedMigration(before=state or before(), **changes)))


def codes(state: TableState | None = None, **changes: Any) -> list[str]:
    return [finding.code for finding in found(state, **changes)]


WIDER = RetypedColumn(("qty",), INTEGER, LONG)
NARROWER = RetypedColumn(("id",), LONG, INTEGER)
CLUSTERED = {"delta.clustering": '{"clusteringColumns":[["id"]]}'}


@pytest.mark.parametrize(
    ("state", "changes", "expected"),
    [
        (before(), {"dropped": (("qty",),)}, ["MG01", "MG15"]),
        (before(), {"renamed": (RenamedColumn(("qty",), ("pieces",)),)}, ["MG02", "MG15"]),
        (before(), {"retyped": (WIDER,)}, ["MG03"]),
        (before(), {"retyped": (NARROWER,), "rewrites_all": True}, ["MG04", "MG15"]),
        (
            before(),
            {"retyped": (NARROWER._replace(null_on_loss=True),), "rewrites_all": True},
            ["MG04", "MG05", "MG15"],
        ),
        (before(), {"nulls_forbidden": (("qty",),)}, ["MG06"]),
        (before(), {"reordered": ((),)}, ["MG07"]),
        (before(), {"defaults": {("qty",): "1"}}, ["MG08"]),
        (partitioned("qty"), {"retyped": (WIDER,)}, ["MG03", "MG09"]),
        (before(), {"added": (AddedColumn(("select",), LONG),)}, ["MG10"]),
        (before(), {"added": (AddedColumn(("a b",), LONG),)}, ["MG11"]),
        (before(FEED), {"added": (AddedColumn(("_Change_Type",), STRING),)}, ["MG12"]),
        (before(), {"added": (AddedColumn(("x" * 256,), LONG),)}, ["MG13"]),
        (before(), {"dropped": (("qty",),), "added": (AddedColumn(("QTY",), LONG),)}, ["MG01", "MG14", "MG15"]),
        (before(), {"dropped_earlier": (("Fax",),), "added": (AddedColumn(("fax",), STRING),)}, ["MG14"]),
        (before(), {"features_dropped": (DroppedFeature("columnMapping", truncate_history=True),)}, ["MG15"]),
        (before(FEED), {"dropped": (("qty",),)}, ["MG01", "MG15", "MG16"]),
        (before(FEED), {"retyped": (WIDER,)}, ["MG03", "MG16"]),
        (before(FEED), {"properties": {"delta.enableChangeDataFeed": "false"}}, ["MG17"]),
        (before(FEED), {"properties": {"delta.enableChangeDataFeed": None}}, ["MG17"]),
        (before(), {"constraints": {"positive": None}}, ["MG18"]),
        (before(), {"constraints": {"recent": "day > current_date()"}}, ["MG19"]),
        (before(), {"constraints": {"recent": "day > date_sub(CURRENT_DATE, 3)"}}, ["MG19"]),
        (before(), {"properties": {"delta.enableChangeDataFed": "true"}}, ["MG20"]),
        (before(domains=CLUSTERED), {"cluster_by": ()}, ["MG21"]),
        (partitioned("day"), {"partition_by": (), "rewrites_all": True}, ["MG15", "MG22"]),
        (before(), {"rewritten_size": 10**9 + 1, "rewritten_files": 3, "most_rewritten": 10**9}, ["MG23"]),
        (before({"delta.enableRowTracking": "true"}), {"rewrites_all": True}, ["MG15", "MG24"]),
        (before(), {"features_added": ("rowTracking",)}, ["MG25"]),
        (before(), {"features_dropped": (DroppedFeature("deletionVectors"),)}, ["MG26"]),
    ],
)
def test_what_a_plan_does_is_found(state: TableState, changes: dict[str, Any], expected: list[str]):
    assert sorted(codes(state, **changes)) == expected


@pytest.mark.parametrize(
    ("state", "changes"),
    [
        (before(), {}),
        (before(), {"added": (AddedColumn(("note",), STRING),)}),
        (before(FEED), {"added": (AddedColumn(("note",), STRING),), "reordered": ()}),
        (before(MAPPED), {"added": (AddedColumn(("a b",), LONG),)}),
        (before(), {"properties": MAPPED, "added": (AddedColumn(("a b",), LONG),)}),
        (before(), {"added": (AddedColumn(("lines", "_change_type"), LONG),)}),
        (before(), {"nulls_allowed": (("qty",),)}),
        (before(files={}), {"defaults": {("qty",): "1"}}),
        (before(), {"defaults": {("qty",): "NULL"}}),
        (before(), {"constraints": {"positive": "qty > 0 AND id < hash(qty)"}}),
        (before(), {"properties": {"owner": "shop", "delta.logRetentionDuration": "interval 9 days"}}),
        (before(), {"properties": {"DELTA.appendonly": "false", "delta.feature.someday": "supported"}}),
        (before(), {"properties": {"delta.mistyped": None}}),
        (before(), {"cluster_by": ()}),
        (before(domains=CLUSTERED), {"cluster_by": (("qty",),)}),
        (partitioned("day"), {"partition_by": ("DAY",)}),
        (before(), {"rewritten_size": 10**15, "rewritten_files": 3}),
        (before(), {"rewritten_size": 10**9, "rewritten_files": 3, "most_rewritten": 10**9}),
        (before(), {"features_dropped": (DroppedFeature("deletionVectors", truncate_history=True),)}),
        (before(), {"features_dropped": (DroppedFeature("appendOnly"),)}),
        (
            before(protocol=LEGACY.supporting(["checkpointProtection"])),
            {"features_dropped": (DroppedFeature("deletionVectors"),)},
        ),
        (before(), {"dropped_earlier": (("qty",),), "retyped": ()}),
        (
            before(),
            {"dropped_earlier": (("QTY",),), "renamed": (RenamedColumn(("qty",), ("Qty",)),), "rewrites_all": False},
        ),
    ],
)
def test_what_a_plan_does_not_do_is_not_found(state: TableState, changes: dict[str, Any]):
    assert [code for code in codes(state, **changes) if code != "MG15"] == []


def test_a_default_warns_where_the_table_has_rows():
    file = LiveFile.from_add({"path": "a", "size": 1, "partitionValues": {}, "modificationTime": 0, "dataChange": True})
    state = before(files={file.key: file})
    assert codes(state, defaults={("qty",): "1"}) == ["MG08"]


def test_a_constraint_on_a_column_that_is_called_like_a_function_is_stable():
    schema = struct(field("user", "string"))
    assert codes(state_of(schema), constraints={"known": "user <> ''"}) == []


def test_names_within_the_type_of_a_new_column_are_looked_at():
    added = AddedColumn(("customer",), parse_sql_type("struct<name:string,`select`:array<struct<`a b`:int>>>"))
    (reserved, illegal) = found(added=(added,))
    assert (reserved.code, reserved.column) == ("MG10", "customer.select")
    assert (illegal.code, illegal.column) == ("MG11", "customer.select.element.a b")


def test_a_name_of_the_change_data_feed_weighs_less_while_the_feed_is_off():
    (on,) = found(before(FEED), added=(AddedColumn(("_commit_version",), LONG),))
    (off,) = found(added=(AddedColumn(("_commit_version",), LONG),))
    assert (on.severity, off.severity) == (Severity.ERROR, Severity.WARNING)


@pytest.mark.parametrize(
    ("name", "severity", "evidence"),
    [
        (
            "delta.enableTypeWidning",
            Severity.ERROR,
            "Delta does not know the property delta.enableTypeWidning. Did you mean delta.enableTypeWidening?",
        ),
        ("delta.zzz", Severity.ERROR, "Delta does not know the property delta.zzz."),
        (
            "delta.targetFileSize",
            Severity.UNDECIDED,
            "Databricks knows the property delta.targetFileSize, but Delta Spark v4.4.0 does not: it refuses to set "
            "it.",
        ),
    ],
)
def test_an_unknown_property_comes_with_the_nearest_name(name: str, severity: Severity, evidence: str):
    (finding,) = found(properties={name: "1"})
    assert (finding.severity, finding.evidence) == (severity, evidence)


def test_who_has_to_support_a_new_feature_is_said():
    writers, both = found(features_added=("appendOnly", "deletionVectors"))
    assert writers.evidence == "The feature appendOnly is added, which writers have to support."
    assert both.evidence == "The feature deletionVectors is added, which readers and writers have to support."


@pytest.mark.parametrize(
    ("old", "new", "holds"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("int", "string", True),
        ("string", "int", False),
        ("binary", "string", False),
        ("int", "decimal(10,0)", True),
        ("int", "decimal(9,0)", False),
        ("bigint", "decimal(19,0)", True),
        ("bigint", "double", False),
        ("decimal(9,0)", "int", True),
        ("decimal(10,0)", "int", False),
        ("decimal(9,2)", "int", False),
        ("decimal(10,2)", "decimal(12,2)", True),
        ("decimal(10,2)", "decimal(12,1)", False),
        ("date", "timestamp", True),
        ("timestamp", "date", False),
        ("array<int>", "array<bigint>", True),
        ("array<bigint>", "array<int>", False),
        ("map<int,string>", "map<bigint,string>", True),
        ("struct<a:int,b:int>", "struct<A:bigint,b:int,c:int>", True),
        ("struct<a:int,b:int>", "struct<a:int>", False),
    ],
)
def test_holds_all(old: str, new: str, *, holds: bool):
    assert holds_all(parse_sql_type(old), parse_sql_type(new)) is holds


INTEGERS: list[DataType] = [parse_sql_type(name) for name in ("tinyint", "smallint", "int", "bigint")]


@pytest.mark.parametrize("integer", INTEGERS, ids=str)
@pytest.mark.parametrize("precision", range(1, 25))
def test_decimals_and_integers_hold_each_other_by_their_largest_values(integer: DataType, precision: int):
    largest = 2 ** (8 * 2 ** INTEGERS.index(integer) - 1)
    decimal = DecimalType(precision, 0)
    assert holds_all(integer, decimal) is (10**precision - 1 >= largest)
    assert holds_all(decimal, integer) is (10**precision - 1 < largest)


def test_reserved_words_are_those_of_spark_and_of_trino():
    assert reserving("Select") == ["Spark SQL (ANSI)", "Trino"]
    assert reserving("collate") == ["Spark SQL (ANSI)"]
    assert reserving("skip") == ["Trino"]
    assert reserving("amount") == []


def test_each_rule_is_registered():
    about_plans = {rule for rule in RULES.values() if rule.family is FAMILY and rule.scope is not Scope.OUTCOME}
    assert about_plans == set(on_plan.rules)


def test_what_a_table_still_needs_after_a_migration_is_named():
    assert list(still_needed("t", [], 7)) == []
    (found,) = still_needed("t", ["drop a", "add b int"], 7)
    assert (found.code, found.version, found.facts["steps"]) == ("MG40", 7, ["drop a", "add b int"])
