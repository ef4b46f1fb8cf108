"""Files derived from the commits, damaged one field at a time: checkpoints, the pointer, checksum files, names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.audit.saved_state import AuditState
from airflow_delta_provider.domain.delta import packed_files
from airflow_delta_provider.domain.delta.checkpoint_comparison import file_differences, statistics_agree
from airflow_delta_provider.domain.delta.derived_files import canonical_form, checksum_name, json_checksum
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.report.report import Finding, Severity
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.audit import derived_files
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from tests.unit import audits_in_parts
from tests.unit.audits_in_parts import Kept, content_of, told
from tests.unit.checkpoint_builder import (
    FILE_KINDS,
    as_json,
    as_parquet,
    classic_name,
    part_name,
    reconciled,
    uuid_name,
    v2_metadata,
)
from tests.unit.command_line.tables import write
from tests.unit.damages import edits, histories
from tests.unit.log_builder import TIMESTAMPS, TRACKING, Actions, Table, body
from tests.unit.states import field

Json = dict[str, Any]
Damage = Callable[[Actions], Any]
AT = 5


@pytest.fixture(autouse=True, params=[False, True], ids=["", "packed"])
def packed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the files of checkpoints be packed, as those of large tables are."""
    if request.param:
        monkeypatch.setattr(packed_files, "FEW", -1)


SIDECAR = "0d3e1a3c-0000-4000-8000-000000000000.parquet"


def history(*features: str, **properties: str) -> Table:
    """Every kind of action: partition values, deletion vectors, tombstones, transactions, domains, row ids."""
    listed = {"delta.enableDeletionVectors": "true", TRACKING: "true", **properties}
    table = Table(
        field("id", "long"),
        field("v", "integer"),
        field("p", "integer"),
        features=["deletionVectors", "rowTracking", "domainMetadata", *features],
        partition_by=["p"],
        properties={key.replace("__", "."): value for key, value in listed.items()},
    )
    table.append(3).mark_deleted(table.paths[0])
    table.delete(table.paths[1])
    written = table._written([10])
    written[0]["add"]["tags"] = {"ZCUBE_ID": "1"}
    table.commit("STREAMING UPDATE", {"txn": {"appId": "a", "version": 3, "lastUpdated": 1}}, *written)
    owner = {"domain": "team", "configuration": "1", "removed": False}
    table.commit("SET DOMAIN", {"domainMetadata": owner}, {"txn": {"appId": "b", "version": 7}})
    return table.append().append()


def v2() -> Table:
    return history("v2Checkpoint", delta__checkpointPolicy="v2")


def at(table: Table, damage: Damage | None = None, version: int = AT) -> Actions:
    actions: Actions = json.loads(json.dumps(reconciled(table.commits[: version + 1])))
    if damage is not None:
        damage(actions)
    return actions


def found(storage: Kept) -> list[Finding]:
    findings, memory, _ = told(storage)
    again, _, _ = told(storage, memory)
    assert [f.fingerprint for f in again] == [f.fingerprint for f in findings], "an audit that resumes says the same"
    return findings


def codes(findings: list[Finding]) -> list[tuple[str, Severity]]:
    return [(finding.code, finding.severity) for finding in findings]


def error(code: str) -> list[tuple[str, Severity]]:
    return [(code, Severity.ERROR)]


def warning(code: str) -> list[tuple[str, Severity]]:
    return [(code, Severity.WARNING)]


def edit(kind: str, number: int = 0, /, **changes: Any) -> Damage:
    def damage(actions: Actions) -> None:
        wire = body(actions, kind, number)
        for key, value in changes.items():
            wire.pop(key, None)
            if value is not None:
                wire[key] = value

    return damage


def without(kind: str, number: int = 0) -> Damage:
    return lambda actions: actions.remove([action for action in actions if kind in action][number])


def twice(kind: str, **changes: Any) -> Damage:
    return lambda actions: actions.append({kind: {**body(actions, kind), **changes}})


def extra(action: Json) -> Damage:
    return lambda actions: actions.append(action)


def stats(**changes: Any) -> Damage:
    def damage(actions: Actions) -> None:
        wire = body(actions, "add")
        wire["stats"] = json.dumps({**json.loads(wire["stats"]), **changes})

    return damage


def configured(**changes: str) -> Damage:
    return lambda actions: body(actions, "metaData")["configuration"].update(changes)


REMOVED = {"path": "p=1/x.parquet", "deletionTimestamp": audits_in_parts.WRITTEN, "dataChange": False}
OF_CHECKPOINT: dict[str, tuple[str, Damage]] = {
    "protocol: versions": ("LG07", edit("protocol", minWriterVersion=7, minReaderVersion=2)),
    "protocol: reader features": ("LG07", edit("protocol", readerFeatures=[])),
    "protocol: writer features": ("LG07", edit("protocol", writerFeatures=["rowTracking"])),
    "metadata: id": ("LG07", edit("metaData", id="another")),
    "metadata: name": ("LG07", edit("metaData", name="another")),
    "metadata: schema": ("LG07", edit("metaData", schemaString='{"type":"struct","fields":[]}')),
    "metadata: partition columns": ("LG07", edit("metaData", partitionColumns=[])),
    "metadata: property": ("LG07", configured(owner="x")),
    "metadata: created": ("LG07", edit("metaData", createdTime=1)),
    "file lost": ("LG07", without("add")),
    "file too many": ("LG07", twice("add", path="p=1/another.parquet")),
    "file: size": ("LG07", edit("add", size=1)),
    "file: partition value": ("LG07", edit("add", partitionValues={"p": "2"})),
    "file: no partition value": ("LG07", edit("add", partitionValues={})),
    "file: time": ("LG07", edit("add", modificationTime=1)),
    "file: tags": ("LG07", edit("add", 1, tags={"x": "y"})),
    "file: base row id": ("LG07", edit("add", baseRowId=70)),
    "file: no base row id": ("LG07", edit("add", baseRowId=None)),
    "file: no base row id 0": ("LG07", edit("add", 1, baseRowId=None)),
    "file: commit version": ("LG07", edit("add", defaultRowCommitVersion=70)),
    "file: number of rows": ("LG07", stats(numRecords=70)),
    "file: bounds": ("LG07", stats(minValues={"id": 2, "v": 1})),
    "file: nulls": ("LG07", stats(nullCount={"id": 2, "v": 0})),
    "tombstone lost": ("LG07", without("remove")),
    "tombstone too many": ("LG07", extra({"remove": REMOVED})),
    "tombstone: time": ("LG07", edit("remove", deletionTimestamp=1)),
    "transaction lost": ("LG07", without("txn")),
    "transaction too many": ("LG07", extra({"txn": {"appId": "c", "version": 1}})),
    "transaction: version": ("LG07", edit("txn", version=2)),
    "domain lost": ("LG05", without("domainMetadata", 1)),
    "domain too many": ("LG07", extra({"domainMetadata": {"domain": "x", "configuration": "1", "removed": False}})),
    "domain: configuration": ("LG07", edit("domainMetadata", 1, configuration="2")),
    "no protocol": ("LG10", without("protocol")),
    "no metadata": ("LG10", without("metaData")),
    "two protocols": ("LG14", twice("protocol")),
    "two metadata": ("LG14", twice("metaData")),
    "file twice": ("LG14", twice("add")),
    "tombstone twice": ("LG14", twice("remove")),
    "transaction twice": ("LG14", twice("txn")),
    "domain twice": ("LG14", twice("domainMetadata")),
    "removed domain": ("LG14", extra({"domainMetadata": {"domain": "x", "configuration": "1", "removed": True}})),
    "commit info": ("LG14", extra({"commitInfo": {"timestamp": 1, "operation": "WRITE"}})),
    "change data": ("LG14", extra({"cdc": {"path": "c.parquet", "size": 1}})),
    "V2 without the feature": ("LG14", extra(v2_metadata(AT))),
    "sidecar in V1": ("LG14", extra({"sidecar": {"path": "s.parquet", "sizeInBytes": 1, "modificationTime": 1}})),
}


@pytest.mark.parametrize("name", OF_CHECKPOINT)
@pytest.mark.parametrize("newer", [False, True], ids=["newest", "older"])
def test_damaged_checkpoint_is_found(name: str, newer: bool) -> None:
    code, damage = OF_CHECKPOINT[name]
    table = history()
    storage = Kept(table.commits)
    storage.files[classic_name(AT)] = as_parquet(at(table, damage))
    if name == "sidecar in V1":
        storage.files["s.parquet"] = as_parquet(at(table)[:0] or [{"remove": REMOVED}])
    if newer:
        storage.checkpoint(table, table.version)
    findings = found(storage)
    assert error(code) <= codes(findings) or error(code)[0] in codes(findings)
    assert {f.version for f in findings} == {AT}
    assert {f.path for f in findings} == {f"_delta_log/{classic_name(AT)}"}


LEGAL: dict[str, Damage] = {
    "as it is": lambda actions: None,
    "in another order": lambda actions: actions.reverse(),
    "schema with blanks": lambda actions: edit(
        "metaData", schemaString=json.dumps(json.loads(body(actions, "metaData")["schemaString"]), indent=2)
    )(actions),
    "statistics in other words": lambda actions: stats(minValues={"v": 1.0})(actions),
    "no empty tags": edit("add", tags={}),
    "no time of a tombstone": lambda actions: [a["remove"].pop("deletionTimestamp") for a in actions if "remove" in a],
    "no time of a transaction": edit("txn", lastUpdated=None),
}


@pytest.mark.parametrize("change", LEGAL.values(), ids=LEGAL)
def test_what_engines_may_write_is_silent(change: Damage) -> None:
    table = history()
    storage = Kept(table.commits)
    storage.files[classic_name(AT)] = as_parquet(at(table, change))
    for version in (2, 3, table.version):
        storage.checkpoint(table, version)
    assert found(storage) == []


def no_statistics(actions: Actions) -> None:
    """As an engine writes a checkpoint that does not keep statistics."""
    for action in actions:
        action.get("add", {}).pop("stats", None)


def test_checkpoint_without_the_statistics_of_the_commits_is_found() -> None:
    table = history()
    storage = Kept(table.commits)
    storage.files[classic_name(AT)] = as_parquet(at(table, no_statistics))
    (finding,) = found(storage)
    assert codes([finding]) == warning("LG27")
    assert finding.facts is not None
    assert finding.facts["files"] > 1


def test_checkpoint_without_the_statistics_of_one_file_is_found() -> None:
    """As an engine writes it that cannot read the statistics of that file."""
    table = history()
    storage = Kept(table.commits)
    storage.files[classic_name(AT)] = as_parquet(
        at(table, lambda actions: no_statistics([action for action in actions if "add" in action][-1:]))
    )
    (finding,) = found(storage)
    assert codes([finding]) == warning("LG27")
    assert finding.facts is not None
    assert finding.facts["files"] == 1


@pytest.mark.parametrize("text", ["null", "{}"])
def test_statistics_that_say_nothing_are_not_missed(text: str) -> None:
    table = history()
    for actions in table.commits:
        for add in (action["add"] for action in actions if "add" in action):
            add["stats"] = text
    storage = Kept(table.commits)
    storage.files[classic_name(AT)] = as_parquet(at(table, no_statistics))
    assert "LG27" not in {finding.code for finding in found(storage)}


@pytest.mark.parametrize("as_struct", ["false", None])
def test_statistics_that_properties_turn_off_are_no_loss(as_struct: str | None) -> None:
    off = {"delta__checkpoint__writeStatsAsJson": "false", "delta__checkpoint__writeStatsAsStruct": as_struct}
    table = history(**{name: value for name, value in off.items() if value is not None})
    storage = Kept(table.commits)
    storage.files[classic_name(AT)] = as_parquet(at(table, no_statistics))
    assert found(storage) == []


@pytest.mark.parametrize(
    ("retention", "code"), [("interval 1 week", "LG07"), ("interval 1 second", None), ("soon", None), (None, "LG07")]
)
def test_tombstones_may_expire(retention: str | None, code: str | None) -> None:
    table = history(**({} if retention is None else {"delta__deletedFileRetentionDuration": retention}))
    storage = Kept(table.commits)
    storage.files[classic_name(AT)] = as_parquet(at(table, without("remove")))
    seen = [finding.code for finding in found(storage) if finding.code.startswith("LG")]
    assert seen == [code] * (code is not None)


def test_transactions_may_expire() -> None:
    table = history(delta__setTransactionRetentionDuration="interval 1 day")
    storage = Kept(table.commits)
    storage.files[classic_name(AT)] = as_parquet(at(table, without("txn")))
    assert found(storage) == []


@pytest.mark.parametrize("name", ["file: size", "transaction lost", "file twice", "domain lost"])
def test_damaged_checkpoint_is_found_where_older_commits_are_gone(name: str) -> None:
    code, damage = OF_CHECKPOINT[name]
    table = history()
    storage = Kept(table.commits).clean_up(table, 2)
    storage.files[classic_name(AT)] = as_parquet(at(table, damage))
    assert [finding.code for finding in told(storage)[0]] in ([code, "LG01"], ["LG01", code])
    storage = Kept(table.commits).clean_up(table, AT)
    storage.files[classic_name(AT)] = as_parquet(at(table, OF_CHECKPOINT["file twice"][1]))
    assert {finding.code for finding in told(storage)[0]} == {"LG14", "LG01"}  # nothing to compare it with


def test_checkpoint_that_is_written_after_an_audit_is_compared_by_the_next() -> None:
    table = history()
    _, memory, _ = told(Kept(table.commits[:-1]))
    storage = Kept(table.commits)
    storage.files[classic_name(AT)] = as_parquet(at(table, without("txn")))
    assert codes(told(storage, memory)[0]) == error("LG07")


# -- parts ----------------------------------------------------------------------------------------


def in_parts(table: Table, damage: Damage | None = None) -> dict[str, bytes]:
    actions = at(table, damage)
    files = [action for action in actions if "add" in action or "remove" in action]
    parts = [action for action in actions if action not in files], files[:2], files[2:]
    return {part_name(AT, number, 3): as_parquet(part) for number, part in enumerate(parts, start=1)}


def test_parts_need_not_have_all_columns() -> None:
    table = history()
    storage = Kept(table.commits)
    storage.files |= in_parts(table)
    assert found(storage) == []


@pytest.mark.parametrize("name", ["file: size", "file twice", "transaction lost", "file lost"])
def test_damaged_part_is_found(name: str) -> None:
    code, damage = OF_CHECKPOINT[name]
    table = history()
    storage = Kept(table.commits)
    storage.files |= in_parts(table, damage)
    assert codes(found(storage)) == error(code)


def test_missing_part_is_said_and_readers_ignore_the_others() -> None:
    table = history()
    storage = Kept(table.commits)
    storage.files |= in_parts(table)
    del storage.files[part_name(AT, 2, 3)]
    assert codes(found(storage)) == warning("LG15")


def test_parts_are_forbidden_with_v2_checkpoints() -> None:
    table = v2()
    storage = Kept(table.commits)
    storage.files |= in_parts(table)
    assert codes(found(storage)) == error("LG14")


# -- V2 -------------------------------------------------------------------------------------------


def with_sidecar(table: Table, in_sidecar: Damage = lambda _: None, **named: Any) -> tuple[Actions, bytes]:
    """The actions of a V2 checkpoint but checkpointMetadata, and its sidecar file."""
    actions = at(table)
    files = [action for action in actions if "add" in action or "remove" in action]
    in_sidecar(files)
    content = as_parquet(files)
    sidecar = {"path": SIDECAR, "sizeInBytes": len(content), "modificationTime": 1, **named}
    others = [action for action in actions if not any(kind in action for kind in FILE_KINDS)]
    return [*others, {"sidecar": {k: v for k, v in sidecar.items() if v is not None}}], content


def tags(table: Table) -> dict[str, str]:
    _, content = with_sidecar(table)
    files = [action for action in at(table) if "add" in action or "remove" in action]
    adds = sum("add" in action for action in files)
    return {"sidecarNumActions": str(len(files)), "sidecarSizeInBytes": str(len(content)), "numOfAddFiles": str(adds)}


@pytest.mark.parametrize("form", ["json", "parquet", "classic"])
@pytest.mark.parametrize("sidecars", [True, False])
def test_v2_checkpoints_are_silent(form: str, sidecars: bool) -> None:
    table = v2()
    storage = Kept(table.commits)
    actions, content = with_sidecar(table)
    if sidecars:
        storage.files[SIDECAR] = content
    else:
        actions = at(table)
    written = [v2_metadata(AT, **(tags(table) if sidecars else {})), *actions]
    name = classic_name(AT) if form == "classic" else uuid_name(AT, form)
    storage.files[name] = as_json(written) if form == "json" else as_parquet(written)
    assert found(storage) == []


OF_V2: dict[str, Callable[[Table, Kept], Actions]] = {
    "no checkpointMetadata": lambda table, _: with_sidecar(table)[0],
    "no checkpointMetadata and no sidecars": lambda table, _: at(table),
    "two of them": lambda table, _: [v2_metadata(AT), v2_metadata(AT), *with_sidecar(table)[0]],
    "another version": lambda table, _: [v2_metadata(AT - 1), *with_sidecar(table)[0]],
    "no version": lambda table, _: [{"checkpointMetadata": {"tags": {}}}, *with_sidecar(table)[0]],
    "files beside the sidecar": lambda table, _: [v2_metadata(AT), *with_sidecar(table)[0], {"remove": REMOVED}],
    "sidecar twice": lambda table, _: [v2_metadata(AT), *with_sidecar(table)[0], with_sidecar(table)[0][-1]],
    "size of the sidecar": lambda table, _: [v2_metadata(AT), *with_sidecar(table, sizeInBytes=7)[0]],
    "no size": lambda table, _: [v2_metadata(AT), *with_sidecar(table, sizeInBytes=None)[0]],
    "no time": lambda table, _: [v2_metadata(AT), *with_sidecar(table, modificationTime=None)[0]],
    "elsewhere": lambda table, _: [v2_metadata(AT), *with_sidecar(table, path=f"file:/elsewhere/{SIDECAR}")[0]],
    **{
        f"tag {tag}": lambda table, _, tag=tag: [v2_metadata(AT, **{tag: "99"}), *with_sidecar(table)[0]]  # type: ignore[misc]  # bound early
        for tag in ("sidecarNumActions", "sidecarSizeInBytes", "numOfAddFiles")
    },
}


@pytest.mark.parametrize("name", OF_V2)
def test_malformed_v2_checkpoint_is_found(name: str) -> None:
    table = v2()
    storage = Kept(table.commits)
    storage.files[SIDECAR] = with_sidecar(table)[1]
    storage.files[uuid_name(AT)] = as_json(OF_V2[name](table, storage))
    assert error("LG14")[0] in codes(found(storage))


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (edit("add", size=7), "LG07"),
        (without("add"), "LG07"),
        (extra({"txn": {"appId": "c", "version": 1}}), "LG14"),
        (twice("add"), "LG14"),
    ],
)
def test_damaged_sidecar_is_found(damage: Damage, code: str) -> None:
    table = v2()
    storage = Kept(table.commits)
    actions, storage.files[SIDECAR] = with_sidecar(table, damage)
    storage.files[uuid_name(AT)] = as_json([v2_metadata(AT), *actions])
    assert error(code)[0] in codes(found(storage))


def test_v2_checkpoint_without_the_feature_is_found() -> None:
    table = history()
    storage = Kept(table.commits)
    storage.files[uuid_name(AT)] = as_json([v2_metadata(AT), *at(table)])
    assert codes(found(storage)) == error("LG14")


# -- names and versions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "5.json",
        f"{5:019d}.json",
        f"{5:021d}.crc",
        f"{5:019d}.checkpoint.parquet",
        f"{5:020d}.checkpoint.1.3.parquet",
        f"{1}.{3}.compacted.json",
        f"{3:020d}.{3:020d}.compacted.json",
        f"{3:020d}.{1:020d}.compacted.json",
    ],
)
def test_malformed_name_is_found(name: str) -> None:
    table = history()
    storage = Kept(table.commits)
    storage.files[name] = content_of(table.commits[2])
    assert codes(found(storage)) == error("LG16")
    assert [finding.version for finding in found(storage)] == [int(name.partition(".")[0])]


@pytest.mark.parametrize(
    "name", [checksum_name(30), classic_name(30), part_name(30, 1, 2), f"{1:020d}.{30:020d}.compacted.json"]
)
def test_file_that_is_ahead_of_the_commits_is_found(name: str) -> None:
    table = history()
    storage = Kept(table.commits)
    storage.files[name] = as_parquet(at(table))
    assert error("LG17")[0] in codes(told(storage)[0])


@pytest.mark.parametrize("name", [checksum_name(30), part_name(30, 1, 2), f"{1:020d}.{30:020d}.compacted.json"])
def test_file_that_is_ahead_of_the_newest_commit_is_found_by_audits_of_the_whole_log(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "t", history())
    (path / "_delta_log" / name).write_bytes(b"{}")
    for version, codes in ((None, ["LG17"]), (3, [])):
        (report,) = run(JobRequest((str(path),), AuditOptions(version=version)), python_session()).tables
        assert [finding.code for finding in report.findings] == codes


def test_commits_that_no_checkpoint_leads_to_are_said() -> None:
    table = history()
    storage = Kept(table.commits).clean_up(table, AT)
    storage.files[commit_name(AT - 1)] = content_of(table.commits[AT - 1])
    assert warning("LG18")[0] in codes(told(storage)[0])


# -- the pointer ----------------------------------------------------------------------------------

SAMPLE = (
    '{"k0":"\'v 0\'", "checksum": "adsaskfljadfkjadfkj", '
    '"k1":{"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}'
)


def test_checksum_of_the_pointer_is_as_in_the_specification() -> None:
    assert json_checksum(SAMPLE) == "6a92d155a59bf2eecbd4b4ec7fd1f875"
    assert (
        canonical_form('{"b":2.50,"a":{"ü~ /":null,"n":[true]}}') == '"a"+"%C3%BC~%20%2F"=null,"a"+"n"+0=true,"b"=2.50'
    )


def pointer(table: Table, storage: Kept, **changes: Any) -> bytes:
    actions = at(table)
    wire: Json = {
        "version": AT,
        "size": len(actions),
        "sizeInBytes": len(storage.files[classic_name(AT)]),
        "numOfAddFiles": sum("add" in action for action in actions),
    }
    wire["checksum"] = json_checksum(json.dumps(wire))
    return json.dumps({key: value for key, value in {**wire, **changes}.items() if value is not None}).encode()


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 3},
        {"size": 3, "checksum": None},
        {"sizeInBytes": 3, "checksum": None},
        {"numOfAddFiles": 99, "checksum": None},
        {"parts": 3, "checksum": None},
        {"checksum": "0" * 32},
        {"tags": {"a": "b"}},
        {"v2Checkpoint": {"path": uuid_name(AT)}, "checksum": None},
    ],
    ids=str,
)
def test_wrong_pointer_is_found(changes: Json) -> None:
    table = history()
    storage = Kept(table.commits)
    storage.checkpoint(table, AT)
    storage.files["_last_checkpoint"] = pointer(table, storage)
    assert found(storage) == []
    storage.files["_last_checkpoint"] = pointer(table, storage, **changes)
    findings, _, _ = told(storage)
    assert codes(findings) == warning("LG11")


def test_pointer_with_a_key_twice_is_found() -> None:
    table = history()
    storage = Kept(table.commits)
    storage.checkpoint(table, AT)
    storage.files["_last_checkpoint"] = b'{"version":5,"size":1,"size":1}'
    assert codes(told(storage)[0]) == warning("LG11")


@pytest.mark.parametrize("damage", ["sidecarFiles", "nonFileActions"])
def test_pointer_that_repeats_another_checkpoint_is_found(damage: str) -> None:
    table = v2()
    storage = Kept(table.commits)
    actions, storage.files[SIDECAR] = with_sidecar(table)
    storage.files[uuid_name(AT)] = as_json([v2_metadata(AT), *actions])
    sidecar = actions[-1]["sidecar"]
    repeated: Json = {"path": uuid_name(AT), "nonFileActions": actions[:-1], "sidecarFiles": [sidecar]}
    storage.files["_last_checkpoint"] = json.dumps({"version": AT, "v2Checkpoint": repeated}).encode()
    assert found(storage) == []
    repeated[damage] = [] if damage == "sidecarFiles" else [{"metaData": {**table.now.metadata, "id": "another"}}]
    storage.files["_last_checkpoint"] = json.dumps({"version": AT, "v2Checkpoint": repeated}).encode()
    assert codes(told(storage)[0]) == error("LG11")


# -- checksum files -------------------------------------------------------------------------------

BOUNDS = [0, 1003, 1005, 4096]


def checksum(table: Table, version: int = AT) -> Json:
    state = table.state(version)
    adds = list(state.files.values())
    places = [max(place for place, bound in enumerate(BOUNDS) if add["size"] >= bound) for add in adds]
    sizes = [sum(add["size"] for add, at in zip(adds, places) if at == place) for place in range(len(BOUNDS))]
    vectors = [add["deletionVector"] for add in adds if add.get("deletionVector")]
    deleted = [len(adds) - len(vectors), len(vectors), *[0] * 8]
    actions = at(table, version=version)
    info = body(table.commits[version], "commitInfo")
    return {
        "txnId": info["txnId"],
        "tableSizeBytes": sum(add["size"] for add in adds),
        "numFiles": len(adds),
        "numMetadata": 1,
        "numProtocol": 1,
        "setTransactions": [action["txn"] for action in actions if "txn" in action],
        "domainMetadata": [action["domainMetadata"] for action in actions if "domainMetadata" in action],
        "metadata": state.metadata,
        "protocol": state.protocol,
        "fileSizeHistogram": {
            "sortedBinBoundaries": BOUNDS,
            "fileCounts": [places.count(place) for place in range(len(BOUNDS))],
            "totalBytes": sizes,
        },
        "allFiles": [action["add"] for action in actions if "add" in action],
        "numDeletedRecordsOpt": sum(vector["cardinality"] for vector in vectors),
        "numDeletionVectorsOpt": len(vectors),
        "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": deleted},
        **({"inCommitTimestampOpt": info["inCommitTimestamp"]} if "inCommitTimestamp" in info else {}),
    }


def histogram(**changes: Any) -> Callable[[Json], Json]:
    return lambda wire: {"fileSizeHistogram": {**wire["fileSizeHistogram"], **changes}}


OF_CHECKSUM: dict[str, Callable[[Json], Json]] = {
    "txnId": lambda wire: {"txnId": "another"},
    "tableSizeBytes": lambda wire: {"tableSizeBytes": 1},
    "no tableSizeBytes": lambda wire: {"tableSizeBytes": None},
    "numFiles": lambda wire: {"numFiles": 1},
    "no numFiles": lambda wire: {"numFiles": None},
    "numMetadata": lambda wire: {"numMetadata": 2},
    "no numMetadata": lambda wire: {"numMetadata": None},
    "numProtocol": lambda wire: {"numProtocol": 0},
    "no numProtocol": lambda wire: {"numProtocol": None},
    "inCommitTimestampOpt": lambda wire: {"inCommitTimestampOpt": 1},
    "transaction lost": lambda wire: {"setTransactions": wire["setTransactions"][1:]},
    "transaction: version": lambda wire: {
        "setTransactions": [{"appId": "a", "version": 1}, wire["setTransactions"][1]]
    },
    "transaction twice": lambda wire: {"setTransactions": [*wire["setTransactions"], wire["setTransactions"][0]]},
    "domain lost": lambda wire: {"domainMetadata": wire["domainMetadata"][1:]},
    "domain: configuration": lambda wire: {"domainMetadata": [{**wire["domainMetadata"][0], "configuration": "{}"}]},
    "removed domain": lambda wire: {
        "domainMetadata": [*wire["domainMetadata"], {"domain": "x", "configuration": "", "removed": True}]
    },
    "metadata": lambda wire: {"metadata": {**wire["metadata"], "configuration": {}}},
    "no metadata": lambda wire: {"metadata": None},
    "protocol": lambda wire: {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
    "no protocol": lambda wire: {"protocol": None},
    "bins not from 0": histogram(sortedBinBoundaries=[1, 1003, 1005, 4096]),
    "bins not sorted": histogram(sortedBinBoundaries=[0, 1005, 1003, 4096]),
    "bins too many": histogram(sortedBinBoundaries=[*BOUNDS, 5000]),
    "counts too few": histogram(fileCounts=[1]),
    "file counts": histogram(fileCounts=[9, 0, 0, 0]),
    "sizes too few": histogram(totalBytes=[1]),
    "total bytes": histogram(totalBytes=[9, 0, 0, 0]),
    "file lost": lambda wire: {"allFiles": wire["allFiles"][1:]},
    "file twice": lambda wire: {"allFiles": [*wire["allFiles"], wire["allFiles"][0]]},
    "file: partition value": lambda wire: {
        "allFiles": [{**wire["allFiles"][0], "partitionValues": {"p": "7"}}, *wire["allFiles"][1:]]
    },
    "deleted records": lambda wire: {"numDeletedRecordsOpt": 7},
    "deletion vectors": lambda wire: {"numDeletionVectorsOpt": 7},
    "deleted counts": lambda wire: {"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [0] * 10}},
    "deleted counts of another size": lambda wire: {"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [4, 1]}},
}


def with_checksums(table: Table, change: Callable[[Json], Json] = lambda _: {}) -> Kept:
    storage = Kept(table.commits)
    for version in range(2, table.version + 1):
        wire = checksum(table, version)
        wire |= change(wire) if version == AT else {}
        kept = {key: value for key, value in wire.items() if value is not None}
        storage.files[checksum_name(version)] = json.dumps(kept).encode()
    return storage


@pytest.mark.parametrize("name", OF_CHECKSUM)
def test_wrong_field_of_a_checksum_file_is_found(name: str) -> None:
    (finding,) = found(with_checksums(history(), OF_CHECKSUM[name]))
    assert (finding.code, finding.severity, finding.version) == ("LG08", Severity.ERROR, AT)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("name", [None, *OF_CHECKSUM])
def test_checksum_files_of_commits_that_remove_files_are_compared_by_audits_that_go_on(
    name: str | None, listed: bool
) -> None:
    if name is not None and name.startswith(("transaction", "domain")):
        pytest.skip("the table has none")
    table = histories.with_vectors().append(3).append()
    table.mark_deleted(table.paths[0]).update(table.paths[1]).mark_deleted(table.paths[0])
    memory: AuditState | None = None
    for end in range(table.version + 1):
        storage = Kept(table.commits[: end + 1])
        for version in range(2, end + 1):
            wire = checksum(table, version)
            wire |= OF_CHECKSUM[name](wire) if name is not None and version == end == table.version else {}
            kept = {key: value for key, value in wire.items() if value is not None and (listed or key != "allFiles")}
            storage.files[checksum_name(version)] = json.dumps(kept, separators=(",", ":")).encode()
        found, memory, _ = told(storage, memory)
        assert codes(found) == codes(told(storage)[0])
    assert (found == []) is (name is None or (name.startswith("file") and not listed and name != "file counts"))


@pytest.mark.parametrize("properties", [{}, {TIMESTAMPS: "true"}], ids=["plain", "timestamps"])
def test_right_checksum_files_are_silent(properties: dict[str, str]) -> None:
    features = ["inCommitTimestamp"] if properties else []
    table = history(*features, **properties)
    assert found(with_checksums(table)) == []
    blanks = {"schemaString": json.dumps(table.schema, indent=1)}
    assert found(with_checksums(table, lambda wire: {"metadata": {**wire["metadata"], **blanks}})) == []


@pytest.mark.parametrize("change", [{"inCommitTimestampOpt": None}, {"inCommitTimestampOpt": 7}])
def test_checksum_file_has_the_in_commit_timestamp(change: Json) -> None:
    table = history("inCommitTimestamp", **{TIMESTAMPS: "true"})
    assert codes(found(with_checksums(table, lambda _: change))) == error("LG08")


def test_checksum_file_of_old_databricks_is_a_warning() -> None:
    assert codes(found(with_checksums(history(), lambda _: {"protocol": None, "metadata": None}))) == warning("LG08")


# -- tables that a catalog manages ----------------------------------------------------------------


def managed() -> Table:
    features = ["inCommitTimestamp", "catalogManaged"]
    return Table(field("id", "long"), features=features, properties={TIMESTAMPS: "true"}).append().append()


def test_catalog_managed_table_has_timestamps_and_its_commits_have_transactions() -> None:
    assert [finding.code for finding in found(Kept(managed().commits))] == ["LG06"]
    table = managed().damaged(edits.info(txnId=None)).append().append()
    assert error("AC20")[0] in codes(found(Kept(table.commits)))
    table = managed().set_properties(**{TIMESTAMPS.replace(".", "__"): "false"})
    (finding,) = (finding for finding in found(Kept(table.commits)) if finding.code == "LG19")
    assert (finding.version, finding.is_open) == (table.version, True)


def test_older_checkpoints_are_compared_as_long_as_that_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    table = history()
    storage = Kept(table.commits)
    for version in range(2, table.version):
        storage.files[classic_name(version)] = as_parquet(at(table, without("txn") if version > 4 else None, version))
    (finding,) = found(storage)
    assert (finding.version, finding.alike_until) == (5, table.version - 1)
    monkeypatch.setattr(derived_files, "_FREE", 0)
    (finding,), _, run = told(storage)
    assert finding.version == table.version - 1
    assert run.checkpoints.left_out == {"checkpoints": 5, "checkpoints_compared": 1}


@pytest.mark.parametrize("field", ["size", "modificationTime", "baseRowId", "defaultRowCommitVersion"])
def test_0_is_a_value(field: str) -> None:
    assert file_differences({"path": "a", field: 0}, {"path": "a"}) == [field]


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ('{"numRecords":5000000}', '{"numRecords":5000001}', False),
        ('{"nullCount":{"a":0}}', '{"nullCount":{"a":1}}', False),
        ('{"numRecords":5000000}', '{"numRecords":5000001.0}', False),
        ('{"nullCount":{"s":{"a":5000000}}}', '{"nullCount":{"s":{"a":5000001.0}}}', False),
        ('{"numRecords":5000000}', '{"numRecords":5000000.0}', True),
        ('{"maxValues":{"a":1234567936}}', '{"maxValues":{"a":1.2345679E9}}', True),
        ('{"maxValues":{"a":9007199254740993}}', '{"maxValues":{"a":9007199254740992}}', False),
        ('{"maxValues":{"a":1.5}}', '{"maxValues":{"a":1.50}}', True),
        ('{"maxValues":{"a":2}}', '{"maxValues":{"a":2.0}}', True),
    ],
)
def test_integers_are_compared_exactly(one: str, other: str, agree: bool) -> None:
    assert statistics_agree(one, other) == agree
