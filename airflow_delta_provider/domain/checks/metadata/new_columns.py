"""Columns that a commit adds to a table with rows: MD23 and MD31. PROTOCOL.md, Default Columns and Struct Field."""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_change
from airflow_delta_provider.domain.checks.metadata.changes import OF_EARLIER, is_compared
from airflow_delta_provider.domain.checks.metadata.family import FAMILY
from airflow_delta_provider.domain.checks.remedy import Restore
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.column import Column, lowered
from airflow_delta_provider.domain.delta.features.columns import ALLOW_COLUMN_DEFAULTS
from airflow_delta_provider.domain.delta.mapped_schema import ID
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

_NOT_NULL = re.compile(r'"nullable"\s*:\s*false')
_KEY = ALLOW_COLUMN_DEFAULTS.field_key
_pair = FAMILY.of(Scope.PAIR, needs=OF_EARLIER)

DEFAULT_OF_NEW_COLUMN = _pair.error(
    23,
    "column added with a default",
    effect="Rows that are there already read NULL, not the default; engines may take it for their value.",
    remedy=Restore(", add the column, and set its default in a second statement"),
    source="PROTOCOL.md, Default Columns",
)


@on_change(DEFAULT_OF_NEW_COLUMN)
def _default_of_new_column(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata, transition.after.metadata
    if not is_compared(transition) or transition.replaces_all or _KEY not in after.schema_string:
        return
    for column in _new_columns(before, after):
        default = column.field.metadata.get(_KEY)
        if default is not None:
            yield DEFAULT_OF_NEW_COLUMN.found(
                "The commit adds {column} together with its default, {default}.", column=column, default=str(default)
            )


REQUIRED_COLUMN_ADDED = _pair.error(
    31,
    "column that cannot be null added to a table with files",
    effect="Older files do not have the column, so their rows have nulls: Delta Spark fails to read them, and queries "
    "for nulls can miss them in other engines.",
    remedy=Restore(", and add the column as a nullable one"),
    source="PROTOCOL.md, Struct Field and Consistency Between Table Metadata and Data Files",
    about_older_files=True,
)


@on_change(REQUIRED_COLUMN_ADDED)
def _required_column(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata, transition.after.metadata
    if not is_compared(transition) or transition.keeps_no_file or after.readable_columns is None:
        return
    if _NOT_NULL.search(after.schema_string) is None:
        return
    partitions = {str(name).lower() for name in after.partition_columns}
    for column in _new_columns(before, after):
        if len(column.parts) == 1 and not column.field.nullable and column.parts[0].lower() not in partitions:
            yield REQUIRED_COLUMN_ADDED.found(
                "The commit adds {column}, which cannot be null, but keeps files that do not have it.", column=column
            )


def _new_columns(before: Metadata, after: Metadata) -> Iterator[Column]:
    """Yield the fields that had neither their name nor their id before."""
    columns = before.readable_columns
    if columns is None:
        return
    names = {lowered(column.parts) for column in columns}
    ids = {column.field.metadata.get(ID) for column in columns} - {None}
    for column in after.readable_columns or ():
        if column.kinds[-1] != "field" or lowered(column.parts) in names:
            continue
        if column.field.metadata.get(ID) not in ids:
            yield column
