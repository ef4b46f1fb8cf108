"""Writes ``report.schema.json`` from the dataclasses of the report: ``make docs``.

Types come from the annotations of the fields, descriptions from the docstrings or the metadata of the fields, other
keywords from the metadata.
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

from airflow_delta_provider.domain.delta.history_events import HistoryEventKind
from airflow_delta_provider.domain.report import report
from airflow_delta_provider.domain.report.answers import Detail, Evidence, Part, PlanAnswer, UsageAnswer
from airflow_delta_provider.domain.report.report import SCHEMA_VERSION, Finding, JobReport, TableReport, Verdict, Waiver
from airflow_delta_provider.domain.request.kinds import KINDS

SCHEMA = Path(report.__file__).with_name("report.schema.json")
_PARAMETER = re.compile(r"^:param (\w+): (.*(?:\n    .*)*)", re.MULTILINE)
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}
#: Types that have a definition of their own.
_DEFINED = {Verdict: "verdict", TableReport: "table", Finding: "finding"}
_FEATURE_NAMES = {"type": "array", "items": {"type": "string", "minLength": 1}, "uniqueItems": True}
_COUNT, _TEXT = {"type": "integer", "minimum": 0}, {"type": ["string", "null"]}
#: A finding that does not count, or a warning.
_ASIDE = [
    {"properties": {"severity": {"const": "WARNING"}}},
    {"required": ["healed_version"]},
    {"required": ["waiver"]},
    {"required": ["status"], "properties": {"status": {"const": "RESOLVED"}}},
]
_FINDINGS_OF_VERDICT = {
    "description": "What still stands of a table that passed is warnings; what was refused or failed says why.",
    "if": {"properties": {"verdict": {"const": "PASS"}}},
    "then": {"properties": {"findings": {"items": {"anyOf": _ASIDE}}}},
    "else": {"properties": {"findings": {"minItems": 1}}},
}
_EVENT = {
    "type": "object",
    "required": ["version", "kind", "text"],
    "additionalProperties": True,
    "properties": {
        "version": _COUNT,
        "kind": {"enum": [kind.value for kind in HistoryEventKind]},
        "text": {
            "description": "In words, at most 240 characters.",
            "type": "string",
            "minLength": 1,
            "maxLength": 240,
        },
        "operation": {"type": "string"},
        "writer": {"type": "string"},
        "timestamp": {"description": "Of the commit.", "type": "string"},
    },
}
#: Values that are in the log like this, or that only one field has.
_PLAIN: dict[str, Any] = {
    "engine": {
        "type": "object",
        "required": ["spark", "delta"],
        "additionalProperties": False,
        "properties": {"spark": _TEXT, "delta": _TEXT},
    },
    "time": {
        "description": "ISO 8601, UTC, milliseconds.",
        "type": "string",
        "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}\+00:00$",
    },
    "version": {"type": ["integer", "null"], "minimum": 0},
    "protocol": {
        "description": "A protocol action, as in the log; lists sorted, absent if the action has none.",
        "type": ["object", "null"],
        "required": ["minReaderVersion", "minWriterVersion"],
        "additionalProperties": False,
        "properties": {
            "minReaderVersion": {"type": "integer", "minimum": 1},
            "minWriterVersion": {"type": "integer", "minimum": 1},
            "readerFeatures": _FEATURE_NAMES,
            "writerFeatures": _FEATURE_NAMES,
        },
    },
    "history": {
        "description": "Of audits, and of jobs that changed the table: what it is at that version, and how its "
        "protocol and columns became so; null if the table has no protocol or metadata.",
        "type": ["object", "null"],
        "required": ["protocol", "features", "events", "omitted"],
        "additionalProperties": True,
        "properties": {
            "protocol": {"$ref": "#/$defs/protocol"},
            "features": {
                "description": "State by name, of those that the protocol lists or implies.",
                "type": "object",
                "additionalProperties": {"enum": ["supported", "suspended", "enabled"]},
            },
            "columns": {
                "description": "SQL types of the first 1,000 top-level columns by name, in order; null if the schema "
                "is damaged. Missing in reports of earlier versions.",
                "type": ["object", "null"],
                "additionalProperties": {"type": "string"},
            },
            "events": {
                "description": "What commits did to protocol and columns, oldest first: at most the newest 200.",
                "type": "array",
                "maxItems": 200,
                "items": _EVENT,
            },
            "omitted": {"description": "Number of older events.", **_COUNT},
        },
    },
    "struct": {
        "type": ["object", "null"],
        "required": ["type", "fields"],
        "properties": {
            "type": {"const": "struct"},
            "fields": {"type": "array", "items": {"type": "object", "required": ["name", "type"]}},
        },
    },
    "spec": {
        "description": "What declares the table as it is; null or absent for other kinds. The keys of a spec file.",
        "type": ["object", "null"],
    },
}
_PARTS: dict[str, type[Part]] = {"plan": PlanAnswer, "usage": UsageAnswer, "evidence": Evidence, "detail": Detail}


def render() -> str:
    """Return the schema, as text."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Report of a job of airflow-delta-provider",
        "description": "What a job found and did, one entry per table. The contract with everything outside; "
        "schema_version changes when it breaks.",
        **_object(JobReport),
        "$defs": {
            "verdict": {"description": "From best to worst.", "enum": [verdict.value for verdict in Verdict]},
            "table": _object(TableReport) | {"allOf": [_FINDINGS_OF_VERDICT]},
            "finding": _object(Finding),
            **_PLAIN,
            **{name: _part(cls) for name, cls in _PARTS.items()},
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


def _part(cls: type[Part]) -> dict[str, Any]:
    """Return the schema of a part of a report, which may gain keys."""
    hints = get_type_hints(cls)
    schema: dict[str, Any] = {"description": cls.about} if cls.about else {}
    schema["type"] = ["object", "null"] if cls.nullable else "object"
    if required := [known.name for known in fields(cls) if _is_given(known)]:
        schema["required"] = required
    properties = {known.name: _key(known, hints[known.name]) for known in fields(cls)}
    return schema | {"properties": properties}


def _key(field: Field[Any], hint: Any) -> dict[str, Any]:
    known = dict(field.metadata["schema"])
    if known.keys() & {"$ref", "oneOf", "enum"}:
        return known
    schema = _type(hint, nullable=True)
    count = {"minimum": 0} if "integer" in schema.get("type", ()) else {}
    return {keyword: value for keyword, value in (schema | count | known).items() if value is not None}


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
        named = isinstance(schema.get("type"), str)
        return schema | {"type": [schema["type"], "null"]} if nullable and named else schema
    if hint in _DEFINED:
        return {"$ref": f"#/$defs/{_DEFINED[hint]}"}
    if isinstance(hint, type) and issubclass(hint, Part):
        return _part(hint)
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
