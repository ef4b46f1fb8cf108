"""Keywords of the report's JSON Schema.

They are metadata of fields; ``report.schema.json`` is generated from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TIME: Mapping[str, Any] = {"$ref": "#/$defs/time"}
#: A version, or null.
VERSION: Mapping[str, Any] = {"$ref": "#/$defs/version"}
NOT_NEGATIVE: Mapping[str, Any] = {"minimum": 0}
SECONDS: Mapping[str, Any] = {"type": "number", "minimum": 0}
NOT_EMPTY: Mapping[str, Any] = {"minLength": 1}
#: A key that reports of earlier versions do not have.
LATER: Mapping[str, Any] = {"required": False}


def defined(name: str) -> Mapping[str, Any]:
    """Return the keyword that refers to a definition of the schema."""
    return {"$ref": f"#/$defs/{name}"}
