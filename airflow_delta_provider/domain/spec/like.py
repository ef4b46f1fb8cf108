"""Tables that are to have the columns of another one."""

from __future__ import annotations

from dataclasses import replace

from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.spec.of_table import describe
from airflow_delta_provider.domain.spec.table_spec import UNSAID, ColumnSpec, TableSpec


def with_columns_of(spec: TableSpec, other: TableState) -> TableSpec:
    """Return a spec with the columns of another table: first its columns, in its order, then those that it lacks.

    What the spec itself says of a column counts. NOT NULL, generation expressions and defaults of the other table are
    not taken over: adding them may not be possible.

    :raises BrokenLogError: if the schema of the other table cannot be read
    """
    own = {column.name.lower(): column for column in spec.columns}
    renamed = {column.renamed_from.lower() for column in spec.columns if isinstance(column.renamed_from, str)}
    dropped = {path[0].lower() for path in spec.drop if len(path) == 1}
    theirs = [_plain(column) for column in describe(other).spec.columns if column.name.lower() not in renamed | dropped]
    names = {column.name.lower() for column in theirs}
    merged = [_merged(column, own.get(column.name.lower())) for column in theirs]
    return replace(spec, columns=(*merged, *(column for column in spec.columns if column.name.lower() not in names)))


def _plain(column: ColumnSpec) -> ColumnSpec:
    return replace(column, nullable=None, default=UNSAID, generated=None)


def _merged(theirs: ColumnSpec, own: ColumnSpec | None) -> ColumnSpec:
    if own is None:
        return theirs
    comment = theirs.comment if own.comment is UNSAID else own.comment
    return replace(own, shape=own.shape or theirs.shape, comment=comment)
