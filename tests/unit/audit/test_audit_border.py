"""Paths in a log are untrusted: nothing outside a table's border is read, and one such file hides no other finding."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.audit.data_level import check_vectors
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.process import TimeBudget
from airflow_delta_provider.jobs.run.runner import run

_SECRET = "topsecret=wJalrXUtnFEMI\n" * 20
_SIZE = len(_SECRET)
_SCHEMA = {"type": "struct", "fields": [{"name": "id", "type": "integer", "nullable": True, "metadata": {}}]}
_OUTSIDE, _UNREAD, _LOG_FILE, _REFUSED = "DF12", "DF13", "LG20", "RQ16"


def make_table(folder: Path, paths: Iterable[str] = (), **actions: Any) -> Path:
    """Make a table with two sound files, between which others are added."""
    (folder / "_delta_log").mkdir(parents=True)
    for name in ("a.parquet", "z.parquet"):
        pa.parquet.write_table(pa.table({"id": pa.array([1, 2], pa.int32())}), folder / name)
    own = (folder / "a.parquet").stat().st_size
    adds = [("a.parquet", own), *((path, _SIZE) for path in paths), ("z.parquet", own)]
    metadata = {
        "id": folder.name,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(_SCHEMA),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 1,
    }
    commit = [
        {"commitInfo": {"timestamp": 1, "operation": "WRITE", "operationParameters": {}}},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": metadata},
        *({"add": _add(path, size)} for path, size in adds),
    ]
    write_commit(folder, 0, *commit)
    return folder


def _add(path: str, size: int) -> dict[str, Any]:
    return {"path": path, "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}


def write_commit(folder: Path, version: int, *actions: Any) -> None:
    text = "".join(f"{json.dumps(action)}\n" for action in actions)
    (folder / "_delta_log" / f"{version:020}.json").write_text(text)


def audit(table: Path, *allowed: Path, level: str = "footers", **options: Any) -> TableReport:
    request = JobRequest(
        (str(table),), AuditOptions(level=level, **options), allowed_locations=tuple(map(str, allowed))
    )
    report = run(request, python_session()).tables[0]
    assert "wJal" not in json.dumps(report.to_json())
    return report


def codes(report: TableReport) -> set[str]:
    return {finding.code for finding in report.findings}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret.txt"
    file.write_text(_SECRET)
    return file


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "%2e%2e/secret.txt",
        "x/%2E%2E/..//../secret.txt",
        "..%2Fsecret.txt",
        "{secret}",
        "//{secret}",
        "file:{secret}",
        "file://{secret}",
        "FILE:{secret}",
        "file:/x/..{secret}",
        "file:/proc/self/environ",
        "file:/proc/self/root{secret}",
        "/dev/zero",
        "/sys/kernel/notes",
        "/etc/passwd",
        "file://somewhere{secret}",
        "http://127.0.0.1:{port}/secret.txt",
        "https://user:password@127.0.0.1:{port}/secret.txt",
        "s3://another-bucket/secret.txt",
        "abfss://container@account.dfs.core.windows.net/secret.txt",
        "unknown-scheme://place/secret.txt",
        "link.parquet",
        "linked-folder/secret.txt",
    ],
)
def test_file_outside_is_not_read_and_hides_no_finding_about_others(tmp_path: Path, secret: Path, path: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        path = path.format(secret=secret, port=server.getsockname()[1])
        table = make_table(tmp_path / "table", [path, "missing.parquet"])
        (table / "link.parquet").symlink_to(secret)
        (table / "linked-folder").symlink_to(tmp_path)

        report = audit(table)

        with pytest.raises(BlockingIOError):
            server.accept()
    assert codes(report) == {_OUTSIDE, "DF01"}
    [outside] = [finding for finding in report.findings if finding.code == _OUTSIDE]
    assert outside.path == path
    assert "allowed_locations" in outside.message
    assert report.verdict is Verdict.VIOLATED


def test_bytes_that_are_encoded_twice_name_another_file_within_the_table(tmp_path: Path, secret: Path) -> None:
    report = audit(make_table(tmp_path / "table", ["%252e%252e/secret.txt", "a%00b"]))

    assert codes(report) == {"DF01"}


@pytest.mark.parametrize("path", ["/no-such-lake/source/x.parquet", "file:/no-such-lake/source/x.parquet"])
def test_file_without_a_folder_is_missing_wherever_it_would_be(tmp_path: Path, path: str) -> None:
    table = make_table(tmp_path / "table", [path])

    assert codes(audit(table)) == {"DF01"}
    assert codes(audit(table, table)) == {_OUTSIDE}


def test_file_outside_alone_leaves_the_table_undetermined(tmp_path: Path, secret: Path) -> None:
    assert audit(make_table(tmp_path / "table", [f"file:{secret}"])).verdict is Verdict.UNDETERMINED


def test_shallow_clone_reads_the_files_of_its_source(tmp_path: Path) -> None:
    source = make_table(tmp_path / "source")
    (source / "z.parquet").unlink()
    clone = make_table(tmp_path / "elsewhere" / "clone")
    size = (source / "a.parquet").stat().st_size
    write_commit(clone, 1, *({"add": _add(f"file:{source}/{name}", size)} for name in ("a.parquet", "z.parquet")))

    found = {allowed: audit(clone, *allowed) for allowed in [(), (tmp_path,), (source, clone)]}

    assert {codes(report) == {"DF01"} for report in found.values()} == {True}
    assert codes(audit(clone, clone)) == {_OUTSIDE}


def test_allowed_location_allows_what_belongs_to_no_table_but_not_the_operating_system(
    tmp_path: Path, secret: Path
) -> None:
    table = make_table(tmp_path / "table", [f"file:{secret}"])
    assert codes(audit(table, tmp_path)) == {"DF02"}

    system = make_table(tmp_path / "system", ["file:/proc/self/environ", "/dev/zero"])
    assert codes(audit(system, Path("/"))) == {_OUTSIDE}


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_file_is_a_finding_about_it(tmp_path: Path, put: Any) -> None:
    table = make_table(tmp_path / "table", ["odd.parquet", "missing.parquet"])
    put(table / "odd.parquet")

    report = audit(table)

    assert codes(report) == {_UNREAD, "DF01"}
    assert [finding.path for finding in report.findings if finding.code == _UNREAD] == ["odd.parquet"]


@pytest.mark.parametrize("target", ["{secret_folder}", "/etc"])
def test_log_that_leads_outside_is_not_read(tmp_path: Path, secret: Path, target: str) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / f"{0:020}.json").symlink_to(secret)
    table = tmp_path / "table"
    table.mkdir()
    (table / "_delta_log").symlink_to(target.format(secret_folder=logs))

    for allowed in [(), (table,)]:
        report = audit(table, *allowed, level="log")
        assert codes(report) == {_REFUSED}
        assert report.verdict is Verdict.REFUSED


def test_log_that_leads_to_another_allowed_table_is_read(tmp_path: Path) -> None:
    real = make_table(tmp_path / "real")
    alias = tmp_path / "alias"
    alias.mkdir()
    (alias / "_delta_log").symlink_to(real / "_delta_log")

    assert audit(alias, level="log").verdict is Verdict.PASS
    assert audit(alias, tmp_path, level="log").verdict is Verdict.PASS
    assert codes(audit(alias, alias, level="log")) == {_REFUSED}


@pytest.mark.parametrize(
    "name",
    [
        f"{0:020}.crc",
        "_last_checkpoint",
        f"{0:020}.checkpoint.parquet",
        f"{0:020}.{1:020}.compacted.json",
        "_sidecars/x.parquet",
    ],
)
def test_file_of_the_log_that_leads_outside_is_a_finding_about_it(tmp_path: Path, secret: Path, name: str) -> None:
    table = make_table(tmp_path / "table", ["missing.parquet"])
    write_commit(table, 1, {"commitInfo": {"timestamp": 2, "operation": "WRITE", "operationParameters": {}}})
    place = table / "_delta_log" / name
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(secret)

    report = audit(table, state_path=str(tmp_path / "state"))

    assert codes(report) == {_LOG_FILE, "DF01"}
    assert [finding.path for finding in report.findings if finding.code == _LOG_FILE] == [f"_delta_log/{name}"]

    place.unlink()
    assert _LOG_FILE not in {f.code for f in audit(table, state_path=str(tmp_path / "state")).findings if f.is_open}


def test_only_checkpoint_that_is_no_file_is_a_fault_and_no_damage(tmp_path: Path) -> None:
    table = make_table(tmp_path / "table")
    log = table / "_delta_log"
    write_commit(table, 1, {"commitInfo": {"timestamp": 2, "operation": "WRITE", "operationParameters": {}}})
    (log / f"{0:020}.json").unlink()
    os.mkfifo(log / f"{0:020}.checkpoint.parquet")

    report = audit(table, level="log")

    assert codes(report) == {"FT01"}
    assert report.verdict is Verdict.FAULT


def test_commit_that_leads_outside_is_not_read(tmp_path: Path, secret: Path) -> None:
    table = make_table(tmp_path / "table")
    (table / "_delta_log" / f"{1:020}.json").symlink_to(secret)

    assert codes(audit(table, level="log")) == {_REFUSED}


def test_sidecar_is_looked_for_in_its_own_folder_however_its_path_is_encoded(tmp_path: Path, secret: Path) -> None:
    table = make_table(tmp_path / "table")
    checkpoint = [
        {"checkpointMetadata": {"version": 0}},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"sidecar": {"path": "..%2F..%2F..%2Fsecret.txt", "sizeInBytes": _SIZE, "modificationTime": 1}},
    ]
    name = f"{0:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    (table / "_delta_log" / name).write_text("".join(f"{json.dumps(action)}\n" for action in checkpoint))
    (table / "_delta_log" / "_sidecars").mkdir()

    messages = [finding.message for finding in audit(table, level="log").findings]

    assert any("its sidecar file secret.txt is missing" in message for message in messages)


@pytest.mark.parametrize(
    ("storage_type", "path"),
    [
        ("p", "file:{secret}"),
        ("p", "file:/proc/self/environ"),
        ("p", "{table}/%2e%2e/secret.txt"),
        ("p", "s3://another-bucket/vectors.bin"),
        ("u", "linked-foldervBn[lx{{q8@P<9BNH/isA"),
    ],
)
def test_deletion_vector_outside_is_not_read(tmp_path: Path, secret: Path, storage_type: str, path: str) -> None:
    table = make_table(tmp_path / "table")
    (table / "linked-folder").symlink_to(tmp_path)
    vector = {"storageType": storage_type, "offset": 0, "sizeInBytes": 8, "cardinality": 1}
    vector["pathOrInlineDv"] = path.format(secret=secret, table=table)
    missing = {"storageType": "p", "offset": 1, "sizeInBytes": 8, "cardinality": 1, "pathOrInlineDv": f"{table}/x.bin"}
    files = [
        LiveFile.from_add({**_add("a.parquet", 9), "deletionVector": vector}),
        LiveFile.from_add({**_add("z.parquet", 9), "deletionVector": missing}),
    ]
    data = python_session().data_files(f"file:{table}")

    found = list(check_vectors(data, files, lambda _: 2, TimeBudget(None)))

    assert [(finding.code, finding.path) for finding in found] == [(_OUTSIDE, "a.parquet"), ("DF04", "z.parquet")]
