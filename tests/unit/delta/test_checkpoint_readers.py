"""Who reads a checkpoint does not matter: what one reader cannot read, the next one reads, within one limit."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.domain.delta.log_files import BrokenLogError, UnreadCheckpointError
from airflow_delta_provider.domain.formats import budget
from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import DetailOptions
from airflow_delta_provider.jobs.delta import arrow_checkpoint, python_checkpoint
from airflow_delta_provider.jobs.delta.checkpoint_files import CheckpointFiles
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from tests.unit.checkpoint_builder import (
    actions_of,
    as_json,
    as_parquet,
    classic_name,
    part_name,
    reconciled,
    uuid_name,
    v2_metadata,
    with_null_group,
)
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Actions, Table
from tests.unit.states import field

readers = pytest.mark.parametrize("by_pyarrow", [True, False], ids=["with PyArrow", "without"])
MEBIBYTE = "a" * (1 << 20)
#: As much for tests of the limit itself, which is lowered for them.
LARGE = {
    "path": "a" * (1 << 14),
    "stats": json.dumps({"numRecords": 1, "x": "a" * (1 << 14)}),
    "tags": {"k": "a" * (1 << 14)},
}
LIMIT = 1 << 22


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Chooses whether there is a PyArrow."""
    return lambda by_pyarrow: monkeypatch.setattr(arrow_checkpoint, "is_available", lambda: by_pyarrow)


def table() -> Table:
    return Table(field("id", "long")).append(2).append().append()


def on_disk(path: Path, change: Callable[[bytes], bytes], *, alone: bool = False) -> Path:
    """Write a table with a checkpoint of version 2, which nothing leads to if it is alone."""
    made = table()
    log = OnDisk(path, made).log
    (log / classic_name(2)).write_bytes(change(as_parquet(reconciled(made.commits[:3]))))
    for version in range(3 if alone else 0):
        (log / f"{version:020}.json").unlink()
    return path


def report(path: Path, options: Any = None) -> TableReport:
    (found,) = run(JobRequest((str(path),), options or AuditOptions()), python_session()).tables
    return found


def rewritten(**options: Any) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        file = io.BytesIO()
        pq.write_table(pq.read_table(io.BytesIO(content)), file, **options)
        return file.getvalue()

    return change


def with_adds(count: int, **fields: Any) -> Callable[[bytes], bytes]:
    """Add files that all have the same values, which are stored once."""

    def change(content: bytes) -> bytes:
        adds: Actions = [{"add": {"path": f"p{n}", "size": 1, "partitionValues": {}, **fields}} for n in range(count)]
        return rewritten(compression="zstd", dictionary_pagesize_limit=1 << 22)(
            as_parquet([*_actions_of(content), *adds])
        )

    return change


def _actions_of(content: bytes) -> Actions:
    return actions_of(python_checkpoint.batches(content, {}, None))


@readers
def test_checkpoint_that_only_pyarrow_cannot_read_is_sound(tmp_path, reader, by_pyarrow):
    with pytest.raises(OSError, match="Logical type Null cannot be applied to group node"):
        pq.ParquetFile(io.BytesIO(with_null_group(as_parquet(reconciled(table().commits)))))
    reader(by_pyarrow)

    assert report(on_disk(tmp_path / "whole", with_null_group)).verdict is Verdict.PASS
    assert report(on_disk(tmp_path / "cut", with_null_group, alone=True), DetailOptions()).verdict is Verdict.PASS


@pytest.mark.parametrize("after", [0, 1, 4])
@pytest.mark.parametrize("error", [TypeError("no such argument"), pa.ArrowInvalid("no"), OSError("no")], ids=repr)
def test_error_of_pyarrow_is_no_damage_and_no_action_is_read_twice(tmp_path, monkeypatch, after, error):
    path = tmp_path / classic_name(1)
    path.write_bytes(rewritten(row_group_size=2)(as_parquet(reconciled(table().commits))))
    files = CheckpointFiles(LocalStorage())
    whole = actions_of(files.all_batches(path.as_uri()))
    real = arrow_checkpoint.batches

    def failing(*args: Any, **options: Any) -> Iterator[Any]:
        for number, action in enumerate(real(*args, **options)):
            if number == after:
                raise error
            yield action

    monkeypatch.setattr(arrow_checkpoint, "batches", failing)
    assert actions_of(files.all_batches(path.as_uri())) == whole


@readers
def test_checkpoint_that_is_damaged_is_so_whoever_reads_it(tmp_path, reader, by_pyarrow):
    reader(by_pyarrow)
    found = report(on_disk(tmp_path / "t", lambda content: content[:4] + bytes(300) + content[304:]))
    assert [finding.code for finding in found.findings] == ["LG10"]


@readers
def test_checkpoint_that_no_reader_can_read_is_not_called_damaged(tmp_path, reader, by_pyarrow, monkeypatch):
    monkeypatch.setattr(python_checkpoint, "page_codecs_of_packages", dict)
    monkeypatch.setattr(arrow_checkpoint, "batches", _refusing)
    reader(by_pyarrow)
    packed = rewritten(compression="brotli", use_dictionary=False)

    audited = report(on_disk(tmp_path / "whole", packed))
    assert [(finding.code, finding.path) for finding in audited.findings] == [("LG21", f"_delta_log/{classic_name(2)}")]
    assert audited.verdict is Verdict.UNDETERMINED
    assert "reader of this package: it is compressed with BROTLI" in audited.findings[0].message

    refused = report(on_disk(tmp_path / "cut", packed, alone=True), DetailOptions())
    assert (refused.verdict, [finding.code for finding in refused.findings]) == (Verdict.REFUSED, ["RQ67"])
    assert classic_name(2) in refused.findings[0].message


def _refusing(*_: Any, **__: Any) -> Iterator[Any]:
    raise pa.ArrowNotImplementedError("no such codec")
    yield


def test_readers_that_were_tried_are_named_with_what_they_said(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_checkpoint, "batches", _refusing)
    monkeypatch.setattr(arrow_checkpoint, "is_available", lambda: True)
    monkeypatch.setattr(python_checkpoint, "batches", _unread)
    path = tmp_path / classic_name(1)
    path.write_bytes(as_parquet(reconciled(table().commits)))

    with pytest.raises(UnreadCheckpointError) as error:
        actions_of(CheckpointFiles(LocalStorage()).all_batches(path.as_uri()))
    assert str(error.value) == (
        f"no reader here can read checkpoint file {classic_name(1)} (PyArrow {pa.__version__}: no such codec; "
        "the reader of this package: an odd encoding)"
    )


def _unread(*_: Any, **__: Any) -> Iterator[Any]:
    raise python_checkpoint.UnreadFileError("an odd encoding", "pyarrow")
    yield


@readers
@pytest.mark.parametrize("name", LARGE)
def test_values_that_are_stored_once_count_as_often_as_they_are_used(tmp_path, reader, by_pyarrow, name, monkeypatch):
    monkeypatch.setattr(budget, "_LEAST", LIMIT)
    reader(by_pyarrow)
    path = on_disk(tmp_path / "t", with_adds(800, **{name: LARGE[name]}))
    assert (path / "_delta_log" / classic_name(2)).stat().st_size < 100_000

    (found,) = report(path).findings
    assert (found.code, found.path) == ("LG21", f"_delta_log/{classic_name(2)}")
    assert re.search(r"need more than \d+ MiB of memory", found.message)


@readers
def test_files_of_one_checkpoint_share_a_limit(tmp_path, reader, by_pyarrow, monkeypatch):
    monkeypatch.setattr(budget, "_LEAST", LIMIT)
    reader(by_pyarrow)
    files, shared = CheckpointFiles(LocalStorage()), budget.Budget()
    path = on_disk(tmp_path / "t", with_adds(240, stats=LARGE["stats"])) / "_delta_log" / classic_name(2)

    def times(count: int) -> list[Any]:
        return [actions_of(files.all_batches(path.as_uri(), shared)) for _ in range(count)]

    assert times(1)
    with pytest.raises(UnreadCheckpointError):
        times(3)


@readers
def test_many_rows_of_few_bytes_are_within_the_limit(tmp_path, reader, by_pyarrow):
    """What engines write most compactly: Zstandard, and statistics that hardly differ."""
    reader(by_pyarrow)
    bounds = {f"column_{n}": n for n in range(32)}
    stats = json.dumps({"numRecords": 9, "minValues": bounds, "maxValues": bounds, "nullCount": bounds})
    path = tmp_path / classic_name(1)
    adds: Actions = [{"add": {"path": f"part-{n:05d}-c000", "stats": stats, "size": n}} for n in range(20_000)]
    path.write_bytes(rewritten(compression="zstd")(as_parquet(adds)))

    assert len(actions_of(CheckpointFiles(LocalStorage()).batches(path.as_uri(), True))) == len(adds)


@readers
def test_statistics_that_would_take_gigabytes_once_parsed_are_not_parsed(tmp_path, reader, by_pyarrow):
    reader(by_pyarrow)
    text = '{"x":[' + "[]," * 8_000_000 + '[]],"numRecords":1}'
    path = on_disk(tmp_path / "t", with_adds(1, stats=text))

    (found,) = report(path).findings
    assert (found.code, found.path) == ("LG21", f"_delta_log/{classic_name(2)}")
    assert "a stats of its add actions has 24,000," in found.message


_AUDIT = """
import resource, sys
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta import arrow_checkpoint
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
by_pyarrow, kind, limit = sys.argv[2] == "True", sys.argv[3], int(sys.argv[4])
if by_pyarrow:
    arrow_checkpoint.version()
arrow_checkpoint.is_available = lambda: by_pyarrow
session = python_session()
request = JobRequest((sys.argv[1],), AuditOptions())
run(JobRequest((sys.argv[5],), AuditOptions()), session)
if kind == "memory":
    with open("/proc/self/statm") as statm:
        limit += int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
elif kind == "files":
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
(table,) = run(request, session).tables
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
with open("/proc/self/status") as status:
    (peak,) = [line.split()[1] for line in status if line.startswith("VmHWM")]
print(table.verdict.name, table.retryable, table.findings[0].code, peak)
print(table.findings[0].message)
"""


def audited_apart(path: Path, by_pyarrow: bool, kind: str, limit: int, small: Path) -> tuple[list[str], str]:
    """Audit a table in a process of its own, after a small one, with less of something; return the result."""
    command = [sys.executable, "-c", _AUDIT, str(path), str(by_pyarrow), kind, str(limit), str(small)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, message = done.stdout.splitlines()
    return first.split(), message


@readers
@pytest.mark.parametrize(("kind", "limit", "what"), [("memory", 24 << 20, "memory"), ("files", 3, "open files")])
def test_machine_that_runs_out_says_nothing_about_the_table(tmp_path, by_pyarrow, kind, limit, what):
    small = on_disk(tmp_path / "small", lambda content: content)
    adds: Actions = [{"add": {"path": f"{MEBIBYTE}{n}", "size": 1, "partitionValues": {}}} for n in range(50)]
    path = on_disk(
        tmp_path / "t",
        lambda content: rewritten(compression="zstd")(as_parquet([*_actions_of(content), *adds])),
        alone=True,
    )

    (verdict, retryable, code, _), message = audited_apart(path, by_pyarrow, kind, limit, small)
    assert (verdict, retryable, code) == ("FAULT", "True", "FT01")
    assert f"The machine ran out of {what}" in message


@readers
def test_checkpoint_that_is_made_to_grow_stays_below_a_gigabyte(tmp_path, by_pyarrow):
    small = on_disk(tmp_path / "small", lambda content: content)
    path = on_disk(tmp_path / "t", with_adds(300, path=MEBIBYTE))

    (verdict, _, code, kibibytes), _ = audited_apart(path, by_pyarrow, "nothing", 0, small)
    assert (verdict, code) == ("UNDETERMINED", "LG21")
    assert int(kibibytes) < 1 << 20


@readers
@pytest.mark.parametrize(("count", "group"), [(60_000, 1 << 20), (300, 1)], ids=["one row group", "rows as row groups"])
@pytest.mark.parametrize("stats", [True, False], ids=["with statistics", "without"])
def test_memory_does_not_follow_the_row_groups(tmp_path, by_pyarrow, count, group, stats):
    small = on_disk(tmp_path / "small", lambda content: content)
    bounds = {f"column_{n}": n for n in range(20)}

    def change(content: bytes) -> bytes:
        adds: Actions = [
            {
                "add": {
                    "path": f"part-{n:05d}-c000.snappy.parquet",
                    "size": n,
                    "partitionValues": {},
                    "stats": json.dumps({"numRecords": n, "maxValues": bounds}) if stats else None,
                }
            }
            for n in range(count)
        ]
        return rewritten(row_group_size=group)(as_parquet([*_actions_of(content), *adds]))

    path = on_disk(tmp_path / "t", change, alone=True)
    (verdict, _, code, kibibytes), _ = audited_apart(path, by_pyarrow, "nothing", 0, small)
    assert (verdict, code) == ("UNDETERMINED", "LG01")
    assert int(kibibytes) < (220 << 10 if by_pyarrow else 300 << 10)


def with_corrupt_page(content: bytes, place: str) -> bytes:
    """Add row groups of files, and damage a page of paths in the one in the middle."""
    options = {"row_group_size": 50, "use_dictionary": False, "compression": "none" if place == "text" else "snappy"}
    adds: Actions = [{"add": {"path": f"part-{n:05d}", "size": n, "partitionValues": {}}} for n in range(400)]
    whole = bytearray(rewritten(**options)(as_parquet([*_actions_of(content), *adds])))
    groups = pq.ParquetFile(io.BytesIO(whole)).metadata
    group = groups.row_group(groups.num_row_groups // 2)
    columns = {column.path_in_schema: column for column in map(group.column, range(group.num_columns))}
    start, size = columns["add.path"].data_page_offset, columns["add.path"].total_compressed_size
    if place == "header":
        whole[start : start + 8] = b"\xff" * 8
    elif place == "compressed text":
        whole[start + size - 30 : start + size] = bytes(30)
    else:
        whole[whole.index(b"part-00200")] = 0xFF  # no character begins so
    return bytes(whole)


@readers
@pytest.mark.parametrize("place", ["text", "compressed text", "header"])
def test_page_in_the_middle_that_is_corrupt_is_found_and_names_the_file(tmp_path, reader, by_pyarrow, place):
    reader(by_pyarrow)

    (found, *_) = report(on_disk(tmp_path / "whole", lambda content: with_corrupt_page(content, place))).findings
    assert (found.code, found.path) == ("LG10", f"_delta_log/{classic_name(2)}")

    cut = report(on_disk(tmp_path / "cut", lambda content: with_corrupt_page(content, place), alone=True))
    assert (cut.verdict, [finding.code for finding in cut.findings]) == (Verdict.REFUSED, ["RQ03"])
    assert f"checkpoint file {classic_name(2)} is damaged" in cut.findings[0].message


@readers
@pytest.mark.parametrize("form", ["parts", "sidecars"])
def test_corrupt_page_of_one_of_several_files_names_that_file(tmp_path, reader, by_pyarrow, form):
    reader(by_pyarrow)
    made = Table(field("id", "long"), features=["v2Checkpoint"]) if form == "sidecars" else table()
    log = OnDisk(tmp_path / "t", made.append().append()).log
    version = len(made.commits) - 1
    actions = reconciled(made.commits)
    corrupt = with_corrupt_page(as_parquet([action for action in actions if "add" in action]), "header")
    others = [action for action in actions if "add" not in action]
    if form == "parts":
        name = part_name(version, 2, 2)
        (log / part_name(version, 1, 2)).write_bytes(as_parquet(others))
        (log / name).write_bytes(corrupt)
    else:
        name = "a.parquet"
        (log / "_sidecars").mkdir()
        (log / "_sidecars" / name).write_bytes(corrupt)
        sidecar: Any = {"sidecar": {"path": name, "sizeInBytes": len(corrupt), "modificationTime": 1}}
        (log / uuid_name(version)).write_bytes(as_json([v2_metadata(version), *others, sidecar]))

    (found,) = report(tmp_path / "t").findings
    assert found.code == "LG10"
    assert f"checkpoint file {name} is damaged" in found.message


def test_own_statement_about_a_checkpoint_stays(tmp_path):
    path = tmp_path / classic_name(1)
    pq.write_table(pa.table({"add": ["a"]}), path)
    with pytest.raises(BrokenLogError, match="its add is not a struct"):
        actions_of(CheckpointFiles(LocalStorage()).all_batches(path.as_uri()))
