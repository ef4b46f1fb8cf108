"""What tokens tell of an expression that is certainly wrong, and that they never tell it of one that is right."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.delta.expression import is_literal, wrong_default, wrong_syntax

#: Expressions that Spark evaluates, many of them as in the examples of its functions and in the tests of Delta.
RIGHT = (
    *("0", "-1", ".5", "5.", "1L", "1.0BD", "1e10", "true", "NULL", "'hello'", '"hello"', "'it''s'", r"'it\'s'"),
    *(r"r'\d+\'", r'R"\"', "X'1F'", "X '1F'", "date '2020-01-01'", "TIMESTAMP_NTZ'2020-01-01'", "interval 1 day"),
    *("current_timestamp", "current_date()", "user", "array(1, 2)[0]", "named_struct('a', 1).a", "map()['x']"),
    *(
        "CAST(NULL AS STRING)",
        "'1'::int",
        "null::void",
        "CAST('{}' AS STRUCT<a: INT>)",
        "struct(1 AS long, 'x' AS str)",
    ),
    *("filter(array(1), x -> x > 0)", "aggregate(array(1), 0, (acc, x) -> acc + x)", "mask('AbCD', upperChar => 'Q')"),
    *("extract(DOW FROM current_date())", "'a' COLLATE UTF8_LCASE", "'a' || 'b'", "trim(BOTH ' ' FROM ' a ')"),
    *("timestampadd(MONTH, 1, current_timestamp())", "CASE WHEN 1 <=> 2 THEN 'a;b' ELSE '(' END", "1 -- one (", "'/*'"),
    *("substring('a' FROM 1 FOR 2)", "(((1)))", "- 1", "!true", "~1", "`current_date`()", "'@#;'", "'#' LIKE '\\#'"),
)


@pytest.mark.parametrize("expression", RIGHT)
def test_right_expression_is_never_called_wrong(expression):
    assert wrong_syntax(expression) is None
    assert wrong_default(expression) is None


@pytest.mark.parametrize(
    "expression",
    [
        "amount > 0 AND (name IN ('a', 'b'))",
        "`a;b` = 1",
        "`a``b(` = 1",
        "concat(`a.b`, 'b')",
        "nested.arr[1] < 5",
        "v:a.b::int > 0",
        "name LIKE ANY ('%test%', '%prod%')",
    ],
)
def test_expression_with_columns_is_right(expression):
    assert wrong_syntax(expression) is None


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("amount > (0", "has a ( that is not closed"),
        ("amount > 0)", "has a ) without its ("),
        ("f(a[1)]", "has a ) without its ("),
        ("name = 'x", "has a ' that is not closed"),
        ('name = "x', 'has a " that is not closed'),
        ("`name = 1", "has a ` that is not closed"),
        ("amount > 0; DROP TABLE t", "has a ; outside quotes, which no expression has"),
        ("id <", "ends with <, and nothing after it"),
        ("> 0", "begins with >, and nothing before it"),
    ],
)
def test_what_tokens_show_to_be_wrong_is_said(expression, what):
    assert wrong_syntax(expression) == what


def test_quotes_that_only_one_setting_of_spark_leaves_open_are_left_to_it():
    assert wrong_syntax(r"path = 'C:\'") is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "hello",
            "names hello, and a default can name no column. A default is SQL: for the text itself write \"'hello'\"",
        ),
        ("N/A", "names N, A, and a default"),
        ("user@example.com", "has a @ outside quotes, which no expression has. A default is SQL"),
        ("unknown", "names unknown, and"),
        ("concat(id, 'x')", "names id, and a default can name no column"),
    ],
)
def test_default_that_is_a_text_without_quotes_is_told_how_to_be_one(text, what):
    assert (wrong_default(text) or "").startswith(what)


def test_remedy_is_only_given_for_a_text_without_quotes():
    assert wrong_default("concat(id, 'x')") == "names id, and a default can name no column"


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "-1",
        "+ .5e-3",
        "1.5D",
        "1.25BD",
        "10L",
        "'a'",
        "'it''s'",
        "'a' 'b'",
        r"'\'||'",
        '"a"',
        "X'1F'",
        "r'a'",
        "NULL",
        "true",
        "DATE '2020-01-01'",
        "timestamp_ntz'2020-01-01 00:00:00'",
        "1 /* one */",
        " 1 -- one",
        "'-- 1'",
    ],
)
def test_literal(text):
    assert is_literal(text)


@pytest.mark.parametrize(
    "text",
    [
        "1 + 1",
        "'a' || 'b'",
        "localtimestamp",
        "session_user",
        "current_date()",
        "length('x')",
        "CAST('1' AS INT)",
        "(1)",
        "'1'::int",
        "1 - 1",
        "array(1)",
        "",
        "'a",
        "DATE",
        "trueish",
        "1 2",
        "'a' + 'b'",
        "-'a'",
    ],
)
def test_no_literal(text):
    assert not is_literal(text)
