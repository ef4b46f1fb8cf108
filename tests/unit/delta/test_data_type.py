from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    UnknownTypeError,
    parse_type,
    sql_name,
    type_from_json,
)
from tests.unit.states import type_to_json

decimals = st.integers(1, 38).flatmap(lambda p: st.builds(DecimalType, st.just(p), st.integers(0, p)))
primitives = st.sampled_from(
    [
        "byte",
        "short",
        "integer",
        "long",
        "float",
        "double",
        "boolean",
        "string",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
        "variant",
        "void",
    ]
).map(PrimitiveType)
types = st.recursive(
    primitives | decimals | st.just(PrimitiveType("hologram")),
    lambda inner: (
        st.builds(ArrayType, inner, st.booleans())
        | st.builds(MapType, inner, inner, st.booleans())
        | st.lists(st.builds(StructField, st.text(), inner, st.booleans()), max_size=3).map(
            lambda fields: StructType(tuple(fields))
        )
    ),
    max_leaves=10,
)


@given(types)
def test_type_survives_the_schemas_json(data_type):
    assert type_from_json(json.loads(json.dumps(type_to_json(data_type)))) == data_type


@given(primitives | decimals)
def test_sql_name_of_a_type_reads_back_as_the_type_in_any_case(data_type):
    assert parse_type(f" {sql_name(data_type).upper()} ") == data_type


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", PrimitiveType("integer")),
        ("LONG", PrimitiveType("long")),
        ("real", PrimitiveType("float")),
        ("decimal", DecimalType(10, 0)),
        ("numeric(5)", DecimalType(5, 0)),
        ("dec ( 12 , 2 )", DecimalType(12, 2)),
    ],
)
def test_other_sql_names_of_a_type_are_read(text, expected):
    assert parse_type(text) == expected


@pytest.mark.parametrize("text", ["decimal(39,0)", "decimal(5,6)", "decimal(0,0)"])
def test_decimal_out_of_bounds_is_refused(text):
    with pytest.raises(UnknownTypeError, match="precision is 1 to 38"):
        parse_type(text)


@pytest.mark.parametrize("text", ["", "array<int>", "int; DROP TABLE x", "bigint) --", "decimal(1,2,3)", "`int`"])
def test_text_that_is_no_primitive_type_never_reaches_sql(text):
    with pytest.raises(UnknownTypeError):
        parse_type(text)


def test_mistyped_type_is_refused_with_the_nearest():
    with pytest.raises(UnknownTypeError, match="Did you mean 'bigint'"):
        parse_type("bigit")


@pytest.mark.parametrize("wire", [None, 3, {"type": "tuple"}, {}])
def test_json_that_is_no_type_is_refused(wire):
    with pytest.raises(ValueError, match="not a type"):
        type_from_json(wire)
