"""Switching usage tracking of column mapping on and off again, and mapping on tables that have it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.changes.provider_commit import CommitIdentity
from airflow_delta_provider.domain.changes.schema import map_by_name, remove_mapping
from airflow_delta_provider.domain.changes.step import Edit
from airflow_delta_provider.domain.changes.steps import (
    DisableMapping,
    DropFeature,
    MapColumns,
    TrackUsage,
)
from airflow_delta_provider.domain.changes.usage_tracking import (
    Evidence,
    check_lockout,
    needs_footers,
    new_table,
    plan_tracking,
)
from airflow_delta_provider.domain.delta.commit import commit_info, parse_commit
from airflow_delta_provider.domain.delta.data_type import ArrayType, MapType
from airflow_delta_provider.domain.delta.features.columns import USAGE_TRACKING
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.delta.protocol import Protocol, weakest_protocol
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.request.change_options import CreateTableOptions, EnableFeatureOptions
from airflow_delta_provider.jobs.changes.commit import DirectCommit
from airflow_delta_provider.jobs.column_mapping import read_past_columns
from airflow_delta_provider.jobs.delta.engines import recent_writers
from tests.unit.local_table import LocalStore, OnDisk
from tests.unit.log_builder import TIMESTAMPS, Table, audited, body
from tests.unit.mapped_tables import ID, MAX, MODE, NAME, fields_of
from tests.unit.states import TABLE, field, metadata_of, struct

NESTED = (
    field("a", "integer"),
    field("s", struct(field("x", "long"), field("y", ArrayType(struct(field("z", "date")))))),
)


@pytest.fixture
def on_disk(tmp_path: Path) -> Callable[[Table], OnDisk]:
    numbers = itertools.count()
    return lambda table: OnDisk(tmp_path / str(next(numbers)), table)


def asked(*features: str, acknowledge: bool = True, **known: Any) -> EnableFeatureOptions:
    return EnableFeatureOptions(
        features=features or (USAGE_TRACKING.name,), acknowledge_writer_lockout=acknowledge, **known
    )


def planned(disk: OnDisk, options: EnableFeatureOptions | None = None, foreign: str | None = None) -> Planned:
    evidence = Evidence(read_past_columns(disk.opened.log), foreign, recent_writers(disk.opened.log))
    return plan_tracking(TABLE, options or asked(), disk.opened.log.read_state(), evidence)


def codes(plan: Planned) -> list[str]:
    return [finding.code for finding in plan.refusals]


def write(disk: OnDisk, make: Callable[[Any], Edit]) -> None:
    DirectCommit(disk.opened, LocalStore(disk.log), disk.opened.log.read_state(), None).write(make)


def enabled(disk: OnDisk, *features: str, foreign: str | None = None) -> OnDisk:
    """Enable what is asked for, usage tracking by default, and have the audit say nothing of it."""
    plan = planned(disk, asked(*features), foreign)
    assert plan.refusals == ()
    (step,) = plan.plan.steps
    wrong = {finding.code for finding in audited(disk.commits())}
    write(disk, lambda base: step.edit(base))
    assert disk.opened.log.read_state().protocol == plan.plan.protocol_after
    assert {finding.code for finding in audited(disk.commits())} <= wrong
    return disk


def left(disk: OnDisk) -> OnDisk:
    """Drop the feature again."""
    write(disk, lambda base: DropFeature("columnMappingUsageTracking").edit(base))
    return disk


def value(disk: OnDisk) -> str | None:
    configuration = body(disk.newest, "metaData")["configuration"]
    found: str | None = configuration.get(DROPPED_OR_RENAMED)
    return found


def mapped(**properties: str) -> Table:
    return Table(*NESTED, features=["columnMapping"], properties={MODE: "name", **properties}).append(2)


def unmapped_again() -> Table:
    table = mapped()
    return table.remove_mapping()


# -- enabling -------------------------------------------------------------------------------------


def test_table_that_never_had_mapping_is_tracked_as_unused_with_mapping_supported_in_one_commit(on_disk):
    disk = enabled(on_disk(Table(*NESTED, properties={"x": "1"}).append()))
    assert [next(iter(action)) for action in disk.newest] == ["commitInfo", "protocol", "metaData"]
    assert value(disk) == "false"
    assert body(disk.newest, "protocol") == {
        "minReaderVersion": 2,
        "minWriterVersion": 7,
        "writerFeatures": ["appendOnly", "columnMapping", USAGE_TRACKING.name, "invariants"],
    }
    assert body(disk.newest, "metaData")["configuration"] == {"x": "1", DROPPED_OR_RENAMED: "false"}
    assert commit_info(disk.newest)["operation"] == "SET TBLPROPERTIES"


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_table_is_tracked_as_used(on_disk, mode):
    table = Table(*NESTED, features=["columnMapping"], properties={MODE: mode}).append()
    disk = on_disk(table)
    before = body(disk.newest, "add")
    assert value(enabled(disk)) == "true"
    assert body(disk.newest, "metaData")["schemaString"] == table.now.metadata["schemaString"]
    assert before["path"] in {file.path for file in disk.opened.log.read_state(with_files=True).files.values()}


@pytest.mark.parametrize(
    "protocol",
    [Protocol(reader, writer) for reader, writer in ((1, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 6))]
    + [
        Protocol(1, 7, None, frozenset({"domainMetadata", "rowTracking"})),
        Protocol(3, 7, frozenset({"deletionVectors"}), frozenset({"deletionVectors"})),
        Protocol(3, 7, frozenset({"columnMapping"}), frozenset({"columnMapping"})),
    ],
    ids=str,
)
def test_protocol_lists_the_feature_and_all_that_a_legacy_version_implied(on_disk, protocol):
    after = planned(on_disk(Table(*NESTED, protocol=protocol.to_json()))).plan.protocol_after
    assert after.min_writer_version == 7
    assert after.writer_features == protocol.features | {"columnMapping", USAGE_TRACKING.name}
    assert after.min_reader_version >= 2
    assert USAGE_TRACKING.name not in (after.reader_features or ())
    if after.min_reader_version == 3:
        assert "columnMapping" in after.reader_features
    enabled(on_disk(Table(*NESTED, protocol=protocol.to_json())))


def test_without_the_acknowledgement_it_says_who_is_locked_out_the_tables_own_writers_first(on_disk):
    table = Table(*NESTED).append().append()
    table.commits[1][0]["commitInfo"]["engineInfo"] = "delta-rs:py-1.6.6"
    del table.commits[2][0]["commitInfo"]["engineInfo"]
    plan = planned(on_disk(table), asked(acknowledge=False))
    assert codes(plan) == ["RQ55"]
    message = plan.refusals[0].message
    first = "an engine that does not sign (1 commit), delta-rs 1.6.6 (1 commit), Delta Spark 4.4.0 (1 commit)"
    assert first in message
    assert message.index(first) < message.index("Databricks Runtime, Delta Spark, delta-rs")
    assert "Readers that do not support columnMapping are also locked out" in message
    assert "acknowledge_writer_lockout=True" in message


def test_readers_are_not_locked_out_of_a_table_that_has_the_mapping_already(on_disk):
    plan = planned(on_disk(mapped()), asked(acknowledge=False))
    assert "Readers that" not in plan.refusals[0].message


@pytest.mark.parametrize("how", ["log cleaned up", "had mapping", "clone", "convert", "damaged commit"])
def test_table_whose_past_is_not_known_is_tracked_as_unused_by_its_footers_alone(on_disk, how):
    table = unmapped_again() if how == "had mapping" else Table(*NESTED).append().append()
    if how in ("clone", "convert"):
        table.commits[1][0]["commitInfo"]["operation"] = how.upper()
    disk = on_disk(table)
    if how == "log cleaned up":
        cleaned_up(disk)
    if how == "damaged commit":
        (disk.log / commit_name(1)).write_text('{"metaData": 3}\n', encoding="utf-8")
    past = read_past_columns(disk.opened.log)
    state = table_state(table)
    assert needs_footers(state, past)

    def decide(foreign: str | None) -> Planned:
        return plan_tracking(TABLE, asked(), state, Evidence(past, foreign))

    plan = decide("part-1 has b")
    assert codes(plan) == ["RQ56"]
    assert "dropped then, and part-1 has b. A new column" in plan.refusals[0].message
    assert decide("").plan.steps == (TrackUsage("false"),)


def table_state(table: Table) -> Any:
    from tests.unit.log_builder import History

    return History(table.commits).state_at(table.version)


def cleaned_up(disk: OnDisk) -> None:
    """A checkpoint of version 1 as JSON, and no commit before it."""
    lines = [json.dumps(a) for actions in disk.commits()[:2] for a in actions if "commitInfo" not in a]
    name = f"{1:020d}.checkpoint.{'a' * 8}-bbbb-4ccc-8ddd-{'e' * 12}.json"
    (disk.log / name).write_text("\n".join(lines), encoding="utf-8")
    (disk.log / commit_name(0)).unlink()


def test_table_that_was_ever_tracked_as_used_is_so_again(on_disk):
    disk = left(enabled(on_disk(mapped())))
    disk.others(lambda table: table.remove_mapping())
    past = read_past_columns(disk.opened.log)
    assert past.ever_used
    assert not needs_footers(disk.opened.log.read_state(), past)
    assert value(enabled(disk)) == "true"


def test_table_that_has_it_needs_no_commit(on_disk):
    disk = enabled(on_disk(Table(*NESTED)))
    plan = planned(disk, asked(acknowledge=False))
    assert (plan.refusals, plan.plan.steps) == ((), ())


@pytest.mark.parametrize(
    ("features", "known"),
    [
        ((USAGE_TRACKING.name, "rowTracking"), {}),
        ((USAGE_TRACKING.name,), {"properties": {"delta.appendOnly": "true"}}),
    ],
)
def test_other_features_and_properties_are_for_another_request(on_disk, features, known):
    assert codes(planned(on_disk(Table(*NESTED)), asked(*features, **known))) == ["RQ57"]


def test_property_without_the_feature_is_refused_until_it_is_unset(on_disk):
    plan = planned(on_disk(Table(*NESTED, properties={DROPPED_OR_RENAMED: "false"})))
    assert codes(plan) == ["RQ35"]
    assert "UNSET TBLPROPERTIES" in plan.refusals[0].message


@pytest.mark.parametrize("properties", [{}, {DROPPED_OR_RENAMED: "maybe"}])
def test_feature_without_its_property_is_refused_until_it_is_dropped(on_disk, properties):
    protocol = weakest_protocol(frozenset({"columnMapping", USAGE_TRACKING.name})).to_json()
    disk = on_disk(Table(*NESTED, protocol=protocol, properties=properties))
    assert codes(planned(disk)) == ["RQ35"]
    left(disk)
    assert value(enabled(disk)) == "false"


def test_unknown_features_and_catalogs_refuse_it(on_disk):
    protocol = Protocol(1, 7, None, frozenset({"sparkle"})).to_json()
    assert codes(planned(on_disk(Table(*NESTED, protocol=protocol)))) == ["RQ40"]
    assert codes(planned(on_disk(Table(*NESTED, features=["catalogManaged"])))) == ["RQ04"]


def test_in_commit_timestamps_and_row_tracking_are_kept(on_disk):
    table = Table(
        *NESTED,
        features=["inCommitTimestamp", "rowTracking"],
        properties={TIMESTAMPS: "true", "delta.enableRowTracking": "true"},
    )
    left(enabled(enabled(on_disk(table.append())), "columnMapping"))


# -- mapping on a tracked table -------------------------------------------------------------------


def test_columns_of_a_tracked_table_are_mapped_under_their_own_names(on_disk):
    disk = enabled(enabled(on_disk(Table(*NESTED).append())), "columnMapping")
    metadata = body(disk.newest, "metaData")
    found = fields_of(json.loads(metadata["schemaString"]))
    assert [(f["name"], f["metadata"][NAME], f["metadata"][ID]) for f in found] == [
        (name, name, number) for number, name in enumerate(["a", "s", "x", "y", "z"], start=1)
    ]
    assert metadata["configuration"] == {DROPPED_OR_RENAMED: "false", MODE: "name", MAX: "5"}
    assert [next(iter(action)) for action in disk.newest] == ["commitInfo", "metaData"]


def test_asked_for_both_it_tracks_first_and_maps_then(on_disk):
    disk = on_disk(Table(*NESTED))
    both = asked(USAGE_TRACKING.name, "columnMapping")
    assert planned(disk, both).plan.steps == (TrackUsage("false"), MapColumns())
    assert planned(enabled(disk), both).plan.steps == (MapColumns(),)
    assert planned(on_disk(mapped()), both).plan.steps == (TrackUsage("true"),)


def test_table_that_is_mapped_already_needs_no_commit(on_disk):
    disk = enabled(on_disk(mapped()))
    assert planned(disk, asked("columnMapping")).plan.steps == ()


def test_columns_that_carry_an_earlier_mapping_are_not_mapped_anew(on_disk):
    disk = enabled(on_disk(Table(field("a", "integer", **{"delta__columnMapping__physicalName": "b"}))))
    plan = planned(disk, asked("columnMapping"))
    assert codes(plan) == ["RQ35"]
    assert plan.refusals[0].column == "a"


def test_mapping_and_its_removal_change_nothing_else_of_a_schema():
    fields = (
        field("a.b`c", MapType(struct(field("k", "integer")), struct(field("v", "integer"))), comment="é"),
        field("s", struct(field("x", "long", later="1"))),
    )
    text = metadata_of(struct(*fields)).schema_string
    schema, properties = map_by_name(text)
    found = json.loads(schema)
    assert found["fields"][0]["metadata"] == {"comment": "é", ID: 1, NAME: "a.b`c"}
    assert properties[MAX] == str(len(fields_of(found))) == "5"
    assert json.loads(remove_mapping(schema)[0]) == json.loads(text)
    assert remove_mapping(schema)[1] == (MODE, MAX)


def test_mapping_of_a_tracked_table_is_taken_away_and_nothing_else(on_disk):
    disk = enabled(on_disk(Table(*NESTED).append()))
    before = disk.opened.log.read_state()
    enabled(disk, "columnMapping")
    write(disk, lambda base: DisableMapping("no files").edit(base))
    after = disk.opened.log.read_state().metadata
    assert (after.configuration, json.loads(after.schema_string)) == (
        before.metadata.configuration,
        json.loads(before.metadata.schema_string),
    )
    assert audited(disk.commits()) == []
    enabled(disk, "columnMapping")


def test_mapping_of_a_tracked_table_without_files_is_taken_away_whatever_its_columns_were_called(on_disk):
    disk = enabled(on_disk(Table(*NESTED, features=["columnMapping"], properties={MODE: "name"})))
    write(disk, lambda base: DisableMapping("no files").edit(base))
    enabled(disk, "columnMapping")
    schema = json.loads(body(disk.newest, "metaData")["schemaString"])
    assert [wire["metadata"][NAME] for wire in fields_of(schema)] == ["a", "s", "x", "y", "z"]
    assert value(disk) == "true"
    assert audited(disk.commits()) == []


# -- out again ------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [Table(*NESTED), mapped()], ids=["unmapped", "mapped"])
def test_dropping_it_takes_property_and_feature_away_and_nothing_else(on_disk, table):
    disk = on_disk(table)
    before = disk.opened.log.read_state()
    left(enabled(disk))
    after = disk.opened.log.read_state()
    assert after.metadata == before.metadata
    assert after.protocol.features == before.protocol.features | {"columnMapping"}
    info = commit_info(disk.newest)
    assert (info["operation"], info["operationParameters"]) == (
        "DROP FEATURE",
        {"featureName": USAGE_TRACKING.name},
    )
    assert audited(disk.commits()) == []


def test_steps_have_no_sql_and_say_so():
    for step in (TrackUsage("false"), MapColumns()):
        assert step.sql(TABLE) is None
        assert "1 commit, not by SQL" in step.explanation


# -- a new table ----------------------------------------------------------------------------------


def creating(columns: dict[str, str], **known: Any) -> CreateTableOptions:
    return CreateTableOptions(columns=columns, acknowledge_writer_lockout=True, **known)


def created(on_disk: Callable[[Table], OnDisk], options: CreateTableOptions) -> OnDisk:
    table, refusals = new_table(options)
    assert refusals == ()
    lines = table.lines(CommitIdentity(1_790_000_000_000, "id"))
    return on_disk(Table.of([parse_commit(commit_name(0), "\n".join(lines).encode())]))


def test_new_table_is_tracked_as_unused_and_mapped_under_its_own_names(on_disk):
    columns = {"id": "bigint", "a b": "string", "s": "struct<x:int,y:array<date>>", "day": "date", "t": "timestamp_ntz"}
    disk = created(on_disk, creating(columns, partition_by=("day",)))
    assert [next(iter(action)) for action in disk.newest] == ["commitInfo", "protocol", "metaData"]
    metadata = body(disk.newest, "metaData")
    assert metadata["partitionColumns"] == ["day"]
    assert metadata["configuration"] == {MODE: "name", MAX: "7", DROPPED_OR_RENAMED: "false"}
    found = {f["name"]: f["metadata"][NAME] for f in fields_of(json.loads(metadata["schemaString"]))}
    assert found.pop("a b").startswith("col-")
    assert found == {name: name for name in ("id", "s", "x", "y", "day", "t")}
    assert body(disk.newest, "protocol") == {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["columnMapping", "timestampNtz"],
        "writerFeatures": ["appendOnly", "columnMapping", USAGE_TRACKING.name, "invariants", "timestampNtz"],
    }
    assert "readVersion" not in commit_info(disk.newest)
    assert audited(disk.commits()) == []
    assert audited(left(disk).commits()) == []


@pytest.mark.parametrize(
    ("columns", "code"),
    [({"a": "int", "A": "int"}, "RQ50"), ({"a": "integr"}, "RQ52"), ({"a": "int NOT NULL"}, "RQ52")],
)
def test_columns_that_no_table_can_have_are_refused(columns, code):
    table, refusals = new_table(creating(columns))
    assert (table, [finding.code for finding in refusals]) == (None, [code])


def test_partition_column_of_a_nested_type_breaks_a_rule_and_is_refused():
    _, refusals = new_table(creating({"a": "int", "s": "array<int>"}, partition_by=("s",)))
    assert [(finding.code, finding.subject) for finding in refusals] == [("RQ42", "MD05")]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({}, "columns is empty"),
        ({"columns": {"a": 1}}, r"columns\['a'\] is 1"),
        ({"columns": ["a"]}, "has to map column paths to types"),
        ({"columns": {"a": "int"}, "partition_by": ("b",)}, "not one of columns"),
        ({"columns": {"a": "int"}, "partition_by": ("a",)}, "names all columns"),
        ({"columns": {"a": "int"}, "acknowledge_writer_lockout": 1}, "True or False"),
    ],
)
def test_request_for_a_table_that_makes_no_sense_is_refused(known, message):
    with pytest.raises(RequestError, match=message):
        CreateTableOptions(**known)


def test_new_table_needs_the_acknowledgement_too():
    refusal = check_lockout("t", CreateTableOptions(columns={"a": "int"}))
    assert refusal is not None
    assert (refusal.code, "Delta Spark" in refusal.message) == ("RQ55", True)
    assert check_lockout("t", creating({"a": "int"})) is None
