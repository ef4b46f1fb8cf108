"""The partitions that predicates of overwrites allow, as far as they are simple."""

from __future__ import annotations

import json

import pytest

from airflow_delta_provider.domain.delta.data_type import PrimitiveType
from airflow_delta_provider.domain.delta.row_condition import allowed_values, comparable

COLUMNS = {
    name: PrimitiveType(kind) for name, kind in (("d", "date"), ("s", "string"), ("n", "integer"), ("b", "boolean"))
}
DAY = comparable("2024-03-03", PrimitiveType("date"))


@pytest.mark.parametrize(
    ("predicate", "allowed"),
    [
        ("s = 'x'", {"s": {"x"}}),
        ("'x' == S", {"s": {"x"}}),
        ("`s` = 'a b'", {"s": {"a b"}}),
        ("\"s\" = 'x'", {"s": {"x"}}),
        ('s = "x"', {"s": {"x"}}),
        ("(((n = 5L)))", {"n": {5}}),
        ("n = -5 AND (b = TRUE and d = DATE '2024-03-03')", {"n": {-5}, "b": {"true"}, "d": {DAY}}),
        ("n IN (1, 2, '3')", {"n": {1, 2, 3}}),
        ("n IN (1, 2) AND n = 2", {"n": {2}}),
        ("d >= '2024-01-01' AND d = '2024-03-03'", {"d": {DAY}}),
        ("s = 'x' AND v > 3 AND lower(w) = 'y'", {"s": {"x"}}),
        ("NOT (n = 1) AND s = 'x'", {"s": {"x"}}),
        (json.dumps(["(d = '2024-03-03')", "s = 'x'"]), {"d": {DAY}, "s": {"x"}}),
    ],
)
def test_equality_of_partition_columns_is_decided(predicate, allowed):
    assert {name: set(values) for name, values in allowed_values(predicate, COLUMNS).items()} == allowed


@pytest.mark.parametrize(
    "predicate",
    [
        "s = 'x' OR n = 1",
        "(s = 'x' OR n = 1)",
        "n BETWEEN 1 AND n = 3",
        "CASE WHEN n = 1 AND s = 'x' THEN true END",
        "NOT n = 1",
        "n <> 1",
        "n != 1",
        "n >= 1",
        "n <=> 1",
        "n = 1 = true",
        "n = n",
        "n + 1 = 2",
        "n = 1 + 1",
        "n = 1.5",
        "n = null",
        "n NOT IN (1, 2)",
        "n IN (1, NULL)",
        "n IN (SELECT 1)",
        "s = 5",
        "s = DATE '2024-03-03'",
        "s = 'it''s' AND n = 1",
        r"s = 'x\\' AND n = 1",
        "s = '' AND n = 1",
        "n = 1 -- AND n = 2",
        "n = /* 1 */ 2",
        "s = 'x AND n = 1",
        "d = '2024-3-3'",
        "d = current_date()",
        "d = '2024-02-31'",
        "cast(d AS string) = '2024-03-03'",
        "t.s = 'x'",
        "v = 1",
        "[1, 2]",
        "[",
        "(n = 1",
        "n = 1)",
        "",
        "(" * 5000 + "n = 1" + ")" * 5000,
    ],
)
def test_nothing_is_known_of_other_predicates(predicate):
    assert allowed_values(predicate, COLUMNS) == {}


def test_values_are_compared_by_what_they_stand_for():
    assert comparable("05", COLUMNS["n"]) == comparable("+5", COLUMNS["n"]) == 5
    assert comparable("True", COLUMNS["b"]) == comparable("true", COLUMNS["b"])
    assert comparable("x", COLUMNS["n"]) is None
    assert comparable("1.0", PrimitiveType("double")) is None
