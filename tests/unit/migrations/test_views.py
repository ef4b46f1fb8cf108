"""What a plan says of the views that a spec names."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.spec.table_spec import ColumnSpec, View
from tests.unit.migrations.declared import col, planned
from tests.unit.migrations.test_planner import by_name


def told(*columns: ColumnSpec, views: tuple[View, ...], **known: Any) -> list[str]:
    """Return what is said of views, step by step."""
    plan = planned(by_name(), *columns, views=views, **known).plan
    assert plan is not None
    return [text for step in plan.to_json()["steps"] for text in step["breaks"] if text.startswith("The view ")]


def test_steps_say_which_views_they_break() -> None:
    views = (View("daily", (("qty",), ("S", "x"))), View("names", (("name",),)), View("ids", (("id",),)))
    changes = (col("quantity", "bigint", renamed_from="qty"), col("s", "struct<x:int,y:string>"))
    assert told(*changes, views=views, drop=(("name",),)) == [
        "The view daily reads qty, which is renamed to quantity: it fails until it is created again.",
        "The view daily reads qty, which becomes bigint: it fails or overflows until it is created again.",
        "The view names reads name, which is dropped: it fails.",
    ]


def test_view_without_columns_reads_all_of_them() -> None:
    assert told(views=(View("all"),), drop=(("name",),)) == ["The view all reads name, which is dropped: it fails."]


def test_field_is_read_with_its_struct_and_within_it() -> None:
    views = (View("whole", (("s",),)), View("field", (("s", "y"),)), View("other", (("s", "x"),)))
    found = told(views=views, drop=(("s", "y"),))
    assert [text.split()[2] for text in found] == ["whole", "field"]
    renamed = told(col("t", renamed_from="s"), views=views)
    assert [text.split()[2] for text in renamed] == ["whole", "field", "other"]


def test_additions_break_no_view() -> None:
    assert told(col("note", "string"), views=(View("all"),), comment="Orders") == []
