"""Expressions in the metadata: MD20 to MD22.

PROTOCOL.md, CHECK Constraints, Column Invariants, Generated Columns and Default Columns. Names are looked up as in
Spark, ignoring case. An expression is undecided if it is not understood and contains a name that no column has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.metadata.family import FAMILY, MOST_TEXT, RESTORE
from airflow_delta_provider.domain.checks.remedy import Restore
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.data_type import VARIANT
from airflow_delta_provider.domain.delta.expression import expression_of_invariant, is_no_condition, unknown_names
from airflow_delta_provider.domain.delta.expression_syntax import wrong_syntax
from airflow_delta_provider.domain.delta.features.columns import ALLOW_COLUMN_DEFAULTS, GENERATED_COLUMNS, INVARIANTS
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity


@dataclass(frozen=True)
class _Expression:
    """An expression in the metadata.

    :param holder: description of the object with the expression, as the subject of a sentence
    :param text: the expression; None if ``wire`` has another form
    :param wire: the value in the log
    :param is_condition: whether its value must be Boolean
    """

    holder: str
    text: str | None
    wire: Any
    column: str | None = None
    is_condition: bool = False


_expression = FAMILY.of(
    Scope.STATE,
    "PROTOCOL.md, CHECK Constraints, Column Invariants, Generated Columns and Default Columns",
    effect="Writers that evaluate the expression fail; the others write rows that it forbids.",
    remedy=Restore(instead="drop the constraint, default or generated column"),
)
COLUMN_OF_EXPRESSION_MISSING = _expression.error(20, "expression names a column that the table lacks")
UNUSABLE_EXPRESSION = _expression.error(21, "expression that writers cannot use")


@on_state(COLUMN_OF_EXPRESSION_MISSING, UNUSABLE_EXPRESSION)
def _expressions(state: TableState) -> Iterator[Finding]:
    columns = state.metadata.readable_columns
    if columns is None:
        return
    for found in _held(state.metadata, columns):
        where: dict[str, Any] = {"column": found.column, "subject": found.holder}
        if found.text is None:
            yield UNUSABLE_EXPRESSION.found(
                "{subject} should hold an expression as text, but is {wire}.",
                wire=f"{found.wire!r:.{MOST_TEXT}}",
                **where,
            )
        elif not found.text.strip():
            yield UNUSABLE_EXPRESSION.found("{subject} is empty.", **where)
        elif (wrong := wrong_syntax(found.text)) is not None:
            yield UNUSABLE_EXPRESSION.found(
                "{subject} is {expression!r}, which {wrong}.",
                expression=found.text[:MOST_TEXT],
                wrong=Prose(wrong),
                **where,
            )
        elif (unknown := unknown_names(found.text, columns)).names:
            yield COLUMN_OF_EXPRESSION_MISSING.found(
                "{subject} is {expression!r}, but the table has no column {missing}."
                if unknown.certain
                else "{subject} is {expression!r}. It may need a column {missing}, which the table does not have.",
                severity=None if unknown.certain else Severity.UNDECIDED,
                expression=found.text[:MOST_TEXT],
                missing=list(unknown.names),
                **where,
            )
        elif found.is_condition and is_no_condition(found.text, columns):
            yield UNUSABLE_EXPRESSION.found(
                "{subject} is {expression!r}, which is not a condition.", expression=found.text[:MOST_TEXT], **where
            )


def _held(metadata: Metadata, columns: tuple[Column, ...]) -> Iterator[_Expression]:
    for name, text in metadata.check_constraints.items():
        yield _Expression(f"The CHECK constraint {name}", text, text, is_condition=True)
    if not any(key in metadata.schema_string for key in _KEYS):
        return
    for column in columns:
        for key, what in _KEYS.items() if column.kinds[-1] == "field" else ():
            wire = column.field.metadata.get(key)
            if wire is not None:
                is_invariant = key == INVARIANTS.field_key
                text = expression_of_invariant(wire) if is_invariant else wire
                yield _Expression(
                    what.format(column), text if isinstance(text, str) else None, wire, str(column), is_invariant
                )


_KEYS = {
    INVARIANTS.field_key: "The invariant of {}",
    GENERATED_COLUMNS.field_key: "The generation expression of {}",
    ALLOW_COLUMN_DEFAULTS.field_key: "The default of {}",
}

VARIANT_BY_EXPRESSION = FAMILY.of(Scope.STATE).error(
    22,
    "generated variant, or variant with a default",
    effect="Engines refuse to write the table.",
    remedy=RESTORE,
    source="PROTOCOL.md, Compatibility with other Delta Features and Default Columns",
)


@on_state(VARIANT_BY_EXPRESSION)
def _variants(state: TableState) -> Iterator[Finding]:
    for column in state.metadata.readable_columns or ():
        if column.data_type != VARIANT or column.kinds[-1] != "field":
            continue
        generated = column.field.metadata.get(GENERATED_COLUMNS.field_key)
        default = column.field.metadata.get(ALLOW_COLUMN_DEFAULTS.field_key)
        if generated is not None:
            yield VARIANT_BY_EXPRESSION.found(
                "{column} is a generated column, which a variant cannot be.", column=column, expression=str(generated)
            )
        if isinstance(default, str) and "null" not in default.lower():
            yield VARIANT_BY_EXPRESSION.found(
                "{column} is a variant, which defaults to null only, but its default is {default!r}.",
                column=column,
                default=default[:MOST_TEXT],
            )
