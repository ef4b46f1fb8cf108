"""A table with usage tracking on disk: its columns are changed by commits of the package, its rows written by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.changes import usage_tracking as enabling
from airflow_delta_provider.domain.changes.disable_mapping.column_history import ColumnHistory
from airflow_delta_provider.domain.changes.disable_mapping.plan import check_can_disable, prove_disabling
from airflow_delta_provider.domain.changes.schema import remove_mapping
from airflow_delta_provider.domain.changes.step import Edit
from airflow_delta_provider.domain.changes.steps import DropFeature, MapColumns
from airflow_delta_provider.domain.changes.usage_tracking import altering_edit, plan_altering_tracked
from airflow_delta_provider.domain.delta.table_state import Replay, advance
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.request.change_options import AlterColumnsOptions, EnableFeatureOptions
from airflow_delta_provider.jobs.changes.commit import DirectCommit, MakeEdit
from airflow_delta_provider.jobs.column_mapping import read_past_columns
from tests.tables.usage_tracking_model import (
    FEATURE,
    PARTITION,
    PROPERTY,
    Change,
    Column,
    Json,
    Model,
    Parts,
    Refused,
    differences,
    physical_paths,
    random_change,
)
from tests.unit.local_table import LocalStore, OnDisk
from tests.unit.log_builder import Actions
from tests.unit.states import LEGACY, TABLE

TRACKING = LEGACY.supporting(["columnMapping", FEATURE])


def schema_of(model: Model) -> Json:
    """The schema of a table without mapping."""

    def wire(column: Column) -> Any:
        if column.kind == "int":
            return "integer"
        struct = {"type": "struct", "fields": [described(child) for child in column.children]}
        return struct if column.kind == "struct" else {"type": "array", "elementType": struct, "containsNull": True}

    def described(column: Column) -> Json:
        return {"name": column.name, "type": wire(column), "nullable": True, "metadata": {}}

    return {"type": "struct", "fields": [described(column) for column in model.columns]}


@dataclass(frozen=True)
class _Begun:
    commits: list[Actions]


class TrackedTable:
    """A table that begins as the model does.

    :param with_files: write Parquet files; else rows are only remembered, by physical path
    """

    def __init__(self, path: Path, model: Model, *, with_files: bool = False) -> None:
        self.path = path
        metadata = {
            "id": "11111111-2222-3333-4444-555555555555",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(schema_of(model)),
            "partitionColumns": [PARTITION],
            "configuration": {PROPERTY: "false"},
            "createdTime": 1_790_000_000_000,
        }
        info = {"timestamp": 1_790_000_000_000, "operation": "CREATE TABLE", "engineInfo": "test/1"}
        first: Actions = [{"commitInfo": info}, {"protocol": TRACKING.to_json()}, {"metaData": metadata}]
        self.disk = OnDisk(path, _Begun([first]))  # type: ignore[arg-type]  # a stand-in
        self.rows_written: list[dict[Parts, int]] = []
        self._with_files = with_files

    @property
    def now(self) -> Json:
        """The newest metaData action."""
        return next(a["metaData"] for actions in reversed(self.disk.commits()) for a in actions if "metaData" in a)

    def alter(self, change: Change) -> str | None:
        """Change the columns; return why it was refused."""
        state, memory = self.disk.opened.log.read_state(), read_past_columns(self.disk.opened.log)
        try:
            options = AlterColumnsOptions(**change.arguments)
        except RequestError as error:
            return str(error)
        planned = plan_altering_tracked(TABLE, options, state, memory)
        if planned.refusals or planned.plan is None:
            return "\n".join(finding.message for finding in planned.refusals)
        for step in planned.plan.steps:
            self.commit(partial(_altered, step, memory))
        return None

    def map(self) -> None:
        self.commit(lambda base: MapColumns().edit(base))

    def unmap(self) -> str | None:
        """Take the mapping away where the history proves that it can go; return why not."""
        replay, history = Replay(with_files=True), ColumnHistory()
        for version, actions in enumerate(self.disk.commits()):
            if version == 0:
                replay.take(actions)
                history.begin(replay.state(0), is_first=True)
            else:
                history.take(advance(replay, version, actions), replay.files)
        metadata = self.disk.opened.log.read_state().metadata
        missing = [*check_can_disable("t", metadata), *prove_disabling(metadata, history.known, None).missing]
        if missing:
            return "\n".join(finding.message for finding in missing)
        schema, properties = remove_mapping(metadata.schema_string)
        self.commit(lambda _: Edit("SET TBLPROPERTIES", schema_string=schema, unset_properties=properties))
        return None

    def track_again(self) -> None:
        """Drop the feature and enable it anew; no file has a column that was dropped, or else the table says so."""
        self.commit(lambda base: DropFeature(FEATURE).edit(base))
        options = EnableFeatureOptions(features=(FEATURE,), acknowledge_writer_lockout=True)
        evidence = enabling.Evidence(read_past_columns(self.disk.opened.log), foreign_columns="")
        planned = enabling.plan_tracking(TABLE, options, self.disk.opened.log.read_state(), evidence)
        assert planned.plan is not None
        (step,) = planned.plan.steps
        self.commit(lambda base: step.edit(base))

    def commit(self, make: MakeEdit) -> None:
        planned_on = self.disk.opened.log.read_state()
        DirectCommit(self.disk.opened, LocalStore(self.disk.log), planned_on, None).write(make)

    def write(self, values: dict[Parts, int]) -> None:
        """Write a file of one row.

        :param values: by physical path
        """
        number = len(self.rows_written)
        self.rows_written.append(values)
        name = f"part-{number:05}.parquet"
        partition = next(path for path in values if path[-1] == PARTITION)
        size = self._write_parquet(name, {path: v for path, v in values.items() if path != partition})
        add = {
            "path": name,
            "partitionValues": {partition[0]: str(values[partition])},
            "size": size,
            "modificationTime": 1_790_000_000_000,
            "dataChange": True,
            "stats": json.dumps({"numRecords": 1}),
        }
        info = {"timestamp": 1_790_000_000_000, "operation": "WRITE", "engineInfo": "test/1"}
        version = len(list(self.disk.log.glob("*.json")))
        LocalStore(self.disk.log).put(version, [json.dumps({"commitInfo": info}), json.dumps({"add": add})])

    def rows(self) -> list[dict[Parts, int | None]]:
        """The row of each file as a reader finds it, by logical path."""
        paths = physical_paths(self.now)
        return [{logical: row.get(path) for logical, path in paths.items()} for row in self.rows_written]

    def _write_parquet(self, name: str, values: dict[Parts, int]) -> int:
        if not self._with_files:
            return 1
        import pyarrow
        import pyarrow.parquet

        row: Json = {}
        for path, value in values.items():
            here: Any = row
            for part, below in zip(path, (*path[1:], None)):
                if part == "element":
                    here = here[0]
                elif below is None:
                    here[part] = value
                else:
                    here = here.setdefault(part, [{}] if below == "element" else {})
        table = pyarrow.Table.from_pylist([row])
        int32 = pyarrow.schema([pyarrow.field(f.name, _narrow(f.type, pyarrow)) for f in table.schema])
        pyarrow.parquet.write_table(table.cast(int32), self.path / name)
        return (self.path / name).stat().st_size


def _narrow(of: Any, pyarrow: Any) -> Any:
    """Python's integers are 64 bits wide, the columns 32."""
    if pyarrow.types.is_struct(of):
        return pyarrow.struct([(child.name, _narrow(child.type, pyarrow)) for child in of])
    if pyarrow.types.is_list(of):
        return pyarrow.list_(pyarrow.field("element", _narrow(of.value_type, pyarrow)))
    return pyarrow.int32()


def play(
    table: Any,
    model: Model,
    rng: random.Random,
    steps: int,
    *,
    unmaps: bool = False,
    then: Callable[[int], None] = lambda _: None,
) -> dict[str, int]:
    """Play a sequence; return how often what was done.

    :param then: looks at both after each step, of which it gets the number
    """
    done = dict.fromkeys(("altered", "refused", "mapped", "unmapped", "not unmapped", "tracked again"), 0)
    story: list[str] = []
    for number in range(steps):
        table.write(model.write())
        if not model.mapped and rng.random() < 0.4:
            model.map()
            table.map()
            what = "mapped"
        elif unmaps and rng.random() < 0.1:
            model.track_again()
            table.track_again()
            what = "tracked again"
        elif unmaps and model.mapped and rng.random() < 0.3:
            what = _both(model.unmap, table.unmap, "unmapped", "not unmapped", story)
        else:
            change = random_change(model, rng)
            story.append(str(change))
            what = _both(lambda c=change: model.alter(c), lambda c=change: table.alter(c), "altered", "refused", story)
        story.append(what)
        done[what] += 1
        assert list(differences(model, table.now)) == [], story
        table.write(model.write())
        assert table.rows() == model.rows(), story
        then(number)
    return done


def _both(model: Any, table: Any, yes: str, no: str, story: list[str]) -> str:
    """Do the same to both; they have to agree on whether it can be done."""
    try:
        model()
        expected = yes
    except Refused:
        expected = no
    why = table()
    assert (yes if why is None else no) == expected, (why, story)
    return expected


def _altered(step: Any, memory: Any, base: Any) -> Edit:
    return altering_edit(step, base, memory)
