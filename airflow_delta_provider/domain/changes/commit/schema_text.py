"""A schema string that is read and written so that everything unchanged keeps its spelling.

This matters for numbers with a point or an exponent: Python and Java write them differently.
"""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.formats.json_values import parse_json


@dataclass(frozen=True)
class SchemaText:
    """A schema as JSON, to be changed in place and written again.

    :param schema: the struct, as it is in the log
    """

    schema: dict[str, Any]
    _mark: str

    @classmethod
    def read(cls, text: str) -> SchemaText:
        """Read a schema string.

        :raises BrokenLogError: if it is not a struct, or an object in it has a duplicate key
        """
        mark = uuid.uuid4().hex
        try:
            parse_json(text, unique=True)
            schema = json.loads(text, parse_float=lambda number: f"{mark}{number}")
        except ValueError as error:
            raise BrokenLogError(f"the schema in the metaData action is damaged: {error}") from error
        if not isinstance(schema, dict) or schema.get("type") != "struct":
            raise BrokenLogError("the schema in the metaData action is not a struct")
        return cls(schema, mark)

    def write(self) -> str:
        """Return the schema string."""
        text = json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))
        return re.sub(f'"{self._mark}([^"]*)"', r"\1", text)
