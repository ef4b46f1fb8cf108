"""What an engine says it will make of a plan decides over the plan: whatever release it is."""

from __future__ import annotations

import json

import pytest

from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.changes.preflight import (
    one_at_a_time,
    proposed_metadata,
    with_expected_protocol,
)
from airflow_delta_provider.domain.changes.steps import (
    AddColumns,
    ClusterBy,
    ColumnType,
    DropColumns,
    DropFeature,
    NewColumn,
    SetProperties,
    WidenColumns,
)
from tests.unit.states import ENGINE, LEGACY, TABLE

STEP = SetProperties((("delta.enableTypeWidening", "true"),))
WIDENING = LEGACY.supporting(["typeWidening"])
PREVIEW = LEGACY.supporting(["typeWidening-preview"])


def judged(foreseen, *, after=WIDENING, upgrade=True, special=False):
    plan = Plan(TABLE, (STEP,), LEGACY, after)
    real, refusals = with_expected_protocol(plan, foreseen, ENGINE, allow_upgrade=upgrade, allow_special=special)
    assert real.protocol_after == foreseen
    return [finding.code for finding in refusals], " ".join(finding.message for finding in refusals)


def test_plan_that_the_engine_carries_out_as_it_is_meant_stands():
    assert judged(WIDENING) == ([], "")


def test_what_clusters_or_drops_brings_its_own_features_and_takes_them_away():
    before = LEGACY.supporting(["deletionVectors"])
    steps = (STEP, ClusterBy((("id",),)), DropFeature("deletionVectors"))
    after = LEGACY.supporting(["typeWidening", "clustering", "checkpointProtection"])
    plan = Plan(TABLE, steps, before, after)
    foreseen = before.supporting(["typeWidening"])
    assert with_expected_protocol(plan, foreseen, ENGINE, allow_upgrade=False, allow_special=False) == (plan, ())


@pytest.mark.parametrize("special", [False, True])
def test_engine_that_would_add_a_preview_in_place_of_what_was_asked_for_is_refused(special):
    codes, message = judged(PREVIEW, special=special)
    assert codes == ["RQ05"]
    assert "would not add typeWidening to the protocol of /lake/t, but typeWidening-preview" in message


@pytest.mark.parametrize(
    ("brought", "allowed", "expected"),
    [
        ("variantType-preview", {}, ["RQ07"]),
        ("variantType-preview", {"special": True}, []),
        ("variantType-preview", {"special": True, "upgrade": False}, ["RQ09"]),
        ("variantType", {}, []),
        ("variantType", {"upgrade": False}, ["RQ09"]),
    ],
)
def test_feature_that_comes_unasked_has_to_be_allowed(brought, allowed, expected):
    codes, message = judged(WIDENING.supporting([brought]), **allowed)
    assert codes == expected
    assert not codes or brought in message


def test_engine_is_asked_with_properties_and_new_types_and_with_nothing_else():
    field = {"name": "a", "type": "integer", "nullable": True, "metadata": {}}
    metadata = {
        "id": "i",
        "schemaString": json.dumps({"type": "struct", "fields": [field]}),
        "configuration": {"team": "a", "delta.appendOnly": "false"},
    }
    steps = (
        SetProperties((("delta.appendOnly", "true"),)),
        WidenColumns((ColumnType(("a",), "date", "timestamp_ntz"),)),
        AddColumns((NewColumn(("s",), "struct<`x`:array<variant>,`y`:map<string,int>>"),)),
    )
    asked = proposed_metadata(metadata, steps)
    assert asked is not None
    assert (asked["id"], asked["configuration"]) == ("i", {"team": "a", "delta.appendOnly": "true"})
    first, *added = json.loads(asked["schemaString"])["fields"]
    assert first == field
    assert [column["type"] for column in added] == ["integer", "string", "timestamp_ntz", "variant"]
    assert len({column["name"] for column in added}) == len(added)
    assert proposed_metadata(metadata, (DropColumns((("a",),)),)) is None


def test_column_mapping_is_not_enabled_together_with_new_columns() -> None:
    metadata = {"schemaString": "old", "configuration": {"team": "a"}}
    mapped = {"team": "a", "delta.columnMapping.mode": "name"}
    both = {"schemaString": "new", "configuration": mapped}
    first, second = one_at_a_time(metadata, both)
    assert first == {"schemaString": "old", "configuration": mapped}
    assert second == {"schemaString": "new", "configuration": {"team": "a", "delta.columnMapping.mode": "none"}}
    assert one_at_a_time({**metadata, "configuration": mapped}, both) == (both,)
    assert one_at_a_time(metadata, {**both, "schemaString": "old"}) == ({**both, "schemaString": "old"},)
