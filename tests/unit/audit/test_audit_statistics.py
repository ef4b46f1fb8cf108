"""Bounds of decimals: exact, rounded to a double or a 64-bit integer, and too large."""

from __future__ import annotations

import copy

import pytest

from airflow_delta_provider.domain.delta.data_type import DecimalType
from airflow_delta_provider.domain.report.report import Finding
from tests.unit.audits_in_parts import Kept, told
from tests.unit.log_builder import ENGINE, Table, audited, body
from tests.unit.states import field

SPARK, DELTA_RS, OTHER = ENGINE, "delta-rs:py-1.6.6", "Daft/0.7"


def findings(data_type: tuple[int, int], engine: str, *bounds: str) -> list[Finding]:
    """Audit appends whose bounds of ``x`` are these texts in turn, after two lines that make a pattern."""
    table = Table(field("x", DecimalType(*data_type))).append().append()
    for text in bounds:
        table.append()
        actions = table.commits[-1]
        body(actions, "commitInfo")["engineInfo"] = engine
        values = f'{{"x":{text}}}'
        stats = f'{{"numRecords":10,"minValues":{values},"maxValues":{values},"nullCount":{{"x":0}}}}'
        body(actions, "add")["stats"] = stats
    found = told(Kept(table.commits))[0]
    assert len(found) == len(audited(copy.deepcopy(table.commits)))
    return found


MONEY, LONG, WHOLE = (18, 2), (38, 18), (38, 0)


@pytest.mark.parametrize(
    ("data_type", "engine", "bound"),
    [
        (MONEY, SPARK, "9999999999999997.01"),
        (MONEY, SPARK, "9999999999999999.99"),
        (MONEY, SPARK, "-9999999999999999.99"),
        (MONEY, SPARK, "99999999999999.98"),
        (MONEY, SPARK, "0.00"),
        (MONEY, OTHER, "99999999999999.98"),
        (MONEY, OTHER, "9999999999999999"),
        (MONEY, DELTA_RS, '"9999999999999997.01"'),
        (MONEY, DELTA_RS, "9999999999999997.01"),
        (MONEY, DELTA_RS, "9999999999999.99"),
        (MONEY, DELTA_RS, "-1.1"),
        (LONG, SPARK, "1.100000000000000000"),
        (LONG, SPARK, "0E-18"),
        (LONG, SPARK, "12345678901234567890.123456789012345678"),
        (LONG, DELTA_RS, "0.0"),
        (WHOLE, SPARK, "99999999999999999999999999999999999999"),
        (WHOLE, DELTA_RS, "9223372036854775806"),
        ((18, 0), DELTA_RS, "999999999999999999"),
        ((15, 2), DELTA_RS, "9999999999999.99"),
        ((5, 2), DELTA_RS, "-999.99"),
    ],
)
def test_exact_bounds_of_decimals_are_silent(data_type: tuple[int, int], engine: str, bound: str) -> None:
    assert findings(data_type, engine, bound, bound) == []


@pytest.mark.parametrize(
    ("data_type", "engine", "bound"),
    [
        (MONEY, DELTA_RS, "9999999999999998.0"),
        (MONEY, DELTA_RS, "99999999999999.98"),
        (MONEY, DELTA_RS, "-99999999999999.98"),
        (MONEY, OTHER, "9999999999999998.0"),
        (LONG, DELTA_RS, "1.1234567890123457"),
        ((38, 10), DELTA_RS, "1.2345678901234567e+27"),
        (WHOLE, DELTA_RS, "1.2345678901234568e37"),
        (WHOLE, DELTA_RS, "9223372036854775807"),
        (WHOLE, DELTA_RS, "-9223372036854775808"),
    ],
)
def test_rounded_bounds_of_decimals_are_found(data_type: tuple[int, int], engine: str, bound: str) -> None:
    (found,) = findings(data_type, engine, bound, bound)
    assert (found.code, found.column, found.alike) == ("AC39", "x", 1)
    assert found.facts is not None
    assert found.facts["type"] == f"decimal({data_type[0]},{data_type[1]})"


def test_rounded_bounds_are_found_among_exact_ones() -> None:
    exact = ["99999999999999.98", "9999999999999997.01"] * 2
    assert findings(MONEY, SPARK, *exact) == []
    (found,) = findings(MONEY, DELTA_RS, *exact)
    assert (found.code, found.alike) == ("AC39", 1)


@pytest.mark.parametrize(
    ("data_type", "bound"),
    [
        ((16, 2), "100000000000000.0"),
        ((18, 0), "1e18"),
        ((5, 2), "1000"),
        ((5, 2), "-1000.0"),
        ((5, 2), '"1000.00"'),
        ((5, 2), '"x"'),
        ((38, 0), "1e99999999999999999999"),
        ((38, 0), "9" * 400),
        ((5, 2), "1e400"),
        ((5, 2), "true"),
    ],
)
def test_bounds_that_the_type_cannot_hold_are_found(data_type: tuple[int, int], bound: str) -> None:
    assert [found.code for found in findings(data_type, DELTA_RS, bound)] == ["AC18"]


def test_decimals_are_compared_digit_by_digit() -> None:
    table = Table(field("x", DecimalType(38, 2))).append()
    stats = '{"numRecords":1,"minValues":{"x":9999999999999999.98},"maxValues":{"x":9999999999999999.97}}'
    body(table.commits[-1], "add")["stats"] = stats
    (found,) = audited(table.commits)
    assert (found.code, found.facts and found.facts["least"]) == ("AC19", "9999999999999999.98")


@pytest.mark.parametrize(
    ("of", "inside", "outside"),
    [
        ("byte", "127", "128"),
        ("short", "-32768", "-32769"),
        ("integer", "2147483647", "2147483648"),
        ("long", "9223372036854775807", "9223372036854775808"),
        ("long", "-9223372036854775808", "-9223372036854775809"),
        ("float", "3.4028235e38", "3.4028236e38"),
        ("float", '"-Infinity"', "-1e39"),
        ("double", "1.7976931348623157e308", "true"),
        ("date", '"9999-12-31"', '"9999-12-32"'),
        ("timestamp", '"9999-12-31T23:59:59.999Z"', '"9999-12-31T24:59:59.999Z"'),
        ("boolean", "true", "0"),
        ("string", '"0"', "0"),
    ],
)
def test_bounds_outside_of_their_type_are_found(of: str, inside: str, outside: str) -> None:
    for bound, codes in ((inside, []), (outside, ["AC18"])):
        table = Table(field("x", of)).append()
        stats = f'{{"numRecords":2,"minValues":{{"x":{bound}}},"maxValues":{{"x":{bound}}},"nullCount":{{"x":0}}}}'
        body(table.commits[-1], "add")["stats"] = stats
        assert [found.code for found in audited(table.commits)] == codes


def test_constant_columns_of_files_alike_are_no_sign_of_a_fault() -> None:
    table = Table(field("x", "long"), field("y", "double")).append().append().append()
    stats = '{"numRecords":9,"minValues":{"x":0,"y":0.0},"maxValues":{"x":0,"y":0.0},"nullCount":{"x":0,"y":0}}'
    for number, actions in enumerate(table.commits[1:]):
        body(actions, "add").update(stats=stats, size=1000 + number)
    assert audited(table.commits) == []
