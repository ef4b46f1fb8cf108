"""Expressions of tables and specs that may be evaluated: they depend only on the row.

An expression runs with the rights of the user who evaluates it. A subquery, a function that runs code, or a function of
the session could read a file and reveal its content through the verdict. So an expression is evaluated only if a parser
found nothing in it except operators, the table's own columns, and built-in functions of one row.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.delta.expression import called_names, has_subquery
from airflow_delta_provider.domain.delta.sql_functions import FunctionKind, function_kind

_EVALUATED = frozenset({FunctionKind.SCALAR, FunctionKind.CLOCK})
#: Functions that an engine stores in a condition or a default and can evaluate later. Plans warn about some.
_STORED = _EVALUATED | {FunctionKind.SESSION, FunctionKind.RAISING}
#: Other allowed parts: operators and parts of expressions that read nothing, by their names in Spark.
_PLAIN_PARTS = frozenset(
    """
    Add Alias And BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CaseWhen Cast Collate Concat CreateNamedStruct Divide
    EqualNullSafe EqualTo GreaterThan GreaterThanOrEqual ILike In IntegralDivide IsNotNull IsNull LambdaFunction
    LessThan LessThanOrEqual Like LikeAll LikeAny Literal Multiply NamePlaceholder Not NotLikeAll NotLikeAny Or Overlay
    RLike Remainder SemiStructuredExtract ShiftLeft ShiftRight ShiftRightUnsigned StringLocate StringTrim
    StringTrimLeft StringTrimRight Substring Subtract TimestampAdd TimestampDiff UnaryMinus UnaryPositive
    UnresolvedCollation UnresolvedExtractValue UnresolvedNamedLambdaVariable
    """.split()
)


@dataclass(frozen=True)
class ParsedExpression:
    """The parts of an expression, as a parser found them.

    :param calls: functions by name, each with its qualifiers
    :param names: dotted names that are neither called nor parameters of lambda functions
    :param parts: names of all other parts of the tree, as Spark calls them
    """

    calls: frozenset[tuple[str, ...]]
    names: frozenset[tuple[str, ...]]
    parts: frozenset[str]


def why_not_evaluated(parsed: ParsedExpression, columns: Collection[str]) -> str | None:
    """Return the reason why an expression must not be evaluated, as part of a sentence; None if it may be.

    :param columns: the table's top-level columns
    """
    if any("subquery" in part.lower() or part in {"Exists", "ListQuery"} for part in parsed.parts):
        return "it has a subquery"
    for call in sorted(parsed.calls):
        if problem := _problem_of_call(call):
            return problem
    own = {name for column in columns for name in lowered((column,))}
    for name in sorted(parsed.names):
        if lowered(name)[0] not in own and (len(name) > 1 or function_kind(name[0]) is not FunctionKind.CLOCK):
            kind = function_kind(name[0]) if len(name) == 1 else None
            what = kind.value if kind else "is no column of the table"
            return f"it names {'.'.join(name)}, which {what}"
    for part in sorted(parsed.parts - _PLAIN_PARTS):
        return f"it has a part, {part}, that is not known to depend on the row alone"
    return None


def unfit_call(expression: str) -> str | None:
    """Return the reason why ``expression`` certainly cannot be a row condition, a default or a generated value.

    Only tokens are read. A reason is certain, but None proves nothing: a function that only an engine knows, such as a
    user's, is not found.
    """
    if has_subquery(expression):
        return "it has a subquery"
    for name in called_names(expression):
        kind = function_kind(name)
        if kind is not None and kind not in _STORED:
            return _problem_of_call((name,))
    return None


def _problem_of_call(call: tuple[str, ...]) -> str | None:
    name = ".".join(call)
    kind = function_kind(name)
    if kind is None:
        return f"it calls {name}, which is not known as a built-in function of one row"
    return None if kind in _EVALUATED else f"it calls {name}, which {kind.value}"
