from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.delta.expression import referenced_paths, refers_to
from airflow_delta_provider.domain.engine.sql_identifier import quote


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
