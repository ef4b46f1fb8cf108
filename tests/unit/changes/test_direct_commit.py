"""Commits that this package writes itself: what they hold, what refuses them, and races with other writers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.changes.provider_commit import check_log_store
from airflow_delta_provider.domain.changes.schema import SchemaText
from airflow_delta_provider.domain.changes.step import Edit
from airflow_delta_provider.domain.delta.commit import ENGINE_INFO, commit_info
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.jobs.changes import commit as commit_module
from airflow_delta_provider.jobs.changes.commit import CommitRefusedError, DirectCommit, MakeEdit, TableMovedError
from tests.unit.local_table import LocalStore, OnDisk
from tests.unit.log_builder import DOMAIN, TIMESTAMPS, Table, audited, body
from tests.unit.states import field, struct, type_to_json

OWNER = Edit("SET TBLPROPERTIES", {"properties": {"owner": "me"}}, set_properties={"owner": "me"})
LABELS = '{"run":"1"}'


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_module, "_WAITS", (0, 0))


@pytest.fixture
def on_disk(tmp_path: Path) -> Callable[..., OnDisk]:
    return lambda table: OnDisk(tmp_path / "t", table)


def plain(**known: Any) -> Table:
    return Table(field("a", "integer"), field("b", "string"), **known).append(2)


def write(
    disk: OnDisk, make: MakeEdit | Edit = OWNER, store: LocalStore | None = None, *, planned_on: Any = None
) -> int:
    planned = planned_on or disk.opened.log.read_state()
    commit = DirectCommit(disk.opened, store or LocalStore(disk.log), planned, LABELS)
    return commit.write(make if callable(make) else lambda _: make)


# -- what it holds --------------------------------------------------------------------------------


def test_commit_signs_itself_and_changes_nothing_but_the_property(on_disk):
    disk = on_disk(plain())
    before = body(disk.commits()[0], "metaData")
    assert write(disk) == 2
    info = commit_info(disk.newest)
    assert [next(iter(action)) for action in disk.newest] == ["commitInfo", "metaData"]
    assert (info["operation"], info["engineInfo"], info["readVersion"]) == ("SET TBLPROPERTIES", ENGINE_INFO, 1)
    assert info["operationParameters"] == {"properties": '{"owner":"me"}'}
    assert (info["isolationLevel"], info["isBlindAppend"], info["userMetadata"]) == ("Serializable", False, LABELS)
    assert body(disk.newest, "metaData") == {**before, "configuration": {"owner": "me"}}
    assert audited(disk.commits()) == []


def test_what_nobody_knows_stays_in_the_actions_in_its_place(on_disk):
    table = plain()
    metadata, protocol = body(table.commits[0], "metaData"), body(table.commits[0], "protocol")
    metadata["schemaString"] = ' {"fields" : [{"name":"ä","type":"integer","nullable":true,"metadata":{"x":1.0E10}}],\
 "type":"struct"}'
    metadata["configuration"] = {"z": "1", "a": "é\n"}
    metadata |= {"name": None, "later": {"b": [1, {"a": None}]}}
    protocol["later"] = 1
    disk = on_disk(table)
    write(disk, Edit("X", protocol=Protocol(1, 3), set_properties={"new": "1"}))
    written = json.dumps(body(disk.newest, "metaData"))
    assert written == json.dumps({**metadata, "configuration": {**metadata["configuration"], "new": "1"}})
    assert body(disk.newest, "protocol") == {"later": 1, "minReaderVersion": 1, "minWriterVersion": 3}


def test_an_action_that_would_not_differ_is_not_written(on_disk):
    disk = on_disk(plain(protocol={"minReaderVersion": 1, "minWriterVersion": 3}))
    write(disk, Edit("X", protocol=Protocol(1, 3), set_properties={"a": "1"}, unset_properties=("never there",)))
    assert [next(iter(action)) for action in disk.newest] == ["commitInfo", "metaData"]


@pytest.mark.parametrize("ahead", [1, 10**12])
def test_in_commit_timestamp_is_first_and_later_than_the_one_before(on_disk, ahead):
    table = plain(features=["inCommitTimestamp"], properties={TIMESTAMPS: "true"})
    table.commits[-1][0]["commitInfo"] |= {"inCommitTimestamp": 1_790_000_001_000 + ahead}
    disk = on_disk(table)
    write(disk)
    info = commit_info(disk.newest)
    assert next(iter(disk.newest[0])) == "commitInfo"
    assert info["inCommitTimestamp"] == info["timestamp"] > 1_790_000_001_000 + ahead
    if ahead > 1:
        assert info["inCommitTimestamp"] == 1_790_000_001_000 + ahead + 1
    assert audited(disk.commits()) == []


def test_domains_and_row_ids_are_not_touched(on_disk):
    disk = on_disk(plain(features=["rowTracking"], properties={"delta.enableRowTracking": "true"}).append())
    before = disk.opened.log.read_state(with_files=True)
    write(disk)
    after = disk.opened.log.read_state(with_files=True)
    assert (after.domains, after.files) == (before.domains, before.files)
    assert DOMAIN in after.domains
    assert audited(disk.commits()) == []


def test_schema_that_is_read_and_written_keeps_how_numbers_were_spelled():
    metadata = '{"a":1.0E10,"b":-0.0,"c":12345678901234567890,"d":"1.5"}'
    text = f'{{"type":"struct","fields":[{{"name":"é\\"","metadata":{metadata}}}]}}'
    schema = SchemaText.read(text)
    assert schema.write() == text
    schema.schema["fields"][0]["metadata"]["d"] = 2
    assert schema.write() == text.replace('"1.5"', "2")


@pytest.mark.parametrize("text", ['{"type":"struct","fields":[],"fields":[]}', "[]", '{"type":"array"}', "{"])
def test_schema_that_means_two_things_or_none_is_damage(text):
    with pytest.raises(BrokenLogError):
        SchemaText.read(text)


# -- what refuses it ------------------------------------------------------------------------------


def refused(disk: OnDisk, edit: Edit = OWNER, **known: Any) -> list[tuple[str, str]]:
    before = disk.commits()
    with pytest.raises(CommitRefusedError) as raised:
        write(disk, edit, **known)
    assert disk.commits() == before
    return [(finding.code, finding.message) for finding in raised.value.findings]


@pytest.mark.parametrize(
    ("known", "code", "named"),
    [
        ({"protocol": Protocol(1, 7, None, frozenset({"sparkle"})).to_json()}, "RQ40", "sparkle"),
        ({"protocol": {"minReaderVersion": 4, "minWriterVersion": 8}}, "RQ40", "reader 4, writer 8"),
        ({"features": ["catalogManaged"]}, "RQ04", "catalogManaged"),
        ({"properties": {"delta.coordinatedCommits.commitCoordinator-preview": "x"}}, "RQ04", "coordinatedCommits"),
        ({"properties": {"delta.enableicebergcompatV2": "TRUE"}}, "RQ40", "delta.enableicebergcompatV2"),
        ({"properties": {"delta.universalFormat.enabledFormats": "iceberg"}}, "RQ40", "universalFormat"),
    ],
)
def test_table_that_asks_for_more_than_a_commit_of_ours_can_do_is_refused(on_disk, known, code, named):
    ((found, message),) = refused(on_disk(Table(field("a", "integer"), **known)))
    assert found == code
    assert named in message


@pytest.mark.parametrize("name", ["delta.enableIcebergCompatV2", "delta.universalFormat.enabledFormats"])
def test_iceberg_that_is_switched_off_is_no_reason(on_disk, name):
    assert write(on_disk(plain(properties={name: "false" if "Compat" in name else ""}))) == 2


def test_time_of_the_commit_before_that_nobody_knows_refuses(on_disk):
    table = plain(features=["inCommitTimestamp"], properties={TIMESTAMPS: "true"})
    del table.commits[-1][0]["commitInfo"]["inCommitTimestamp"]
    ((code, message),) = refused(on_disk(table))
    assert code == "RQ40"
    assert "commit 1 has no inCommitTimestamp" in message


@pytest.mark.parametrize(
    ("edit", "rule"),
    [
        (Edit("X", protocol=Protocol(1, 1)), "TF12"),
        (Edit("X", set_properties={"delta.columnMapping.mode": "name"}), "CM01"),
        (Edit("X", set_properties={"delta.columnMapping.hasDroppedOrRenamed": "false"}), "UT02"),
        (Edit("X", schema_string=json.dumps(type_to_json(struct(field("a", "long"), field("b", "string"))))), "TW"),
    ],
)
def test_commit_that_breaks_a_rule_is_not_written(on_disk, edit, rule):
    found = refused(on_disk(plain()), edit)
    assert {code for code, _ in found} == {"RQ42"}
    assert any(f"the rule {rule}" in message for _, message in found)


def test_what_was_wrong_before_does_not_refuse_a_commit(on_disk):
    table = plain()
    table.set_properties(delta__enableTypeWidening="true")
    disk = on_disk(table)
    wrong = {finding.code for finding in audited(disk.commits())}
    assert wrong
    write(disk)
    assert {finding.code for finding in audited(disk.commits())} == wrong


@pytest.mark.parametrize(
    ("location", "store", "safe"),
    [
        ("file:/t", "io.delta.storage.HDFSLogStore", True),
        ("hdfs://n/t", "io.delta.storage.HDFSLogStore", True),
        ("abfss://c@a/t", "io.delta.storage.AzureLogStore", True),
        ("gs://b/t", "io.delta.storage.GCSLogStore", True),
        ("S3A://b/t", "io.delta.storage.S3DynamoDBLogStore", True),
        ("s3a://b/t", "io.delta.storage.S3SingleDriverLogStore", False),
        ("s3://b/t", "org.apache.spark.sql.delta.storage.S3SingleDriverLogStore", False),
        ("oss://b/t", "io.delta.storage.HDFSLogStore", False),
        ("s3a://b/t", "io.delta.storage.HDFSLogStore", False),
        ("file:/t", "com.example.OwnLogStore", False),
        ("s3a://b/t", "com.example.S3DynamoDBLogStore", False),
    ],
)
def test_log_store_is_safe_by_its_class_and_scheme(location, store, safe):
    refusal = check_log_store("t", location, store)
    assert (refusal is None) is safe
    assert refusal is None or (refusal.code == "RQ41" and store in refusal.message)


# -- races ----------------------------------------------------------------------------------------


def test_append_between_reading_and_writing_is_followed_with_the_proof_made_anew(on_disk):
    disk, seen = on_disk(plain()), []

    def make(base: Any) -> Edit:
        seen.append((base.state.version, len(base.state.files)))
        return OWNER

    store = LocalStore(disk.log, before=lambda put: disk.others(Table.append) if put <= 2 else None)
    assert write(disk, make, store) == 4
    assert seen == [(1, 2), (2, 3), (3, 4)]
    assert commit_info(disk.newest)["readVersion"] == 3
    assert audited(disk.commits()) == []


def test_proof_that_no_longer_holds_stops_it(on_disk):
    disk = on_disk(plain())

    def make(base: Any) -> Edit:
        if len(base.state.files) > 2:
            raise TableMovedError("another file")
        return OWNER

    store = LocalStore(disk.log, before=lambda put: disk.others(Table.append))
    with pytest.raises(TableMovedError, match="another file"):
        write(disk, make, store)
    assert len(disk.commits()) == 3


@pytest.mark.parametrize(
    "change",
    [lambda table: table.set_properties(x="1"), lambda table: table.support("appendOnly", "changeDataFeed")],
    ids=["metadata", "protocol"],
)
@pytest.mark.parametrize("when", ["before reading", "before writing"])
def test_other_writers_change_of_metadata_or_protocol_is_never_followed(on_disk, change, when):
    disk = on_disk(plain())
    planned = disk.opened.log.read_state()
    if when == "before reading":
        disk.others(change)
    store = LocalStore(disk.log, before=lambda put: disk.others(change) if when == "before writing" else None)
    with pytest.raises(TableMovedError, match=r"changed protocol or metadata of .* in version 2"):
        write(disk, store=store, planned_on=planned)
    assert len(disk.commits()) == 3


def test_table_that_was_replaced_by_another_one_is_refused(on_disk):
    disk = on_disk(plain())
    planned = disk.opened.log.read_state()
    disk.others(lambda table: table.replace())
    with pytest.raises(TableMovedError, match="another table"):
        write(disk, planned_on=planned)


def failing_after(put: int) -> Callable[[int], None]:
    def fail(number: int) -> None:
        if number == put:
            raise OSError("connection reset")

    return fail


def test_error_after_the_commit_was_written_is_no_reason_to_write_it_again(on_disk):
    disk = on_disk(plain())
    store = LocalStore(disk.log, after=failing_after(1))
    assert write(disk, store=store) == 2
    assert store.puts == 1
    assert len(disk.commits()) == 3


def test_error_after_writing_with_others_commits_on_top_is_done_too(on_disk):
    disk = on_disk(plain())

    def fail(number: int) -> None:
        disk.others(lambda table: table.append().set_properties(x="1"))
        raise OSError("connection reset")

    assert write(disk, store=LocalStore(disk.log, after=fail)) == 2
    assert len(disk.commits()) == 5


def test_commit_that_arrives_after_its_error_is_found_at_the_next_try(on_disk, monkeypatch):
    disk = on_disk(plain())
    held: list[tuple[int, Any]] = []

    class Late(LocalStore):
        def put(self, version: int, lines: Any) -> None:
            if not held:
                held.append((version, lines))
                raise OSError("timed out")
            super().put(*held[0])  # it was still on its way
            super().put(version, lines)

    store = Late(disk.log)
    assert write(disk, store=store) == 2
    assert len(disk.commits()) == 3


def test_storage_that_failed_before_writing_is_tried_again_a_few_times(on_disk):
    disk = on_disk(plain())
    store = LocalStore(disk.log, before=failing_after(1))
    assert write(disk, store=store) == 2
    assert store.puts == 2

    def always(_: int) -> None:
        raise OSError("connection reset")

    store = LocalStore(disk.log, before=always)
    with pytest.raises(OSError, match="connection reset"):
        write(disk, store=store)
    assert store.puts == 3
    assert len(disk.commits()) == 3


def test_no_permission_is_not_tried_again(on_disk):
    def deny(_: int) -> None:
        raise PermissionError("no")

    disk = on_disk(plain())
    store = LocalStore(disk.log, before=deny)
    with pytest.raises(PermissionError):
        write(disk, store=store)
    assert store.puts == 1


def test_writers_that_are_always_faster_win_in_the_end(on_disk):
    disk = on_disk(plain())
    store = LocalStore(disk.log, before=lambda _: disk.others(Table.append))
    with pytest.raises(TableMovedError, match="faster 10 times"):
        write(disk, store=store)
    assert not any(commit_info(actions).get("engineInfo") == ENGINE_INFO for actions in disk.commits())
