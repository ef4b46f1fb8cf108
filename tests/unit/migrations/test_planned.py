"""What steps do to a table, as the rules about plans get it."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.changes import steps
from airflow_delta_provider.domain.changes.steps import ColumnName, ColumnText, ColumnType, NewColumn, Step
from airflow_delta_provider.domain.checks.migrations.planned import (
    AddedColumn,
    DroppedFeature,
    RenamedColumn,
    RetypedColumn,
)
from airflow_delta_provider.domain.delta.data_type import INTEGER, LONG
from airflow_delta_provider.domain.migrations.planner import migration_to_lint
from tests.unit.states import WIDENING, field, state_of, struct

BEFORE = state_of(struct(field("id", "long"), field("qty", "integer")))


def test_steps_in_one_commit_count_one_by_one():
    step = steps.InOneCommit(
        (
            steps.AddColumns((NewColumn(("note",), "string"),)),
            steps.WidenColumns((ColumnType(("qty",), "int", "bigint"),)),
            steps.OrderFields((), ("qty", "id")),
            steps.AllowNulls((("id",),)),
            steps.ForbidNulls((("qty",),)),
            steps.CommentTable("orders"),
            steps.SetDefaults((ColumnText(("qty",), "1"), ColumnText(("id",), None))),
            steps.UnsetProperties(("owner",)),
        )
    )
    plan = migration_to_lint([step, steps.SetProperties((("a", "b"),), ("typeWidening",))], BEFORE)
    assert [added.path for added in plan.added] == [("note",)]
    assert plan.retyped == (RetypedColumn(("qty",), INTEGER, LONG),)
    assert (plan.reordered, plan.nulls_allowed, plan.nulls_forbidden) == (((),), (("id",),), (("qty",),))
    assert plan.defaults == {("qty",): "1"}
    assert plan.properties == {"owner": None, "a": "b"}
    assert plan.features_added == ("typeWidening",)


def test_features_that_are_there_are_not_added():
    state = state_of(struct(field("id", "long")), protocol=WIDENING)
    assert migration_to_lint([steps.SetProperties((), ("typeWidening",))], state).features_added == ()
    assert migration_to_lint([], state, features_added=["rowTracking"]).features_added == ("rowTracking",)


def test_columns_are_called_as_before_the_migration():
    plan = migration_to_lint(
        [
            steps.RenameColumns((ColumnName(("a",), "b"), ColumnName(("b",), "a"), ColumnName(("b", "x"), "y"))),
            steps.RenameColumns((ColumnName(("b",), "c"),)),
            steps.WidenColumns((ColumnType(("a", "y"), "int", "bigint"),)),
            steps.DropColumns((("c", "z"),)),
        ],
        BEFORE,
    )
    assert plan.renamed == (
        RenamedColumn(("a",), ("b",)),
        RenamedColumn(("b",), ("a",)),
        RenamedColumn(("b", "x"), ("a", "y")),
        RenamedColumn(("a",), ("c",)),
    )
    assert plan.retyped == (RetypedColumn(("b", "x"), INTEGER, LONG),)
    assert plan.dropped == (("a", "z"),)


def test_what_is_rewritten_adds_up():
    plan = migration_to_lint(
        [
            steps.RewriteTable((steps.Cast(("id",), "bigint", "int", True),), ("id",), files=2, size=30),
            steps.DropFeature("deletionVectors", files=1, size=4),
        ],
        BEFORE,
        most_rewritten=5,
    )
    assert (plan.rewritten_files, plan.rewritten_size, plan.rewrites_all) == (3, 34, True)
    assert plan.partition_by == ("id",)
    assert plan.retyped == (RetypedColumn(("id",), LONG, INTEGER, True),)
    assert plan.features_dropped == (DroppedFeature("deletionVectors"),)


@pytest.mark.parametrize(
    "step",
    [
        steps.DropColumns((("id",),)),
        steps.RenameColumns((ColumnName(("id",), "key"),)),
        steps.WidenColumns((ColumnType(("qty",), "int", "bigint"),)),
        steps.OrderFields((), ("qty", "id")),
        steps.AllowNulls((("id",),)),
        steps.ForbidNulls((("id",),)),
        steps.AddConstraint("positive", "qty > 0"),
        steps.DropConstraint("positive"),
        steps.ClusterBy((("id",),)),
        steps.ClusterBy(()),
        steps.RewriteTable((), ("id",)),
        steps.DropFeature("deletionVectors"),
        steps.SetProperties((("delta.appendOnly", "true"),)),
        steps.SetProperties((), ("rowTracking",)),
    ],
)
def test_a_plan_that_does_more_than_add_is_not_additive(step: Step):
    assert not migration_to_lint([step], BEFORE).is_additive


@pytest.mark.parametrize(
    "step",
    [
        steps.AddColumns((NewColumn(("note",), "string"),)),
        steps.CommentColumns((ColumnText(("id",), "key"),)),
        steps.CommentTable(None),
        steps.SetProperties((("owner", "shop"),)),
    ],
)
def test_a_plan_that_adds_is_additive(step: Step):
    assert migration_to_lint([step], BEFORE).is_additive


def test_a_new_column_is_added_with_its_type():
    plan = migration_to_lint([steps.AddColumns((NewColumn(("id2",), "bigint"),))], BEFORE)
    assert plan.added == (AddedColumn(("id2",), LONG),)
