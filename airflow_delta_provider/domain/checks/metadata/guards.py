"""Guards of rows that a data write removes: MD37.

A guard is NOT NULL, a CHECK constraint, an invariant, a generation expression, a default or an identity. Only
statements that change a table's definition may remove one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from airflow_delta_provider.domain.checks.check import on_transition
from airflow_delta_provider.domain.checks.metadata import FAMILY
from airflow_delta_provider.domain.checks.metadata.changes import OF_EARLIER, fields_by_id
from airflow_delta_provider.domain.checks.rule import Details, Healing, Scope
from airflow_delta_provider.domain.delta.commit import SIGNATURES, writer_of
from airflow_delta_provider.domain.delta.data_type import Column, lowered
from airflow_delta_provider.domain.delta.features.columns import (
    ALLOW_COLUMN_DEFAULTS,
    GENERATED_COLUMNS,
    IDENTITY_COLUMNS,
    INVARIANTS,
)
from airflow_delta_provider.domain.delta.metadata import ID, Metadata
from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding

#: Operations that write or arrange rows. They must not change the table's definition, except to add columns.
_DATA_WRITES = frozenset(
    {"WRITE", "STREAMING UPDATE", "MERGE", "UPDATE", "DELETE", "TRUNCATE", "OPTIMIZE", "REORG", "COPY INTO"}
)
#: Engines whose writes change existing columns only if the user asked for another schema (``overwriteSchema``).
_ASKED = ("Delta Spark ", "Databricks Runtime ")
_NOT_NULL, _CHECK = "NOT NULL", "CHECK"
_KEYS = {
    GENERATED_COLUMNS.field_key: "the generation expression",
    ALLOW_COLUMN_DEFAULTS.field_key: "the default",
    INVARIANTS.field_key: "the invariant",
    IDENTITY_COLUMNS.field_key: "the identity",
}
#: Guards that no statement can set on an existing column.
_FOR_GOOD = (GENERATED_COLUMNS.field_key, INVARIANTS.field_key, IDENTITY_COLUMNS.field_key)
#: Maximum number of characters shown of an expression.
_MOST_TEXT = 100


class _Guard(NamedTuple):
    """A guard of rows.

    :param kind: key of the field's metadata, or one of the two names above
    :param of: name of a constraint; otherwise the column's id or, without one, its path
    :param text: description for people
    """

    kind: str
    of: Any
    text: str
    column: Column | None = None

    @property
    def key(self) -> tuple[str, Any]:
        return self.kind, self.of


def _lost_keys(_: Finding, transition: Transition) -> Details:
    return {"lost": [[guard.kind, guard.of] for guard in _lost(transition)]}


def _still_lost(later: Transition, _: Finding, details: Details) -> bool:
    """Return True until all guards exist again, their columns are removed, or the table is replaced."""
    operation = (later.commit.operation or "").upper()
    if not later.commit.metadata:
        return True
    if later.replaces_all and operation not in _DATA_WRITES:
        return False
    metadata = later.after.metadata
    fields = _columns(metadata).values()
    columns = {key: str(column) for column in fields for key in (_id(column), lowered(column.parts))}
    now = {(guard.kind, guard.of if guard.column is None else str(guard.column)) for guard in _guards(metadata)}
    for kind, of in details["lost"]:
        place = of if kind == _CHECK else columns.get(tuple(of) if isinstance(of, list) else of)
        if place is not None and (kind, place) not in now:
            return True
    return False


GUARD_LOST = FAMILY.of(Scope.PAIR, needs=OF_EARLIER).warning(
    37,
    "constraint, default, generation expression or identity removed by a data write",
    name="constraint-or-default-removed-by-write",
    effect="Rows that the table should refuse can be written from now on, or columns that should have a value are "
    "NULL.",
    remedy="Check the rows written since, and declare the guards again (ALTER TABLE). Update the engine that wrote the "
    "commit.",
    source="PROTOCOL.md, Struct Field, CHECK Constraints, Column Invariants, Generated Columns, Default Columns and "
    "Identity Columns",
    threads=("delta-io/delta-rs#3744", "delta-io/delta-rs#4186"),
    healing=Healing(_still_lost, _lost_keys, needs_details=True),
)


@on_transition(
    GUARD_LOST,
    reads=("metaData", "files", "past", "commitInfo.operation", "commitInfo.operationParameters", *SIGNATURES),
)
def _guards_lost(transition: Transition) -> Iterator[Finding]:
    commit = transition.commit
    if not commit.metadata or commit.operation is None or commit.operation.upper() not in _DATA_WRITES:
        return
    if transition.before.metadata == transition.after.metadata or _is_restored(transition):
        return
    lost = _lost(transition)
    if lost:
        column = next((guard.column for guard in lost if guard.column is not None), None)
        for_good = any(guard.kind in _FOR_GOOD for guard in lost)
        yield GUARD_LOST.found(
            "The commit calls itself {operation}, but removes {lost}.",
            remedy="RESTORE the table to the previous version and write the rows again, with an engine that keeps the "
            "column's definition: no statement gives it back."
            if for_good
            else None,
            column=column,
            operation=commit.operation,
            lost=[guard.text for guard in lost],
        )


def _lost(transition: Transition) -> list[_Guard]:
    """Return the guards that a commit removes, except those whose columns it also removes."""
    before, after = transition.before.metadata, transition.after.metadata
    columns, now = _columns(after), {guard.key for guard in _guards(after)}
    guards = [guard for guard in _guards(before) if guard.key not in now]
    if not transition.replaces_all:  # MD24 reports it
        guards = [guard for guard in guards if guard.kind != IDENTITY_COLUMNS.field_key]
    whole = _overwrites_all(transition)
    if whole and (writer_of(transition.commit.info) or "").startswith(_ASKED):
        return []
    left = []
    for guard in guards:
        is_there = columns.get(guard.of)
        # If the whole table is overwritten, a column of another type is another column.
        if guard.column is None or (is_there and (not whole or is_there.data_type == guard.column.data_type)):
            left.append(guard)
    return left


def _overwrites_all(transition: Transition) -> bool:
    """Return True if a commit overwrites the table without a condition, and so may replace the schema."""
    parameters = transition.commit.info.get("operationParameters")
    if not isinstance(parameters, Mapping) or not transition.keeps_no_file:
        return False
    modes = {str(parameters.get(key)).lower() for key in ("mode", "outputMode")}
    return not modes.isdisjoint(("overwrite", "complete")) and parameters.get("predicate") in (None, "", "[]")


def _is_restored(transition: Transition) -> bool:
    return transition.restores and transition.past.had_identity


def _guards(metadata: Metadata) -> Iterator[_Guard]:
    for name, text in metadata.check_constraints.items():
        yield _Guard(_CHECK, name.lower(), f"the CHECK constraint {name} ({_short(text)})")
    for of, column in _columns(metadata).items():
        if not column.field.nullable:
            yield _Guard(_NOT_NULL, of, f"NOT NULL of {column}", column)
        for key, what in _KEYS.items():
            expression = column.field.metadata.get(key)
            if expression is not None:
                yield _Guard(key, of, f"{what} of {column} ({_short(str(expression))})", column)


def _columns(metadata: Metadata) -> dict[Any, Column]:
    return fields_by_id(metadata, mapped=metadata.properties.is_mapped)


def _id(column: Column) -> int | None:
    number = column.field.metadata.get(ID)
    return number if isinstance(number, int) else None


def _short(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"
