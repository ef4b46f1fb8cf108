"""Verification of columns after drops, renames and additions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow_delta_provider.domain.changes.step import Alteration, Parts
from airflow_delta_provider.domain.checks.column_mapping.file_names import NOT_AS_ASKED
from airflow_delta_provider.domain.checks.column_mapping.physical_paths import REUSED_PATH
from airflow_delta_provider.domain.delta.column import lowered, path_text
from airflow_delta_provider.domain.delta.mapped_schema import MappedField, MappedSchema
from airflow_delta_provider.domain.delta.sql_type import render_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding


def verify_altered(alteration: Alteration, before: TableState, after: TableState) -> Iterator[Finding]:
    """Yield differences between the columns and the planned change.

    A dropped column must be absent. A renamed column must keep its id and physical name. An added column must have its
    type, and a path in data files that no column had before.

    :param before: state that the plan was made on
    """
    old, new = MappedSchema.of(before.metadata), MappedSchema.of(after.metadata)
    present = {lowered(field.column.parts): field for field in new.fields}
    for parts in alteration.drops:
        was = _at(old, parts)
        if was is not None and was.id in new.ids:
            yield _not_as_asked("{column} should have been dropped, but is still there", after, path_text(parts))
    for rename in alteration.renames:
        was = _at(old, rename.parts)
        now = None if was is None or was.id is None else new.by_id.get(was.id)
        if was is not None and (now is None or now.name != was.name or now.column.parts[-1] != rename.new):
            actual = "gone" if now is None else f"called {now.column}, under {now.name!r} in data files"
            what = "{column} should have been renamed to {new!r}, but is {actual}"
            yield _not_as_asked(what, after, path_text(rename.parts), new=rename.new, actual=actual)
    for add in alteration.adds:
        added = present.get(lowered(add.parts))
        text = path_text(add.parts)
        if added is None:
            yield _not_as_asked("{column} should have been added, but is missing", after, text)
        elif render_sql_type(added.column.data_type) != add.type:
            actual = render_sql_type(added.column.data_type)
            yield _not_as_asked(
                "{column} should have been added as {type}, but is {actual}", after, text, type=add.type, actual=actual
            )
        elif old.is_mapped and (added.path in old.by_path or added.id in old.ids):
            yield REUSED_PATH.found(
                "{column} was added where data files store another column: its values appear in the new one.",
                remedy="Do not read the column; RESTORE the table to the previous version.",
                version=after.version,
                column=text,
            )


def _at(schema: MappedSchema, parts: Parts) -> MappedField | None:
    return next((field for field in schema.fields if field.column.parts == parts), None)


def _not_as_asked(what: str, after: TableState, column: str, **facts: Any) -> Finding:
    return NOT_AS_ASKED.found(
        f"{what} at version {{version}}: another writer changed the table.",
        version=after.version,
        column=column,
        **facts,
    )
