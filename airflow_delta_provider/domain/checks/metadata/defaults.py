"""Defaults of new columns: MD23. PROTOCOL.md, Default Columns."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_change
from airflow_delta_provider.domain.checks.metadata.changes import OF_EARLIER, is_compared
from airflow_delta_provider.domain.checks.metadata.family import FAMILY, RESTORE
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.delta.features.columns import ALLOW_COLUMN_DEFAULTS
from airflow_delta_provider.domain.delta.mapped_schema import ID
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

_KEY = ALLOW_COLUMN_DEFAULTS.field_key

DEFAULT_OF_NEW_COLUMN = FAMILY.of(Scope.PAIR).error(
    23,
    "column added with a default",
    effect="Rows that are there already read NULL, not the default; engines may take it for their value.",
    remedy=RESTORE + " Then add the column, and set its default in a second statement.",
    source="PROTOCOL.md, Default Columns",
    needs=OF_EARLIER,
)


@on_change(DEFAULT_OF_NEW_COLUMN)
def _default_of_new_column(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata, transition.after.metadata
    if not is_compared(transition) or transition.replaces_all or _KEY not in after.schema_string:
        return
    columns = before.readable_columns
    if columns is None:
        return
    names = {lowered(column.parts) for column in columns}
    ids = {column.field.metadata.get(ID) for column in columns} - {None}
    for column in after.readable_columns or ():
        metadata = column.field.metadata
        is_new = column.kinds[-1] == "field" and lowered(column.parts) not in names and metadata.get(ID) not in ids
        if is_new and metadata.get(_KEY) is not None:
            yield DEFAULT_OF_NEW_COLUMN.found(
                "The commit adds {column} together with its default, {default}.",
                column=column,
                default=str(metadata[_KEY]),
            )
