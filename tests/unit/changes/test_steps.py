"""Every step of a plan has an explanation, and either SQL or none on purpose."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_delta_provider.domain.changes import steps
from airflow_delta_provider.domain.changes.steps import (
    ColumnName,
    CommentTable,
    DropConstraint,
    InOneCommit,
    RenameColumns,
    Step,
    UnsetProperties,
)
from airflow_delta_provider.domain.table_name import TableName

A = ("a",)
ONE_OF_EACH = (
    steps.SetProperties((("p", "1"),)),
    steps.WidenColumns((steps.ColumnType(A, "int", "bigint"),)),
    steps.TrackUsage("true"),
    steps.MapColumns(),
    steps.DropColumns((A,)),
    steps.RenameColumn(ColumnName(A, "b")),
    steps.AddColumns((steps.NewColumn(A, "int"),)),
    steps.Alteration(drops=(A,)),
    steps.CreateTable((("a", "int"),)),
    steps.DisableMapping("history"),
    steps.RewriteWithoutMapping(1, 2),
    steps.DropFeature("deletionVectors"),
    UnsetProperties(("p",)),
    RenameColumns((ColumnName(A, "b"),)),
    steps.OrderFields((), ("b", "a")),
    steps.AllowNulls((A,)),
    steps.ForbidNulls((A,)),
    steps.CommentColumns((steps.ColumnText(A, "x"),)),
    steps.SetDefaults((steps.ColumnText(A, "1"),)),
    CommentTable("x"),
    steps.AddConstraint("c", "a > 0"),
    DropConstraint("c"),
    steps.ClusterBy((A,)),
    steps.RewriteTable((steps.Cast(A, "int", "string"),)),
    InOneCommit((DropConstraint("c"),)),
)
WITHOUT_SQL = (steps.TrackUsage, steps.MapColumns, steps.Alteration, steps.CreateTable, steps.DisableMapping)


def _concrete(kind: type[Step]) -> Iterator[type[Step]]:
    """Yield the classes of steps: those that no other class extends."""
    if not kind.__subclasses__():
        yield kind
    for below in kind.__subclasses__():
        yield from _concrete(below)


def test_the_steps_below_are_all_there_are() -> None:
    assert {type(step) for step in ONE_OF_EACH} == set(_concrete(Step))


@pytest.mark.parametrize("step", ONE_OF_EACH, ids=lambda step: type(step).__name__)
def test_step_has_an_explanation_and_says_whether_there_is_sql(step: Step) -> None:
    assert "None" not in step.explanation
    assert step.explanation.endswith((" (1 commit)", " (1 commit, not by SQL)"))
    assert (step.sql(TABLE) is None) == isinstance(step, WITHOUT_SQL)


TABLE = TableName("t", identifier=("t",))


def test_names_that_are_exchanged_pass_through_others() -> None:
    step = RenameColumns((ColumnName(("s", "a"), "b"), ColumnName(("s", "b"), "a"), ColumnName(("c",), "d")))
    assert step.sql(TABLE) == (
        "ALTER TABLE `t` RENAME COLUMN `s`.`a` TO `_renaming_0`;\n"
        "ALTER TABLE `t` RENAME COLUMN `s`.`b` TO `_renaming_1`;\n"
        "ALTER TABLE `t` RENAME COLUMN `s`.`_renaming_0` TO `b`;\n"
        "ALTER TABLE `t` RENAME COLUMN `s`.`_renaming_1` TO `a`;\n"
        "ALTER TABLE `t` RENAME COLUMN `c` TO `d`"
    )


def test_steps_in_one_commit_are_explained_and_rendered_one_after_another() -> None:
    step = InOneCommit((DropConstraint("a"), UnsetProperties(("p", "q'")), CommentTable("x")))
    assert (
        step.explanation == "drop the CHECK constraint a; unset p, q'; set the comment of the table to 'x' (1 commit)"
    )
    assert step.sql(TABLE) == (
        "ALTER TABLE `t` DROP CONSTRAINT `a`;\n"
        "ALTER TABLE `t` UNSET TBLPROPERTIES IF EXISTS ('p', 'q\\'');\n"
        "COMMENT ON TABLE `t` IS 'x'"
    )
