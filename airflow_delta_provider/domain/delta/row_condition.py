"""Conditions that every row of a table must satisfy, as Spark SQL.

PROTOCOL.md, Column Invariants, CHECK Constraints and Generated Columns; columns that are not nullable.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.delta.data_type import DataType, StructField
from airflow_delta_provider.domain.delta.expression import called_names, divides, expression_of_invariant, references
from airflow_delta_provider.domain.delta.features.columns import CHECK_CONSTRAINTS, GENERATED_COLUMNS, INVARIANTS
from airflow_delta_provider.domain.delta.field_keys import CHAR_OR_VARCHAR
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.sql_functions import FunctionKind, functions_of

#: Functions and names whose value changes over time, between calls, or with the session or file.
_CHANGING = functions_of(FunctionKind.CLOCK, FunctionKind.CHANGING, FunctionKind.SESSION, FunctionKind.FILE)
#: Words that show that an expression may depend on the session's time zone.
_TIMES = re.compile(r"timestamp|unix|zone|utc|epoch", re.IGNORECASE)
_ON_ZONE = "it may depend on the time zone of the session that wrote the rows"
#: Keys in the metadata of columns whose values do not compare like plain strings.
_COMPARED_OTHERWISE = (CHAR_OR_VARCHAR, "__COLLATIONS")


class ConditionKind(Enum):
    """The origin of a condition."""

    CHECK = "check"
    INVARIANT = "invariant"
    GENERATED = "generated"
    NOT_NULL = "not null"


@dataclass(frozen=True)
class RowCondition:
    """A condition on each row.

    :param holder: constraint or column that has the condition, as the subject of a sentence
    :param expression: expression as in the metadata
    :param holds: SQL that is true for a row that satisfies the condition
    :param column: column that the condition belongs to; None for a CHECK constraint
    :param columns: top-level columns that the condition needs
    :param depends: reason why only the writing engine can decide whether a row satisfies it; None if all engines can
    :param surely_broken: SQL that is true for a row that breaks it regardless of ``depends``
    """

    kind: ConditionKind
    holder: str
    expression: str
    holds: str
    column: str | None
    columns: frozenset[str]
    depends: str | None = None
    surely_broken: str | None = None


def row_conditions(metadata: Metadata, protocol: Protocol | None = None) -> Iterator[RowCondition]:
    """Yield the conditions that rows must satisfy. Expressions that are not strings are skipped.

    :param protocol: protocol of the table; conditions whose feature it does not support are skipped
    """
    if metadata.readable_columns is None:
        return
    fields = metadata.schema.fields
    for name, text in metadata.check_constraints.items():
        if (protocol is None or protocol.supports(CHECK_CONSTRAINTS)) and text.strip():
            yield _condition(ConditionKind.CHECK, f"the CHECK constraint {name}", text, None, fields)
    for column in fields:
        text = expression_of_invariant(column.metadata.get(INVARIANTS.field_key))
        if isinstance(text, str) and text.strip() and (protocol is None or protocol.supports(INVARIANTS)):
            yield _condition(ConditionKind.INVARIANT, f"the invariant of {column.name}", text, column, fields)
        generated = column.metadata.get(GENERATED_COLUMNS.field_key)
        supported = protocol is None or protocol.supports(GENERATED_COLUMNS)
        if supported and isinstance(generated, str) and generated.strip():
            holder = f"the generation expression of {column.name}"
            yield _condition(ConditionKind.GENERATED, holder, generated, column, fields)
        if not column.nullable:
            holds = f"{_quoted(column.name)} IS NOT NULL"
            yield RowCondition(
                ConditionKind.NOT_NULL, f"NOT NULL of {column.name}", "", holds, column.name, frozenset({column.name})
            )


def _condition(
    kind: ConditionKind, holder: str, text: str, column: StructField | None, fields: Collection[StructField]
) -> RowCondition:
    named = {part for reference in references(text) for part in lowered(reference.parts)}
    used = [field for field in fields if lowered((field.name,))[0] in named]
    # The newline ends a trailing comment.
    holds, depends, surely_broken = f"({text}\n)", _depends(text, named, used), None
    if kind is ConditionKind.GENERATED and column is not None:
        value = _quoted(column.name)
        if depends == _ON_ZONE and str(column.data_type) == "date":  # in another zone it may be a day earlier or later
            surely_broken = f"coalesce(abs(datediff({value}, {holds})) > 1, ({value} IS NULL) <> ({holds} IS NULL))"
        holds = f"{value} <=> {holds}"
        used.append(column)
    return RowCondition(
        kind,
        holder,
        text,
        holds,
        None if column is None else column.name,
        frozenset(field.name for field in used),
        depends,
        surely_broken,
    )


def _depends(text: str, named: Collection[str], used: Collection[StructField]) -> str | None:
    """Return the reason why an expression may have another value in another engine or later, or None."""
    own = {name for field in used for name in lowered((field.name,))}
    if changing := sorted(((set(named) - own) | set(called_names(text))) & _CHANGING):
        return f"it depends on {changing[0]}"
    for field in used:
        if any(field.metadata.get(key) for key in _COMPARED_OTHERWISE):
            return f"{field.name} compares in another way than texts"
    if any(_has_times(field.data_type) for field in used) or _TIMES.search(text):
        return _ON_ZONE
    if divides(text):
        return "engines differ in how they divide integers"
    return None


def _has_times(data_type: DataType) -> bool:
    return re.search(r"\btimestamp\b", str(data_type)) is not None


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
