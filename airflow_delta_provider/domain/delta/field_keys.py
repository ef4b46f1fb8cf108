"""Keys of a column's metadata that users set."""

from __future__ import annotations

COMMENT = "comment"
CURRENT_DEFAULT = "CURRENT_DEFAULT"
#: Key under which Spark records that a string is ``char(n)`` or ``varchar(n)``.
CHAR_OR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
