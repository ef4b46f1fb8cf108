"""Certain errors in a SQL expression, found from its tokens.

Errors that need a parser are left to the engine. Spark reads a backslash in a string in one of two ways, depending on
``spark.sql.parser.escapedStringLiterals``; an expression is wrong only if it is wrong in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_delta_provider.domain.delta.expression import unknown_names

_NAMES_AND_NUMBERS = r"`(?:[^`]|``)*` | \.?\d[\w.]* | \w+"
_READINGS = tuple(
    re.compile(rf"(?:{strings} | {_NAMES_AND_NUMBERS}) | (?P<sign>\S)", re.VERBOSE | re.DOTALL)
    for strings in (
        r"""\b[rR](?:'[^']*'|"[^"]*") | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" """,
        r"""'[^']*' | "[^"]*" """,
    )
)
_COMMENTS = ("--", "/*")
_QUOTES = frozenset("'\"`")
_CLOSING = {")": "(", "]": "["}
#: Signs between two operands.
_BETWEEN = frozenset("*/%=<>|&^,")
_BEFORE_ONE = frozenset("+-~!.")
#: Characters that no expression contains outside quotes.
_NO_SQL = frozenset("@#;")
_WORD = re.compile(r"[^\W\d]\w*")
#: Words that are values.
_VALUES = frozenset(
    """
    null true false current_catalog current_database current_date current_schema current_time current_timestamp
    current_timezone current_user localtime localtimestamp session_user user
    """.split()
)


def wrong_syntax(expression: str) -> str | None:
    """Return the error in ``expression``, or None if none is certain.

    The error is a sentence without its subject and full stop.
    """
    if not expression.strip():
        return "is empty"
    if any(mark in expression for mark in _COMMENTS):
        return None
    found = [_wrong(list(_tokens(reading, expression))) for reading in _READINGS]
    return found[0] if all(found) else None


def wrong_default(expression: str) -> str | None:
    """Return the error in the expression of a default, in the form of :func:`wrong_syntax`.

    A default cannot name columns.
    """
    wrong, text = wrong_syntax(expression), expression.strip()
    if wrong is None and _WORD.fullmatch(text):
        wrong = None if text.lower() in _VALUES else _names_column(text)
    elif wrong is None:
        unknown = unknown_names(expression, ())
        wrong = _names_column(", ".join(unknown.names)) if unknown.names and unknown.certain else None
    if wrong is None or not text or _QUOTES & set(text):
        return wrong
    return f"{wrong}. A default is SQL: for the text itself write \"'{text:.60}'\""


def _names_column(names: str) -> str:
    return f"names {names:.60}, and a default can name no column"


def _tokens(reading: re.Pattern[str], expression: str) -> Iterator[tuple[str, bool]]:
    return ((token[0], token["sign"] is not None) for token in reading.finditer(expression))


def _wrong(tokens: list[tuple[str, bool]]) -> str | None:
    opened: list[str] = []
    for text, is_sign in tokens:
        if not is_sign:
            continue
        if text in _QUOTES:
            return f"has a {text} that is not closed"
        if text in _NO_SQL:
            return f"has a {text} outside quotes, which no expression has"
        if text in _CLOSING.values():
            opened.append(text)
        elif text in _CLOSING and (not opened or opened.pop() != _CLOSING[text]):
            return f"has a {text} without its {_CLOSING[text]}"
    if opened:
        return f"has a {opened[-1]} that is not closed"
    (first, first_is_sign), (last, last_is_sign) = tokens[0], tokens[-1]
    if first_is_sign and first in _BETWEEN:
        return f"begins with {first}, and nothing before it"
    if last_is_sign and last in _BETWEEN | _BEFORE_ONE:
        return f"ends with {last}, and nothing after it"
    return None
