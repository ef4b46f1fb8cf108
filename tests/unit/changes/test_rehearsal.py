"""Which plans are rehearsed, and the row that is written at the end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_delta_provider.domain.changes import steps
from airflow_delta_provider.domain.changes.preflight import empty_copy, insert_one_row, steps_to_rehearse
from airflow_delta_provider.domain.changes.steps import Step
from airflow_delta_provider.domain.delta.data_type import DataType, DecimalType, StructField
from tests.unit.states import TABLE, field, metadata_of, struct

ENABLE = steps.SetProperties((("delta.enableTypeWidening", "true"),), ("typeWidening",))
WIDEN = steps.WidenColumns((steps.ColumnType(("q",), "int", "bigint"),))
CONSTRAINT = steps.AddConstraint("c", "q > 0")
UNIFORM = steps.SetProperties((("delta.universalFormat.enabledFormats", "iceberg"),))
DROP = steps.DropFeature("deletionVectors")
DEFAULT = steps.InOneCommit((steps.SetDefaults((steps.ColumnText(("q",), "1"),)),))


def required(name: str, data_type: DataType | str) -> StructField:
    return replace(field(name, data_type), nullable=False)


@pytest.mark.parametrize(
    ("planned", "rehearsed"),
    [
        ((), ()),
        ((WIDEN,), ()),  # refused or done as a whole
        ((ENABLE, WIDEN), (ENABLE, WIDEN)),
        ((CONSTRAINT,), (CONSTRAINT,)),  # may be stored and never evaluated
        ((DEFAULT,), (DEFAULT,)),
        ((ENABLE, WIDEN, DROP, CONSTRAINT), (ENABLE, WIDEN)),  # the empty table has neither files nor history
        ((ENABLE, UNIFORM, CONSTRAINT), (ENABLE,)),  # its Iceberg table would have to be in a catalog
        ((steps.MapColumns(), steps.Alteration(drops=(("q",),))), ()),  # not by the engine
    ],
)
def test_plan_is_rehearsed_if_a_refusal_would_leave_something_behind(
    planned: tuple[Step, ...], rehearsed: tuple[Step, ...]
) -> None:
    assert steps_to_rehearse(planned) == rehearsed


def test_row_has_null_where_it_may_and_leaves_out_what_the_engine_fills() -> None:
    inner = struct(required("it's", "integer"), field("b", "string"))
    schema = struct(
        field("a b", "integer"),
        required("n", DecimalType(10, 2)),
        required("s", inner),
        field("g", "long", **{"delta.generationExpression": "n + 1"}),
        field("i", "long", **{"delta.identity.start": 1, "delta.identity.step": 1}),
        field("d", "string", CURRENT_DEFAULT="'x'"),
    )
    assert insert_one_row(TABLE, metadata_of(schema)) == (
        f"INSERT INTO {TABLE.sql} (`a b`, `n`, `s`) VALUES (NULL, CAST(0 AS decimal(10,2)), "
        r"named_struct('it\'s', CAST(0 AS int), 'b', CAST(NULL AS string)))"
    )


def test_no_row_is_written_if_a_column_needs_a_value_of_an_unknown_type() -> None:
    schema = struct(required("v", "variant"))
    assert insert_one_row(TABLE, metadata_of(schema)) is None


def test_copy_is_another_table_that_nothing_else_follows_or_leads_to() -> None:
    metadata = metadata_of(
        struct(field("id", "long")),
        {
            "delta.universalFormat.enabledFormats": "iceberg",
            "delta.redirectReaderWriter": "{}",
            "io.unitycatalog.tableId": "7",
            "delta.appendOnly": "true",
        },
    ).to_json()
    actions = empty_copy({"minReaderVersion": 1, "minWriterVersion": 2}, metadata, {"delta.clustering": "{}"})
    assert [next(iter(action)) for action in actions] == ["commitInfo", "protocol", "metaData", "domainMetadata"]
    copied = actions[2]["metaData"]
    assert copied["configuration"] == {"delta.appendOnly": "true"}
    assert copied["id"] != metadata["id"]
    assert copied["schemaString"] == metadata["schemaString"]
