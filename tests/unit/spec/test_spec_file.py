from __future__ import annotations

import json

import pytest

from airflow_delta_provider.domain.spec.files import in_order, is_spec_file, parse_files, read_specs
from airflow_delta_provider.domain.spec.problem import SpecError
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from tests.unit.spec.spec_texts import parse_file

_SEVERAL = """
defaults:
  columns:
    - {name: loaded_at, type: timestamp, comment: when}
    - {name: source, type: string}
  properties: {delta.enableChangeDataFeed: true, team: sales}
  features: [rowTracking]
  drop: [legacy]
  only_additive: true
tables:
  - table: /lake/orders
    columns:
      - {name: id, type: bigint}
      - {name: Source, type: int}
    properties: {team: null}
    drop_features: [rowTracking]
    after: [/lake/customers]
  - table: /lake/customers
    drop: [Loaded_At]
    features: [deletionVectors]
    only_additive: false
  - table: /lake/third
    columns: [{name: legacy, type: int}]
"""


def problems(text: str, name: str = "lake.yaml") -> str:
    with pytest.raises(SpecError) as raised:
        parse_file(text, name)
    return str(raised.value)


def names(spec: TableSpec) -> list[str]:
    return [column.name for column in spec.columns]


def test_file_of_one_table_has_its_keys_at_the_top():
    (spec,) = parse_file("table: /lake/orders\nafter: [/lake/elsewhere]", "orders.yml")
    assert spec == TableSpec(table="/lake/orders", after=("/lake/elsewhere",))
    assert parse_file(json.dumps(spec.to_json()), "orders.json") == (spec,)


def test_each_table_of_a_file_says_what_all_of_them_say_unless_it_says_otherwise():
    orders, customers, third = parse_file(_SEVERAL, "lake.yaml")
    assert names(orders) == ["id", "Source", "loaded_at"]
    assert orders.properties == {"delta.enableChangeDataFeed": "true", "team": None}
    assert (orders.features, orders.drop_features) == ((), ("rowTracking",))
    assert (orders.drop, orders.only_additive) == ((("legacy",),), True)
    assert names(customers) == ["source"]
    assert customers.features == ("deletionVectors", "rowTracking")
    assert customers.drop == (("Loaded_At",), ("legacy",))
    assert not customers.only_additive
    assert (names(third), third.drop) == (["legacy", "loaded_at", "source"], ())


def test_values_of_python_may_be_of_one_table_or_a_list_of_them():
    one = {"table": "/lake/orders"}
    assert read_specs(one) == read_specs([one]) == read_specs({"tables": [one]}) == (TableSpec(table="/lake/orders"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "lake.yaml, line 2, column 1: it is not YAML"),
        ("a: 1\na: 2", "lake.yaml, line 2, column 1: the key 'a' is there twice"),
        ("", "lake.yaml: The file is empty."),
        ("table: /t\nafter: [/t]", "lake.yaml, line 2, column 8: after: /t after /t, in a circle"),
        ("defaults: {}", "a file with defaults has tables, a list"),
        ("tables: []", "line 1, column 9: tables: is a list: list them"),
        ("tables: {a: 1}", "tables: is a mapping: list them"),
        ("tables: [{}]", "line 1, column 10: tables[0]: has no table"),
        ("tables: [a]", "tables[0]: has to be a mapping"),
        ("tables: [null]", "tables[0]: says nothing"),
        (
            "tables: [{table: /t}]\ncolumns: []",
            "line 2, column 1: columns: unknown key 'columns'. The known keys are defaults, tables",
        ),
        ("tables: [{table: /t}]\ndefault: {}", "unknown key 'default'. Did you mean 'defaults'?"),
        ("defaults: {table: /t}\ntables: [{table: /t}]", "line 1, column 12: defaults.table: unknown key 'table'"),
        (
            "defaults: {columns: [{name: a, type: in}]}\ntables: [{table: /t}, {table: /u}]",
            "defaults.columns[0].type: 'in'",
        ),
        (
            "tables: [{table: /t},\n  {table: 'file:/t/'}]",
            "line 2, column 3: tables[1]: 'file:/t/' has a spec already: lake",
        ),
        ("tables: [{table: /t, after: [/u]}]", "line 1, column 29: tables[0].after: there is no spec of '/u'"),
        ("tables: [{table: /t, after: [/t]}]", "line 1, column 29: tables[0].after: /t after /t, in a circle"),
        (
            "tables: [{table: /a, after: [/b]}, {table: /b, after: [/c]}, {table: /c, after: [/b]}]",
            "lake.yaml, line 1, column 55: tables[1].after: /b after /c after /b, in a circle",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(text, message):
    assert message in problems(text)


def test_what_contradicts_the_defaults_is_said_where_they_are():
    text = "defaults:\n  partition_by: [day]\ntables:\n- {table: /t, cluster_by: [id]}\n- {table: /u}"
    assert problems(text).startswith("lake.yaml, line 4, column 15: tables[0].cluster_by: a table is partitioned or")
    text = "defaults:\n  columns: [{name: b, renamed_from: a}]\ntables:\n- {table: /t, columns: [{name: A}]}"
    assert problems(text).startswith(
        "lake.yaml, line 2, column 13: tables[0].columns[1]: 'b' is renamed from 'a', which"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"table": "/t",}', "lake.json, line 1, column"),
        ('{"table": "/t", "table": "/u"}', "table"),
        ('{"tabel": "/t"}', "lake.json: tabel: unknown key 'tabel'. Did you mean 'table'?"),
        ('{"columns": [{"name": "a", "type": "in"}]}', "lake.json: columns[0].type: 'in' is not a primitive SQL type"),
        ("[" * 5000, "nested"),
    ],
)
def test_what_is_wrong_with_json_is_said(text, message):
    assert message in problems(text, "lake.json")


def test_files_of_a_folder_are_of_different_tables_and_know_each_other():
    files = [("a.yaml", "table: /a\nafter: [/b]"), ("b.json", '{"table": "/b"}')]
    assert [spec.table for spec in in_order(parse_files(files))] == ["/b", "/a"]
    with pytest.raises(SpecError, match=r"^c.yaml: '/b' has a spec already: b.json"):
        parse_files([*files, ("c.yaml", "table: /b")])
    with pytest.raises(SpecError, match=r"^a.yaml, line 2, column 8: after: there is no spec of '/b'"):
        parse_files([files[0], ("c.yaml", "table: /c")])


def test_order_is_kept_where_nothing_is_said_of_it():
    specs = read_specs([{"table": f"/{name}"} for name in "dbca"])
    assert in_order(specs) == specs
    chain = [TableSpec(table=f"/{n}", after=(f"/{n + 1}",)) for n in range(3000)]
    assert in_order([*chain, TableSpec(table="/3000")])[0].table == "/3000"


@pytest.mark.parametrize(
    ("name", "is_one"), [("a.yaml", True), ("x/a.yml", True), ("a.json", True), (".a.yaml", False), ("a.txt", False)]
)
def test_spec_files_are_known_by_their_names(name, is_one):
    assert is_spec_file(name) is is_one
