"""Rows of Paimon tables by Spark's own reader, against what Paimon's connector says of the same snapshots."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.paimon.changed_rows import Occurrence
from airflow_delta_provider.domain.paimon.row_groups import groups_of
from airflow_delta_provider.domain.paimon.table_history import vector_key, vectors_of
from airflow_delta_provider.jobs.paimon.table import TableFiles
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.paimon.rows import RowFrame, comparable_columns
from tests.tables.paimon.archive import HISTORIES, expected, table_of
from tests.tables.paimon.editing import EditedTable
from tests.unit.paimon_histories import history_of, layout_of, state_of
from tests.unit.paimon_tables import PaimonTable


@pytest.mark.parametrize("name", HISTORIES)
def test_rows_ids_and_sequences_of_every_snapshot_are_those_of_the_connector(
    session: SparkDeltaSession, paimon_archive: Path, name: str
) -> None:
    root = table_of(paimon_archive, name)
    found = rows_by_snapshot(session, root)

    told = expected(paimon_archive)[name]["rows"]
    assert len(told) == len(found) > 1
    for snapshot, rows in told.items():
        assert in_order(found[int(snapshot)]) == in_order(rows), snapshot


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("02_insert", {(11, "a", 0, 1), (22, "b", 1, 1)}),
        ("03_update", {(11, "new-data-update", 0, 2), (22, "b", 1, 1)}),
        ("04_merge", {(11, "new-data-update", 0, 2), (22, "new-data-merge", 1, 3), (33, "c", 2, 3)}),
        ("05_delete", {(22, "new-data-merge", 1, 3), (33, "c", 2, 3)}),
    ],
)
def test_the_worked_example_is_as_the_document_says_after_each_statement(
    session: SparkDeltaSession, paimon_archive: Path, statement: str, rows: set[tuple[Any, ...]]
) -> None:
    """The first statement makes the table, which has no snapshot then."""
    found = rows_by_snapshot(session, table_of(paimon_archive, f"worked/{statement}"))

    assert {tuple(row.values()) for row in found[max(found)]} == rows


def test_partitions_whose_values_are_escaped_or_null_are_found(
    session: SparkDeltaSession, paimon_archive: Path, tmp_path: Path
) -> None:
    """Re-encoded: the connector wrote these partitions as ``d0`` and ``d1``."""
    table = EditedTable(table_of(paimon_archive, "big/p/final"), tmp_path / "t % [x]")
    root = table.root
    escaped, null = b"a/b\0\0\0\0\x83", bytes(8)

    def change(record: dict[str, Any]) -> None:
        partition = record["_PARTITION"].replace(b"d0\0\0\0\0\0\x82", escaped)
        if b"d1" in partition:
            partition = partition[:4] + b"\0\1\0\0\0\0\0\0" + null
        record["_PARTITION"] = partition

    table.all_entries(change)
    (root / "dt=d0").rename(root / "dt=a%2Fb")
    (root / "dt=d1").rename(root / "dt=__DEFAULT_PARTITION__")

    found = rows_by_snapshot(session, root)

    for snapshot, rows in expected(paimon_archive)["big/p/final"]["rows"].items():
        assert in_order(found[int(snapshot)]) == in_order(rows)


def test_files_elsewhere_and_columns_that_were_renamed_widened_or_nested_are_read(
    session: SparkDeltaSession, paimon_archive: Path, tmp_path: Path
) -> None:
    """Re-encoded: the connector wrote a table of ``id INT`` and ``data``, all files in it."""
    table = EditedTable(table_of(paimon_archive, "big/w1/06_delete"), tmp_path / "t")
    root = table.root
    elsewhere = tmp_path / "else where%20{a}[b]"
    elsewhere.mkdir()
    path = table.data_file("a99d5966")
    table.file("a99d5966", external_path=f"file:{elsewhere}/{path.name}")
    shutil.move(path, elsewhere / path.name)
    schema = json.loads((root / "schema" / "schema-0").read_text())
    number, text = schema["fields"]
    parts = {"type": "ROW", "fields": [{"id": 3, "name": "a.b", "type": "INT"}]}
    fields = [{**number, "type": "BIGINT"}, {**text, "name": "info"}, {"id": 2, "name": "n", "type": parts}]
    schema |= {"id": 1, "fields": fields, "highestFieldId": 3}
    (root / "schema" / "schema-1").write_text(json.dumps(schema))

    found = rows_by_snapshot(session, root)

    for snapshot, rows in expected(paimon_archive)["big/w1/06_delete"]["rows"].items():
        renamed = [{"info" if name == "data" else name: value for name, value in row.items()} for row in rows]
        assert in_order(found[int(snapshot)]) == in_order(renamed)


def rows_by_snapshot(session: SparkDeltaSession, root: Path) -> dict[int, list[dict[str, Any]]]:
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
