"""Parsed fields of a checkpoint against their strings: bounds that exclude values, and values that lost digits."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from airflow_delta_provider.domain.delta.data_type import DataType, DecimalType, PrimitiveType, StructType
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.parsed_fields import parsed_differences
from tests.unit.states import field, type_to_json

LONG, MONEY = DecimalType(38, 10), DecimalType(18, 2)
TIME, STRING, DOUBLE = PrimitiveType("timestamp"), PrimitiveType("string"), PrimitiveType("double")


def of_bound(data_type: DataType, part: str, text: str, value: Any) -> list[str]:
    """Compare one bound: its text in JSON with its parsed value."""
    metadata = Metadata("t", json.dumps(type_to_json(StructType((field("x", data_type),)))))
    add = {"stats_parsed": {part: {"x": value}}}
    return parsed_differences(add, metadata, f'{{"{part}":{{"x":{text}}}}}')


@pytest.mark.parametrize(
    ("data_type", "text", "lower", "equal", "higher"),
    [
        (
            LONG,
            "1234567890123456789012345678.1234567891",
            Decimal("1234567890123456700000000000.0000000000"),
            Decimal("1234567890123456789012345678.1234567891"),
            Decimal("1234567890123456800000000000.0000000000"),
        ),
        (MONEY, "9999999999999998.50", *map(Decimal, ("9999999999999998.00", "9999999999999998.50", "1E16"))),
        (MONEY, '"9999999999999998.50"', *map(Decimal, ("9999999999999998.49", "9999999999999998.5", "1E16"))),
        (
            TIME,
            '"2023-03-30T00:00:00.902Z"',
            "2023-03-30T00:00:00.901Z",
            "2023-03-30T00:00:00.902Z",
            "2023-03-30T00:00:00.903Z",
        ),
        (STRING, '"' + "m" * 40 + '"', "m" * 32, "m" * 40, "m" * 31 + "n"),
    ],
)
def test_bound_may_only_differ_outwards(data_type: DataType, text: str, lower: Any, equal: Any, higher: Any) -> None:
    for part, inside, outside in (("maxValues", lower, higher), ("minValues", higher, lower)):
        assert of_bound(data_type, part, text, equal) == []
        assert of_bound(data_type, part, text, outside) == []
        (found,) = of_bound(data_type, part, text, inside)
        assert found.startswith(f"stats_parsed ({part} of x is ")


@pytest.mark.parametrize(
    ("part", "value"),
    [("maxValues", "2023-03-30T00:00:00.901001Z"), ("minValues", "2023-03-30T00:00:00.902999Z")],
)
def test_times_may_be_cut_to_milliseconds(part: str, value: str) -> None:
    assert of_bound(TIME, part, '"2023-03-30T00:00:00.902Z"', value) == []


def test_doubles_are_not_compared_like_floats() -> None:
    assert of_bound(PrimitiveType("float"), "maxValues", "1.1", 1.100000023841858) == []
    assert of_bound(DOUBLE, "maxValues", "0.30000000000000004", 0.30000000000000004) == []
    assert of_bound(DOUBLE, "maxValues", "1000000.5", 1000000.0) != []


@pytest.mark.parametrize(("value", "differs"), [("9999999999999997.01", False), ("9999999999999998.00", True)])
def test_decimal_partition_values_keep_all_digits(value: str, differs: bool) -> None:
    metadata = Metadata("t", json.dumps(type_to_json(StructType((field("p", MONEY),)))), partition_columns=("p",))
    add = {"partitionValues": {"p": "9999999999999997.01"}, "partitionValues_parsed": {"p": Decimal(value)}}
    assert bool(parsed_differences(add, metadata, None)) is differs


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", float("nan"), float("-inf")])
def test_partition_value_that_is_no_number_stands_for_itself_in_the_form_of_each_reader(value: Any) -> None:
    """Spark returns such values as strings, other readers as floats."""
    columns = StructType((field("x", DOUBLE), field("y", LONG)))
    metadata = Metadata("t", json.dumps(type_to_json(columns)), partition_columns=("x",))
    text = str(value).replace("nan", "NaN").replace("inf", "Infinity")
    add = {"partitionValues": {"x": text}, "partitionValues_parsed": {"x": value}}
    assert parsed_differences(add, metadata, None) == []
