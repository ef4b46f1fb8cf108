"""Rows of Paimon tables by Spark's own reader, against what Paimon's connector says of the same snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.paimon.changed_rows import Occurrence, groups_of
from airflow_delta_provider.domain.paimon.table_history import vector_key, vectors_of
from airflow_delta_provider.jobs.delta_session import DeltaSession
from airflow_delta_provider.jobs.paimon.row_frame import RowFrame, comparable_columns
from airflow_delta_provider.jobs.paimon.table_files import TableFiles
from tests.tables.paimon.archive import HISTORIES, expected, table_of
from tests.unit.paimon_histories import history_of, layout_of, state_of
from tests.unit.paimon_tables import PaimonTable


@pytest.mark.parametrize("name", HISTORIES)
def test_rows_ids_and_sequences_of_every_snapshot_are_those_of_the_connector(
    session: DeltaSession, paimon_archive: Path, name: str
) -> None:
    root = table_of(paimon_archive, name)
    found = rows_by_snapshot(session, root)

    told = expected(paimon_archive)[name]["rows"]
    assert len(told) == len(found) > 1
    for snapshot, rows in told.items():
        assert in_order(found[int(snapshot)]) == in_order(rows), snapshot


def test_the_worked_example_is_as_the_document_says_after_each_statement(
    session: DeltaSession, paimon_archive: Path
) -> None:
    found = rows_by_snapshot(session, table_of(paimon_archive, "worked/05_delete"))

    steps = {number: {tuple(row.values()) for row in rows} for number, rows in found.items()}
    assert steps == {
        1: {(11, "a", 0, 1), (22, "b", 1, 1)},
        2: {(11, "new-data-update", 0, 2), (22, "b", 1, 1)},
        3: {(11, "new-data-update", 0, 2), (22, "new-data-merge", 1, 3), (33, "c", 2, 3)},
        4: {(22, "new-data-merge", 1, 3), (33, "c", 2, 3)},
    }


def rows_by_snapshot(session: DeltaSession, root: Path) -> dict[int, list[dict[str, Any]]]:
    """Read the rows of all snapshots at once, as the connector gives them: with the columns that they then had."""
    table = PaimonTable(root)
    history = history_of(root)
    evolution = history.schema.table_options().data_evolution
    files = TableFiles(session.storage, session.storage.qualify(str(root)), layout_of(history))
    occurrences = []
    for number in table.snapshot_ids():
        state = state_of(table, table.snapshot(number))
        vectors = vectors_of(state.index_files)
        for group in groups_of(state.files).values() if evolution else ([file] for file in state.files):
            without = 0
            for file in group:
                without |= files.deleted_by(file, vectors.get(vector_key(file)))
            occurrences += [Occurrence(file, number, True, without) for file in group]
    columns, others = comparable_columns(history.schemas)
    assert others == []
    frame = RowFrame(session, files, history.schemas, evolution=evolution)
    found: dict[int, list[dict[str, Any]]] = {number: [] for number in table.snapshot_ids()}
    with session.reading_files():
        for row in frame.rows(occurrences, columns).collect():
            assert row["fits"]
            values = {column.name: row[f"c{index}"] for index, column in enumerate(columns)}
            found[row["step"]].append({**values, "_ROW_ID": row["id"], "_SEQUENCE_NUMBER": row["seq"]})
    return found


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows by id, without values that are null: of a column that came later the connector says nothing."""
    named = [{key: value for key, value in row.items() if value is not None} for row in rows]
    return sorted(named, key=lambda row: row["_ROW_ID"])
