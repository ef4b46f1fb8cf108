"""Specs as the text of a file, for people to continue with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.formats.yaml_output import comment, to_yaml


@dataclass(frozen=True)
class Written:
    """A spec to be written.

    :param spec: plain values
    :param version: of the table
    :param table_id: of the table; empty where it has none
    :param left_out: what the spec does not say of the table, in sentences
    """

    spec: Mapping[str, Any]
    version: int | None = None
    table_id: str = ""
    left_out: Sequence[str] = ()


def file_text(tables: Sequence[Written], *, as_json: bool = False, head: bool = True) -> str:
    """Return a file of one or of several tables.

    :param as_json: JSON, which has no comments
    :param head: whether YAML begins with comments
    """
    whole: dict[str, Any] = {"tables": [dict(each.spec) for each in tables]}
    if len(tables) == 1:
        whole = dict(tables[0].spec)
    if as_json:
        return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    return (comment("\n".join(_head(tables))) if head else "") + to_yaml(whole)


def _head(tables: Sequence[Written]) -> Iterable[str]:
    yield "What this file does not name is left alone. Drop columns by listing them under drop, rename them by"
    yield "renamed_from: what is only taken out of this file stays in the table."
    for each in tables:
        yield ""
        yield f"{each.spec.get('table', 'The table')}: as of version {each.version}"
        if each.table_id:
            yield f"  table_id: {each.table_id} would refuse another table in its place."
        yield from (f"  {sentence}" for sentence in each.left_out)
