"""What statistics in the log prove about a plan, and what they do not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from airflow_delta_provider.domain.changes import steps
from airflow_delta_provider.domain.changes.steps import Step
from airflow_delta_provider.domain.delta.data_type import ArrayType
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.disproof import claims_of, disproved, values_in
from tests.unit.states import LEGACY, field, state_of, struct

SCHEMA = struct(
    field("id", "long"),
    field("qty", "integer"),
    field("price", "decimal(10,2)"),
    field("name", "string"),
    field("s", struct(field("x", "integer"))),
    field("items", ArrayType(struct(field("p", "integer")))),
)
VECTOR = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*", "sizeInBytes": 36, "cardinality": 1}


def state(*partition_by: str) -> TableState:
    made = state_of(SCHEMA, protocol=LEGACY)
    return replace(made, metadata=replace(made.metadata, partition_columns=partition_by))


def add(
    rows: int | None = 3, nulls: Any = None, low: Any = None, high: Any = None, stats: Any = None, **known: Any
) -> dict[str, Any]:
    written = {"numRecords": rows, "minValues": low or {}, "maxValues": high or {}, "nullCount": nulls or {}}
    text = json.dumps({**written, **(stats or {})})
    return {"path": "a.parquet", "partitionValues": {}, "size": 1, "dataChange": True, "stats": text, **known}


def codes(step: Step, *files: dict[str, Any], before: TableState | None = None) -> list[str]:
    table = before or state()
    claims = claims_of([step], table)
    for file in files:
        for claim in claims:
            claim.take(file["path"], values_in(file, claim.column, table))
    return [finding.code for finding in disproved(claims, 7)]


@pytest.mark.parametrize(
    ("column", "file", "found"),
    [
        (("name",), add(nulls={"name": 1}), True),
        (("s", "x"), add(nulls={"s": {"x": 2}}), True),
        (("name",), add(nulls={"name": 0}), False),
        (("name",), add(nulls={"qty": 1}), False),
        (("name",), add(None, nulls={"name": 1}), False),
        (("name",), add(nulls={"name": 4}), False),  # more than there are rows
        (("items",), add(nulls={"items": 1}), False),  # some engines count elements
        (("name",), add(nulls={"name": 1}, stats={"tightBounds": False}), False),
        (("name",), add(nulls={"name": 1}, deletionVector=VECTOR), False),  # the row that is NULL may be deleted
        (("name",), add(nulls={"name": 3}, deletionVector=VECTOR), True),  # all are NULL, and two are left
        (("name",), add(1, nulls={"name": 1}, deletionVector=VECTOR), False),  # none is left
        (("name",), {**add(), "stats": "{"}, False),
        (("name",), {**add(), "stats": 3}, False),  # only the number of rows is known
    ],
)
def test_nulls_that_are_counted_in_a_file_forbid_not_null(column, file, found):
    assert codes(steps.ForbidNulls((column,)), file) == ["RQ70"] * found


def test_partition_value_that_is_null_forbids_not_null():
    for text in (None, ""):
        file = add(partitionValues={"name": text})
        assert codes(steps.ForbidNulls((("name",),)), file, before=state("name")) == ["RQ70"]
    assert codes(steps.ForbidNulls((("name",),)), add(partitionValues={"name": "a"}), before=state("name")) == []


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("qty > 5", True),
        ("qty > 4", False),
        ("QTY >= 5 AND id < 100", False),
        ("(qty >= 5) and (id < 9)", True),
        ("qty BETWEEN 5 AND 8", True),
        ("qty between 5 and 9", False),
        ("qty NOT BETWEEN 5 AND 9", False),
        ("qty <> 9", True),
        ("qty != 7", False),
        ("qty = 5", True),
        ("qty > 5 OR id > 0", False),
        ("NOT (qty > 5 AND id > 0)", False),
        ("qty > 5 AND abs(id) > 0", False),  # true, but an expression that is not understood proves nothing
        ("price > 100", False),  # bounds of decimals may be rounded
        ("name > 5", False),
        ("s.x IS NOT NULL", True),
        ("s.x > 0 AND qty > 0", True),  # NULL satisfies no constraint
        ("qty > unknown", False),
    ],
)
def test_constraint_that_bounds_or_nulls_contradict_is_refused(expression, found):
    file = add(
        nulls={"qty": 0, "id": 0, "s": {"x": 1}},
        low={"qty": 5, "id": 1, "price": 1.0},
        high={"qty": 9, "id": 10, "price": 9.0},
    )
    assert codes(steps.AddConstraint("c", expression), file) == ["RQ73"] * found


def test_bounds_that_are_wide_prove_nothing():
    wide = add(low={"qty": 5}, high={"qty": 9})
    for more in (
        {"deletionVector": VECTOR},
        {"stats": json.dumps({**json.loads(wide["stats"]), "tightBounds": False})},
    ):
        assert codes(steps.AddConstraint("c", "qty > 5"), {**wide, **more}) == []


@pytest.mark.parametrize(
    ("new", "most", "null_on_loss", "found"),
    [
        ("int", 2**31, False, True),
        ("int", 2**31 - 1, False, False),
        ("smallint", 40_000, False, True),
        ("int", 2**31, True, False),
        ("decimal(3,0)", 2**31, False, False),
    ],
)
def test_integer_that_the_new_type_does_not_have_is_refused(new, most, null_on_loss, found):
    step = steps.RewriteTable((steps.Cast(("id",), "bigint", new, null_on_loss),))
    assert codes(step, add(low={"id": 0}, high={"id": most})) == ["RQ71"] * found


def test_column_is_followed_to_the_name_it_had_before_the_plan():
    renamed = steps.InOneCommit((steps.RenameColumns((steps.ColumnName(("name",), "title"),)),))
    table = state()
    (claim,) = claims_of([renamed, steps.ForbidNulls((("title",),))], table)
    claim.take("a.parquet", values_in(add(nulls={"name": 2}), claim.column, table))
    (finding,) = disproved([claim], 7)
    assert finding.column == "title"
    assert "title is NULL in at least 2 rows of version 7" in finding.message
    assert "a.parquet" in finding.message
