"""The metaData action of one version, except its schema: MD01, MD07, MD09, MD13, MD17 and MD26."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from airflow_delta_provider.domain.checks.check import on_demand, on_state
from airflow_delta_provider.domain.checks.metadata import FAMILY, MOST_TEXT, RESTORE
from airflow_delta_provider.domain.checks.metadata.schema import UNKNOWN_TYPE_OR_VALUE
from airflow_delta_provider.domain.checks.rule import Prose, RepairMethod, Restore, Scope
from airflow_delta_provider.domain.delta.data_type import VARIANT, Column
from airflow_delta_provider.domain.delta.expression import (
    expression_of_invariant,
    is_no_condition,
    unknown_names,
    wrong_syntax,
)
from airflow_delta_provider.domain.delta.features.columns import ALLOW_COLUMN_DEFAULTS, GENERATED_COLUMNS, INVARIANTS
from airflow_delta_provider.domain.delta.metadata import PROVIDER, Metadata
from airflow_delta_provider.domain.delta.table_properties import FORMS, RECOMMENDED
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding, Severity

_state = FAMILY.of(Scope.STATE)

NO_METADATA = _state.error(
    9,
    "no metaData action",
    name="metadata-action-missing",
    effect="It is unknown which columns the table has.",
    remedy="Restore the missing log files from a backup or another replica.",
    source="PROTOCOL.md, Action Reconciliation",
)


@on_demand(NO_METADATA)
def no_metadata(version: int) -> Finding:
    """Return the finding about a log without a metaData action up to ``version``."""
    return NO_METADATA.found(
        "There is no metaData action up to version {version}, neither in a commit nor in a checkpoint.", version=version
    )


NO_ID = _state.error(
    1,
    "table id missing",
    name="table-id-missing",
    effect="Streams, and other readers that remember a table by its id, cannot distinguish it from another one.",
    remedy=Restore(instead="write the metadata again with an engine that assigns an id"),
)


@on_state(NO_ID)
def _no_id(state: TableState) -> Iterator[Finding]:
    if not state.metadata.id:
        yield NO_ID.found("The metaData action has no id.")


FIELD_MISSING = _state.error(
    17,
    "required field missing, or of another type",
    name="metadata-field-missing-or-mistyped",
    effect="Engines cannot open the table; Delta Spark fails with an internal error.",
    remedy="Restore the log file from a backup, or write a metaData action that has all required fields, with their "
    "types.",
)


@on_state(FIELD_MISSING)
def _fields_missing(state: TableState) -> Iterator[Finding]:
    missing = [name for name in state.metadata.missing if name != PROVIDER]
    for name in state.metadata.not_text_fields:
        yield FIELD_MISSING.found("The {subject} in the metaData action is not a string.", subject=name)
    if missing:
        yield FIELD_MISSING.found(
            "The metaData action lacks {fields:required field}: {missing}.",
            subject=missing[0],
            fields=len(missing),
            missing=missing,
        )
    elif PROVIDER in state.metadata.missing:
        yield FIELD_MISSING.found(
            "The format in the metaData action has no provider.",
            effect="delta-rs and Delta Kernel cannot open the table; Delta Spark assumes Parquet.",
            remedy="Write a metaData action whose format has the provider 'parquet'.",
            subject=PROVIDER,
        )


OTHER_FORMAT = _state.error(
    7,
    "format is not parquet",
    name="format-not-parquet",
    effect="Engines refuse the table, or read its files as plain Parquet.",
    remedy="Copy it into a new table.",
    source="PROTOCOL.md, Format Specification",
)


@on_state(OTHER_FORMAT)
def _other_format(state: TableState) -> Iterator[Finding]:
    metadata = state.metadata
    if metadata.format_provider.lower() != "parquet":
        yield OTHER_FORMAT.found(
            "The format of the data files is {provider!r}, not 'parquet'.", provider=metadata.format_provider
        )
    elif metadata.format_options:
        yield OTHER_FORMAT.found(
            "The format has options, which Parquet tables do not have: {options}.",
            severity=Severity.WARNING,
            effect="Engines ignore them.",
            options=sorted(metadata.format_options),
        )


@on_state(UNKNOWN_TYPE_OR_VALUE)
def _values_other_than_strings(state: TableState) -> Iterator[Finding]:
    if keys := state.metadata.not_texts:
        values = {key: state.metadata.configuration[key] for key in keys}
        shown = ", ".join(f"{key} ({value})" for key, value in values.items())
        yield UNKNOWN_TYPE_OR_VALUE.found(
            "Values of table properties must be strings, but these are not: {shown}.",
            shown=Prose(shown[:MOST_TEXT]),
            values=values,
        )


UNREADABLE_VALUE = FAMILY.of(Scope.STATE).error(
    26,
    "property value that engines cannot read",
    name="unreadable-property-value",
    effect="Delta Spark fails when it needs the property, at the latest when it writes; others ignore it.",
    remedy="Set the property again with ALTER TABLE … SET TBLPROPERTIES, or unset it.",
    source="PROTOCOL.md, Table Properties",
    repairs=(RepairMethod.EARLIER_VALUES, RepairMethod.UNSET_PROPERTY),
)


@on_state(UNREADABLE_VALUE)
def _values(state: TableState) -> Iterator[Finding]:
    for name, value in state.metadata.configuration.items():
        form = FORMS.get(name)
        if form is None or name in state.metadata.not_texts or form.fits(value):
            continue
        yield UNREADABLE_VALUE.found(
            "The property {subject} is {value!r}, not {form}.",
            severity=Severity.WARNING if name in RECOMMENDED else None,
            effect="Writers refuse to write, or fall back to a default." if name in RECOMMENDED else None,
            subject=name,
            value=value[:MOST_TEXT],
            form=form.name,
        )


class _Expression(NamedTuple):
    """An expression in the metadata.

    :param holder: description of the object with the expression, as the subject of a sentence
    :param text: the expression; None if ``wire`` has another form
    :param wire: the value in the log
    :param is_condition: True if its value must be Boolean
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
COLUMN_OF_EXPRESSION_MISSING = _expression.error(
    20, "expression names a column that the table lacks", name="expression-names-missing-column"
)
UNUSABLE_EXPRESSION = _expression.error(21, "expression that writers cannot use", name="unusable-expression-in-table")


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
    name="variant-generated-or-with-default",
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
