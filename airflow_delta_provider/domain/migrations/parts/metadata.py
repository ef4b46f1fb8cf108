"""Changes that touch no data: columns, table properties, clustering."""

from __future__ import annotations

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.changes.alter_columns.plan import alter
from airflow_delta_provider.domain.changes.step import Alteration
from airflow_delta_provider.domain.changes.widen_types import Widening, widen
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.delta.column import all_columns, lowered, path_text
from airflow_delta_provider.domain.delta.data_type import parse_type
from airflow_delta_provider.domain.delta.features.data_files import CLUSTERING
from airflow_delta_provider.domain.migrations.difference.table import (
    is_clustered_otherwise,
    new_comment,
    new_properties,
    old_constraints,
    old_properties,
)
from airflow_delta_provider.domain.migrations.draft import MigrationDraft

_REWRITE_INSTEAD = "Or set rewrite: true on the column, if its data may be rewritten."


def change_columns(draft: MigrationDraft) -> None:
    """Add columns, then rename, then make changes that use the new names.

    The order differs if drops or renames must free names first.
    """
    changes = draft.columns
    draft.take(*old_constraints(draft.state.metadata, draft.spec))
    if changes.drops_first:
        _drop(draft, tuple(place.old for place in changes.drops))
    added_first = not (changes.renames_first or changes.drops_first)
    added = tuple(add.column(renamed=not added_first) for add in changes.adds)
    if added_first:
        _add(draft, added)
    if changes.renames:
        renames = tuple(changes.renames)
        alter(draft, Alteration(renames=renames), [steps.RenameColumns(renames)])
    if not added_first:
        _add(draft, added)
    if draft.refusals:
        return
    widen(draft, _widenings(draft), _REWRITE_INSTEAD)
    for parent, members in changes.orders:
        names = tuple(name for name, goes in members if not (goes and changes.drops_first))
        draft.take(steps.OrderFields(parent, names))
    if changes.nullable:
        draft.take(steps.AllowNulls(tuple(changes.nullable)))
    if changes.comments:
        draft.take(steps.CommentColumns(tuple(changes.comments)))
    if changes.defaults:
        draft.take(steps.SetDefaults(tuple(changes.defaults)))
    if comment := new_comment(draft.state.metadata, draft.spec):
        draft.take(comment)


def _widenings(draft: MigrationDraft) -> list[Widening]:
    """Return the columns to widen, in their current state."""
    names = {lowered(w.parts): w for w in draft.columns.widenings}
    present = {lowered(column.parts): column for column in all_columns(draft.state.metadata.schema)}
    return [Widening(present[path], parse_type(w.new)) for path, w in names.items() if path in present]


def drop_columns(draft: MigrationDraft) -> None:
    """Drop columns after all other changes have succeeded, unless they had to be dropped first."""
    if not draft.columns.drops_first:
        _drop(draft, tuple(place.new for place in draft.columns.drops))


def _add(draft: MigrationDraft, columns: tuple[steps.NewColumn, ...]) -> None:
    if columns:
        alter(draft, Alteration(adds=columns), [steps.AddColumns(columns)])


def _drop(draft: MigrationDraft, columns: tuple[steps.Parts, ...]) -> None:
    if columns:
        alter(draft, Alteration(drops=columns), [steps.DropColumns(columns)])


def set_properties(draft: MigrationDraft) -> None:
    """Set the properties that enable no feature, and remove unwanted ones."""
    if properties := new_properties(draft.state.metadata, draft.spec):
        draft.take(steps.SetProperties(tuple(sorted(properties.items()))))
    if unset := old_properties(draft.state.metadata, draft.spec):
        draft.take(unset)


def cluster(draft: MigrationDraft) -> None:
    """Set other clustering columns, or none."""
    if not is_clustered_otherwise(draft.state, draft.spec):
        return
    columns = draft.spec.cluster_by or ()
    if columns and draft.state.metadata.partition_columns:
        evidence = "{table} is partitioned, so it cannot be clustered."
        draft.refusals.append(
            requests.NEEDS_REWRITE.found(
                evidence, remedy="Also declare partition_by: [] with rewrite: true.", table=draft.table.text
            )
        )
    known = {lowered(column.parts) for column in all_columns(draft.state.metadata.schema)}
    for path in columns:
        if lowered(path) not in known:
            evidence = "There is no column {column} that the table can be clustered by."
            draft.refusals.append(requests.UNKNOWN_COLUMN.found(evidence, column=path_text(path)))
    draft.take(steps.ClusterBy(tuple(columns)))
    if columns:
        draft.support([CLUSTERING.name])
