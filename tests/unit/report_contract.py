"""The report's JSON Schema, as it ships, and a check against it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator

SCHEMA: dict[str, Any] = json.loads(
    files("airflow_delta_provider.domain.report").joinpath("report.schema.json").read_text(encoding="utf-8")
)
Draft202012Validator.check_schema(SCHEMA)
_VALIDATOR = Draft202012Validator(SCHEMA)


def violations(wire: Any) -> list[str]:
    """Return where ``wire`` breaks the schema."""
    return [f"{error.json_path}: {error.message}" for error in _VALIDATOR.iter_errors(wire)]
