from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    DecimalType,
    MapType,
    PrimitiveType,
    find_column,
    parse_type,
)
from airflow_delta_provider.domain.delta.features.columns import (
    TypeChange,
    allowed_with_iceberg,
    can_widen,
    legal_targets,
    recorded_changes,
)
from tests.tables.widening_pairs import ALL_TYPES, spec_allows
from tests.unit.states import field, struct

decimals = st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p)))


def test_whole_matrix_is_exactly_what_the_specification_lists():
    pairs = list(product(ALL_TYPES, repeat=2))
    wrong = [(a, b) for a, b in pairs if can_widen(parse_type(a), parse_type(b)) != spec_allows(a, b)]
    assert wrong == []
    assert sum(spec_allows(a, b) for a, b in pairs) > 60


@given(decimals, decimals)
def test_decimal_widens_to_decimal_where_digits_on_neither_side_of_the_point_are_lost(old, new):
    expected = old != new and new[1] >= old[1] and new[0] - new[1] >= old[0] - old[1]
    assert can_widen(DecimalType(*old), DecimalType(*new)) is expected


@given(st.sampled_from([("tinyint", 10), ("smallint", 10), ("int", 10), ("bigint", 20)]), decimals)
def test_integer_widens_to_decimal_where_ten_or_twenty_digits_stay_before_the_point(integer, new):
    name, digits = integer
    assert can_widen(parse_type(name), DecimalType(*new)) is (new[0] - new[1] >= digits)


@pytest.mark.parametrize("old", ALL_TYPES)
def test_legal_targets_named_for_people_are_the_legal_ones(old):
    named = legal_targets(parse_type(old))
    for new in ALL_TYPES:
        if "decimal" not in new:
            assert (new in named.split(", ")) is spec_allows(old, new)
    assert ("decimal" in named) is any(spec_allows(old, new) for new in ALL_TYPES if "decimal" in new)


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ("int", "bigint", True),
        ("float", "double", True),
        ("decimal(10,2)", "decimal(12,2)", True),
        ("decimal(10,2)", "decimal(12,3)", False),
        ("int", "double", False),
        ("tinyint", "double", False),
        ("date", "timestamp_ntz", False),
        ("int", "decimal(10,0)", False),
        ("bigint", "decimal(20,0)", False),
        ("smallint", "int", True),
    ],
)
def test_iceberg_compatibility_leaves_the_promotions_that_iceberg_has(old, new, allowed):
    assert allowed_with_iceberg(parse_type(old), parse_type(new)) is allowed


def test_entry_that_a_change_leaves_names_the_way_from_the_nearest_field():
    integer = PrimitiveType("integer")
    schema = struct(field("m", MapType(integer, ArrayType(integer))), field("q", "integer"))
    assert TypeChange.of(find_column(schema, "m.value.element"), PrimitiveType("long")) == TypeChange(
        "integer", "long", "value.element"
    )
    assert TypeChange.of(find_column(schema, "q"), DecimalType(12, 2)) == TypeChange("integer", "decimal(12,2)", None)


def test_recorded_changes_are_read_in_order_and_leftovers_of_the_preview_are_ignored():
    metadata = {
        "delta.typeChanges": [
            {"fromType": "short", "toType": "integer", "tableVersion": 1},
            {"fromType": "decimal(5, 2)", "toType": "decimal(6,2)", "fieldPath": "key"},
        ]
    }
    assert recorded_changes(metadata) == (
        TypeChange("short", "integer"),
        TypeChange("decimal(5,2)", "decimal(6,2)", "key"),
    )
    assert recorded_changes({}) == ()


@pytest.mark.parametrize("broken", [[{"fromType": "short"}], ["short"], [{"fromType": 1, "toType": 2}], 3])
def test_malformed_record_is_an_error(broken):
    with pytest.raises(ValueError, match="malformed"):
        recorded_changes({"delta.typeChanges": broken})
