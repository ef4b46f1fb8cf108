"""Which expressions may be evaluated, and which certainly cannot be conditions."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.delta.expression import FunctionKind, function_kind
from airflow_delta_provider.domain.delta.row_condition import ParsedExpression, unfit_call, why_not_evaluated


def parsed(*calls: str, names: tuple[str, ...] = ("v",), parts: tuple[str, ...] = ()) -> ParsedExpression:
    return ParsedExpression(
        frozenset(tuple(call.split(".")) for call in calls),
        frozenset(tuple(name.split(".")) for name in names),
        frozenset(parts),
    )


def test_operators_built_in_functions_and_columns_are_evaluated():
    assert why_not_evaluated(parsed("upper", "ABS", names=("V", "s.x"), parts=("And", "Cast")), {"v", "S"}) is None
    assert why_not_evaluated(parsed("current_date", names=("v", "current_timestamp")), {"v"}) is None


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        (parsed("java_method"), "java_method, which can run code"),
        (parsed("sum"), "sum, which needs several rows"),
        (parsed("rand"), "rand, which gives another value"),
        (parsed("is_sound"), "is_sound, which is not known"),
        (parsed("system.session.abs"), "system.session.abs, which is not known"),
        (parsed("raise_error"), "fails on purpose"),
        (parsed("input_file_name"), "where the row is stored"),
        (parsed(parts=("ScalarSubquery",)), "subquery"),
        (parsed(parts=("Exists", "UnresolvedRelation")), "subquery"),
        (parsed(parts=("WindowExpression",)), "WindowExpression"),
        (parsed(parts=("a.new.Part",)), "a.new.Part"),
        (parsed(names=("current_user",)), "current_user, which depends on the session"),
        (parsed(names=("secret",)), "secret, which"),
        (parsed(names=("_metadata.file_path",)), "_metadata.file_path, which is no column"),
        (parsed(names=("session.v",)), "session.v, which is no column"),
    ],
)
def test_everything_else_is_not(expression: ParsedExpression, said: str):
    assert said in str(why_not_evaluated(expression, {"v"}))


def test_column_that_is_called_as_a_function_of_the_session_is_a_column():
    assert why_not_evaluated(parsed(names=("user", "version.x")), {"user", "version"}) is None


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("(SELECT count(*) FROM t) = 0", "subquery"),
        ("v IN (select 1)", "subquery"),
        ("exists (SELECT * FROM t)", "subquery"),
        ("sum(v) > 0", "sum"),
        ("row_number() OVER (ORDER BY v) > 1", "row_number"),
        ("explode(a) > 1", "explode"),
        ("v < RAND()", "rand"),
        ("input_file_name() = 'x'", "input_file_name"),
        ("reflect('a', 'b') = 'c'", "reflect"),
        ("any(v > 1)", "any"),
    ],
)
def test_what_certainly_is_no_condition_is_known_without_an_engine(expression: str, said: str):
    assert said in str(unfit_call(expression))


@pytest.mark.parametrize(
    "expression",
    [
        "v > 0 AND (name IN ('SELECT 1', 'rand()') OR NOT (v = 1))",
        "name LIKE ANY ('a%') AND name ILIKE all ('b%')",
        "at <= current_timestamp()",
        "exists(a, x -> x > 1) AND filter(a, x -> x > 2) IS NULL",
        "my_function(v) > 0",
        "v > 1 -- (SELECT 1)",
        "(select > 1)",
        "(select * 2 > 1)",
        "`sum`.x > 1 AND rand > 1",
    ],
)
def test_what_may_be_a_condition_is_left_to_the_engine(expression: str):
    assert unfit_call(expression) is None


def test_no_function_is_of_two_kinds():
    assert function_kind("SUM") is FunctionKind.AGGREGATE
    assert function_kind("sums") is None
