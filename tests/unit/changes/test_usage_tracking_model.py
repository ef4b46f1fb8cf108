"""Random changes of columns on tables with usage tracking, against a reference model of the RFC."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from airflow_delta_provider.domain.changes.schema import PastColumns, map_by_name
from airflow_delta_provider.domain.changes.usage_tracking import alter_tracked, plan_altering_tracked
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.request.change_options import AlterColumnsOptions
from tests.tables.delta_rs import UnreadableError, rows_by_delta_rs
from tests.tables.usage_tracking_model import (
    PARTITION,
    PROPERTY,
    Change,
    Json,
    Model,
    Parts,
    physical_paths,
)
from tests.unit.log_builder import audited
from tests.unit.states import TABLE
from tests.unit.tracked_tables import TRACKING, TrackedTable, play, schema_of


class InMemory:
    """A table without a log: its metadata in each version, and what was written."""

    def __init__(self, model: Model) -> None:
        self.versions = [Metadata("id", json.dumps(schema_of(model)), (PARTITION,), {PROPERTY: "false"})]
        self.written: list[dict[Parts, int]] = []

    @property
    def now(self) -> Json:
        return self.versions[-1].to_json()

    def alter(self, change: Change) -> str | None:
        metadata = self.versions[-1]
        memory = PastColumns.of(self.versions)
        state = TableState(len(self.versions), TRACKING, metadata)
        try:
            options = AlterColumnsOptions(**change.arguments)
        except RequestError as error:
            return str(error)
        planned = plan_altering_tracked(TABLE, options, state, memory)
        if planned.refusals or planned.plan is None:
            return "\n".join(finding.message for finding in planned.refusals)
        for step in planned.plan.steps:
            after = alter_tracked(json.loads(metadata.schema_string), metadata, step, memory)
            self._take(json.dumps(after.schema), after.properties)
        return None

    def map(self) -> None:
        self._take(*map_by_name(self.versions[-1].schema_string))

    def write(self, values: dict[Parts, int]) -> None:
        self.written.append(values)

    def rows(self) -> list[dict[Parts, int | None]]:
        paths = physical_paths(self.now)
        return [{logical: file.get(path) for logical, path in paths.items()} for file in self.written]

    def _take(self, schema: str, properties: Any) -> None:
        configuration = {**self.versions[-1].configuration, **properties}
        self.versions.append(Metadata("id", schema, (PARTITION,), configuration))


def total(counts: list[dict[str, int]]) -> dict[str, int]:
    return {what: sum(count[what] for count in counts) for what in counts[0]}


@pytest.mark.parametrize("block", range(4))
def test_random_changes_lead_to_the_schema_the_names_and_the_rows_of_the_model(block):
    played = []
    for seed in range(block * 150, (block + 1) * 150):
        model = Model()
        played.append(play(InMemory(model), model, random.Random(seed), 5))
    done = total(played)
    assert done["altered"] > 350
    assert done["refused"] > 20


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[TrackedTable, Model, dict[str, int]]]:
    """Random changes in real commits, with un-mapping and mapping again, and rows in Parquet files."""
    played = []
    for seed in range(30):
        model = Model()
        table = TrackedTable(tmp_path_factory.mktemp("played") / str(seed), model, with_files=True)
        played.append((table, model, play(table, model, random.Random(seed), 6, unmaps=True)))
    return played


def test_random_changes_unmapping_and_mapping_again_in_real_commits_of_which_the_audit_is_silent(played):
    for table, _, _ in played:
        assert audited(table.disk.commits()) == [], table.path
    done = total([counts for *_, counts in played])
    assert all(times > 3 for times in done.values()), done


def test_another_reader_finds_the_rows_of_the_model_after_random_changes(played):
    compared = 0
    for table, model, _ in played:
        leaves = [logical for logical, _, _ in model.leaves]
        try:
            found = rows_by_delta_rs(table.path)
        except UnreadableError:
            continue
        compared += 1
        read = [{parts: value_at(row, parts) for parts in leaves} for row in found]
        assert sorted(map(repr, read)) == sorted(map(repr, model.rows())), table.path
    assert compared > 25


def value_at(row: Any, parts: Parts) -> Any:
    for part in parts:
        if row is not None:
            row = row[0] if part == "element" else row[part]
    return row
