"""The partitions that a predicate allows, if it is simple enough to decide without an engine.

Equality and ``IN`` of a partition column and literals are decided, also if joined by ``AND``. Everything else allows
any value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta.data_type import DataType, PrimitiveType
from airflow_delta_provider.domain.delta.temporal_text import parse_date

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
        elif found := _condition(part, columns):
            yield found


def _closes_last(tokens: Sequence[_Token]) -> bool:
    """Return True if the last token closes the first parenthesis."""
    level = 0
    for number, token in enumerate(tokens):
        level += (token.text == "(") - (token.text == ")") if token.kind == "sign" else 0
        if level == 0:
            return number == len(tokens) - 1
    return False


def _condition(tokens: Sequence[_Token], columns: Mapping[str, DataType]) -> tuple[str, frozenset[Any]] | None:
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
