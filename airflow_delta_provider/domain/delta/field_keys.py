"""Keys of a column's metadata that say what somebody declared of it."""

from __future__ import annotations

COMMENT = "comment"
CURRENT_DEFAULT = "CURRENT_DEFAULT"
#: Where Spark keeps that a string is ``char(n)`` or ``varchar(n)``.
CHAR_OR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
