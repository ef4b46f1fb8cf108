"""The audit of logs that are damaged, or incomplete, or change while they are read: a clear answer for each table."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.report.report import Severity, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.jobs.audit.protocol_audit import ProtocolAudit
from airflow_delta_provider.jobs.process import silent
from tests.spark.webhdfs import WebHdfs
from tests.tables import broken_logs, log
from tests.tables.checkpoints import twice_checkpointed
from tests.tables.protocols import legacy

pytestmark = pytest.mark.nightly

KINDS = ("classic", "multi_part", "v2_json", "v2_parquet")
COMPACTED = "00000000000000000003.00000000000000000005.compacted.json"


@pytest.fixture
def sound(table: Callable[..., Path]) -> Callable[..., Path]:
    """Return a copy of a sound table with two checkpoints of a kind."""
    return lambda kind="classic", name="t": table(twice_checkpointed, name, kind=kind)


def codes(report: Any) -> list[tuple[str, int | None]]:
    return [(finding.code, finding.version) for finding in report.findings]


def checkpoint_files(path: Path, version: int) -> list[Path]:
    return sorted(path.joinpath("_delta_log").glob(f"{version:020d}.checkpoint*"))


def sidecars(path: Path) -> list[Path]:
    """Return the sidecar files of the newest checkpoint."""
    (manifest,) = checkpoint_files(path, 4)
    every = sorted(path.joinpath("_delta_log", "_sidecars").glob("*.parquet"), key=lambda file: file.stat().st_mtime)
    return [file for file in every if file.name.encode() in manifest.read_bytes()] or every[-1:]


def forget_commits(path: Path, last: int) -> None:
    for version in range(last + 1):
        for suffix in (".json", ".crc"):
            log.log_file(path, version, suffix).unlink(missing_ok=True)


def write(file: Path, content: bytes) -> None:
    """Replace a file as another storage would hold it: without Hadoop's own checksum beside it."""
    file.write_bytes(content)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def truncate(file: Path) -> None:
    write(file, file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.parametrize("kind", KINDS)
def test_sound_table_has_no_findings(audit, sound, kind):
    report = audit(sound(kind))
    assert (report.verdict, report.version, report.findings) == (Verdict.PASS, 6, ())


# -- commits --------------------------------------------------------------------------------------


def test_gap_ends_what_can_be_judged_unless_a_checkpoint_spans_it(audit, sound):
    path = sound()
    log.log_file(path, 4).unlink()
    log.log_file(path, 4, ".crc").unlink()
    report = audit(path)
    assert (report.verdict, report.version) == (Verdict.UNDETERMINED, 6)
    assert sorted(codes(report)) == [("LG01", 4), ("LG02", 4)]
    log.forget_checkpoints(path)
    report = audit(path)
    assert (report.verdict, report.version, codes(report)) == (Verdict.VIOLATED, 3, [("LG02", 4)])
    assert "cannot be read after version 3" in report.findings[0].message


def test_log_that_starts_late_without_a_checkpoint_is_refused(audit, sound):
    path = sound()
    forget_commits(path, 2)
    log.forget_checkpoints(path)
    report = audit(path)
    assert (report.verdict, codes(report)) == (Verdict.REFUSED, [("RQ03", None)])
    assert "no checkpoint to start from" in report.findings[0].message


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-30],
        lambda content: content + b"\0" * 100,
        lambda content: content.replace(b'"size":', b'"size":"x","y":'),
        lambda content: content + b"[" * 100_000,
        lambda content: content.replace(b'"path":', b'"path":"a","path":'),
        lambda content: b"not a commit",
    ],
    ids=range(7),
)
def test_newest_commit_that_is_damaged_is_named(audit, sound, damage):
    path = sound()
    file = log.log_file(path, 6)
    file.write_bytes(damage(file.read_bytes()))
    report = audit(path)
    assert (report.verdict, report.version, codes(report)) == (Verdict.VIOLATED, 5, [("LG09", 6)])
    assert report.findings[0].path == "_delta_log/00000000000000000006.json"


def test_audit_goes_on_behind_a_damaged_commit_from_the_next_checkpoint(audit, sound):
    path = sound()
    log.log_file(path, 1).write_bytes(b"")
    metadata = log.commits(path)[0]
    changed = next(action for action in metadata if "metaData" in action)
    log.commit(path, {"metaData": {**changed["metaData"], "id": "another"}})
    report = audit(path)
    assert (report.verdict, report.version) == (Verdict.VIOLATED, 7)
    assert codes(report) == [("LG09", 1), ("MD08", 7)]


def test_damaged_first_commit_is_all_that_is_said_where_nothing_leads_past_it(audit, table):
    path = table(legacy)
    log.log_file(path, 0).write_bytes(b"{")
    log.forget_checkpoints(path)
    report = audit(path)
    assert (report.verdict, codes(report)) == (Verdict.VIOLATED, [("LG09", 0)])


def test_damaged_commit_below_since_version_is_said_and_a_later_checkpoint_taken(audit, sound):
    path = sound()
    log.log_file(path, 3).write_bytes(b"")
    report = audit(path, since_version=3)
    assert (report.version, sorted(codes(report))) == (6, [("LG01", 4), ("LG09", 3)])


# -- checkpoints ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        *((kind, truncate) for kind in KINDS),
        ("classic", lambda file: write(file, b"")),
        ("classic", lambda file: write(file, b"x" * 99)),
        ("v2_json", lambda file: write(file, b"")),
    ],
)
def test_damaged_checkpoint_is_named_and_the_commits_are_judged(audit, sound, kind, damage):
    path = sound(kind)
    damage(checkpoint_files(path, 4)[0])
    report = audit(path)
    assert (report.verdict, report.version, codes(report)) == (Verdict.VIOLATED, 6, [("LG10", 4)])
    assert report.findings[0].path == f"_delta_log/{checkpoint_files(path, 4)[0].name}"


@pytest.mark.parametrize("kind", ["v2_json", "v2_parquet"])
def test_sidecar_that_is_missing_or_damaged_is_named(audit, sound, kind):
    path = sound(kind)
    truncate(sidecars(path)[0])
    report = audit(path)
    assert (report.verdict, codes(report)) == (Verdict.VIOLATED, [("LG10", 4)])
    name = sidecars(path)[0].name
    sidecars(path)[0].unlink()
    report = audit(path)
    assert (report.verdict, codes(report)) == (Verdict.VIOLATED, [("LG10", 4)])
    assert f"its sidecar file {name} is missing" in report.findings[0].message


@pytest.mark.parametrize(
    "line", ['{"sidecar":5}', '{"sidecar":{"path":5}}', '{"add":{"path":5,"size":1}}', '{"add":', "[]"]
)
def test_malformed_manifest_is_a_damaged_checkpoint(audit, sound, line):
    path = sound("v2_json")
    (manifest,) = checkpoint_files(path, 4)
    manifest.write_text(manifest.read_text() + line + "\n")
    assert codes(audit(path)) == [("LG10", 4)]


def test_parquet_file_that_is_no_checkpoint_is_a_damaged_one(audit, sound, spark):
    path = sound()
    (victim,) = checkpoint_files(path, 4)
    other = next(path.glob("*.parquet"))
    write(victim, other.read_bytes())
    assert codes(audit(path)) == [("LG10", 4)]
    spark.range(1).selectExpr("1 AS add", "2 AS metaData").coalesce(1).write.parquet(str(path.parent / "odd"))
    write(victim, next((path.parent / "odd").glob("*.parquet")).read_bytes())
    assert codes(audit(path)) == [("LG10", 4)]


def test_checkpoint_that_lacks_a_part_is_none(audit, sound):
    path = sound("multi_part")
    first, *_ = checkpoint_files(path, 4)
    assert len(checkpoint_files(path, 4)) > 1
    first.unlink()
    assert codes(audit(path)) == [("LG11", None)]
    forget_commits(path, 2)
    assert sorted(codes(audit(path)), key=str) == [("LG01", 2), ("LG11", None)]
    forget_commits(path, 4)
    assert audit(path).verdict is Verdict.REFUSED


@pytest.mark.parametrize("kind", KINDS)
def test_older_checkpoint_is_taken_where_the_one_to_start_from_is_damaged(audit, sound, kind):
    path = sound(kind)
    forget_commits(path, 2)
    truncate(checkpoint_files(path, 2)[0])
    report = audit(path)
    assert (report.version, sorted(codes(report))) == (6, [("LG01", 4), ("LG10", 2)])
    since = audit(path, since_version=3)
    assert (since.version, sorted(codes(since))) == (6, [("LG01", 4), ("LG10", 2)])
    truncate(checkpoint_files(path, 4)[0])
    report = audit(path)
    assert (report.verdict, report.retryable, codes(report)) == (Verdict.REFUSED, False, [("RQ03", None)])
    assert "Restore" in report.findings[0].message


def test_since_a_version_the_commits_are_taken_where_the_checkpoint_is_damaged(audit, sound):
    path = sound()
    truncate(checkpoint_files(path, 4)[0])
    report = audit(path, since_version=5)
    assert (report.version, report.evidence["commits"], codes(report)) == (6, 1, [("LG10", 4)])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_found_from_a_checkpoint_on_is_what_the_whole_history_gives(audit, sound, kind):
    path = sound(kind)
    action = next(action for action in log.commits(path)[0] if "metaData" in action)
    log.commit(path, {"metaData": {**action["metaData"], "id": "another", "createdTime": 1}})
    added = log.last(path, "add")
    log.commit(path, {"add": {**added, "path": "again.parquet"}})
    whole = audit(path)
    assert {"MD08", "RT15"} <= {finding.code for finding in whole.findings}
    since = audit(path, since_version=5)
    assert [f.fingerprint for f in since.findings] == [f.fingerprint for f in whole.findings]
    forget_commits(path, 4)
    late = audit(path)
    assert [f.fingerprint for f in late.findings if f.code != "LG01"] == [f.fingerprint for f in whole.findings]


# -- files beside the commits ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (None, []),
        (b"", ["LG11"]),
        (b"{", ["LG11"]),
        (b"\xff\x00", ["LG11"]),
        (b'{"version":2}', []),
        (b'{"version":3}', ["LG11"]),
        (b'{"version":-4}', ["LG11"]),
        (b'{"version":99999999999999999999999}', ["LG11"]),
        (b'{"version":"4"}', ["LG11"]),
    ],
)
def test_pointer_to_the_last_checkpoint(audit, sound, content, found):
    path = sound()
    pointer = path / "_delta_log" / "_last_checkpoint"
    pointer.unlink()
    if content is not None:
        pointer.write_bytes(content)
    report = audit(path)
    assert (report.verdict, [finding.code for finding in report.findings]) == (Verdict.PASS, found)


@pytest.mark.parametrize(
    "change",
    [
        lambda crc: b"",
        lambda crc: b"{",
        lambda crc: json.dumps({**json.loads(crc), "numFiles": 99}).encode(),
        lambda crc: json.dumps({**json.loads(crc), "tableSizeBytes": -1}).encode(),
        lambda crc: json.dumps({**json.loads(crc), "numFiles": "6"}).encode(),
        lambda crc: json.dumps(
            {**json.loads(crc), "protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
        ).encode(),
        lambda crc: json.dumps({**json.loads(crc), "metadata": {}}).encode(),
    ],
    ids=range(7),
)
def test_wrong_checksum_is_named(audit, sound, change):
    path = sound()
    file = log.log_file(path, 6, ".crc")
    file.write_bytes(change(file.read_bytes()))
    report = audit(path)
    assert (report.verdict, codes(report)) == (Verdict.VIOLATED, [("LG08", 6)])


def test_log_compaction_file_is_compared_with_its_commits(audit, sound, spark):
    path = sound()
    actions = [action for version in (3, 4, 5) for action in log.commits(path)[version] if "commitInfo" not in action]
    marks = [action for action in actions if "domainMetadata" in action]
    right = [action for action in actions if action not in marks[:-1]]
    file = path / "_delta_log" / COMPACTED
    file.write_text("".join(json.dumps(action) + "\n" for action in right))
    assert audit(path).findings == ()
    assert spark.read.format("delta").load(str(path)).count() == 6
    file.write_text("".join(json.dumps(action) + "\n" for action in right[:-1]))
    report = audit(path)
    assert (report.verdict, codes(report)) == (Verdict.VIOLATED, [("LG12", 5)])
    assert report.findings[0].path == f"_delta_log/{COMPACTED}"
    forget_commits(path, 3)
    assert "LG12" not in [finding.code for finding in audit(path).findings]


# -- what happens meanwhile, and other tables -----------------------------------------------------


def test_version_that_was_newest_when_the_audit_began_is_judged(session, sound, tmp_path):
    path = sound()
    opened = session.open_table(str(path))
    log.log_file(path, 7).write_bytes(b'{"add')  # being written
    shutil.copy(checkpoint_files(path, 4)[0], path / "_delta_log" / f"{7:020d}.checkpoint.parquet")
    (path / "_delta_log" / "_last_checkpoint").write_text('{"version":7,"size":1}')
    report = ProtocolAudit(session, opened, AuditOptions(), silent).run()
    assert (report.verdict, report.version, report.findings) == (Verdict.PASS, 6, ())


def test_commit_that_vanishes_while_the_log_is_read_asks_for_another_try(audit, sound):
    path = sound()
    file = log.log_file(path, 3)
    file.unlink()
    file.symlink_to(path / "gone")  # listed, and not there
    report = audit(path)
    assert (report.verdict, report.retryable, codes(report)) == (Verdict.REFUSED, True, [("RQ15", None)])
    assert "while this ran" in report.findings[0].message


def test_no_table_hides_another_ones_result(run_job, sound, table, tmp_path):
    paths = [sound(name=name) for name in ("a", "denied", "directory", "garbage", "z")]
    broken = table(broken_logs.gap, "gap")
    log.log_file(paths[2], 3).unlink()
    log.log_file(paths[2], 3).mkdir()
    log.log_file(paths[3], 6).write_bytes(b"\0" * 5000)
    lines: list[str] = []
    with WebHdfs(tmp_path).running() as storage:
        storage.deny("denied")
        tables = [paths[0], f"{storage.uri}/denied", paths[2], tmp_path / "nowhere", paths[3], broken, paths[4]]
        report = run_job(tables, AuditOptions(), progress=lines.append)
    verdicts = [table.verdict.value for table in report.tables]
    assert verdicts == ["PASS", "FAULT", "FAULT", "REFUSED", "VIOLATED", "VIOLATED", "PASS"]
    assert [codes(table) for table in report.tables[1:4]] == [[("FT01", None)], [("FT01", None)], [("RQ01", None)]]
    assert "No permission" in report.tables[1].findings[0].message
    assert not any("Traceback" in line for line in lines)
    assert all(finding.severity is Severity.ERROR for table in report.tables for finding in table.findings)


@pytest.mark.soak
def test_line_of_50_mb_is_judged(audit, sound):
    path = sound()
    added = log.last(path, "add")
    long = {**added, "path": "long.parquet", "baseRowId": 6, "tags": {"x": "y" * 50_000_000}}
    log.commit(path, {"commitInfo": {"operation": "WRITE"}}, {"add": long})
    report = audit(path)
    assert (report.version, report.verdict) == (7, Verdict.VIOLATED)  # the mark does not cover it
    assert len(json.dumps(report.to_json())) < 100_000
