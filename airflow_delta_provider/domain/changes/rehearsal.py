"""Rehearsal of a plan: the steps to try on an empty table, and the row written at the end."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.changes.sql import literal
from airflow_delta_provider.domain.changes.step import Step, each_step
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, DecimalType, MapType, StructType
from airflow_delta_provider.domain.delta.features.columns import GENERATED_COLUMNS
from airflow_delta_provider.domain.delta.field_keys import CURRENT_DEFAULT
from airflow_delta_provider.domain.delta.identity import START
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.sql_type import render_sql_type
from airflow_delta_provider.domain.engine.sql_identifier import quote
from airflow_delta_provider.domain.request.table_name import TableName

#: Note on a plan that was made without an engine to rehearse it.
NOT_REHEARSED = (
    "Not rehearsed: this plan was made without Spark. Before the plan is applied, the engine tries its steps on an "
    "empty table with the same schema."
)
#: Steps for which the engine reads history or data files, which an empty table does not have.
_ABOUT_FILES = (steps.DropFeature, steps.RewriteWithoutMapping)
#: Steps that this provider commits and checks itself, without SQL.
_NOT_BY_ENGINE = (steps.TrackUsage, steps.CreateTable, steps.MapColumns, steps.Alteration, steps.DisableMapping)
#: Steps whose expressions the engine may store, and then fail to evaluate.
_WITH_EXPRESSIONS = (steps.AddConstraint, steps.SetDefaults)
#: Prefixes of properties that publish a table elsewhere or redirect it. A scratch table must not have them.
_OF_OTHERS = ("delta.universalformat.", "delta.redirect", "delta.coordinatedcommits.", "io.unitycatalog.")
#: Metadata keys of columns that the engine fills.
_FILLED = frozenset({GENERATED_COLUMNS.field_key, CURRENT_DEFAULT, START})


def steps_to_rehearse(planned: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps to try on an empty table; empty if a refused plan would leave nothing behind.

    A plan of one commit is refused as a whole, unless its expressions are stored first and evaluated later.
    """
    if sum(step.commits for step in planned) < 2 and not stores_expressions(planned):
        return ()
    return tuple(takewhile(_can_be_tried, planned))


def _can_be_tried(step: Step) -> bool:
    """Return True if an engine can execute a step on a private empty table."""
    if isinstance(step, steps.SetProperties):
        return not any(name.lower().startswith(_OF_OTHERS) for name, _ in step.properties)
    return not isinstance(step, (*_ABOUT_FILES, *_NOT_BY_ENGINE))


def stores_expressions(planned: Iterable[Step]) -> bool:
    """Return True if steps add expressions that writers will evaluate."""
    return any(isinstance(step, _WITH_EXPRESSIONS) for step in each_step(planned))


def empty_copy(protocol: Mapping[str, Any], metadata: Mapping[str, Any], domains: Mapping[str, str]) -> list[Action]:
    """Return the actions of the first commit of an empty table that is otherwise like another one.

    :param protocol: body of the other table's ``protocol`` action
    :param metadata: body of its ``metaData`` action
    :param domains: configuration of its metadata domains, by name
    """
    kept = {
        name: value
        for name, value in (metadata.get("configuration") or {}).items()
        if not name.lower().startswith(_OF_OTHERS)
    }
    now = int(time.time() * 1000)
    info = {
        "inCommitTimestamp": now,
        "timestamp": now,
        "operation": "CREATE TABLE",
        "operationParameters": {},
        "isBlindAppend": True,
        "txnId": str(uuid.uuid4()),
    }
    return [
        {"commitInfo": info},
        {"protocol": dict(protocol)},
        {"metaData": {**metadata, "id": str(uuid.uuid4()), "configuration": kept}},
        *(
            {"domainMetadata": {"domain": name, "configuration": text, "removed": False}}
            for name, text in domains.items()
        ),
    ]


def insert_one_row(table: TableName, metadata: Metadata) -> str | None:
    """Return a statement that inserts one row; None if a required type has no literal here.

    The engine fills columns with defaults and generated columns; the others are NULL if they are nullable.
    """
    names, values = [], []
    for field in metadata.schema.fields:
        if _FILLED & field.metadata.keys():
            continue
        value = "NULL" if field.nullable else _value(field.data_type)
        if value is None:
            return None
        names.append(quote(field.name))
        values.append(value)
    return f"INSERT INTO {table.sql} ({', '.join(names)}) VALUES ({', '.join(values)})" if names else None


def _value(data_type: DataType) -> str | None:
    """Return an SQL literal of a type; None if there is none."""
    if isinstance(data_type, StructType):
        fields = list(_fields(data_type))
        return None if None in fields else f"named_struct({', '.join(map(str, fields))})"
    if isinstance(data_type, ArrayType):
        return f"CAST(array() AS {render_sql_type(data_type)})"
    if isinstance(data_type, MapType):
        return f"CAST(map() AS {render_sql_type(data_type)})"
    kind = "decimal" if isinstance(data_type, DecimalType) else str(data_type)
    plain = _LITERALS.get(kind.partition("(")[0])
    return None if plain is None else f"CAST({plain} AS {render_sql_type(data_type)})"


def _fields(struct: StructType) -> Iterator[str | None]:
    for field in struct.fields:
        value = _value(field.data_type) if not field.nullable else f"CAST(NULL AS {render_sql_type(field.data_type)})"
        yield None if value is None else f"{literal(field.name)}, {value}"


_LITERALS: Mapping[str, str] = {
    **dict.fromkeys(("byte", "short", "integer", "long", "float", "double", "decimal"), "0"),
    **dict.fromkeys(("string", "char", "varchar"), "''"),
    "boolean": "false",
    "binary": "X''",
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "'2000-01-01'"),
}
