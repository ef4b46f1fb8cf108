"""Planning to drop, rename and add columns by SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.changes.alter_columns.past_columns import PastColumns
from airflow_delta_provider.domain.changes.alter_columns.resolution import resolve
from airflow_delta_provider.domain.changes.alter_columns.restrictions import check_alteration
from airflow_delta_provider.domain.changes.plan import Draft, Plan, Planned
from airflow_delta_provider.domain.changes.preconditions import check_not_tracked, check_table
from airflow_delta_provider.domain.changes.step import AddColumns, Alteration, DropColumns, RenameColumn, Step
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.delta.column import lowered, path_text
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.engine import Engine
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.change_options import AlterColumnsOptions
from airflow_delta_provider.domain.request.table_name import TableName


def plan_altering(
    table: TableName, options: AlterColumnsOptions, state: TableState, engine: Engine, past: PastColumns
) -> Planned:
    """Plan to change the columns, with one statement and commit per kind of change and per rename.

    Changes that are already done are left out. A second run plans nothing, and a run after a failure plans the rest.

    :param past: columns that the table has had
    """
    draft = Draft(table, state, engine)
    draft.refusals += (*check_table(table.text, state.protocol, engine), *check_not_tracked(table.text, state))
    if draft.refusals:
        return draft.planned()
    alteration, refusals = resolve(options, state.metadata, past)
    draft.refusals += refusals
    alter(draft, alteration, tuple(_statements(alteration)))
    if draft.refusals:
        return draft.planned()
    return Planned(alteration_plan(table, state, alteration, tuple(draft.steps)))


def alter(draft: Draft, alteration: Alteration, steps: Sequence[Step]) -> None:
    """Add the steps of an alteration; or refuse, with every reason against it."""
    draft.refusals += check_alteration(alteration, draft.state)
    if not draft.refusals:
        draft.take(*steps)


def _statements(alteration: Alteration) -> Iterator[Step]:
    if alteration.drops:
        yield DropColumns(alteration.drops)
    yield from map(RenameColumn, alteration.renames)
    if alteration.adds:
        yield AddColumns(alteration.adds)


def resolve_allowed(
    options: AlterColumnsOptions, state: TableState, past: PastColumns
) -> tuple[Alteration, tuple[Finding, ...]]:
    """Return the requested change, and the reasons why this provider must not commit it itself."""
    alteration, refusals = resolve(options, state.metadata, past)
    return alteration, (*refusals, *check_alteration(alteration, state), *_partitions_renamed(alteration, state))


def _partitions_renamed(alteration: Alteration, state: TableState) -> Iterator[Finding]:
    partitions = {lowered((name,)) for name in state.metadata.partition_columns}
    for rename in alteration.renames:
        if lowered(rename.parts) in partitions:
            yield requests.COLUMN_NEEDED.found(
                "{column} cannot be renamed: the table is partitioned by it, and commits of this provider do not "
                "rename partition columns.",
                remedy="Drop the feature columnMappingUsageTracking; then the engine can rename the column.",
                column=path_text(rename.parts),
            )


def alteration_plan(table: TableName, state: TableState, alteration: Alteration, steps: tuple[Step, ...]) -> Plan:
    """Return the plan for an alteration, with notes for users."""
    emptied = sorted({lowered(parts) for parts in alteration.drops} & {lowered(add.parts) for add in alteration.adds})
    notes = [
        f"{path_text(parts)} is dropped and added again: every run of this request empties it again, except for "
        "retries of the same task. Request the drop only once."
        for parts in emptied
    ]
    if len(steps) > 1:
        notes.insert(0, f"Each statement is its own commit: {len(steps)}. If one fails, a rerun resumes there.")
    return Plan(table, steps, state.protocol, state.protocol, tuple(notes), once=bool(emptied))
