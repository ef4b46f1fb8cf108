"""Expressions of tables and specs, parsed by Spark before it evaluates them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from airflow_delta_provider.domain.delta.evaluation import ParsedExpression, why_not_evaluated

_PACKAGES = ("org.apache.spark.sql.catalyst.expressions.", "org.apache.spark.sql.catalyst.analysis.")
_ATTRIBUTE, _FUNCTION = "UnresolvedAttribute", "UnresolvedFunction"
#: Expressions that run user code or contain a value of the session. User functions can hide built-in ones.
_FOREIGN = ("UDF", "UDAF", "SQLScalarFunction", "SQLFunctionExpression", "Subquery", "VariableReference")


def why_not_parsed_fit(spark: SparkSession, expression: str, columns: Collection[str]) -> str | None:
    """Return why Spark must not evaluate ``expression``, for the middle of a sentence; None if nothing is known.

    Names in it are not resolved, so a subquery lists no files, and a function loads no class.

    :param columns: the table's top-level columns
    :raises PySparkException: if Spark cannot parse it
    """
    try:
        parsed = _parsed(spark, expression)
        problem = why_not_evaluated(parsed, columns)
        for call in sorted(parsed.calls if problem is None else ()):
            if not _is_built_in(spark, *call):
                return f"it calls {call[0]}, which this Spark does not have as a built-in function"
        return problem
    except PySparkException:
        raise
    except Exception as error:  # Spark Connect has no parser, and a platform may forbid its use
        return f"this session cannot parse it before it is evaluated ({type(error).__name__})"


def why_not_analyzed_fit(rows: DataFrame) -> str | None:
    """Return the reason why a query with expressions of acceptable text must not run; None if it may.

    A user's function can hide a built-in one, and a variable can hide a column.
    """
    plan: Any = rows._jdf.queryExecution().analyzed()
    for expression in _each(plan.expressions()):
        if hidden := sorted(part for part in map(_part, _nodes(expression)) if part.endswith(_FOREIGN)):
            return f"this session has a function or variable of its own for a name in it ({hidden[0]})"
        if not expression.deterministic():
            return "its value may differ each time"
    return None


def _parsed(spark: SparkSession, expression: str) -> ParsedExpression:
    parser: Any = spark._jsparkSession.sessionState().sqlParser()
    tree = parser.parseExpression(expression)
    nodes = list(_nodes(tree))
    calls = (tuple(node["nameParts"][1:-1].split(", ")) for node in nodes if _part(node) == _FUNCTION)
    leaves = _each(tree.collectLeaves())
    names = (leaf.nameParts() for leaf in leaves if leaf.getClass().getSimpleName() == _ATTRIBUTE)
    return ParsedExpression(
        frozenset(calls),
        frozenset(tuple(_each(name)) for name in names),
        frozenset(map(_part, nodes)) - {_ATTRIBUTE, _FUNCTION},
    )


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a tree in the JVM as JSON, including the nodes of plans in it."""
    left: list[Any] = [json.loads(tree.toJSON())]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            if "class" in value:
                yield value
            left += value.values()
        elif isinstance(value, list):
            left += value


def _part(node: dict[str, Any]) -> str:
    """Return the name of a node's class, with its package if it is not a package of plain expressions."""
    name = str(node["class"])
    for package in _PACKAGES:
        name = name.removeprefix(package)
    return name.rstrip("$")


def _each(sequence: Any) -> Iterator[Any]:
    """Yield the elements of a sequence in the JVM."""
    return (sequence.apply(index) for index in range(sequence.length()))


def _is_built_in(spark: SparkSession, name: str) -> bool:
    catalyst: Any = spark._jvm.org.apache.spark.sql.catalyst
    registry = catalyst.analysis.FunctionRegistry.builtin()
    return bool(registry.functionExists(catalyst.FunctionIdentifier(name.lower())))
