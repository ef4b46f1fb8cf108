"""The names that SQL expressions in a table's metadata refer to.

CHECK constraints, generated columns, invariants and defaults contain expressions as strings. A tokenizer is enough to
find the names in them and, unlike a parser, reads the dialect of any engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.column import Column, folded, lowered
from airflow_delta_provider.domain.formats.json_values import parse_json

_TOKEN = re.compile(
    r"""
    # Also raw, r'\d', and binary, X'1F'.
    (?P<string>[rR](?:'[^']*'|"[^"]*") | (?:[xX]\s*)?(?:'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.)*"))
    | (?P<comment>--[^\n]*|/\*.*?\*/)
    | (?P<number>\d[\w.]*)                           # with their suffixes: 10L
    # Of what a call or an index gives, of a semi-structured value (v:a.b), and the type of a cast (v::int).
    | (?P<member>(?:\.|::?)\s*(?:`(?:[^`]|``)*`|[^\W\d]\w*)(?:\s*\.\s*(?:`(?:[^`]|``)*`|[^\W\d]\w*))*)
    | (?P<path>(?:`(?:[^`]|``)*`|[^\W\d]\w*)(?:\s*\.\s*(?:`(?:[^`]|``)*`|[^\W\d]\w*))*) (?P<call>\s*\()?
    | (?P<arrow>[-=]>)
    | (?P<sign>\S)
    """,
    re.VERBOSE | re.DOTALL,
)
_PART = re.compile(r"`((?:[^`]|``)*)`|([^\W\d]\w*)")
#: Names that may be keywords of some dialect if they are not quoted, so they need not name a column.
_WORDS = frozenset(
    """
    all and any array as asc between both by case cast collate cross current_catalog current_database current_date
    current_schema current_time current_timestamp current_timezone current_user date day days dayofweek dayofyear
    decade desc distinct div else end epoch escape except exclude exists extract false filter first following for
    from group having hour hours ilike in inf infinity interval is isnull last leading like limit local localtime
    localtimestamp map microsecond microseconds millisecond milliseconds minute minutes month months nan natural not
    notnull null nulls of on or order over overlay partition placing position preceding quarter quarters range
    regexp rlike row rows second seconds select separator session_user similar similarto some struct substring
    symmetric table then time timestamp timestamp_ltz timestamp_ntz timezone to trailing trim true try_cast
    unbounded unknown user using values void week weeks when where with within without year years yearofweek zone
    bigint binary boolean byte char dec decimal double float int integer long numeric real short smallint string
    tinyint variant varchar text xor default row_number grouping sets geography geometry
    nanosecond nanoseconds void
    """.split()
)
#: Signs of syntax that is not understood, such as parameters.
_FOREIGN_SIGNS = frozenset(":@$#?{}\\;")
#: Words, with or without a parenthesis, that are not followed by a column.
_BEFORE_NO_COLUMN = frozenset({"as", "collate", "extract"})
#: ``LIKE ANY (…)`` is not a function call.
_BEFORE_QUANTIFIER = frozenset({"like", "ilike"})
_QUANTIFIERS = frozenset({"all", "any", "some"})
_ARITHMETIC = frozenset("+-*/%()")


@dataclass(frozen=True)
class Reference:
    """A dotted name in an expression that is not called as a function.

    :param parts: parts as written, without quotes
    :param quoted: True if its first part is in backticks and so is not a SQL keyword
    """

    parts: tuple[str, ...]
    quoted: bool


def references(expression: str) -> Iterator[Reference]:
    """Yield the dotted names in ``expression``, without names of functions but including SQL keywords."""
    for token in _TOKEN.finditer(expression):
        if token["path"] and not token["call"]:
            parts = (quoted.replace("``", "`") if quoted else bare for quoted, bare in _PART.findall(token["path"]))
            yield Reference(tuple(parts), token["path"].startswith("`"))


def called_names(expression: str) -> Iterator[str]:
    """Yield the names that ``expression`` calls as functions, in lower case; some are SQL keywords."""
    before = ""
    for token in _TOKEN.finditer(expression):
        word = (token["path"] or "").lower()
        if word and token["call"] and not (before in _BEFORE_QUANTIFIER and word in _QUANTIFIERS):
            yield word
        before = word


def has_subquery(expression: str) -> bool:
    """Return True if ``expression`` certainly has a subquery: ``select`` could also be a column's name."""
    tokens = [token for token in _TOKEN.finditer(expression) if not token["comment"]]
    for opening, word, after in zip(tokens, tokens[1:], tokens[2:]):
        if (opening["call"] or opening[0] == "(") and (word["path"] or "").lower() == "select":
            is_value = after["path"] or after["string"] or after["number"]
            if is_value or (after[0] == "*" and any((t["path"] or "").lower() == "from" for t in tokens)):
                return True
    return False


def divides(expression: str) -> bool:
    """Return True if ``expression`` has a slash as an operator."""
    return any(token["sign"] == "/" for token in _TOKEN.finditer(expression))


def expression_of_invariant(wire: Any) -> Any:
    """Return the expression in an invariant's JSON; None if it is malformed.

    The form is ``{"expression": {"expression": …}}``.
    """
    try:
        return parse_json(wire)["expression"]["expression"]
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def referenced_paths(expression: str) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names in ``expression``, case-folded, without names of functions."""
    return (folded(reference.parts) for reference in references(expression))


def same_expression(one: str, other: str) -> bool:
    """Return True if two expressions differ only in blanks, comments, and the case of names and keywords."""
    return list(_normal_tokens(one)) == list(_normal_tokens(other))


def _normal_tokens(expression: str) -> Iterator[str]:
    for token in _TOKEN.finditer(expression):
        if not token["comment"]:
            yield token[0] if token["string"] else "".join(token[0].split()).lower()


def refers_to(expression: str, parts: tuple[str, ...]) -> bool:
    """Return True if ``expression`` may name the column, a parent of it or a field below it."""
    wanted = folded(parts)
    return any(path[: len(wanted)] == wanted[: len(path)] for path in referenced_paths(expression))


@dataclass(frozen=True)
class UnknownNames:
    """Names in an expression that match no column.

    :param names: names in order, each once
    :param certain: True if they must be columns; False if the expression has parts that are not understood
    """

    names: tuple[str, ...]
    certain: bool


def unknown_names(expression: str, columns: Iterable[Column]) -> UnknownNames:
    """Return the names in ``expression`` that match no column, ignoring case.

    A name may be qualified by a table. SQL keywords and names that a lambda function binds count as known.
    """
    known = {lowered(column.parts) for column in columns}
    bound = _bound_names(expression)
    missing = {
        ".".join(reference.parts): None
        for reference in references(expression)
        if not _is_known(reference, known) and reference.parts[0].lower() not in bound
    }
    return UnknownNames(tuple(missing), certain=not any(map(_is_foreign, _TOKEN.finditer(expression))))


def _is_foreign(token: re.Match[str]) -> bool:
    """Return True if a token is not understood: a comment, a query, a parameter, the type of a struct."""
    word = (token["path"] or "").lower()
    return bool(
        token["comment"]
        or token["sign"] in _FOREIGN_SIGNS
        or word == "select"
        or (word == "struct" and not token["call"])
    )


def is_no_condition(expression: str, columns: Iterable[Column]) -> bool:
    """Return True if ``expression`` is certainly not Boolean: a literal, a column, or arithmetic with them."""
    types = {lowered(column.parts): str(column.data_type) for column in columns}
    for token in _TOKEN.finditer(expression):
        if token["string"] or token["number"] or token["sign"] in _ARITHMETIC:
            continue
        if not token["path"] or token["call"]:
            return False
        (reference,) = references(token["path"])
        if types.get(lowered(reference.parts), "boolean") == "boolean":
            return False
    return True


def _is_known(reference: Reference, known: set[tuple[str, ...]]) -> bool:
    parts = lowered(reference.parts)
    if not reference.quoted and parts[0] in _WORDS:
        return True
    # A path may begin with the name of the table, and continue with the keys of a map.
    return any((part,) in known for part in parts) and not _leaves_a_struct(parts, known)


def _leaves_a_struct(parts: tuple[str, ...], known: set[tuple[str, ...]]) -> bool:
    """Return True if a path goes from a struct to a field that the struct does not have."""
    if parts in known or parts[:1] not in known:
        return False
    end = next(length for length in range(1, len(parts) + 1) if parts[:length] not in known)
    below = {path[-1] for path in known if len(path) == end and path[:-1] == parts[: end - 1]}
    return bool(below) and not below & {"element", "key", "value"}


def _bound_names(expression: str) -> frozenset[str]:
    """Return names that are not columns.

    These are parameters of functions, aliases, types, collations and parts of dates. They appear as ``x -> …``, ``(x,
    y) -> …``, ``x => …``, ``AS x``, ``COLLATE x`` and ``EXTRACT(x …``.
    """
    bound: set[str] = set()
    before: list[str] = []
    for token in _TOKEN.finditer(expression):
        after = before[-2:] if before[-1:] == ["("] else before[-1:]
        if token["path"] and after and after[0].lower() in _BEFORE_NO_COLUMN:
            bound.add(token["path"].strip("`").lower())
        if token["arrow"]:
            if before and before[-1] == ")":
                before.pop()
                while before and before[-1] != "(":
                    bound.add(before.pop().lower())
            elif before:
                bound.add(before[-1].lower())
        if token["path"]:
            before.append(token["path"].strip("`"))
            before += ["("] if token["call"] else []
        else:
            before.append(token[0])
    return frozenset(bound)
