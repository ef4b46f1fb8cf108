"""Renders ``docs/reference/spec.md`` and the JSON Schema of spec files from their keys: part of ``make docs``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from airflow_delta_provider.domain.spec import problem
from airflow_delta_provider.domain.spec.problem import Key, json_schema

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "spec.md"
SCHEMA = Path(problem.__file__).with_name("spec.schema.json")
_INTRODUCTION = """\
# Spec files

<!-- Written by `make docs` from airflow_delta_provider/domain/spec/problem.py: change it there. -->

These keys [declare tables](../guides/declare-tables.md). Anything that a file leaves out stays as it is. Python
values and JSON files have the same keys. Editors check them by
[`spec.schema.json`](../../airflow_delta_provider/domain/spec/spec.schema.json), which is part of the package.\
"""
_SECTIONS: Mapping[str, Mapping[str, Key]] = {
    "Table": problem.TABLE_KEYS,
    "Column": problem.COLUMN_KEYS,
    "View": problem.VIEW_KEYS,
    "File of several tables": problem.FILE_KEYS,
}
_AFTER = {
    "Column": "Fields of structs have the same keys, without `default` and `generated`.",
    "File of several tables": "`defaults` accepts all keys of a table except `table` and `table_id`.",
}


def render() -> str:
    """Return the page."""
    blocks = [_INTRODUCTION]
    for title, listed in _SECTIONS.items():
        rows = [_row(name, key) for name, key in listed.items()]
        blocks += [f"## {title}", "\n".join(["| key | meaning | example |", "|---|---|---|", *rows])]
        blocks += [_AFTER[title]] if title in _AFTER else []
    return "\n\n".join(blocks) + "\n"


def render_schema() -> str:
    """Return the JSON Schema, as text."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _row(name: str, key: Key) -> str:
    example = f"`{key.example}`" if key.example else ""
    return f"| `{name}` | {key.about} | {example} |"
