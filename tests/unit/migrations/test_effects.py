"""What plans say of their steps beyond themselves: how they are undone, and what they break."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.changes import steps
from airflow_delta_provider.domain.checks.migrations.planned import STREAM_BREAKS
from tests.unit.states import LEGACY, field, state_of, struct

STATE = state_of(struct(field("a", "integer")), protocol=LEGACY)
WIDEN = steps.WidenColumns((steps.ColumnType(("a",), "INT", "BIGINT"),))
RENAME = steps.RenameColumns((steps.ColumnName(("a",), "b"),))
RESTORED = [
    WIDEN,
    RENAME,
    steps.DropColumns((("a",),)),
    steps.AddColumns((steps.NewColumn(("b",), "INT"),)),
    steps.SetProperties((("team", "sales"),)),
]


@pytest.mark.parametrize("step", RESTORED, ids=lambda step: type(step).__name__)
def test_every_undo_by_restore_says_that_later_rows_are_lost(step):
    said = step.effects(STATE).undo
    assert "RESTORE" in said
    assert "takes away all rows written since" in said


def test_a_widening_stops_streams_once_and_a_rename_after_each_restart():
    assert any("continue from the same checkpoint" in text for text in WIDEN.effects(STATE).breaks)
    assert STREAM_BREAKS.effect not in WIDEN.effects(STATE).breaks
    assert STREAM_BREAKS.effect in RENAME.effects(STATE).breaks


def test_a_widening_is_undone_though_files_with_the_new_type_are_live():
    assert "only while no file" not in WIDEN.effects(STATE).undo


def test_undo_of_a_feature_that_no_release_drops_is_its_property():
    step = steps.SetProperties((("delta.enableChangeDataFeed", "true"),), ("changeDataFeed",))
    said = step.effects(STATE).undo
    assert "Set delta.enableChangeDataFeed to false" in said
    assert "DROP FEATURE" not in said
    both = steps.SetProperties((), ("changeDataFeed", "typeWidening"))
    assert "DROP FEATURE takes typeWidening away" in both.effects(STATE).undo
