from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.delta.data_type import ArrayType, DecimalType, MapType, PrimitiveType, all_columns
from airflow_delta_provider.domain.delta.expression import (
    UnknownNames,
    is_no_condition,
    referenced_paths,
    refers_to,
    unknown_names,
)
from airflow_delta_provider.domain.text import quote
from tests.unit.states import field, struct


@pytest.mark.parametrize(
    ("expression", "column"),
    [
        ("a > 0", "a"),
        ("A > 0", "a"),
        ("b is null or (a<>3)", "a"),
        ("coalesce(a, 0) > 1", "a"),
        ("s.a > 0", "s.a"),
        ("s . a > 0", "s.a"),
        ("s is not null", "s.a"),
        ("s.a.b > 0", "s.a"),
        ("arr[0].x > 0", "arr.element.x"),
        ("element_at(m, 'k') > 0", "m.value"),
        ("`a` > 0", "a"),
        ("length('it''s') > a", "a"),
        ("x = 'a\\'' and a > 1", "a"),
    ],
)
def test_expression_refers_to_the_columns_it_names_their_parents_and_children(expression, column):
    assert refers_to(expression, tuple(column.split(".")))


@pytest.mark.parametrize(
    ("expression", "column"),
    [
        ("b > 0", "a"),
        ("ab > 0", "a"),
        ("s.b > 0", "s.a"),
        ("x = 'a > 0'", "a"),
        ('x = "a"', "a"),
        ("a(b) > 0", "a"),
        ("b > 10L", "l"),
        ("b > 1.5e3", "e3"),
        ("`a.b` > 0", "a"),
        ("x.a > 0", "a"),
    ],
)
def test_expression_does_not_refer_to_what_only_looks_alike(expression, column):
    assert not refers_to(expression, tuple(column.split(".")))


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=3))
def test_quoted_path_of_any_names_is_read_back(parts):
    expression = f"{'.'.join(map(quote, parts))} > 10L AND x = 'y'"
    assert next(referenced_paths(expression)) == tuple(part.casefold() for part in parts)


@given(st.text())
def test_any_text_at_all_is_tokenized(text):
    assert all(isinstance(path, tuple) for path in referenced_paths(text))


COLUMNS = tuple(
    all_columns(
        struct(
            field("id", "long"),
            field("name", "string"),
            field("flag", "boolean"),
            field("ts", "timestamp"),
            field("price", DecimalType(10, 2)),
            field("a b", "integer"),
            field("end", "integer"),
            field("arr", ArrayType(PrimitiveType("integer"))),
            field("m", MapType(PrimitiveType("string"), PrimitiveType("integer"))),
            field("list", ArrayType(struct(field("q", "integer")))),
            field("st", struct(field("x", "integer"), field("y", struct(field("z", "string"))))),
        )
    )
)
#: As Delta Spark 4.4 and delta-rs 1.6 accept them.
CONDITIONS = (
    "id > 0",
    "ID IS NOT NULL",
    "name IN ('gone','b') OR name IS NULL",
    "length(name) < 10 AND name RLIKE '^[a-z]*$'",
    "exists(arr, x -> x > 0) OR arr IS NULL",
    "forall(arr, el -> el BETWEEN -5 AND 100)",
    "aggregate(arr, 0, (acc, y) -> acc + y) >= 0",
    "transform(arr, `x` -> `x`) IS NOT NULL",
    "St.Y.Z <> 'q' OR st.y.z IS NULL",
    "list.q[0] = 1 OR list[0].q > 1",
    "ts < TIMESTAMP '2999-01-01 00:00:00' OR ts < DATE '2999-01-01' + INTERVAL 1 DAY",
    "ts < current_timestamp",
    "CAST(price AS DOUBLE) < 1e5 OR CAST(id AS DECIMAL(10,2)) > 1BD",
    "`a b` > 0 OR `end` > 0",
    "flag",
    "NOT flag",
    "CASE WHEN id > 1 THEN price > 0 ELSE true END",
    "extract(YEAR FROM ts) > 1900",
    "substring(name FROM 1 FOR 1) <> 'z' AND trim(BOTH ' ' FROM name) = name",
    "name LIKE 'a%' ESCAPE '!'",
    "arr[0] > 0 AND m['k'] > 0 AND m.k > 0",
    "named_struct('q', id).q > 0",
    "t.id > 0 AND spark_catalog.db.t.id > 0 AND t.st.x > 0",
    "datediff(DAY, ts, ts) = 0",
    "(id > 0) IS NOT DISTINCT FROM true",
    "get_field(st, 'x') > 0",
    "name:gone.x::int > 0 OR id::string = 'a'",
    "\"n c\" != 'q'",
)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_condition_that_engines_accept_names_known_columns_only(condition: str):
    assert unknown_names(condition, COLUMNS) == UnknownNames((), certain=True)
    assert not is_no_condition(condition, COLUMNS)


@pytest.mark.parametrize(
    ("expression", "missing"),
    [
        ("gone > 0", "gone"),
        ("`year` > 1", "year"),
        ("st.gone > 1", "st.gone"),
        ("st.y.w = 'a'", "st.y.w"),
        ("lower(gone) = 'a'", "gone"),
        ("id > 0 AND gone.x IS NOT NULL", "gone.x"),
        ("exists(arr, x -> x > gone)", "gone"),
    ],
)
def test_name_that_no_column_has_is_found(expression: str, missing: str):
    assert unknown_names(expression, COLUMNS) == UnknownNames((missing,), certain=True)


@pytest.mark.parametrize("expression", ["id > :1", "id > @gone", "id IN (SELECT gone FROM t)", "id > 0 -- gone"])
def test_what_is_not_understood_is_not_certain(expression: str):
    assert not unknown_names(expression, COLUMNS).certain


@pytest.mark.parametrize("expression", ["id", "(id)", "-id + 1", "1 + 2", "'text'", "st.x", "arr"])
def test_what_is_no_condition_is_known(expression: str):
    assert is_no_condition(expression, COLUMNS)
