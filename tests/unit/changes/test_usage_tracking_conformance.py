"""Each sentence of the RFC Column Mapping Usage Tracking (delta-io/delta#2682) has a test, and what it leaves open.

The tests keep the order of its text. Every commit is a real one, in a log on disk, and the audit is silent over it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.changes.enable_features import plan_enabling
from airflow_delta_provider.domain.changes.schema import PastColumns
from airflow_delta_provider.domain.changes.steps import Alteration, NewColumn
from airflow_delta_provider.domain.changes.usage_tracking import Evidence, alter_tracked, new_table, plan_tracking
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.request.change_options import CreateTableOptions, EnableFeatureOptions
from airflow_delta_provider.jobs.changes.commit import DirectCommit
from airflow_delta_provider.jobs.column_mapping import read_past_columns
from tests.tables.usage_tracking_model import FEATURE, ID, MAX, MODE, NAME, PROPERTY, UNIQUE, Change, Json, Model
from tests.unit.local_table import LocalStore, OnDisk
from tests.unit.log_builder import Actions, Table, audited, body
from tests.unit.mapped_tables import fields_of
from tests.unit.states import ENGINE, TABLE, field, state_of, struct
from tests.unit.tracked_tables import TrackedTable

DROP_A = Change(drop=[("a",)])
RENAME_A = Change(rename=[(("a",), "z")])


@pytest.fixture
def tracked(tmp_path: Path) -> Iterator[TrackedTable]:
    """Mapped, and nothing was dropped or renamed: columns p, a, b, s with x and y, l with x in its elements."""
    table = TrackedTable(tmp_path / "tracked", Model())
    table.map()
    yield table
    assert audited(table.disk.commits()) == []


@pytest.fixture
def turned_on(tmp_path: Path) -> Callable[[Table], Actions]:
    """Turn usage tracking on, and return the commit that did it."""

    def turn_on(table: Table) -> Actions:
        disk = OnDisk(tmp_path / "on", table)
        state = disk.opened.log.read_state()
        options = EnableFeatureOptions(features=(FEATURE,), acknowledge_writer_lockout=True)
        planned = plan_tracking(TABLE, options, state, Evidence(read_past_columns(disk.opened.log)))
        assert planned.plan is not None
        (step,) = planned.plan.steps
        DirectCommit(disk.opened, LocalStore(disk.log), state, None).write(lambda now: step.edit(now))
        assert audited(disk.commits()) == []
        return disk.newest

    return turn_on


def existing(mode: str | None = None) -> Table:
    columns = (field("a", "integer"), field("s", struct(field("x", "integer"))))
    if mode is None:
        return Table(*columns).append()
    return Table(*columns, features=["columnMapping"], properties={MODE: mode}).append()


def alter(table: TrackedTable, change: Change) -> Json:
    """Change the columns in one commit, and return its metaData."""
    before = len(table.disk.commits())
    assert table.alter(change) is None
    assert len(table.disk.commits()) == before + 1
    return table.now


def add(*columns: str, kind: str = "int") -> Change:
    return Change(add=[(tuple(column.split("/")), kind) for column in columns])


def columns_of(metadata: Json) -> dict[str, Json]:
    """The metadata of all fields by their names; the last of a name wins."""
    return {wire["name"]: wire["metadata"] for wire in fields_of(json.loads(metadata["schemaString"]))}


def names_of(metadata: Json) -> dict[str, str]:
    return {name: wire[NAME] for name, wire in columns_of(metadata).items()}


def says(metadata: Json) -> str | None:
    value: str | None = metadata["configuration"].get(PROPERTY)
    return value


# -- what it is for -------------------------------------------------------------------------------


def test_it_is_tracked_whether_a_column_was_dropped_or_renamed_at_some_time_in_the_history(tracked):
    assert says(alter(tracked, add("c"))) == "false"
    assert says(alter(tracked, DROP_A)) == "true"
    assert says(alter(tracked, add("d"))) == "true"


def test_names_of_columns_can_be_their_physical_names_and_are_unique_all_the_same(tracked):
    alter(tracked, add("c"))
    alter(tracked, Change(rename=[(("b",), "z")], add=[(("b",), "int")]))
    names = names_of(alter(tracked, Change(drop=[("c",)], add=[(("c",), "int")])))
    assert (names["a"], names["z"]) == ("a", "b")
    assert UNIQUE.fullmatch(names["b"])
    assert UNIQUE.fullmatch(names["c"])


def test_to_leave_the_mapping_it_is_enough_to_change_the_mode_and_no_file_is_rewritten(tracked):
    tracked.write({("p",): 1, ("a",): 2})
    alter(tracked, add("c"))
    assert tracked.unmap() is None
    assert [next(iter(action)) for action in tracked.disk.newest] == ["commitInfo", "metaData"]
    assert tracked.now["configuration"] == {PROPERTY: "false"}


# -- usage tracking -------------------------------------------------------------------------------


def test_one_table_property_holds_it(tracked):
    before, after = tracked.now["configuration"], alter(tracked, DROP_A)["configuration"]
    assert {key for key in after if before.get(key) != after[key]} == {"delta.columnMapping.hasDroppedOrRenamed"}


def test_the_property_is_false_when_a_table_is_created():
    options = CreateTableOptions(columns={"a": "int", "s": "struct<x:int>"}, acknowledge_writer_lockout=True)
    table, refusals = new_table(options)
    assert refusals == ()
    assert table is not None
    assert says(table.metadata) == "false"
    assert names_of(table.metadata) == {"a": "a", "s": "s", "x": "x"}


@pytest.mark.parametrize(
    "change",
    [DROP_A, RENAME_A, Change(drop=[("s", "x")]), Change(rename=[(("l", "element", "x"), "z")])],
    ids=["drop", "rename", "nested drop", "nested rename"],
)
def test_the_first_drop_or_rename_flips_the_property_in_its_own_commit(tracked, change):
    assert says(tracked.now) == "false"
    assert says(alter(tracked, change)) == "true"


def test_the_feature_is_one_of_writers_so_that_none_that_does_not_track_may_write(turned_on):
    protocol = body(turned_on(existing()), "protocol")
    assert FEATURE in protocol["writerFeatures"]
    assert FEATURE not in protocol.get("readerFeatures", [])


# -- writers, on column mapping -------------------------------------------------------------------


def test_each_column_gets_a_physical_name_of_its_own(tracked):
    metadata = alter(tracked, Change(rename=[(("s", "x"), "z")], add=[(("s", "x"), "int"), (("x",), "struct")]))
    paths = [field.path for field in _mapped_fields(metadata)]
    assert None not in paths
    assert len({tuple(part.lower() for part in path) for path in paths}) == len(paths)


def _mapped_fields(metadata: Json) -> Any:

    return Metadata.from_json(metadata).mapped_schema.fields


def test_columns_of_an_existing_table_that_is_mapped_keep_their_names_as_physical_names(tmp_path):
    table = TrackedTable(tmp_path / "t", Model())
    alter(table, add("c"))
    table.map()
    assert all(name == physical for name, physical in names_of(table.now).items())


def test_so_it_is_when_it_is_mapped_again_though_columns_had_been_renamed_there_and_back(tracked):
    alter(tracked, RENAME_A)
    alter(tracked, Change(rename=[(("z",), "a")]))
    assert tracked.unmap() is None
    tracked.map()
    assert all(name == physical for name, physical in names_of(tracked.now).items())
    assert says(tracked.now) == "true"


def test_a_new_column_gets_its_name_as_physical_name_while_the_property_is_false(tracked):
    names = names_of(alter(tracked, Change(add=[(("c",), "int"), (("s", "z"), "int"), (("t",), "array")])))
    assert {name: names[name] for name in ("c", "z", "t")} == {"c": "c", "z": "z", "t": "t"}


def test_a_new_column_gets_a_uuid_once_the_property_is_true(tracked):
    alter(tracked, DROP_A)
    names = names_of(alter(tracked, Change(add=[(("c",), "int"), (("s", "z"), "int"), (("t",), "array")])))
    assert all(UNIQUE.fullmatch(names[name]) for name in ("c", "z", "t", "x"))
    assert names["s"] == "s"


@pytest.mark.parametrize("change", [Change(drop=[("b",)]), Change(rename=[(("b",), "z")])], ids=["drop", "rename"])
def test_the_property_after_the_commit_decides_so_that_what_it_frees_is_not_taken_again(tracked, change):
    tracked.write({("p",): 1, ("b",): 2})
    change.add = [(("b",), "int"), (("c",), "int")]
    names = names_of(alter(tracked, change))
    assert UNIQUE.fullmatch(names["b"])
    assert UNIQUE.fullmatch(names["c"])
    assert tracked.rows()[0][("b",)] is None


def test_each_column_gets_an_id(tracked):
    metadata = alter(tracked, Change(add=[(("t",), "struct"), (("s", "z"), "int")]))
    ids = [wire["metadata"][ID] for wire in fields_of(json.loads(metadata["schemaString"]))]
    assert sorted(ids) == list(range(1, len(ids) + 1))


def test_the_highest_id_is_in_the_property_max_column_id(tracked):
    before = int(tracked.now["configuration"][MAX])
    assert alter(tracked, add("t", kind="struct"))["configuration"][MAX] == str(before + 3)


def test_users_cannot_configure_the_highest_id_nor_the_property():
    for name in (MAX, PROPERTY):
        options = EnableFeatureOptions(features=("columnMapping",), properties={name: "7"}, allow_protocol_upgrade=True)
        (refusal,) = plan_enabling(TABLE, options, state_of(struct(field("a", "integer"))), ENGINE).refusals
        assert refusal.code == "RQ08"


def test_the_highest_id_only_grows_and_does_so_in_the_commit_that_adds_the_column(tracked):
    highest = [int(tracked.now["configuration"][MAX])]
    for change in (add("c"), Change(drop=[("c",)]), add("c"), Change(drop=[("s",)], add=[(("d",), "int")])):
        metadata = alter(tracked, change)
        highest.append(int(metadata["configuration"][MAX]))
        assert max(wire[ID] for wire in columns_of(metadata).values()) <= highest[-1]
    first = highest[0]
    assert highest == [first, first + 1, first + 1, first + 2, first + 3]


# -- writers, on usage tracking -------------------------------------------------------------------


@pytest.mark.parametrize("mode", [None, "name", "id"])
def test_turning_it_on_writes_protocol_and_metadata(turned_on, mode):
    assert [next(iter(action)) for action in turned_on(existing(mode))] == ["commitInfo", "protocol", "metaData"]


@pytest.mark.parametrize("mode", [None, "name"])
def test_the_protocol_then_has_writer_version_7_and_the_feature(turned_on, mode):
    protocol = body(turned_on(existing(mode)), "protocol")
    assert protocol["minWriterVersion"] == 7
    assert {FEATURE, "columnMapping"} <= set(protocol["writerFeatures"])


def test_the_property_is_then_false_on_an_existing_table_without_mapping(turned_on):
    assert says(body(turned_on(existing()), "metaData")) == "false"


@pytest.mark.parametrize("mode", ["name", "id"])
def test_the_property_is_then_true_on_an_existing_table_with_mapping(turned_on, mode):
    assert says(body(turned_on(existing(mode)), "metaData")) == "true"


@pytest.mark.parametrize("change", [DROP_A, RENAME_A, Change(drop=[("b",)], rename=[(("a",), "b")])])
def test_dropping_or_renaming_sets_the_property_to_true(tracked, change):
    assert says(alter(tracked, change)) == "true"


def test_true_is_never_set_back(tracked):
    alter(tracked, RENAME_A)
    for change in (Change(rename=[(("z",), "a")]), add("c"), Change(drop=[("c",)])):
        assert says(alter(tracked, change)) == "true"


def test_true_stays_where_the_mapping_goes_and_comes_back(tracked):
    alter(tracked, RENAME_A)
    alter(tracked, Change(rename=[(("z",), "a")]))
    assert tracked.unmap() is None
    assert says(tracked.now) == "true"
    assert says(alter(tracked, add("c"))) == "true"
    tracked.map()
    assert says(tracked.now) == "true"


def test_what_another_writer_set_back_is_true_again_with_the_next_change():
    true, false = (_metadata("a", **{PROPERTY: value}) for value in ("true", "false"))
    after = _add(PastColumns.of([true, false]), false, "c")
    assert after.properties[PROPERTY] == "true"
    assert UNIQUE.fullmatch(_name(after, "c"))


# -- where the RFC is silent: a name that is not free in data files is not taken ------------------


@pytest.mark.parametrize(
    "name",
    ["_change_type", "_Commit_Version", "_commit_timestamp", "x y", "a,b", "a;b", "{", "}", "(", ")", "=", "a\tb"],
)
def test_a_name_that_files_cannot_have_or_that_change_data_has_gets_a_uuid_and_the_property_stays(tracked, name):
    metadata = alter(tracked, Change(add=[((name,), "int")]))
    assert UNIQUE.fullmatch(names_of(metadata)[name])
    assert says(metadata) == "false"


def test_only_top_level_columns_share_names_with_change_data(tracked):
    assert names_of(alter(tracked, add("s/_change_type")))["_change_type"] == "_change_type"


def test_the_name_of_materialized_row_ids_in_other_case_gets_a_uuid():
    name = "_row-id-col-1"
    metadata = _metadata("a", **{PROPERTY: "false"})
    after = _add(PastColumns.of([metadata]), metadata, name.upper(), reserved=(name,))
    assert UNIQUE.fullmatch(_name(after, name.upper()))


@pytest.mark.parametrize("name", ["b", "B"])
def test_a_name_that_an_earlier_mapped_version_had_gets_a_uuid_though_the_property_is_false(name):
    """An overwrite took the column away with all files, and is no drop; a RESTORE may bring the files back."""
    now = _metadata("a", **{PROPERTY: "false"})
    memory = PastColumns.of([_metadata("a", "b", **{PROPERTY: "false"}), now])
    assert UNIQUE.fullmatch(_name(_add(memory, now, name), name))
    assert _name(_add(memory, now, "c"), "c") == "c"


def test_where_nobody_knows_the_earlier_versions_every_new_column_gets_a_uuid(tracked):
    (tracked.disk.log / f"{0:020d}.json").rename(tracked.disk.log / "gone")
    lines = [json.dumps(a) for actions in _commits(tracked) for a in actions if "commitInfo" not in a]
    name = f"{1:020d}.checkpoint.{'a' * 8}-bbbb-4ccc-8ddd-{'e' * 12}.json"
    (tracked.disk.log / name).write_text("\n".join(lines), encoding="utf-8")
    assert not read_past_columns(tracked.disk.opened.log).is_complete
    metadata = alter(tracked, add("c"))
    assert UNIQUE.fullmatch(names_of(metadata)["c"])
    assert says(metadata) == "false"
    (tracked.disk.log / name).unlink()
    (tracked.disk.log / "gone").rename(tracked.disk.log / f"{0:020d}.json")


def _commits(table: TrackedTable) -> list[Actions]:
    first = [json.loads(line) for line in (table.disk.log / "gone").read_text(encoding="utf-8").splitlines()]
    changed = {kind for action in table.disk.commits()[0] for kind in action}
    return [[action for action in first if not changed.intersection(action)], table.disk.commits()[0]]


def _metadata(*names: str, **configuration: str) -> Metadata:
    fields = [
        {"name": name, "type": "integer", "nullable": True, "metadata": {ID: number, NAME: name}}
        for number, name in enumerate(names, start=1)
    ]
    settings = {MODE: "name", MAX: str(len(names)), **configuration}
    return Metadata("id", json.dumps({"type": "struct", "fields": fields}), (), settings)


def _add(memory: PastColumns, metadata: Metadata, name: str, **known: Any) -> Any:
    change = Alteration(adds=(NewColumn((name,), "int"),))
    return alter_tracked(json.loads(metadata.schema_string), metadata, change, memory, **known)


def _name(after: Any, name: str) -> str:
    return next(f["metadata"][NAME] for f in after.schema["fields"] if f["name"] == name)
