"""Large checkpoints are read in Spark's tasks: audits find the same as if the driver read all files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.delta.derived_files import checksum_name
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.checkpoint_files import FILES_ON_DRIVER
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from tests.both_engines import compared
from tests.unit.audit.test_audit_log_files import (
    AT,
    LEGAL,
    OF_CHECKPOINT,
    SIDECAR,
    Damage,
    at,
    checksum,
    edit,
    extra,
    history,
    in_parts,
    tags,
    twice,
    v2,
    with_sidecar,
    without,
)
from tests.unit.audits_in_parts import WRITTEN, Kept
from tests.unit.checkpoint_builder import as_json, as_parquet, classic_name, uuid_name, v2_metadata
from tests.unit.damages import FIRST

#: Errors after which the driver reads everything, as tasks do not find out the damage.
BY_DRIVER = "the driver reads all files"


@pytest.fixture(autouse=True)
def all_in_tasks(session: SparkDeltaSession) -> Iterator[None]:
    session.spark.conf.set(FILES_ON_DRIVER, "0")
    yield
    session.spark.conf.unset(FILES_ON_DRIVER)


def write(path: Path, files: dict[str, bytes]) -> str:
    for name, content in files.items():
        folder = path / "_delta_log" / ("_sidecars" if name == SIDECAR else "")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        os.utime(folder / name, (WRITTEN / 1000, WRITTEN / 1000))
    return str(path)


def both(session: SparkDeltaSession, path: Path, files: dict[str, bytes], **known: Any) -> tuple[list[str], bool]:
    """Return the codes that both find, and whether the driver had to read all files."""
    request = JobRequest((write(path, files),), AuditOptions(**known))
    lines: list[str] = []
    report = run(request, session, lines.append)
    assert compared(report) == compared(run(request, python_session()))
    return [finding.code for finding in report.tables[0].findings], any(BY_DRIVER in line for line in lines)


#: Damages of the checkpoint that the log begins with.
OF_FIRST: dict[str, Damage] = {
    "none": lambda actions: None,
    "file twice": twice("add"),
    "file with two vectors": lambda actions: actions.extend(
        {"add": {**action["add"], "deletionVector": None}}
        for action in list(actions)
        if action.get("add", {}).get("deletionVector")
    ),
    "no base row id": edit("add", baseRowId=None),
    "no commit version": edit("add", 1, defaultRowCommitVersion=None),
    "negative base row id": edit("add", baseRowId=-5),
    "row ids twice": edit("add", 2, baseRowId=0),
    "row ids above the mark": edit("add", 1, baseRowId=1000),
    "commit version in future": edit("add", defaultRowCommitVersion=70),
    "no number of rows": edit("add", stats="{}"),
    "no mark": without("domainMetadata"),
    "no path": edit("add", path=None),
    "no size": edit("add", size=None),
    "odd path": edit("add", path="p=1/a%20b.parquet"),
    "vector of another type": lambda actions: [
        action["add"]["deletionVector"].update(storageType="x")
        for action in actions
        if action.get("add", {}).get("deletionVector")
    ],
    "change data": extra({"cdc": {"path": "c.parquet", "size": 1}}),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", OF_FIRST)
def test_first_checkpoint_is_found(session: SparkDeltaSession, tmp_path: Path, name: str) -> None:
    table = history()
    storage = Kept(table.commits).clean_up(table, AT)
    storage.files[classic_name(AT)] = as_parquet(at(table, OF_FIRST[name]))
    storage.checkpoint(table, table.version)
    found, by_driver = both(session, tmp_path / "t", storage.files)
    assert (found == ["LG01"]) == (name == "none")
    assert by_driver == (name in ("no path", "no size", "vector of another type"))


@pytest.mark.nightly
@pytest.mark.parametrize("form", ["json", "parquet", "parts"])
def test_files_of_a_checkpoint_are_read_together(session: SparkDeltaSession, tmp_path: Path, form: str) -> None:
    table = history() if form == "parts" else v2()
    storage = Kept(table.commits).clean_up(table, 2)
    if form == "parts":
        storage.files |= in_parts(table, edit("add", 1, size=1))
    else:
        actions, sidecar = with_sidecar(table, edit("add", 1, size=1))
        write_as = as_json if form == "json" else as_parquet
        storage.files[uuid_name(AT, form)] = write_as([v2_metadata(AT, **tags(table)), *actions])
        storage.files[SIDECAR] = sidecar
    found, by_driver = both(session, tmp_path / "t", storage.files)
    assert "LG07" in found
    assert not by_driver


@pytest.mark.nightly
def test_checksum_files_are_compared_with_numbers(session: SparkDeltaSession, tmp_path: Path) -> None:
    table = history()
    storage = Kept(table.commits).clean_up(table, AT)
    for version in range(AT, table.version + 1):
        wire = checksum(table, version)
        wire.pop("allFiles", None)
        storage.files[checksum_name(version)] = json.dumps(wire).encode()
    assert both(session, tmp_path / "t", storage.files) == (["LG01"], False)
    wire["tableSizeBytes"] += 1
    wire["fileSizeHistogram"]["fileCounts"][0] += 1
    storage.files[checksum_name(table.version)] = json.dumps(wire).encode()
    assert both(session, tmp_path / "t", storage.files) == (["LG08", "LG01"], False)


def test_audit_goes_on_from_what_tasks_counted(session: SparkDeltaSession, tmp_path: Path) -> None:
    table = history()
    requests = {}
    for engine in ("spark", "python"):
        options = AuditOptions(state_path=str(tmp_path / engine))
        requests[engine] = JobRequest((str(tmp_path / "t"),), options)
    for newest in (table.version - 1, table.version):
        write(tmp_path / "t", Kept(table.commits[: newest + 1]).clean_up(table, AT).files)
        by_both = [run(requests["spark"], session), run(requests["python"], python_session())]
        assert compared(by_both[0]) == compared(by_both[1])
        by_tasks, by_driver = ([json.loads(path.read_bytes()) for path in states] for states in states_in(tmp_path))
        for state in by_driver:
            state["facts"]["files"].pop("known", None)  # tasks only count the files
        assert by_tasks == by_driver != []


def states_in(folder: Path) -> list[list[Path]]:
    return [sorted((folder / engine).rglob("*.json*")) for engine in ("spark", "python")]


@pytest.mark.nightly
@pytest.mark.parametrize("family", sorted({code[:2] for code in FIRST}))
def test_damaged_commits_after_a_checkpoint_are_found(session: SparkDeltaSession, tmp_path: Path, family: str) -> None:
    """Of some the driver has to read all files: then it does."""
    paths = []
    for case in (case for code, case in sorted(FIRST.items()) if code.startswith(family)):
        table = case.before()
        first = table.version
        case.step(table.damaged(case.damage))
        storage = Kept(table.commits)
        if first >= 0:
            storage.clean_up(table, first)
        storage.checkpoint(table, table.version)
        paths.append(write(tmp_path / case.code, storage.files))
    request = JobRequest(tuple(paths), AuditOptions())
    lines: list[str] = []
    report = run(request, session, lines.append)
    assert compared(report) == compared(run(request, python_session()))
    by_driver = sum(BY_DRIVER in line for line in lines)
    assert by_driver < len(paths) or family in ("TW", "UT")  # whose damages are compared with earlier states


def cleaned(damage: Damage | None = None, version: int = AT) -> dict[str, bytes]:
    """A log that begins with a checkpoint, and has another one, which may be damaged."""
    table = history()
    storage = Kept(table.commits).clean_up(table, 2)
    storage.files[classic_name(version)] = as_parquet(at(table, damage, version))
    return storage.files


@pytest.mark.nightly
@pytest.mark.parametrize("name", OF_CHECKPOINT)
def test_damaged_checkpoint_is_found(session: SparkDeltaSession, tmp_path: Path, name: str) -> None:
    code, damage = OF_CHECKPOINT[name]
    found, by_driver = both(session, tmp_path / "t", cleaned(damage))
    if name == "sidecar in V1":
        code = "LG10"  # the sidecar file is missing
    assert code in found or name in ("tombstone too many", "transaction too many")  # of older commits
    assert by_driver == (code == "LG10")


@pytest.mark.nightly
@pytest.mark.parametrize("change", LEGAL.values(), ids=LEGAL)
def test_what_engines_may_write_is_silent(session: SparkDeltaSession, tmp_path: Path, change: Damage) -> None:
    assert both(session, tmp_path / "t", cleaned(change)) == (["LG01"], False)
