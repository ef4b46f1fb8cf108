from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    UnknownColumnError,
    all_columns,
    children,
    find_column,
    parse_path,
)
from airflow_delta_provider.domain.text import quote
from tests.unit.states import field, struct

AWKWARD = [
    "a",
    "A b",
    "a.b",
    "`",
    "``",
    "a`b",
    "`a.b`",
    "'; DROP TABLE x; --",
    "element",
    "key",
    "ß",
    "ss",
    "列",
    " x ",
]
names = st.sampled_from(AWKWARD) | st.text(min_size=1, max_size=6)
INT = PrimitiveType("integer")


def structs(types):
    fields = st.lists(st.tuples(names, types), min_size=1, max_size=4, unique_by=lambda pair: pair[0].lower())
    return fields.map(lambda pairs: StructType(tuple(StructField(name, kind) for name, kind in pairs)))


types = st.recursive(
    st.sampled_from([INT, PrimitiveType("string")]),
    lambda inner: st.builds(ArrayType, inner) | st.builds(MapType, inner, inner) | structs(inner),
    max_leaves=8,
)
schemas = structs(types)

NESTED = struct(
    field("id", "long"),
    field("Lines", ArrayType(struct(field("price", "integer"), field("Tags", MapType(INT, ArrayType(INT)))))),
    field("a.b", "integer"),
    field("a", struct(field("b", "integer"))),
)


@settings(max_examples=300)
@given(schemas)
@example(struct(field("a.b", "integer"), field("`a.b`", "integer")))
def test_every_column_is_found_by_what_it_prints_as(schema):
    for column in all_columns(schema):
        assert find_column(schema, str(column)) == column


@given(schemas, st.data())
def test_column_is_found_in_another_case_where_that_folds_back(schema, data):
    column = data.draw(st.sampled_from(list(all_columns(schema))))
    other = ".".join(quote(part.swapcase()) for part in column.parts)
    assume(all(part.swapcase().lower() == part.lower() for part in column.parts))
    assert find_column(schema, other).parts == column.parts


@given(st.lists(names, min_size=1, max_size=5))
def test_path_of_quoted_parts_reads_back_as_the_parts(parts):
    assert parse_path(".".join(map(quote, parts))) == tuple(parts)


@pytest.mark.parametrize(
    "path", ["", ".", "a.", ".a", "a..b", "`", "``", "`a", "a`b", "`a`b", "`a`.", "a`; DROP TABLE x; --"]
)
def test_path_that_is_none_is_refused_with_how_to_write_it(path):
    with pytest.raises(UnknownColumnError, match="between backticks"):
        parse_path(path)


def test_places_are_listed_parents_first_with_the_steps_from_the_nearest_field():
    listed = [(str(c), c.field.name, c.field_path, c.kinds) for c in all_columns(NESTED)]
    assert listed == [
        ("id", "id", (), ("field",)),
        ("Lines", "Lines", (), ("field",)),
        ("Lines.element", "Lines", ("element",), ("field", "element")),
        ("Lines.element.price", "price", (), ("field", "element", "field")),
        ("Lines.element.Tags", "Tags", (), ("field", "element", "field")),
        ("Lines.element.Tags.key", "Tags", ("key",), ("field", "element", "field", "key")),
        ("Lines.element.Tags.value", "Tags", ("value",), ("field", "element", "field", "value")),
        (
            "Lines.element.Tags.value.element",
            "Tags",
            ("value", "element"),
            ("field", "element", "field", "value", "element"),
        ),
        ("`a.b`", "a.b", (), ("field",)),
        ("a", "a", (), ("field",)),
        ("a.b", "b", (), ("field", "field")),
    ]


def test_primitive_column_has_no_children():
    assert list(children(find_column(NESTED, "id"))) == []


def test_path_in_any_case_finds_the_column_in_the_tables_spelling():
    assert str(find_column(NESTED, "LINES.Element.tags.VALUE")) == "Lines.element.Tags.value"


def test_text_that_names_a_dotted_column_and_a_nested_field_is_ambiguous_and_both_are_shown():
    with pytest.raises(UnknownColumnError, match=r"ambiguous: write `a`\.`b` or `a\.b`"):
        find_column(NESTED, "a.b")
    assert find_column(NESTED, "`a.b`").parts == ("a.b",)
    assert find_column(NESTED, "`a`.b").parts == ("a", "b")


def test_top_level_name_with_dots_or_backticks_needs_no_quotes_where_it_means_nothing_else():
    schema = struct(field("x.y", "integer"), field("it`s", "integer"))
    assert find_column(schema, "x.y").parts == ("x.y",)
    assert find_column(schema, "it`s").parts == ("it`s",)


def test_names_that_only_casefolding_would_join_stay_two_columns():
    schema = struct(field("straße", "integer"), field("strasse", "integer"))
    assert find_column(schema, "straße").parts == ("straße",)
    assert find_column(schema, "STRASSE").parts == ("strasse",)


def test_unknown_column_is_refused_with_the_nearest_and_the_known_ones():
    with pytest.raises(UnknownColumnError) as caught:
        find_column(NESTED, "lines.element.prize")
    assert "no column 'lines.element.prize'. Did you mean 'Lines.element.price'?" in str(caught.value)
    assert "id, Lines" in str(caught.value)


def test_unknown_column_of_a_wide_table_lists_the_first_twenty_only():
    schema = struct(*(field(f"c{n}", "integer") for n in range(30)))
    with pytest.raises(UnknownColumnError, match="c19 and 10 more"):
        find_column(schema, "zzz")
