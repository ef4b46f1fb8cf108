"""The metaData action after each step."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_delta_provider.domain.changes import steps


def field(name: str, data_type: Any, *, nullable: bool = True, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": data_type, "nullable": nullable, "metadata": metadata}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


SCHEMA = struct(
    field("Id", "integer", nullable=False, comment="old"),
    field("day", "date"),
    field("lines", array(struct(field("qty", "short"), field("price", "decimal(10,2)")))),
    field("scores", {"type": "map", "keyType": "string", "valueType": "float", "valueContainsNull": True}),
)


def metadata(schema: Any = SCHEMA, partition_by: tuple[str, ...] = ("day",), **configuration: str) -> dict[str, Any]:
    return {
        "id": "1",
        "description": "Orders",
        "schemaString": json.dumps(schema),
        "partitionColumns": list(partition_by),
        "configuration": configuration,
    }


def schema_after(step: steps.Step) -> Any:
    before = metadata()
    after = step.edited(before)
    assert before == metadata()
    return json.loads(after["schemaString"])


def test_types_are_changed_where_they_are_and_recorded_on_the_nearest_field() -> None:
    step = steps.WidenColumns(
        (
            steps.ColumnType(("id",), "int", "bigint"),
            steps.ColumnType(("lines", "element", "qty"), "smallint", "int"),
            steps.ColumnType(("scores", "value"), "float", "double"),
        )
    )
    after = schema_after(step)
    identifier, _, lines, scores = after["fields"]
    assert (identifier["type"], identifier["metadata"]) == (
        "long",
        {"comment": "old", "delta.typeChanges": [{"fromType": "integer", "toType": "long"}]},
    )
    assert lines["type"]["elementType"]["fields"][0] == field(
        "qty", "integer", **{"delta.typeChanges": [{"fromType": "short", "toType": "integer"}]}
    )
    assert scores["type"]["valueType"] == "double"
    assert scores["metadata"] == {
        "delta.typeChanges": [{"fromType": "float", "toType": "double", "fieldPath": "value"}]
    }


def test_names_are_exchanged_and_nested_ones_changed_at_once() -> None:
    step = steps.RenameColumns(
        (
            steps.ColumnName(("lines",), "items"),
            steps.ColumnName(("lines", "element", "qty"), "price"),
            steps.ColumnName(("lines", "element", "price"), "qty"),
            steps.ColumnName(("day",), "date"),
        )
    )
    after = step.edited(metadata())
    fields = json.loads(after["schemaString"])["fields"]
    assert [each["name"] for each in fields] == ["Id", "date", "items", "scores"]
    assert [each["name"] for each in fields[2]["type"]["elementType"]["fields"]] == ["price", "qty"]
    assert after["partitionColumns"] == ["date"]


def test_a_column_and_a_field_within_it_are_renamed_at_once_and_names_may_swap() -> None:
    columns = ((("Id",), "day"), (("day",), "Id"), (("lines", "element", "QTY"), "n"), (("lines",), "items"))
    after = schema_after(steps.RenameColumns(tuple(steps.ColumnName(*each) for each in columns)))
    assert [each["name"] for each in after["fields"]] == ["day", "Id", "items", "scores"]
    assert after["fields"][0]["metadata"] == {"comment": "old"}
    assert [each["name"] for each in after["fields"][2]["type"]["elementType"]["fields"]] == ["n", "price"]


def test_several_columns_are_dropped_at_once() -> None:
    after = schema_after(steps.DropColumns((("lines", "element", "qty"), ("id",), ("scores",))))
    assert [each["name"] for each in after["fields"]] == ["day", "lines"]
    assert [each["name"] for each in after["fields"][1]["type"]["elementType"]["fields"]] == ["price"]
    with pytest.raises(LookupError, match=r"^there is no field 'gone'$"):
        steps.DropColumns((("id",), ("gone",))).edited(metadata())


def test_columns_are_ordered_in_any_struct() -> None:
    after = schema_after(
        steps.InOneCommit(
            (
                steps.OrderFields((), ("scores", "Id", "lines", "day")),
                steps.OrderFields(("lines", "element"), ("price", "qty")),
            )
        )
    )
    assert [each["name"] for each in after["fields"]] == ["scores", "Id", "lines", "day"]
    assert [each["name"] for each in after["fields"][2]["type"]["elementType"]["fields"]] == ["price", "qty"]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (steps.AllowNulls((("Id",),)), field("Id", "integer", comment="old")),
        (
            steps.CommentColumns((steps.ColumnText(("id",), "new"),)),
            field("Id", "integer", nullable=False, comment="new"),
        ),
        (steps.CommentColumns((steps.ColumnText(("id",), None),)), field("Id", "integer", nullable=False)),
        (
            steps.SetDefaults((steps.ColumnText(("id",), "1 + 1"),)),
            field("Id", "integer", nullable=False, comment="old", CURRENT_DEFAULT="1 + 1"),
        ),
    ],
)
def test_a_column_keeps_the_rest_of_what_is_said_of_it(step: steps.Step, expected: dict[str, Any]) -> None:
    after = schema_after(step)
    assert after["fields"][0] == expected
    assert after["fields"][1:] == SCHEMA["fields"][1:]


def test_columns_come_and_go() -> None:
    after = schema_after(
        steps.InOneCommit(
            (
                steps.AddColumns((steps.NewColumn(("lines", "element", "tax"), "double"),)),
                steps.DropColumns((("lines", "element", "qty"), ("scores",))),
                steps.ForbidNulls((("day",),)),
            )
        )
    )
    assert [each["name"] for each in after["fields"]] == ["Id", "day", "lines"]
    assert after["fields"][1]["nullable"] is False
    assert after["fields"][2]["type"]["elementType"]["fields"] == [
        field("price", "decimal(10,2)"),
        field("tax", "double"),
    ]


def test_properties_constraints_and_comment() -> None:
    step = steps.InOneCommit(
        (
            steps.SetProperties((("a", "1"), ("b", "2"))),
            steps.UnsetProperties(("B", "unknown")),
            steps.AddConstraint("Positive", "Id > 0"),
            steps.DropConstraint("old"),
            steps.CommentTable(None),
        )
    )
    after = step.edited(metadata(**{"delta.constraints.old": "x", "kept": "y"}))
    assert after["configuration"] == {"a": "1", "kept": "y", "delta.constraints.positive": "Id > 0"}
    assert "description" not in after


def test_rewritten_columns_have_no_record_of_changes() -> None:
    step = steps.RewriteTable(
        (steps.Cast(("Id",), "int", "string"), steps.Cast(("scores", "key"), "string", "int")), ()
    )
    after = step.edited(metadata())
    fields = json.loads(after["schemaString"])["fields"]
    assert fields[0] == field("Id", "string", nullable=False, comment="old")
    assert fields[3]["type"]["keyType"] == "integer"
    assert after["partitionColumns"] == []


def test_rewriting_forgets_only_what_is_recorded_of_the_type_that_changes() -> None:
    of_key = {"fromType": "integer", "toType": "long", "fieldPath": "key"}
    of_value = {"fromType": "byte", "toType": "short", "fieldPath": "value"}
    by_key = {"type": "map", "keyType": "long", "valueType": "short", "valueContainsNull": True}
    kept = {"comment": "c", "delta.columnMapping.id": 1}
    schema = struct(
        {**field("m", by_key), "metadata": {**kept, "delta.typeChanges": [of_key, of_value]}},
        {**field("v", "string"), "metadata": {**kept, "__CHAR_VARCHAR_TYPE_STRING": "varchar(9)"}},
    )
    casts = (steps.Cast(("m", "key"), "bigint", "string"), steps.Cast(("v",), "string", "date"))
    after = steps.RewriteTable(casts).edited({"schemaString": json.dumps(schema)})
    fields = json.loads(after["schemaString"])["fields"]
    assert [each["metadata"] for each in fields] == [{**kept, "delta.typeChanges": [of_value]}, kept]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (("gone",), "there is no field 'gone'"),
        (("lines", "qty"), "there is no column 'lines.qty': array has no 'qty'"),
        (("lines", "value"), "there is no column 'lines.value': array has no 'value'"),
        (("Id", "x"), "there is no column 'Id.x'"),
        (("lines", "element", "gone"), "there is no field 'gone'"),
    ],
)
def test_a_column_that_does_not_exist(parts: tuple[str, ...], message: str) -> None:
    with pytest.raises(LookupError, match=f"^{message}$"):
        steps.CommentColumns((steps.ColumnText(parts, "x"),)).edited(metadata())


def test_errors_name_columns_by_their_logical_path() -> None:
    physical = {"delta.columnMapping.physicalName": "col-1"}
    schema = struct({**field("lines", array(struct(field("price", "integer")))), "metadata": physical})
    with pytest.raises(LookupError, match=r"^there is no struct at 'lines\.element\.price'$"):
        steps.OrderFields(("lines", "element", "price"), ("a",)).edited(metadata(schema, ()))


def test_edits_keep_the_spelling_of_numbers() -> None:
    text = '{"type":"struct","fields":[{"name":"n","type":"integer","metadata":{"a":1.0E10,"b":1e400}}]}'
    after = steps.RenameColumns((steps.ColumnName(("n",), "m"),)).edited({"schemaString": text})
    assert after["schemaString"] == text.replace('"name":"n"', '"name":"m"')


@pytest.mark.parametrize(
    ("step", "listed"),
    [
        (steps.RenameColumns((steps.ColumnName(("qty",), "a.b"),)), "`a.b`,S.x,s,`odd,name`"),
        (
            steps.RenameColumns((steps.ColumnName(("s",), "t"), steps.ColumnName(("s", "x"), "z"))),
            "qty,t.z,t,`odd,name`",
        ),
        (steps.DropColumns((("s", "x"),)), "qty,s,`odd,name`"),
        (steps.DropColumns((("s",), ("qty",), ("odd,name",))), ""),
    ],
)
def test_list_of_columns_with_statistics_follows_the_columns(step: steps.Step, listed: str) -> None:
    inner = struct(field("x", "integer"), field("y", "integer"))
    schema = struct(*(field(name, "integer") for name in ("id", "qty", "odd,name")), field("s", inner))
    before = metadata(schema, (), **{"delta.dataSkippingStatsColumns": "qty,S.x,s,`odd,name`"})
    assert step.edited(before)["configuration"] == {"delta.dataSkippingStatsColumns": listed}
