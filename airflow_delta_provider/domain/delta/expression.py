"""Which columns an SQL expression of a table's metadata refers to.

CHECK constraints and generated columns hold expressions as text. A tokenizer is enough to tell the
names in them, and unlike a parser it reads the dialect of any engine. Where in doubt it says yes:
the engine decides in the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_delta_provider.domain.delta.column import folded

_TOKEN = re.compile(
    r"""
    '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.)*"        # string literals
    | \d[\w.]*                                       # numbers, with their suffixes: 10L
    | (?P<path>(?:`(?:[^`]|``)*`|[^\W\d]\w*)(?:\s*\.\s*(?:`(?:[^`]|``)*`|[^\W\d]\w*))*) (?P<call>\s*\()?
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_PART = re.compile(r"`((?:[^`]|``)*)`|([^\W\d]\w*)")


def referenced_paths(expression: str) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names in ``expression``, case-folded; names of functions are left out."""
    for token in _TOKEN.finditer(expression):
        if token["path"] and not token["call"]:
            yield folded(quoted.replace("``", "`") if quoted else bare for quoted, bare in _PART.findall(token["path"]))


def refers_to(expression: str, parts: tuple[str, ...]) -> bool:
    """Whether ``expression`` names the column, a parent of it or a field below it."""
    wanted = folded(parts)
    return any(path[: len(wanted)] == wanted[: len(path)] for path in referenced_paths(expression))
