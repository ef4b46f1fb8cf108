"""Tables with column mapping in one call: schemas as JSON, mapped as Delta Spark does, with one place to break."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.data_type import StructType
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding
from tests.unit.states import LEGACY, type_to_json

Json = dict[str, Any]

ID = "delta.columnMapping.id"
NAME = "delta.columnMapping.physicalName"
NESTED = "delta.columnMapping.nested.ids"
MODE = "delta.columnMapping.mode"
MAX = "delta.columnMapping.maxColumnId"
MAPPING = LEGACY.supporting(["columnMapping"])


def as_json(schema: StructType) -> Json:
    written: Json = type_to_json(schema)
    return written


def fields_of(wire: Any) -> list[Json]:
    """Every struct field of a type in JSON, at any depth."""
    if isinstance(wire, str):
        return []
    found = []
    for field in wire.get("fields", ()):
        found += [field, *fields_of(field["type"])]
    for below in ("elementType", "keyType", "valueType"):
        if below in wire:
            found += fields_of(wire[below])
    return found


def at(schema: Json, path: str) -> Json:
    """The struct field at a path like ``s.list.element.z``."""
    here: Any = schema
    field: Json = {}
    for part in path.split("."):
        if here["type"] == "struct":
            field = next(f for f in here["fields"] if f["name"] == part)
            here = field["type"]
        else:
            here = here[{"element": "elementType", "key": "keyType", "value": "valueType"}[part]]
    return field


def mapped(schema: StructType, physical: Callable[[str, int], str] = lambda name, number: f"col-{number}") -> Json:
    """The schema with ids from 1 and physical names."""
    wire = as_json(schema)
    for number, field in enumerate(fields_of(wire), start=1):
        field["metadata"] |= {ID: number, NAME: physical(field["name"], number)}
    return wire


def edited(schema: Json, path: str, changes: Mapping[str, Any]) -> Json:
    """The schema with other metadata at ``path``; None takes a key away."""
    copied = copy.deepcopy(schema)
    metadata = at(copied, path)["metadata"]
    for key, value in changes.items():
        if value is None:
            metadata.pop(key, None)
        else:
            metadata[key] = value
    return copied


def added(schema: Json, field: Json) -> Json:
    """The schema with one more column."""
    return {**schema, "fields": [*schema["fields"], field]}


def without(schema: Json, name: str) -> Json:
    """The schema without a column."""
    return {**schema, "fields": [field for field in schema["fields"] if field["name"] != name]}


def configured(schema: Json, mode: str = "name") -> dict[str, str]:
    ids = [field["metadata"][ID] for field in fields_of(schema) if isinstance(field["metadata"].get(ID), int)]
    return {MODE: mode, MAX: str(max(ids, default=0))}


def table(
    schema: Json,
    configuration: Mapping[str, str] | None = None,
    *,
    protocol: Protocol = MAPPING,
    domains: Mapping[str, str] | None = None,
    version: int = 3,
    partition_columns: tuple[str, ...] = (),
) -> TableState:
    settings = configured(schema) if configuration is None else dict(configuration)
    return TableState(
        version, protocol, Metadata("id", json.dumps(schema), partition_columns, settings), dict(domains or {})
    )


def step(before: TableState, after: TableState, **known: Any) -> Transition:
    return Transition(before, Commit(after.version, {"engineInfo": "writer", "operation": "WRITE"}), after, {}, **known)


def said(findings: list[Finding]) -> list[tuple[str, str | None]]:
    return [(finding.code, finding.column) for finding in findings]
