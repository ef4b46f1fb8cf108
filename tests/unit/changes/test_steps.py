"""Every step of a plan can be told, and rendered or told to have no SQL."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.changes.explain import explain
from airflow_delta_provider.domain.changes.sql import render_sql
from airflow_delta_provider.domain.changes.step import (
    ColumnName,
    CommentTable,
    DropConstraint,
    InOneCommit,
    RenameColumns,
    Step,
    UnsetProperties,
)
from airflow_delta_provider.domain.request.table_name import TableName


@pytest.mark.parametrize("kind", Step.__subclasses__())
def test_step_has_an_explanation_and_says_whether_there_is_sql(kind: type) -> None:
    for function in (explain, render_sql):
        assert function.dispatch(kind) is not function.dispatch(object)


TABLE = TableName("t", identifier=("t",))


def test_names_that_are_exchanged_pass_through_others() -> None:
    step = RenameColumns((ColumnName(("s", "a"), "b"), ColumnName(("s", "b"), "a"), ColumnName(("c",), "d")))
    assert render_sql(step, TABLE) == (
        "ALTER TABLE `t` RENAME COLUMN `s`.`a` TO `_renaming_0`;\n"
        "ALTER TABLE `t` RENAME COLUMN `s`.`b` TO `_renaming_1`;\n"
        "ALTER TABLE `t` RENAME COLUMN `s`.`_renaming_0` TO `b`;\n"
        "ALTER TABLE `t` RENAME COLUMN `s`.`_renaming_1` TO `a`;\n"
        "ALTER TABLE `t` RENAME COLUMN `c` TO `d`"
    )


def test_steps_in_one_commit_are_told_and_rendered_one_after_another() -> None:
    step = InOneCommit((DropConstraint("a"), UnsetProperties(("p", "q'")), CommentTable("x")))
    assert explain(step) == "drop the CHECK constraint a; unset p, q'; set the comment of the table to 'x' (1 commit)"
    assert render_sql(step, TABLE) == (
        "ALTER TABLE `t` DROP CONSTRAINT `a`;\n"
        "ALTER TABLE `t` UNSET TBLPROPERTIES IF EXISTS ('p', 'q\\'');\n"
        "COMMENT ON TABLE `t` IS 'x'"
    )
