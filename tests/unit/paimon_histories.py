"""Histories of tables, as the level of rows is given them."""

from __future__ import annotations

from pathlib import Path

from airflow_delta_provider.domain.paimon.layout import DataLayout
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKind
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_history import LiveState, Step, TableHistory
from tests.unit.paimon_tables import PaimonTable


def state_of(table: PaimonTable, snapshot: Snapshot) -> LiveState:
    return LiveState(snapshot, tuple(table.live_files(snapshot)), table.index_files(snapshot))


def step_of(table: PaimonTable, snapshot: Snapshot) -> Step:
    entries = table.entries(snapshot.delta)
    added: tuple[DataFile, ...] = tuple(entry.file for entry in entries if entry.kind is FileKind.ADD)
    removed = tuple(entry.file for entry in entries if entry.kind is FileKind.DELETE)
    return Step(snapshot, added, removed, table.index_files(snapshot))


def history_of(root: Path, since: int | None = None, *, proven: bool = False) -> TableHistory:
    """Return the history of a table from a snapshot on, by default the earliest."""
    table = PaimonTable(root)
    snapshots = [table.snapshot(number) for number in table.snapshot_ids() if since is None or number >= since]
    first, *rest = snapshots
    schemas = {schema.id: schema for schema in table.schemas()}
    return TableHistory(schemas, state_of(table, first), tuple(step_of(table, one) for one in rest), proven=proven)


def layout_of(history: TableHistory) -> DataLayout:
    return DataLayout.of(history.schema)
