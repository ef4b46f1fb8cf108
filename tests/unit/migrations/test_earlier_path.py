"""Where columns were before steps that are committed together."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.changes.steps import (
    AddColumns,
    ColumnName,
    DropColumns,
    InOneCommit,
    NewColumn,
    Parts,
    RenameColumns,
    earlier_path,
)

STEPS = (
    DropColumns((("gone",),)),
    AddColumns((NewColumn(("new",), "struct<x:int>"), NewColumn(("s", "element", "n"), "int"))),
    InOneCommit(
        (
            RenameColumns(
                (
                    ColumnName(("a",), "b"),
                    ColumnName(("b",), "a"),
                    ColumnName(("s",), "t"),
                    ColumnName(("s", "element", "x"), "y"),
                )
            ),
        )
    ),
    RenameColumns((ColumnName(("t", "element", "y"), "z"),)),
)


@pytest.mark.parametrize(
    ("path", "before"),
    [
        (("a",), ("b",)),
        (("B",), ("a",)),
        (("t", "element", "z"), ("s", "element", "x")),
        (("t", "element", "n"), None),
        (("NEW", "x"), None),
        (("c", "x"), ("c", "x")),
    ],
)
def test_path_before_renames_is_known_and_that_of_an_added_column_is_none(path: Parts, before: Parts | None) -> None:
    assert earlier_path(path, STEPS) == before


def test_without_steps_a_path_stays() -> None:
    assert earlier_path(("a", "b"), ()) == ("a", "b")
