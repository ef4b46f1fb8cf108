"""Writes ``report.schema.json`` from the dataclasses of the report: ``make docs``.

Types come from the annotations of the fields, descriptions from the docstrings, other keywords from the metadata of the
fields. What a report carries as plain JSON (protocols, plans, details …) is described in ``report_parts.json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from enum import Enum
from inspect import getdoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from airflow_delta_provider.domain.report import report
from airflow_delta_provider.domain.report.report import SCHEMA_VERSION, Finding, JobReport, TableReport, Verdict, Waiver
from airflow_delta_provider.domain.request.kinds import KINDS

SCHEMA = Path(report.__file__).with_name("report.schema.json")
_PARTS = Path(__file__).with_name("report_parts.json")
_PARAMETER = re.compile(r"^:param (\w+): (.*(?:\n    .*)*)", re.MULTILINE)
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}
#: Types that have a definition of their own.
_DEFINED = {Verdict: "verdict", TableReport: "table", Finding: "finding"}


def render() -> str:
    """Return the schema, as text."""
    parts = json.loads(_PARTS.read_text(encoding="utf-8"))
    own = {"table": TableReport, "finding": Finding}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Report of a job of airflow-delta-provider",
        "description": "What a job found and did, one entry per table. The contract with everything outside; "
        "schema_version changes when it breaks.",
        **_object(JobReport),
        "$defs": {
            "verdict": {"description": "From best to worst.", "enum": [verdict.value for verdict in Verdict]},
            **{name: _object(cls) | parts.pop(name, {}) for name, cls in own.items()},
            **parts,
        },
    }
    computed = {
        "schema_version": {"const": SCHEMA_VERSION},
        "verdict": {"description": "The worst verdict of the tables.", "$ref": "#/$defs/verdict"},
    }
    schema["properties"] = computed | schema["properties"]
    schema["properties"]["kind"]["enum"] = list(KINDS)
    schema["required"] = [*computed, *schema["required"]]
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _object(cls: type[Any]) -> dict[str, Any]:
    """Return the schema of a dataclass; keys that are not in the wire form where they are None take no null."""
    hints, texts = get_type_hints(cls), _descriptions(cls)
    nullable = cls is not Finding  # which leaves out what is None
    properties = {f.name: texts.get(f.name, {}) | _property(f, hints[f.name], nullable=nullable) for f in fields(cls)}
    required = [f.name for f in fields(cls) if f.metadata.get("required", nullable or _is_given(f))]
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


def _is_given(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _descriptions(cls: type[Any]) -> dict[str, dict[str, Any]]:
    found = {name: re.sub(r"\s+", " ", text).strip() for name, text in _PARAMETER.findall(getdoc(cls) or "")}
    return {name: {"description": f"{text[0].upper()}{text[1:]}.".replace("``", "")} for name, text in found.items()}


def _property(field: Field[Any], hint: Any, *, nullable: bool) -> dict[str, Any]:
    keywords = {name: value for name, value in field.metadata.items() if name != "required"}
    if "$ref" in keywords or "oneOf" in keywords:
        return keywords
    return _type(hint, nullable=nullable) | keywords


def _type(hint: Any, *, nullable: bool) -> dict[str, Any]:
    if get_origin(hint) is UnionType:
        (some,) = (choice for choice in get_args(hint) if choice is not NoneType)
        schema = _type(some, nullable=nullable)
        return schema | {"type": [schema["type"], "null"]} if nullable and "type" in schema else schema
    if hint in _DEFINED:
        return {"$ref": f"#/$defs/{_DEFINED[hint]}"}
    if hint is Waiver:
        return _object(Waiver)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _type(get_args(hint)[0], nullable=nullable)}
    if get_origin(hint) is Mapping:
        values = get_args(hint)[1]
        return {"type": "object"} | (
            {} if values is Any else {"additionalProperties": _type(values, nullable=nullable)}
        )
    return {"type": _JSON_TYPES[hint]}
