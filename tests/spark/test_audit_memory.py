"""Audits that remember: only what is new is judged, and what was told before is told apart."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest

from airflow_delta_provider.domain.checks.rule import not_checked
from airflow_delta_provider.domain.report.report import Severity, Status, Verdict
from tests.spark.webhdfs import WebHdfs
from tests.tables import log
from tests.tables.row_tracking import checkpointed, operations
from tests.tables.row_tracking_history import as_of

pytestmark = pytest.mark.nightly

WAIVER = {"code": "RT11", "owner": "ann", "reason": "a pilot", "expires": "2999-01-31"}


@pytest.fixture
def grown(built, tmp_path):
    """Return a table as of a version, which can be let grow to later ones."""
    source = built(operations)

    def at(version: int) -> Path:
        path = tmp_path / "t"
        shutil.rmtree(path, ignore_errors=True)
        return as_of(shutil.copytree(source, path), version)

    return at


@pytest.fixture
def remembering(audit, tmp_path):
    """Run ``audit`` with a memory."""
    return lambda path, **known: audit(path, state_path=str(tmp_path / "memory"), **known)


def lower_mark(path: Path, version: int) -> None:
    with log.rewritten(path, version) as actions:
        domain = next(action["domainMetadata"] for action in actions if "domainMetadata" in action)
        domain["configuration"] = json.dumps({"rowIdHighWaterMark": 3})
    log.forget_checkpoints(path)


def told(report):
    return {finding.code: finding.status for finding in report.findings if finding.severity is Severity.ERROR}


@pytest.mark.parametrize("first", [0, 1, 5, 9, 13])
def test_what_is_judged_later_is_what_the_whole_history_gives(grown, audit, remembering, first):
    remembering(grown(first))
    report = remembering(grown(14))
    assert report.evidence == {
        "level": "log",
        "not_checked": not_checked("log"),
        "first_version": first + 1,
        "commits": 14 - first,
    }
    whole = audit(grown(14))
    assert [f.fingerprint for f in report.findings] == [f.fingerprint for f in whole.findings]
    again = remembering(grown(14))
    assert (again.verdict, again.evidence["commits"]) == (Verdict.PASS, 0)
    assert [f.status for f in again.findings] == [Status.KNOWN] * len(whole.findings)


def test_finding_is_new_then_known_and_waived_without_being_forgotten(grown, remembering):
    path = grown(2)
    remembering(path)
    path = grown(4)
    lower_mark(path, 4)
    report = remembering(path)
    assert (report.verdict, told(report)["RT11"]) == (Verdict.VIOLATED, Status.NEW)
    report = remembering(path)
    assert (report.verdict, told(report)["RT11"]) == (Verdict.VIOLATED, Status.KNOWN)
    waived = remembering(path, waivers=(WAIVER, {**WAIVER, "code": "RT07"}))
    assert (waived.verdict, told(waived)["RT11"]) == (Verdict.PASS, Status.KNOWN)
    assert {f.waiver.owner for f in waived.findings} == {"ann"}
    assert remembering(path).verdict is Verdict.VIOLATED


def test_property_that_is_put_right_resolves_what_was_known(grown, remembering):
    path = grown(3)
    metadata = log.last(path, "metaData")
    suspended = {**metadata["configuration"], "delta.rowTrackingSuspended": "true"}
    version = log.commit(path, {"metaData": {**metadata, "configuration": suspended}})
    assert told(remembering(path)) == {"RT02": Status.NEW}
    log.commit(path, {"metaData": metadata})
    report = remembering(path)
    assert (report.verdict, told(report)) == (Verdict.PASS, {"RT02": Status.RESOLVED})
    assert (report.findings[0].version, report.findings[0].healed_version) == (version, version + 1)
    assert told(remembering(path)) == {}


def test_finding_is_told_until_its_report_was_received_and_so_is_its_end(grown, remembering):
    path = grown(3)
    metadata = log.last(path, "metaData")
    log.commit(path, {"metaData": {**metadata, "id": "another"}})
    for receipt in ("lost", "lost, too"):  # nothing new is judged for the second
        report = remembering(path, receipt=receipt)
        assert (told(report), report.receipt) == ({"MD08": Status.NEW}, receipt)
    log.commit(path, {"commitInfo": {"operation": "nothing"}})
    assert told(remembering(path, receipt="arrived")) == {"MD08": Status.NEW}
    report = remembering(path, receipt="quiet", received={"arrived": None})
    assert (told(report), report.receipt) == ({"MD08": Status.KNOWN}, None)
    assert remembering(path, receipt="quiet").receipt is None
    log.commit(path, {"metaData": metadata})
    for receipt in ("lost", "arrived again"):
        assert told(remembering(path, receipt=receipt)) == {"MD08": Status.RESOLVED}
    report = remembering(path, receipt="quiet", received={"arrived again": None})
    assert (told(report), report.receipt) == ({}, None)


def test_audits_of_two_levels_know_their_own_findings(grown, remembering):
    path = grown(3)
    metadata = log.last(path, "metaData")
    log.commit(path, {"metaData": {**metadata, "id": "another"}})
    statuses = [told(remembering(path, level=level))["MD08"] for level in ("log", "footers") * 2]
    assert statuses == [Status.NEW, Status.NEW, Status.KNOWN, Status.KNOWN]


def test_change_that_is_taken_back_resolves_what_was_known(grown, remembering):
    path = grown(3)
    metadata = log.last(path, "metaData")
    log.commit(path, {"metaData": {**metadata, "id": "another"}})
    assert told(remembering(path)) == {"MD08": Status.NEW}
    log.commit(path, {"commitInfo": {"operation": "nothing"}})
    assert told(remembering(path)) == {"MD08": Status.KNOWN}
    log.commit(path, {"metaData": metadata})
    assert told(remembering(path)) == {"MD08": Status.RESOLVED}


def test_history_that_is_not_kept_is_said_once(built, remembering):
    path = built(checkpointed, kind="v2")
    assert [finding.code for finding in remembering(path).findings] == ["LG01"]
    assert (remembering(path).verdict, remembering(path).findings) == (Verdict.PASS, ())


def test_another_table_in_the_same_place_is_judged_as_a_whole(grown, remembering):
    path = grown(5)
    remembering(path)
    with log.rewritten(path, 5) as actions:
        actions[0]["commitInfo"]["txnId"] = "another"
    log.forget_checkpoints(path)
    assert remembering(path).evidence["commits"] == 6


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema_version": 9}', '{"schema_version": 1, "version": 3}'])
def test_memory_that_cannot_be_used_costs_no_more_than_time(grown, remembering, tmp_path, content):
    path = grown(3)
    remembering(path)
    (memory,) = (tmp_path / "memory").iterdir()
    memory.write_text(content)
    assert remembering(path).evidence["commits"] == 4
    assert json.loads(memory.read_text())["version"] == 3


def test_warnings_count_where_the_caller_says_so(grown, audit):
    path = grown(12)
    assert audit(path).verdict is Verdict.PASS
    assert audit(path, fail_on="warning").verdict is Verdict.VIOLATED
    assert audit(path, fail_on="warning", rules=("RT11",)).verdict is Verdict.PASS


def test_history_is_judged_up_to_a_version_or_a_time(grown, audit):
    path = grown(14)
    assert audit(path, version=11).findings == ()
    time = next(a["commitInfo"]["timestamp"] for a in log.commits(path)[11] if "commitInfo" in a)
    assert audit(path, timestamp=datetime.fromtimestamp(time / 1000, timezone.utc).isoformat()).version == 11
    for asked in ({"version": 15}, {"since_version": 15}, {"timestamp": "2001-01-01"}):
        report = audit(path, **asked)
        assert (report.verdict, [f.code for f in report.findings]) == (Verdict.REFUSED, ["RQ19"])


@pytest.mark.soak
def test_memory_elsewhere_is_replaced_in_one_step(grown, audit, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with WebHdfs(elsewhere).running() as storage:
        for version in (5, 9, 14):
            report = audit(grown(version), state_path=f"{storage.uri}/memory")
            assert report.version == version
    assert report.evidence == {"level": "log", "not_checked": not_checked("log"), "first_version": 10, "commits": 5}
    (file,) = elsewhere.joinpath("memory").iterdir()
    assert json.loads(file.read_bytes())["version"] == 14
    assert storage.replaced[file.name] == 3
    assert not [operation for operation, _ in storage.asked if operation == "DELETE"]
