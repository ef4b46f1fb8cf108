from __future__ import annotations

import json
from dataclasses import replace

import pytest

from airflow_delta_provider.domain.audit.saved_state import AuditState, BrokenStateError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.confirmation import ReportedFindings
from airflow_delta_provider.domain.report.report import Finding, Severity, Status, Waiver

STATE = TableState(
    7,
    Protocol(1, 7, None, frozenset({"appendOnly", "domainMetadata"})),
    Metadata("id", '{"type":"struct","fields":[]}', ("day",), {"a": "1", "b": "2"}, not_texts=("b",), created_time=5),
    {"delta.rowTracking": '{"rowIdHighWaterMark":3}'},
)


def finding(code="RT08", **known):
    return Finding(
        code,
        Severity.ERROR,
        known.pop("message", "x"),
        evidence="x",
        fingerprint=known.pop("fingerprint", code),
        **known,
    )


def memory(*findings):
    kept = AuditState.of(STATE, {"operation": "WRITE"}, findings, "log")
    return AuditState.from_json(json.loads(json.dumps(kept.to_json())))


def with_status(findings, before):
    """Return the findings of an audit after one of which the report was received."""
    known = ReportedFindings() if before is None else ReportedFindings.of(before.findings)
    compared = known.compare(findings, () if before is None else before.findings)
    return compared.with_status(compared.findings)


def test_memory_survives_the_wire():
    again = memory(finding())
    assert again == AuditState.of(STATE, {"operation": "WRITE"}, [finding()], "log")
    assert (again.state.metadata.not_texts, again.state.metadata.created_time) == (("b",), 5)


def test_what_stands_is_remembered_waived_or_not_and_what_is_gone_is_not():
    waived = finding("RT07", waiver=Waiver("ann", "why", "2026-01-01"), status=Status.KNOWN)
    kept = memory(waived, finding("RT05", healed_version=3), finding("RT06", status=Status.RESOLVED))
    assert kept.findings == (replace(waived, waiver=None, status=None),)


def test_commits_that_were_not_kept_do_not_concern_the_next_audit():
    assert memory(finding("LG01"), finding("LG02")).findings == (finding("LG02"),)
    assert with_status([], memory(finding("LG01"))) == []


def test_findings_are_new_known_changed_or_resolved():
    before = memory(finding("RT01"), finding("RT02"), finding("RT03"), finding("RT04"))
    now = [
        finding("RT01"),
        finding("RT02", facts={"files": 2}),
        finding("RT03", healed_version=8),
        finding("RT09"),
        finding("RT10", healed_version=8),
    ]
    told = {found.code: found.status for found in with_status(now, before)}
    assert told == {
        "RT01": Status.KNOWN,
        "RT02": Status.CHANGED,
        "RT03": Status.RESOLVED,
        "RT04": Status.RESOLVED,
        "RT09": Status.NEW,
        "RT10": Status.NEW,
    }
    assert [found.status for found in with_status(now[:1], None)] == [Status.NEW]


@pytest.mark.parametrize(
    ("code", "name", "there"),
    [("LG08", f"{7:020d}.crc", True), ("LG11", "_last_checkpoint", True), ("LG02", f"{3:020d}.json", False)],
)
def test_what_was_said_of_a_file_of_the_log_may_be_so_while_that_is_there_or_missing(code, name, there):
    kept = memory(finding("RT05", path="_delta_logs/a.parquet"), finding(code, path=f"_delta_log/{name}"))
    assert (kept.may_stand([name]), kept.may_stand([])) == (there, not there)


@pytest.mark.parametrize("wire", [None, [], {}, {"schema_version": 2}, {"schema_version": 1, "version": "x"}, 7, "x"])
def test_memory_of_another_kind_is_refused(wire):
    with pytest.raises(BrokenStateError):
        AuditState.from_json(wire)
