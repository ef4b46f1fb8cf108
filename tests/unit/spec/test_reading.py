from __future__ import annotations

import math
import time
from datetime import date, timedelta

import pytest

from airflow_delta_provider.domain.delta.data_type import (
    INTEGER,
    LONG,
    ArrayType,
    DecimalType,
    MapType,
    PrimitiveType,
    UnknownTypeError,
)
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.formats.yaml_documents import parse_yaml
from airflow_delta_provider.domain.spec.problem import MOST_PROBLEMS, SpecError
from airflow_delta_provider.domain.spec.reading import read_spec
from airflow_delta_provider.domain.spec.table_spec import ColumnSpec, Rows, TableSpec, struct_of

_STRING = PrimitiveType("string")
_WHOLE = """
table: s3://lake/orders
table_id: 5c1c
columns:
  - {name: id, type: BIGINT, nullable: false, comment: Order number}
  - {name: amount, type: "decimal(12, 2)", default: 0.0, rewrite: true, on_loss: null}
  - name: customer
    type: struct
    fields:
      - {name: full_name, type: string, renamed_from: name}
  - {name: lines, type: "array<struct<sku:string NOT NULL, qty:int COMMENT 'pieces'>>"}
  - {name: tags, type: "map<string, array<int>>", comment: null}
  - {name: by_day, type: "map<date,struct>", fields: [{name: n}]}
  - {name: pairs, type: map, key: struct<a:int>, value: {type: array, element: {type: struct, fields: []}}}
  - {name: left_alone, renamed_from: null}
  - {name: day, type: date, generated: CAST(t AS DATE)}
drop: [legacy, customer.fax, "`a.b`"]
properties: {delta.enableChangeDataFeed: true, delta.checkpointInterval: 20, owner_team: null, empty: ""}
features: [rowtracking]
drop_features: [deletionVectors]
constraints: {positive: "amount > 0", old_one: null}
cluster_by: [id, customer.full_name]
comment: ""
like: s3://lake/orders_template
after: [s3://lake/customers]
freshness: 26h
rows: {min: 1000, max: 5000000}
only_additive: true
on_loss: refuse
time_zone: Europe/Berlin
"""
_SPEC = TableSpec(
    table="s3://lake/orders",
    table_id="5c1c",
    columns=(
        ColumnSpec(name="id", data_type=LONG, nullable=False, comment="Order number"),
        ColumnSpec(name="amount", data_type=DecimalType(12, 2), default="0.0", rewrite=True, null_on_loss=True),
        ColumnSpec(
            name="customer",
            data_type=struct_of((ColumnSpec(name="full_name", data_type=_STRING, renamed_from="name"),)),
        ),
        ColumnSpec(
            name="lines",
            data_type=ArrayType(
                struct_of(
                    (
                        ColumnSpec(name="sku", data_type=_STRING, nullable=False),
                        ColumnSpec(name="qty", data_type=INTEGER, comment="pieces"),
                    )
                )
            ),
        ),
        ColumnSpec(name="tags", data_type=MapType(_STRING, ArrayType(INTEGER)), comment=None),
        ColumnSpec(name="by_day", data_type=MapType(PrimitiveType("date"), struct_of((ColumnSpec(name="n"),)))),
        ColumnSpec(
            name="pairs",
            data_type=MapType(struct_of((ColumnSpec(name="a", data_type=INTEGER),)), ArrayType(struct_of(()))),
        ),
        ColumnSpec(name="left_alone", renamed_from=None),
        ColumnSpec(name="day", data_type=PrimitiveType("date"), generated="CAST(t AS DATE)"),
    ),
    drop=(("legacy",), ("customer", "fax"), ("a.b",)),
    properties={
        "delta.enableChangeDataFeed": "true",
        "delta.checkpointInterval": "20",
        "owner_team": None,
        "empty": "",
    },
    features=("rowTracking",),
    drop_features=("deletionVectors",),
    constraints={"positive": "amount > 0", "old_one": None},
    cluster_by=(("id",), ("customer", "full_name")),
    comment=None,
    like="s3://lake/orders_template",
    after=("s3://lake/customers",),
    freshness=timedelta(hours=26),
    rows=Rows(1000, 5_000_000),
    only_additive=True,
    time_zone="Europe/Berlin",
)


def problems(text: str) -> str:
    with pytest.raises(SpecError) as raised:
        read_spec(parse_yaml(text), "orders.yaml")
    return str(raised.value)


def column(text: str) -> str:
    return problems(f"columns:\n- {text}")


def test_all_that_a_spec_can_say_is_read():
    assert read_spec(parse_yaml(_WHOLE)) == _SPEC


def test_plain_values_of_a_spec_are_read_as_the_same_spec():
    assert TableSpec.from_json(_SPEC.to_json()) == _SPEC
    assert TableSpec().to_json() == {}


@pytest.mark.parametrize("text", ["array<int>", "array"])
def test_type_is_the_same_however_it_is_written(text):
    given = {"name": "a", "type": text, **({"element": "int"} if text == "array" else {})}
    assert read_spec({"columns": [given]}).columns[0].data_type == ArrayType(INTEGER)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{name: a, typ: int}",
            "orders.yaml, line 2, column 13: columns[0].typ: unknown key 'typ'. Did you mean 'type'?",
        ),
        ("{name: a, on: 1}", "line 2, column 13: columns[0].on: unknown key on. The known keys are name, type"),
        (
            "{name: a, type: bignt}",
            "line 2, column 19: columns[0].type: 'bignt' is not a primitive SQL type. Did you mean",
        ),
        ("{name: a, type: aray<int>}", "Did you mean 'array'?"),
        ("{name: a, type: arr}", "Did you mean 'array'?"),
        ("{name: a, type: array}", "array of what?"),
        ("{name: a, type: struct<b:int}", "'>' is missing at the end"),
        ("{name: a, type: int NOT NULL}", "have keys of their own"),
        ("{name: a, type: {type: struct}}", "is a mapping. Write the type in SQL"),
        ("{name: a, type: null}", "columns[0].type: has to be a string, not null"),
        ("{name: a, fields: [{name: b}]}", "fields goes with a type: add type: struct"),
        ("{name: a, type: int, fields: [{name: b}]}", "has the word struct alone in it"),
        ("{name: a, type: 'struct<x:int>', fields: [{name: b}]}", "has the word struct alone in it"),
        ("{name: a, type: 'map<struct,struct>', fields: [{name: b}]}", "more than once"),
        ("{name: a, type: struct, element: int}", "element: goes with type: array"),
        ("{name: a, type: map, key: int}", "value is missing"),
        ("{name: a, type: array, element: {}}", "columns[0].element: has no type"),
        (
            "{name: a, type: array, element: {type: struct, fields: [{type: int}]}}",
            "columns[0].element.fields[0]: has no",
        ),
        ("{name: a, type: struct, fields: {b: int}}", "Write one column per line, each after '- '"),
        ("{name: a, type: struct, fields: [{name: b, default: 1}]}", "a field of a struct can have no default"),
        ("{name: a, default: 1, generated: b}", "a generated column can have no default"),
        ("{name: no}", "not a boolean (false): YAML reads no as one. Put it in quotes"),
        ("{name: 2024}", "not a number: YAML reads 2024 as one. Put it in quotes"),
        ("{name: 2024-01-01}", "not a date: YAML reads 2024-01-01 as one. Put it in quotes"),
        ("{name: null}", "not null"),
        ("{name: ''}", "columns[0].name: is empty"),
        ("{type: int}", "columns[0]: has no name"),
        ("{name: a, nullable: 'false'}", "has to be true or false, not 'false'"),
        ("{name: a, default: 1.10}", "YAML reads 1.10 as 1.1. Write that, or put it in quotes"),
        ("{name: a, default: ''}", "For the empty string write"),
        (
            "{name: a, default: hello}",
            "orders.yaml, line 2, column 22: columns[0].default: names hello, and a default can name no column. A "
            "default is SQL: for the text itself write \"'hello'\".",
        ),
        ("{name: a, generated: (b}", "line 2, column 24: columns[0].generated: has a ( that is not closed."),
        ("{name: a, on_loss: zero}", "has to be refuse or null, not 'zero'"),
        ("orders", "has to be a mapping: write {name: orders, type: …}"),
        ("{name: a}\n- {name: A}", "line 3, column 3: columns[1]: the column 'A' is there twice, as 'a'"),
        ("{name: a}\n- {name: a}", "the column 'a' is there twice."),
        ("{name: Ä}\n- {name: ä}", "is there twice"),
        ("{name: a, type: struct, fields: [{name: b}, {name: B}]}", "columns[0].fields[1]: the column 'B' is there"),
        ("{name: a, renamed_from: c}\n- {name: b, renamed_from: C}", "'a' and 'b' are both renamed from 'C'"),
        ("{name: a, renamed_from: b}\n- {name: b}", "'a' is renamed from 'b', which is also a column of its own"),
        ("{name: a, renamed_from: a}", "renamed from its own name"),
    ],
)
def test_what_is_wrong_with_a_column_is_said_with_its_place(text, message):
    assert message in column(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "orders.yaml: The file is empty"),
        ("- a", "has to be a mapping, not a list"),
        ("colums: []", "line 1, column 1: colums: unknown key 'colums'. Did you mean 'columns'?"),
        ("columns: {a: int}", "has to be a list, not a mapping. Write one column per line"),
        ("table: ''", "table: is empty"),
        ("table: lake/*", "is a pattern"),
        ("table: s3://me:secret@bucket/t", "holds a password"),
        (
            "time_zone: Europe/Berlni",
            "'Europe/Berlni' is not a time zone, such as UTC, Europe/Berlin or +02:00. Did you mean 'Europe/Berlin'?",
        ),
        ("time_zone: '+2'", "'+2' is not a time zone"),
        ("freshness: 26", "freshness: 26 has no unit. Write for instance 26h"),
        ("freshness: 26 months", "'26 months' is not a time above 0, such as 90m, 26h or 7d"),
        ("freshness: 0h", "'0h' is not a time above 0"),
        ("freshness: -1 hours", "'-1 hours' is not a time above 0"),
        ("freshness: 99999999999999w", "is not a time above 0"),
        ("freshness: null", "freshness: has to be a string, not null"),
        ("rows: 7", "rows: has to be a mapping. Write {min: 7}, or {max: 7}"),
        ("rows: {}", "rows: has neither min nor max"),
        ("rows: {mim: 7}", "unknown key 'mim'. Did you mean 'min'?"),
        ("rows: {min: -1}", "rows.min: has to be a whole number of rows"),
        ("rows: {max: 1.5}", "rows.max: has to be a whole number of rows"),
        ("rows: {max: true}", "rows.max: has to be a whole number of rows"),
        ("rows: {min: 8, max: 7}", "rows.min: 8 is more than max, which is 7"),
        ("drop: [a..b]", "drop[0]: 'a..b' is not a column path"),
        ("drop: [a, A]", "drop[1]: 'A' is there twice, before as 'a'"),
        ("drop: a", "has to be a list: write [a]"),
        (
            "columns: [{name: a, type: bigint}]\ndrop: [A]",
            "line 2, column 8: drop[0]: 'A' is to be dropped, and is declared",
        ),
        ("columns: [{name: a, renamed_from: b}]\ndrop: [b]", "'b' is to be dropped, and 'a' is renamed from it"),
        (
            "columns: [{name: s, type: struct, fields: [{name: a, type: bigint}]}]\ndrop: [s.a]",
            "'s.a' is to be dropped, and is declared under columns",
        ),
        ("drop: [day]\npartition_by: [day]", "names 'day', which is to be dropped"),
        ("partition_by: [day, Day]", "'Day' is there twice"),
        ("partition_by: [a]\ncluster_by: [b]", "partitioned or clustered, not both"),
        (
            "features: [rowTrakcing]",
            "features[0]: there is no table feature 'rowTrakcing'. Did you mean 'rowTracking'?",
        ),
        ("features: [delta.rowTracking]", "Did you mean 'rowTracking'?"),
        ("features: [rowTracking]\ndrop_features: [rowTracking]", "'rowTracking' is also under features"),
        ("properties: {delta.enableChangeDataFeeed: true}", "Did you mean 'delta.enableChangeDataFeed'?"),
        ("properties: {delta.enableChangeDataFeed: yes}", "YAML reads yes as true. Write that"),
        ("properties: {delta.appendOnly: maybe}", "'maybe' is not true or false"),
        ("properties: {delta.constraints.a: b}", "Write 'a' under constraints"),
        ("properties: {delta.feature.rowTracking: supported}", "List 'rowTracking' under features"),
        (
            "properties: {delta.columnMapping.maxColumnId: 5}",
            "writers maintain delta.columnMapping.maxColumnId themselves",
        ),
        ("properties: {a: .nan}", "not .nan, which is not a number"),
        ("properties: {a: 2024-01-01}", "not a date: YAML reads 2024-01-01 as one. Put it in quotes"),
        ("properties: {a: [1]}", "has to be a string, a number or a boolean, not a list"),
        ("properties: {on: 1}", "properties.on: has to be a string, not a boolean (true): YAML reads on as one"),
        ("properties: [a]", "has to be a mapping, not a list"),
        ("views: {name: v}", "views: has to be a list, not a mapping"),
        ("views: [v]", "views[0]: has to be a mapping"),
        ("views: [{columns: [a]}]", "views[0]: has no name"),
        ("views: [{name: v}, {name: v}]", "line 1, column 20: views[1]: the view 'v' is there twice"),
        ("views: [{name: v, column: [a]}]", "unknown key 'column'. Did you mean 'columns'?"),
        ("views: [{name: v, columns: [a..b]}]", "views[0].columns[0]: "),
        ("constraints: {a: ''}", "To drop the constraint write null"),
        ("constraints: {a: 'b > (0'}", "line 1, column 18: constraints.a: has a ( that is not closed."),
        ("exact: true", "all columns would be dropped"),
        ("exact: yess", "has to be true or false, not 'yess'"),
        ("comment: 5", "comment: has to be a string, not a number: YAML reads 5 as one"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_with_its_place(text, message):
    assert message in problems(text)


def test_all_problems_are_said_at_once_in_the_order_of_the_file():
    said = problems("features: [typo, '']\ncolumns:\n- {nam: x}\n- {name: y, type: in}\nexakt: true")
    assert [line.split(": ")[1] for line in said.splitlines()] == [
        "features[1]",
        "columns[0]",
        "columns[0].nam",
        "columns[1].type",
        "exakt",
    ]


def test_problems_end_at_a_number():
    said = problems("columns:\n" + "- {nam: x}\n" * 100).splitlines()
    assert len(said) == MOST_PROBLEMS + 1
    assert said[-1] == "There may be more."


def test_values_of_python_are_read_and_refused_by_their_path():
    assert read_spec({"partition_by": ("a", "b")}).partition_by == ("a", "b")
    for values, message in (
        (
            {"columns": [{"name": "a"}, {"name": date(2024, 1, 1)}]},
            r"^columns\[1\].name: has to be a string, not a date\.$",
        ),
        ({"properties": {"a": math.inf}}, r"^properties.a: has to be a string, a number or a boolean, not inf"),
        ({"properties": {1: "a"}}, r"^properties.1: has to be a string, not a number"),
        ({"columns": [{"name": "\ud800"}]}, "half of a character"),
        ({"columns": [object()]}, r"^columns\[0\]: has to be a mapping"),
        ({1: 2}, "unknown key 1"),
        (5, "^has to be a mapping, not a number"),
    ):
        with pytest.raises(SpecError, match=message):
            read_spec(values)


@pytest.mark.parametrize("names", [("a", "B"), ("b", "c", "a")])
def test_names_that_go_round_in_a_circle(names):
    """Nobody can tell from a table whether its columns exchanged their names already."""
    turned = [*names[1:], names[0].upper()]
    with pytest.raises(SpecError, match="in a circle") as failure:
        read_spec({"columns": [{"name": new, "renamed_from": old} for old, new in zip(names, turned)]})
    assert len(failure.value.problems) == 1


def test_each_circle_of_names_is_said_once():
    pairs = (("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"))
    text = "columns:\n" + "\n".join(f"- {{name: {new}, renamed_from: {old}}}" for new, old in pairs)
    with pytest.raises(SpecError) as failure:
        read_spec(parse_yaml(text))
    assert [problem.line for problem in failure.value.problems] == [2, 4]


def test_a_name_that_is_given_up_may_be_taken():
    read = read_spec({"columns": [{"name": "b", "renamed_from": "a"}, {"name": "c", "renamed_from": "b"}]})
    assert [(each.renamed_from, each.name) for each in read.columns] == [("a", "b"), ("b", "c")]


@pytest.mark.parametrize(
    "name", ["größe", "名前", "a.b", "a`b", " a ", "a\nb", "😀", "x" * 300, "ß", "select", "{a: b}", "'"]
)
def test_name_may_have_any_character(name):
    spec = read_spec(
        {"columns": [{"name": name, "type": "int"}, {"name": "other"}], "cluster_by": [f"`{name.replace('`', '``')}`"]}
    )
    assert spec.columns[0].name == name
    assert spec.cluster_by == ((name,),)
    assert TableSpec.from_json(spec.to_json()) == spec


def test_column_may_take_the_name_of_one_that_is_dropped():
    spec = read_spec({"columns": [{"name": "a", "renamed_from": "b"}], "drop": ["a"]})
    assert spec.drop == (("a",),)


def nested(levels: int) -> dict[str, object]:
    if levels == 0:
        return {"name": "c", "type": "int"}
    return {"name": "c", "type": "struct", "fields": [nested(levels - 1)]}


@pytest.mark.parametrize("levels", [60, 63])
def test_types_may_be_nested_as_deep_as_a_schema(levels):
    by_fields = read_spec({"columns": [nested(levels)]})
    in_sql = read_spec({"columns": [{"name": "c", "type": "struct<c:" * levels + "int" + ">" * levels}]})
    assert by_fields == in_sql == TableSpec.from_json(by_fields.to_json())


@pytest.mark.parametrize("levels", [64, 300])
def test_deeper_types_are_refused(levels):
    for given in (nested(levels), {"name": "c", "type": "array<" * levels + "int" + ">" * levels}):
        with pytest.raises(SpecError, match="nested more than 63 deep"):
            read_spec({"columns": [given]})


def test_thousands_of_columns_are_read_in_time():
    lines = [f"- {{name: c{n}, type: bigint, nullable: false, comment: of no use}}" for n in range(5000)]
    begun = time.process_time()
    spec = read_spec(parse_yaml("columns:\n" + "\n".join(lines)))
    assert len(spec.columns) == 5000
    wide = f"struct<{','.join(f'c{n}:int' for n in range(5000))}>"
    assert len(read_spec({"columns": [{"name": "s", "type": wide}]}).columns[0].data_type.fields) == 5000
    assert time.process_time() - begun < 4


def test_type_of_a_request_takes_no_clauses_still():
    with pytest.raises(UnknownTypeError):
        parse_sql_type("struct<a:int NOT NULL>")
