"""Expressions of tables: what Spark's parser finds in them, and which functions Spark has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.delta.expression import FunctionKind, function_kind
from airflow_delta_provider.jobs.spark.session import why_not_analyzed_fit, why_not_parsed_fit

COLUMNS = ("v", "name", "arr", "s", "at", "d", "a, b", "user")
ROW = (
    "SELECT 1 AS v, 'a' AS name, array(1, 2) AS arr, named_struct('x', 1) AS s, TIMESTAMP'2024-01-05 12:00:00' AS at, "
    "DATE'2024-01-05' AS d, 3 AS `a, b`, 'u' AS user"
)
#: Groups of Spark's documentation whose functions take one row.
_OF_ONE_ROW = {
    *("array_funcs", "bitwise_funcs", "collection_funcs", "conditional_funcs", "conversion_funcs", "csv_funcs"),
    *("datetime_funcs", "hash_funcs", "json_funcs", "lambda_funcs", "map_funcs", "math_funcs", "misc_funcs"),
    *("predicate_funcs", "st_funcs", "string_funcs", "struct_funcs", "url_funcs", "variant_funcs", "vector_funcs"),
}
_KIND_OF_GROUP = {
    "agg_funcs": FunctionKind.AGGREGATE,
    "window_funcs": FunctionKind.WINDOW,
    "generator_funcs": FunctionKind.GENERATOR,
}


def built_in(spark: SparkSession) -> Iterator[tuple[str, str]]:
    """The functions of Spark, with their groups."""
    registry: Any = spark._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
    functions = registry.listFunction()
    for index in range(functions.length()):
        identifier = functions.apply(index)
        yield identifier.funcName(), registry.lookupFunction(identifier).get().getGroup()


def test_every_function_of_one_row_is_known_and_no_other_is_evaluated(spark: SparkSession):
    groups = dict(built_in(spark))
    known = {name: function_kind(name) for name in groups}
    evaluated = {FunctionKind.SCALAR, FunctionKind.CLOCK}
    assert {groups[name] for name, kind in known.items() if kind in evaluated} <= _OF_ONE_ROW
    unknown = {name for name, kind in known.items() if kind is None and name[0].isalpha()}
    assert {name for name in unknown if groups[name] in _OF_ONE_ROW} == {"window_time"}
    for group, kind in _KIND_OF_GROUP.items():
        assert {known[name] for name, of in groups.items() if of == group} == {kind}


@pytest.mark.parametrize(
    "expression",
    [
        "v > 0 AND NOT (name LIKE 'A%' OR name RLIKE 'b') AND v IN (1, 2) AND v NOT IN (3)",
        "v BETWEEN 1 AND 2 OR v IS NULL OR v <=> 3 OR v IS DISTINCT FROM 4 OR -v < +v % 2",
        "CASE WHEN v > 0 THEN name ELSE upper(name) END = 'a' AND IF(v > 1, true, false)",
        "CAST(at AS DATE) <=> d AND extract(YEAR FROM at) = 2024 AND DATE(at) = d AND d + INTERVAL 1 DAY > d",
        "exists(arr, x -> x > v) AND arr[0] = 1 AND s.x = 1 AND map('a', 1)['a'] = 1 AND named_struct('y', 1).y = 1",
        "name || 'b' = 'ab' AND substring(name FROM 1 FOR 2) = 'a' AND trim(BOTH 'x' FROM name) = 'a'",
        "(v & 1) > 0 AND v DIV 2 = 1 AND (v << 1) > 1 AND ~v < 0 AND (v, name) = (1, 'a')",
        "date_format(at, 'yyyy') = '2024' AND to_json(s) = '{}' AND position('a' IN name) = 1",
        "at <= current_timestamp() AND d <= current_date",
        "`a, b` > 1 AND user = 'u' AND V = 1",
        "name LIKE ANY ('a', 'b') AND name NOT LIKE ALL ('a', 'b') AND v != 2 AND TRY_CAST(v AS STRING) = '1'",
        "v > 0 /* of it */ -- positive",
    ],
)
def test_usual_conditions_may_be_evaluated(spark: SparkSession, expression: str):
    assert why_not_parsed_fit(spark, f"({expression}\n)", COLUMNS) is None
    assert why_not_analyzed_fit(spark.sql(ROW).select(sql.expr(f"({expression}\n)"))) is None


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("(SELECT count(*) FROM text.`/etc/passwd`) = 0", "subquery"),
        ("v IN (SELECT 1)", "subquery"),
        ("EXISTS (FROM t)", "subquery"),
        ("v > 0) OR (SELECT true) AND (true", "subquery"),
        ("java_method('java.lang.System', 'getProperty', 'user.home') = 'x'", "java_method"),
        ("try_reflect('java.lang.System', 'getenv', 'HOME') = 'x'", "try_reflect"),
        ("read_files('/etc/passwd') IS NULL", "read_files"),
        ("is_sound(v)", "is_sound"),
        ("spark_catalog.default.f(v) = 1", "spark_catalog.default.f"),
        ("`abs, x`(v) = 1", "abs.x"),
        ("IDENTIFIER('abs')(v) = 1", "part"),
        ("input_file_name() = 'x'", "input_file_name"),
        ("current_user() = 'x' OR current_user = 'x'", "current_user"),
        ("rand() > 2", "rand"),
        ("sum(v) > 0", "sum"),
        ("sum(v) OVER () > 0", "sum"),
        ("explode(arr) = 1", "explode"),
        ("_metadata.file_path = 'x'", "_metadata.file_path"),
        ("session.v > 1", "session.v"),
        (":p > 1", "NamedParameter"),
        ("struct(*) IS NULL", "UnresolvedStar"),
        ("xpath_string(name, 'a') = 'x'", "xpath_string"),
        ("from_avro(name, '{}') IS NULL", "from_avro"),
        ("raise_error(name) IS NULL", "raise_error"),
    ],
)
def test_what_reads_more_than_the_row_is_not_even_looked_up(spark: SparkSession, expression: str, said: str):
    assert said in str(why_not_parsed_fit(spark, f"({expression}\n)", COLUMNS))


def test_variable_and_function_of_the_session_are_found_where_they_hide_what_is_named(spark: SparkSession):
    spark.udf.register("hidden_function", lambda value: value, "int")
    try:
        hidden = spark.sql(ROW).select(sql.expr("hidden_function(v) > 0"))
        assert "PythonUDF" in str(why_not_analyzed_fit(hidden))
    finally:
        spark.sql("DROP TEMPORARY FUNCTION hidden_function")


def test_session_without_a_parser_evaluates_nothing():
    class Connected:
        """A session of Spark Connect: it has no JVM."""

    assert "cannot parse it" in str(why_not_parsed_fit(Connected(), "v > 0", ("v",)))  # type: ignore[arg-type]  # no session is needed
