"""The type-widening matrix, written down once more, by hand, from PROTOCOL.md ("Type Widening").

An oracle for tests: it shares no code with the provider and compares texts, not types.
"""

from __future__ import annotations

import re

_DECIMALS = (
    "decimal(5,2)",
    "decimal(7,2)",
    "decimal(7,4)",
    "decimal(7,5)",
    "decimal(10,0)",
    "decimal(9,0)",
    "decimal(12,2)",
    "decimal(11,2)",
    "decimal(20,0)",
    "decimal(19,0)",
    "decimal(22,2)",
    "decimal(38,0)",
    "decimal(38,18)",
    "decimal(38,38)",
)
ALL_TYPES = (
    *("tinyint", "smallint", "int", "bigint", "float", "double"),
    *("boolean", "string", "binary", "date", "timestamp", "timestamp_ntz"),
    *_DECIMALS,
)

#: Section "Type Widening" of PROTOCOL.md, line for line, but for decimals.
_LISTED = {
    ("tinyint", "smallint"),
    ("tinyint", "int"),
    ("tinyint", "bigint"),
    ("smallint", "int"),
    ("smallint", "bigint"),
    ("int", "bigint"),
    ("float", "double"),
    ("tinyint", "double"),
    ("smallint", "double"),
    ("int", "double"),
    ("date", "timestamp_ntz"),
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def spec_allows(old: str, new: str) -> bool:
    """Whether the specification lists widening ``old`` to ``new``."""
    if (old, new) in _LISTED:
        return True
    to = _DECIMAL.fullmatch(new)
    if to is None:
        return False
    precision, scale = map(int, to.groups())
    # decimal(p,s) -> decimal(p + k1, s + k2), k1 >= k2 >= 0; integers -> decimal(10|20 + k1, k2).
    if old in ("tinyint", "smallint", "int"):
        p, s = 10, 0
    elif old == "bigint":
        p, s = 20, 0
    elif start := _DECIMAL.fullmatch(old):
        p, s = map(int, start.groups())
    else:
        return False
    k1, k2 = precision - p, scale - s
    return k1 >= k2 >= 0 and old != new
