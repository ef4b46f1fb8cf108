"""Conditions that every row of a table must satisfy, as Spark SQL.

PROTOCOL.md, Column Invariants, CHECK Constraints and Generated Columns; columns that are not nullable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta.data_type import DataType, PrimitiveType, StructField, lowered
from airflow_delta_provider.domain.delta.expression import (
    FunctionKind,
    called_names,
    divides,
    expression_of_invariant,
    function_kind,
    functions_of,
    has_subquery,
    references,
)
from airflow_delta_provider.domain.delta.features.columns import CHECK_CONSTRAINTS, GENERATED_COLUMNS, INVARIANTS
from airflow_delta_provider.domain.delta.metadata import CHAR_OR_VARCHAR, Metadata
from airflow_delta_provider.domain.delta.partition_value import parse_date
from airflow_delta_provider.domain.delta.protocol import Protocol

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


class ParsedExpression(NamedTuple):
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


#: Functions and names whose value changes over time, between calls, or with the session or file.
_CHANGING = functions_of(FunctionKind.CLOCK, FunctionKind.CHANGING, FunctionKind.SESSION, FunctionKind.FILE)
#: Words that show that an expression may depend on the session's time zone.
_TIMES = re.compile(r"timestamp|unix|zone|utc|epoch", re.IGNORECASE)
_ON_ZONE = "it may depend on the time zone of the session that wrote the rows"
#: Keys in the metadata of columns whose values do not compare like plain strings.
_COMPARED_OTHERWISE = (CHAR_OR_VARCHAR, "__COLLATIONS")


class ConditionKind(Enum):
    """The origin of a condition."""

    CHECK = "check"
    INVARIANT = "invariant"
    GENERATED = "generated"
    NOT_NULL = "not null"


class RowCondition(NamedTuple):
    """A condition on each row.

    :param holder: constraint or column that has the condition, as the subject of a sentence
    :param expression: expression as in the metadata
    :param holds: SQL that is true for a row that satisfies the condition
    :param column: column that the condition belongs to; None for a CHECK constraint
    :param columns: top-level columns that the condition needs
    :param depends: reason why only the writing engine can decide whether a row satisfies it; None if all engines can
    :param surely_broken: SQL that is true for a row that breaks it regardless of ``depends``
    """

    kind: ConditionKind
    holder: str
    expression: str
    holds: str
    column: str | None
    columns: frozenset[str]
    depends: str | None = None
    surely_broken: str | None = None


def row_conditions(metadata: Metadata, protocol: Protocol | None = None) -> Iterator[RowCondition]:
    """Yield the conditions that rows must satisfy. Expressions that are not strings are skipped.

    :param protocol: protocol of the table; conditions whose feature it does not support are skipped
    """
    if metadata.readable_columns is None:
        return
    fields = metadata.schema.fields
    for name, text in metadata.check_constraints.items():
        if (protocol is None or protocol.supports(CHECK_CONSTRAINTS)) and text.strip():
            yield _condition(ConditionKind.CHECK, f"the CHECK constraint {name}", text, None, fields)
    for column in fields:
        text = expression_of_invariant(column.metadata.get(INVARIANTS.field_key))
        if isinstance(text, str) and text.strip() and (protocol is None or protocol.supports(INVARIANTS)):
            yield _condition(ConditionKind.INVARIANT, f"the invariant of {column.name}", text, column, fields)
        generated = column.metadata.get(GENERATED_COLUMNS.field_key)
        supported = protocol is None or protocol.supports(GENERATED_COLUMNS)
        if supported and isinstance(generated, str) and generated.strip():
            holder = f"the generation expression of {column.name}"
            yield _condition(ConditionKind.GENERATED, holder, generated, column, fields)
        if not column.nullable:
            holds = f"{_quoted(column.name)} IS NOT NULL"
            yield RowCondition(
                ConditionKind.NOT_NULL, f"NOT NULL of {column.name}", "", holds, column.name, frozenset({column.name})
            )


def _condition(
    kind: ConditionKind, holder: str, text: str, column: StructField | None, fields: Collection[StructField]
) -> RowCondition:
    named = {part for reference in references(text) for part in lowered(reference.parts)}
    used = [field for field in fields if lowered((field.name,))[0] in named]
    # The newline ends a trailing comment.
    holds, depends, surely_broken = f"({text}\n)", _depends(text, named, used), None
    if kind is ConditionKind.GENERATED and column is not None:
        value = _quoted(column.name)
        if depends == _ON_ZONE and str(column.data_type) == "date":  # in another zone it may be a day earlier or later
            surely_broken = f"coalesce(abs(datediff({value}, {holds})) > 1, ({value} IS NULL) <> ({holds} IS NULL))"
        holds = f"{value} <=> {holds}"
        used.append(column)
    return RowCondition(
        kind,
        holder,
        text,
        holds,
        None if column is None else column.name,
        frozenset(field.name for field in used),
        depends,
        surely_broken,
    )


def _depends(text: str, named: Collection[str], used: Collection[StructField]) -> str | None:
    """Return the reason why an expression may have another value in another engine or later, or None."""
    own = {name for field in used for name in lowered((field.name,))}
    if changing := sorted(((set(named) - own) | set(called_names(text))) & _CHANGING):
        return f"it depends on {changing[0]}"
    for field in used:
        if any(field.metadata.get(key) for key in _COMPARED_OTHERWISE):
            return f"{field.name} compares in another way than texts"
    if any(_has_times(field.data_type) for field in used) or _TIMES.search(text):
        return _ON_ZONE
    if divides(text):
        return "engines differ in how they divide integers"
    return None


def _has_times(data_type: DataType) -> bool:
    return re.search(r"\btimestamp\b", str(data_type)) is not None


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


_TOKEN = re.compile(
    r"""\s* (?: (?P<string>'[^'\\]*') | (?P<quoted>"[^"\\]*") | (?P<name>`[^`]+`) | (?P<number>\d+[LlSsYy]?\b)
        | (?P<word>[^\W\d]\w*) | (?P<sign>==|\S) )""",
    re.VERBOSE,
)
#: Words that show that a level of parentheses is not a plain list of conditions.
_NO_LIST = frozenset({"OR", "XOR", "BETWEEN", "CASE", "END"})
_INTEGERS = frozenset({"byte", "short", "integer", "long"})
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
#: Syntax that engines read differently: escapes, quotes within strings, and comments.
_UNCLEAR = re.compile(r"""\\|''|""|--|/\*""")
#: Maximum nesting depth of parentheses.
_DEEPEST = 20


class _Token(NamedTuple):
    kind: str
    text: str

    @property
    def word(self) -> str:
        """The keyword in capitals; empty for other tokens."""
        return self.text.upper() if self.kind == "word" else ""


def allowed_values(predicate: str, columns: Mapping[str, DataType]) -> dict[str, frozenset[Any]]:
    """Return the values that a predicate allows in columns, by the columns' lower-case names.

    A column is missing if the predicate has no decidable condition on it.

    :param predicate: SQL, or a list of conditions as JSON, as Delta Spark writes it
    :param columns: types of the partition columns by lower-case names
    """
    allowed: dict[str, frozenset[Any]] = {}
    for condition in _conditions(predicate):
        tokens = [] if _UNCLEAR.search(condition) else list(_tokens(condition))
        if any(token.kind == "sign" and token.text in "'\"`" for token in tokens):
            continue
        for name, values in _of_level(tokens, columns, 0):
            allowed[name] = allowed[name] & values if name in allowed else values
    return allowed


def comparable(text: str, data_type: DataType) -> Any:
    """Return the value of a literal, or of a partition; None if it cannot be compared.

    :param text: literal or partition value, not empty
    """
    kind = data_type.name if isinstance(data_type, PrimitiveType) else ""
    if kind == "string":
        return text
    if kind in _INTEGERS and re.fullmatch(r"[+-]?\d{1,20}", text, re.ASCII):
        return int(text)
    if kind == "boolean" and text.lower() in ("true", "false"):
        return text.lower()
    if kind == "date" and _DATE.fullmatch(text):
        try:
            return parse_date(text)
        except ValueError:
            return None
    return None


def _conditions(predicate: str) -> list[str]:
    if predicate.lstrip().startswith("["):
        try:
            parsed = json.loads(predicate)
        except ValueError:
            return []
        return parsed if all(isinstance(each, str) for each in parsed) else []
    return [predicate]


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        yield _Token(str(match.lastgroup), match[str(match.lastgroup)])


def _of_level(
    tokens: Sequence[_Token], columns: Mapping[str, DataType], depth: int
) -> Iterator[tuple[str, frozenset[Any]]]:
    """Yield column and allowed values of each condition in a list joined by ``AND``."""
    parts: list[list[_Token]] = [[]]
    level = 0
    for token in tokens:
        level += (token.text == "(") - (token.text == ")") if token.kind == "sign" else 0
        if level < 0 or (level == 0 and token.word in _NO_LIST):
            return
        if level == 0 and token.word == "AND":
            parts.append([])
        else:
            parts[-1].append(token)
    if level or depth > _DEEPEST:
        return
    for part in parts:
        if len(part) > 1 and part[0].text == "(" and _closes_last(part):
            yield from _of_level(part[1:-1], columns, depth + 1)
        elif found := _comparison(part, columns):
            yield found


def _closes_last(tokens: Sequence[_Token]) -> bool:
    """Return True if the last token closes the first parenthesis."""
    level = 0
    for number, token in enumerate(tokens):
        level += (token.text == "(") - (token.text == ")") if token.kind == "sign" else 0
        if level == 0:
            return number == len(tokens) - 1
    return False


def _comparison(tokens: Sequence[_Token], columns: Mapping[str, DataType]) -> tuple[str, frozenset[Any]] | None:
    """Return column and allowed values of a comparison; None for other conditions."""
    signs = [number for number, token in enumerate(tokens) if token.kind == "sign" and token.text in ("=", "==")]
    if len(signs) == 1:
        left, right = tokens[: signs[0]], tokens[signs[0] + 1 :]
        for column, literal in ((left, right), (right, left)):
            if (name := _column(column, columns)) is not None and _column(literal, columns) is None:
                return _values(name, [literal], columns[name])
        return None
    if len(tokens) > 4 and not signs and tokens[1].word == "IN" and tokens[2].text == "(" and _closes_last(tokens[2:]):
        name = _column(tokens[:1], columns)
        return None if name is None else _values(name, list(_split(tokens[3:-1])), columns[name])
    return None


def _split(tokens: Sequence[_Token]) -> Iterator[list[_Token]]:
    item: list[_Token] = []
    for token in tokens:
        if token == ("sign", ","):
            yield item
            item = []
        else:
            item.append(token)
    yield item


def _column(tokens: Sequence[_Token], columns: Mapping[str, DataType]) -> str | None:
    if len(tokens) != 1 or tokens[0].kind not in ("word", "name", "quoted"):
        return None
    name = tokens[0].text.strip('`"').lower()
    return name if name in columns else None


def _values(name: str, literals: Sequence[Sequence[_Token]], data_type: DataType) -> tuple[str, frozenset[Any]] | None:
    values = [_value(literal, data_type) for literal in literals]
    return None if any(value is None for value in values) else (name, frozenset(values))


def _value(tokens: Sequence[_Token], data_type: DataType) -> Any:
    """Return the value of a literal; None if it is not one, or if engines differ in how they cast it."""
    kinds = [token.kind for token in tokens]
    is_string = data_type == PrimitiveType("string")
    if kinds == ["word", "string"] and tokens[0].word == "DATE":
        return None if is_string else comparable(tokens[1].text[1:-1], data_type)
    if kinds in (["string"], ["quoted"]):
        return comparable(tokens[0].text[1:-1], data_type) if len(tokens[0].text) > 2 else None
    if is_string or kinds not in (["number"], ["sign", "number"], ["word"]) or tokens[0].text == "+":
        return None
    return comparable("".join(token.text for token in tokens).rstrip("LlSsYy"), data_type)
