"""The first version of a table with usage tracking.

RFC Column Mapping Usage Tracking; PROTOCOL.md, Change Metadata. The table is mapped by name from the beginning, so
columns can be renamed and dropped without a rewrite. No column was renamed or dropped yet, so each keeps its own name
in data files if that name is valid there.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.changes.alter_columns.altered_schema import Mapper, Naming, added, taken_paths
from airflow_delta_provider.domain.changes.commit.edit import Edit, Stamp, commit_info, lines_of
from airflow_delta_provider.domain.changes.commit.rule_check import check_first_commit
from airflow_delta_provider.domain.changes.step import NewColumn
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.protocol.missing_features import used_features
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.data_type import UnknownTypeError
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, DROPPED_OR_RENAMED, MAX_COLUMN_ID
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.writer import ENGINES
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.change_options import CreateTableOptions

#: Protocol that Delta Spark gives every new table.
_USUAL = Protocol(1, 2)


@dataclass(frozen=True)
class NewTable:
    metadata: dict[str, Any]
    protocol: Protocol

    @property
    def state(self) -> TableState:
        """The table's state at version 0."""
        return TableState(0, self.protocol, Metadata.from_json(self.metadata), {}, {})

    def lines(self, stamp: Stamp) -> list[str]:
        """Return the lines of the table's first commit."""
        edit = Edit(
            "CREATE TABLE",
            {
                "isManaged": "false",
                "partitionBy": self.metadata["partitionColumns"],
                "properties": self.metadata["configuration"],
            },
        )
        actions: list[Action] = [
            {"commitInfo": commit_info(edit, stamp, None)},
            {"protocol": self.protocol.to_json()},
            {"metaData": {**self.metadata, "createdTime": stamp.now}},
        ]
        return lines_of(actions)


def new_table(options: CreateTableOptions) -> tuple[NewTable | None, tuple[Finding, ...]]:
    """Return the requested table, or the reasons why it cannot exist."""
    schema: dict[str, Any] = {"type": "struct", "fields": []}
    mapper = Mapper(Naming(unique=False, taken=taken_paths((), ())), 0)
    refusals = list(_same_names(options))
    for name, text in options.columns.items():
        try:
            schema = added(schema, NewColumn((name,), text), mapper)
        except UnknownTypeError as error:
            refusals.append(requests.UNSUPPORTED_COLUMN.found("{column}: {error}", column=name, error=Prose(error)))
    if refusals:
        return None, tuple(refusals)
    metadata = {
        "id": str(uuid.uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema, ensure_ascii=False, separators=(",", ":")),
        "partitionColumns": list(options.partition_by),
        "configuration": {
            COLUMN_MAPPING_MODE: "name",
            MAX_COLUMN_ID: str(mapper.max_column_id),
            DROPPED_OR_RENAMED: "false",
        },
    }
    state = TableState(0, _USUAL, Metadata.from_json(metadata))
    table = NewTable(metadata, _USUAL.supporting([USAGE_TRACKING.name, *used_features(state)]))
    broken = check_first_commit(table.lines(Stamp(0, "")))
    return (None, broken) if broken else (table, ())


def check_lockout(table: str, options: CreateTableOptions) -> Finding | None:
    """Return a refusal unless the user acknowledged that no engine can write to the table."""
    if options.acknowledge_writer_lockout:
        return None
    return requests.WRITER_LOCKOUT.found(
        "No engine could write to {table}: no known version of {engines} implements {feature}.",
        table=table,
        engines=list(ENGINES),
        feature=USAGE_TRACKING,
    )


def is_same(options: CreateTableOptions, wanted: TableState, there: TableState) -> bool:
    """Return True if a table is the requested one, so a second run has nothing to do."""
    return (
        there.metadata.schema == wanted.metadata.schema
        and there.metadata.partition_columns == options.partition_by
        and there.protocol.supports(USAGE_TRACKING)
    )


def _same_names(options: CreateTableOptions) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for name in options.columns:
        if name.lower() in seen:
            yield requests.COLUMN_EXISTS.found(
                "{other!r} and {column!r} are the same name to engines, which ignore case.",
                remedy="Name each column once.",
                column=name,
                other=seen[name.lower()],
            )
        seen.setdefault(name.lower(), name)
