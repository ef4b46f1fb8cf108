"""Which steps make a table what is declared, in which order, and what is refused: no table is touched."""

from __future__ import annotations

import cProfile
from dataclasses import replace
from typing import Any

import pytest

from airflow_delta_provider.domain.changes import steps as steps_of
from airflow_delta_provider.domain.delta.data_type import ArrayType
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.planner import plan_migration
from airflow_delta_provider.domain.spec.table_spec import ColumnSpec, TableSpec, struct_of
from tests.unit.mapped_tables import MAPPING, configured, mapped
from tests.unit.mapped_tables import table as mapped_table
from tests.unit.migrations.declared import after, col, flat, planned, refused, steps
from tests.unit.states import ENGINE, LEGACY, TABLE, WIDENING, WIDENING_ON, field, state_of, struct

SCHEMA = struct(
    field("id", "long"),
    field("qty", "integer", comment="pieces"),
    field("name", "string"),
    field("s", struct(field("x", "integer"), field("y", "string"))),
    field("lines", ArrayType(struct(field("price", "double"), field("tax", "float")))),
)


def plain(**configuration: str) -> TableState:
    settings = {key.replace("__", "."): value for key, value in configuration.items()}
    return state_of(SCHEMA, protocol=WIDENING, configuration=WIDENING_ON | settings)


def by_name(**configuration: str) -> TableState:
    """The same table with column mapping."""
    schema = mapped(SCHEMA)
    settings = {key.replace("__", "."): value for key, value in configuration.items()}
    protocol = MAPPING.supporting(["typeWidening"])
    return mapped_table(schema, configured(schema) | WIDENING_ON | settings, protocol=protocol)


def told(state: TableState, *columns: Any, **known: Any) -> list[str]:
    return [step.explanation.rpartition(" (")[0] for step in flat(steps(state, *columns, **known))]


@pytest.mark.parametrize("change", ["rename", "drop", "comment", "widen"])
def test_the_work_grows_with_the_columns_and_not_with_their_square(change: str) -> None:
    def calls(columns: int) -> int:
        schema = mapped(struct(*(field(f"c{n}", "integer", comment="c") for n in range(columns))))
        state = mapped_table(schema, configured(schema), protocol=MAPPING.supporting(["typeWidening"]))
        changed: dict[str, Any] = {"rename": {}, "drop": {}, "comment": {"comment": "new"}, "widen": {"sql": "bigint"}}
        specs = [
            col(f"r{n}", renamed_from=f"c{n}") if change == "rename" else col(f"c{n}", **changed[change])
            for n in range(columns)
            if n % 2
        ]
        kept = [] if change == "drop" else [col(f"c{n}") for n in range(0, columns, 2)]
        profile = cProfile.Profile()
        assert profile.runcall(lambda: steps(state, *specs, *kept, exact=True))
        return sum(entry.callcount for entry in profile.getstats())

    assert calls(400) < 3 * calls(200)


def test_nothing_to_do() -> None:
    everything = (
        col("id", "bigint"),
        col("QTY", "int", comment="pieces"),
        col("name"),
        col("s", "struct<x:int,y:string>"),
        col("lines", "array<struct<price:double,tax:float>>"),
    )
    assert steps(plain(), *everything) == ()
    assert steps(plain(), *everything, exact=True, properties={"delta.enableTypeWidening": "true"}) == ()
    assert steps(plain()) == ()


def test_changes_of_columns_are_one_commit_in_their_order() -> None:
    (commit,) = steps(
        by_name(),
        col("id", "bigint", comment="key"),
        col("note", "binary", comment="free text"),
        col("quantity", "bigint", renamed_from="qty", comment=None),
        col("s", "struct<x:bigint,y:string,z:date>"),
        col("lines", "array<struct<price:double,tax:double,vat:int>>"),
        drop=(("name",),),
        comment="Orders",
    )
    assert isinstance(commit, steps_of.InOneCommit)
    assert [type(step).__name__ for step in commit.steps] == [
        "AddColumns",
        "RenameColumns",
        "WidenColumns",
        "OrderFields",
        "CommentColumns",
        "CommentTable",
        "DropColumns",
    ]
    assert [step.explanation.rpartition(" (")[0] for step in commit.steps] == [
        "add note binary, s.z date, lines.element.vat int",
        "rename qty to quantity",
        "widen quantity int -> bigint, s.x int -> bigint, lines.element.tax float -> double",
        "put the columns in the order id, note, quantity, name, s, lines",
        "set the comment of id to 'key', quantity to nothing, note to 'free text'",
        "set the comment of the table to 'Orders'",
        "drop name",
    ]


def test_after_the_plan_there_is_nothing_to_do() -> None:
    declared = (
        (col("code", "string", renamed_from="name"), col("id", "bigint", nullable=True), col("s", "struct<x:bigint>")),
        {
            "constraints": {"Positive": "id>0"},
            "properties": {"team": "a", "delta.appendOnly": "true"},
            "partition_by": (),
            "comment": "Orders",
            "drop": (("qty",), ("lines", "element", "tax")),
            "exact": False,
        },
    )
    first = planned(by_name(), *declared[0], **declared[1]).plan
    assert first is not None
    assert first.steps
    assert steps(after(first), *declared[0], **declared[1]) == ()


def test_a_chain_of_renames_and_a_name_that_is_freed() -> None:
    chain = (col("name", renamed_from="qty"), col("label", renamed_from="name"))
    assert told(by_name(), *chain)[0] == "rename qty to name, name to label"
    freed = (col("amount", "int", renamed_from="qty"), col("qty", "string"))
    assert told(by_name(), *freed)[:2] == ["rename qty to amount", "add qty string"]
    dropped = (col("name", "int", renamed_from="qty"),)
    assert told(by_name(), *dropped, drop=(("name",),))[:2] == ["drop name", "rename qty to name"]


def test_what_was_done_is_not_done_again() -> None:
    assert steps(by_name(), col("name", renamed_from="title"), drop=(("gone",), ("s", "gone"))) == ()


def test_both_names_are_there() -> None:
    assert refused(by_name(), col("name", renamed_from="qty")) == [("RQ50", "name")]


def test_a_drop_and_an_addition_that_may_be_a_rename_are_asked_about() -> None:
    assert refused(by_name(), col("title", "string"), drop=(("name",),)) == [("RQ61", "title")]
    assert told(by_name(), col("title", "string", renamed_from=None), drop=(("name",),)) == [
        "add title string",
        "drop name",
    ]


def test_features_that_changes_need_come_first_in_a_commit_of_their_own() -> None:
    state = state_of(struct(field("id", "integer")), protocol=LEGACY)
    found = steps(state, col("id", "bigint"), col("at", "timestamp_ntz", default="now()"), constraints={"c": "id > 0"})
    assert [type(step).__name__ for step in found] == ["SetProperties", "InOneCommit", "InOneCommit", "AddConstraint"]
    assert isinstance(found[2], steps_of.InOneCommit)  # a column must not be added with its default
    assert [type(step) for step in found[2].steps] == [steps_of.SetDefaults]
    assert isinstance(found[0], steps_of.SetProperties)
    assert dict(found[0].properties) == {
        "delta.enableTypeWidening": "true",
        "delta.feature.allowColumnDefaults": "supported",
        "delta.feature.checkConstraints": "supported",
        "delta.feature.timestampNtz": "supported",
    }
    plan = planned(state, col("id", "bigint")).plan
    assert plan is not None
    assert plan.permissions == ("allow_protocol_upgrade",)


def test_mapping_is_enabled_before_a_rename_and_only_where_it_is_declared() -> None:
    assert ("RQ54", None) in refused(plain(), col("n", renamed_from="name"))
    found = steps(plain(), col("n", renamed_from="name"), features=("columnMapping",))
    assert [type(step).__name__ for step in found] == ["SetProperties", "InOneCommit"]


@pytest.mark.parametrize(
    ("columns", "known", "expected"),
    [
        ([col("id", "int")], {}, ("RQ60", "id")),
        ([col("name", "int")], {}, ("RQ60", "name")),
        ([col("s", "map<string,int>")], {}, ("RQ11", "s")),
        ([col("missing")], {}, ("RQ10", "missing")),
        ([col("qty", generated="id + 1")], {}, ("RQ62", "qty")),
        ([], {"partition_by": ("name",)}, ("RQ60", None)),
        ([], {"constraints": {"c": "nocol > 1"}}, ("RQ10", None)),
        ([], {"constraints": {"c": "id"}}, ("RQ65", None)),
        ([], {"table_id": "other"}, ("RQ63", None)),
        ([], {"cluster_by": (("missing",),)}, ("RQ10", "missing")),
        ([], {"features": ("rowTraking",)}, ("RQ06", None)),
        ([], {"properties": {"delta.minReaderVersion": "3"}}, ("RQ08", None)),
        ([col("a b", "int")], {}, ("RQ53", "a b")),
        ([col("new", "struct<`x;y`:int>")], {}, ("RQ53", "new.x;y")),
        ([col("na=me", renamed_from="name")], {}, ("RQ53", "na=me")),
        ([], {"drop": (("s", "x"),)}, ("RQ54", None)),
        ([col("qty", "bigint")], {"only_additive": True}, ("RQ59", None)),
    ],
)
def test_refusals(columns: list[Any], known: dict[str, Any], expected: tuple[str, str | None]) -> None:
    assert expected in refused(plain(), *columns, **known)


def test_what_only_rewriting_can_do() -> None:
    files = [LiveFile("a", 10, None, None), LiveFile("b", 20, None, None)]
    state = plain()
    state = replace(state, files={file.key: file for file in files})
    found = steps(
        state, col("id", "int", rewrite=True), col("name", "date", rewrite=True, null_on_loss=True), rewrite=False
    )
    assert found == (
        steps_of.RewriteTable(
            (steps_of.Cast(("id",), "bigint", "int"), steps_of.Cast(("name",), "string", "date", null_on_loss=True)),
            files=2,
            size=30,
        ),
    )
    plan = planned(state, partition_by=("name",), rewrite=True).plan
    assert plan is not None
    assert plan.permissions == ("allow_rewrite",)
    assert planned(plain(), partition_by=("name",), rewrite=True).wants_files


def test_a_rewrite_widens_too_and_leaves_no_type_widening_behind() -> None:
    state = state_of(SCHEMA, protocol=LEGACY)
    found = planned(
        state, col("qty", "bigint"), col("name", "date", rewrite=True), col("lines", "array<struct<tax:double>>")
    )
    assert found.plan is not None
    (step,) = found.plan.steps
    assert isinstance(step, steps_of.RewriteTable)
    assert {cast.parts: cast.new for cast in step.casts} == {
        ("qty",): "bigint",
        ("lines", "element", "tax"): "double",
        ("name",): "date",
    }
    assert found.plan.protocol_after == LEGACY
    assert found.plan.permissions == ("allow_rewrite",)
    by_name = planned(state, col("qty", "bigint"), partition_by=("name",), rewrite=True).plan
    assert by_name is not None
    assert [type(each) for each in by_name.steps] == [steps_of.RewriteTable]


def test_an_engine_that_cannot_widen_rewrites_where_it_may() -> None:
    state, old = state_of(SCHEMA, protocol=LEGACY), replace(ENGINE, spark="3.5.9", delta="3.3.2")
    spec = TableSpec(columns=(col("qty", "bigint"),))
    refusal = plan_migration(TABLE, spec, state, old).refusals[0]
    assert (refusal.code, "rewrite: true" in str(refusal.remedy)) == ("RQ05", True)
    spec = TableSpec(columns=(col("qty", "bigint", rewrite=True), col("lines", "array<struct<tax:double>>")))
    plan = plan_migration(TABLE, spec, state, old).plan
    assert plan is not None
    assert [step.explanation for step in plan.steps] == [
        "rewrite 0 data files (0 bytes) with qty int -> bigint, lines.element.tax float -> double (1 commit)"
    ]
    assert [type(step) for step in plan_migration(TABLE, spec, state, ENGINE).plan.steps] == [  # type: ignore[union-attr]  # it is not refused
        steps_of.SetProperties,
        steps_of.InOneCommit,
    ]


@pytest.mark.parametrize("types", [("string", "timestamp"), ("timestamp", "date"), ("timestamp", "timestamp_ntz")])
def test_what_depends_on_a_time_zone_needs_one_that_the_plan_then_names(types: tuple[str, str]) -> None:
    old, new = types
    state = state_of(struct(field("at", old)), protocol=LEGACY.supporting(["timestampNtz"]))
    columns = (col("at", new, rewrite=True),)
    assert refused(state, *columns) == [("RQ72", "at")]
    (step,) = steps(state, *columns, time_zone="Europe/Berlin")
    assert isinstance(step, steps_of.RewriteTable)
    assert step.time_zone == "Europe/Berlin"
    assert "times in the zone Europe/Berlin" in step.explanation
    assert (step.sql(TABLE) or "").startswith("SET TIME ZONE 'Europe/Berlin';\nREPLACE TABLE")
    digests = {
        planned(state, *columns, time_zone=zone).plan.digest  # type: ignore[union-attr]  # it is not refused
        for zone in ("UTC", "Europe/Berlin")
    }
    assert len(digests) == 2
    (other,) = steps(state, col("at", "binary", rewrite=True), time_zone="UTC") if old == "string" else (None,)
    assert other is None or getattr(other, "time_zone", "") is None


def test_constraints_are_dropped_before_what_they_forbid() -> None:
    state = plain(delta__constraints__positive="qty > 0")
    assert told(state, col("qty", "bigint"), constraints={"positive": None}) == [
        "drop the CHECK constraint positive",
        "widen qty int -> bigint",
    ]
    assert ("RQ12", "qty") in refused(state, col("qty", "bigint"))
    assert steps(state, constraints={"POSITIVE": "qty>0"}) == ()
    assert told(state, constraints={"positive": "qty >= 0"})[1:] == [
        "drop the CHECK constraint positive",
        "add the CHECK constraint positive (qty >= 0), after all rows were checked",
    ]


def test_exact_takes_away_what_is_not_declared() -> None:
    state = by_name(team="x", delta__constraints__c="id > 0", delta__appendOnly="false")
    assert told(state, col("id"), col("qty"), col("s"), col("lines"), exact=True) == [
        "drop the CHECK constraint c",
        "unset team",
        "drop name",
    ]
    nested = told(state, col("id"), col("qty"), col("name"), col("s", "struct<x:int>"), col("lines"), exact=True)
    assert nested[-1] == "drop s.y"


def test_a_new_column_cannot_be_not_null_where_there_are_rows() -> None:
    empty = replace(plain(), files={})
    assert told(empty, col("note", "string", nullable=False)) == [
        "add note string",
        "forbid NULL in note, after all rows were checked",
    ]
    file = LiveFile("a", 10, None, None)
    full = replace(plain(), files={file.key: file})
    assert refused(full, col("note", "string", nullable=False)) == [("RQ52", "note")]


def test_the_digest_does_not_depend_on_the_version() -> None:
    first = planned(by_name(), col("id", comment="x")).plan
    assert first is not None
    later = planned(replace(by_name(), version=99), col("id", comment="x")).plan
    other = planned(by_name(), col("id", comment="y")).plan
    moved = planned(by_name(team="b"), col("id", comment="x")).plan
    assert later is not None
    assert other is not None
    assert moved is not None
    assert first.digest == later.digest
    assert len({first.digest, other.digest, moved.digest}) == 3


def test_the_plan_as_json_says_what_each_step_does() -> None:
    plan = planned(by_name(), col("id", comment="x"), drop=(("name",),)).plan
    assert plan is not None
    wire = plan.to_json()
    assert [step["explanation"] for step in wire["steps"]] == [
        "set the comment of id to 'x' (1 commit)",
        "drop name (1 commit)",
    ]
    assert {step["step"] for step in wire["steps"]} == {1}
    assert wire["diff"][:3] == ["-`id` bigint", "+`id` bigint COMMENT 'x'", " `qty` int COMMENT 'pieces'"]
    assert wire["steps"][1]["metadata_only"]
    assert wire["permissions"] == []
    assert planned(by_name()).plan.to_json()["steps"] == []  # type: ignore[union-attr]  # there is one


def test_a_column_that_is_refused_is_not_looked_for_afterwards() -> None:
    """What follows, such as NOT NULL and clustering, is about the columns as they would be."""
    column = col("a b", "int", nullable=False)
    assert refused(plain(), column, cluster_by=(("a b",),)) == [("RQ53", "a b")]


def test_a_struct_needs_fields_and_each_field_a_type() -> None:
    empty = ColumnSpec(name="e", data_type=struct_of(()))
    untyped = ColumnSpec(name="u", data_type=struct_of((ColumnSpec(name="x", comment="a"),)))
    assert refused(plain(), empty, untyped) == [("RQ52", "e"), ("RQ10", "u.x")]


def test_partition_column_is_renamed_without_rewriting_even_where_another_column_is_widened_at_once() -> None:
    state = by_name()
    state = replace(state, metadata=replace(state.metadata, partition_columns=("name",)))
    declared = (col("qty", "bigint"), col("title", "string", renamed_from="name"))
    assert told(state, *declared, partition_by=("title",)) == ["rename name to title", "widen qty int -> bigint"]
    plan = planned(state, *declared, partition_by=("title",)).plan
    assert plan is not None
    assert plan.metadata_after.partition_columns == ("title",)
