"""The audit of tables that Delta wrote: what it says of their histories, whole, in part and damaged."""

from __future__ import annotations

import json

import pytest

from airflow_delta_provider.domain.checks.rule import not_checked
from airflow_delta_provider.domain.report.report import Severity, Verdict
from tests.tables import log, row_tracking
from tests.tables.row_tracking import operations


def codes(report):
    return [finding.code for finding in report.findings]


def test_whole_history_is_judged_and_nothing_is_wrong(built, audit):
    report = audit(built(operations))
    assert (report.verdict, report.version, report.changed) == (Verdict.PASS, 14, False)
    # CREATE OR REPLACE gives the table another id, which the protocol does not know of.
    assert [(f.code, f.severity, f.version) for f in report.findings] == [("MD08", Severity.WARNING, 12)]
    assert report.evidence == {"level": "log", "not_checked": not_checked("log"), "first_version": 0, "commits": 15}


@pytest.mark.parametrize(
    ("builder", "arguments"),
    [
        (row_tracking.mapped, {"mode": "name"}),
        (row_tracking.widened, {}),
        pytest.param(row_tracking.clustered, {}, marks=pytest.mark.soak),
        pytest.param(row_tracking.enabled_again, {}, marks=pytest.mark.soak),
        pytest.param(row_tracking.cloned, {}, marks=pytest.mark.soak),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_nothing_is_wrong_whatever_the_table(built, audit, builder, arguments):
    report = audit(built(builder, **arguments))
    assert (report.verdict, report.findings) == (Verdict.PASS, ())


def test_older_commits_that_are_not_kept_are_said(built, audit):
    report = audit(built(row_tracking.checkpointed, kind="v2"))
    assert (report.verdict, codes(report)) == (Verdict.UNDETERMINED, ["LG01"])
    assert "since_version=3" in report.findings[0].message
    assert audit(built(row_tracking.checkpointed, kind="v2"), since_version=3).findings == ()


def test_damage_is_named_with_its_commit_and_engine_and_what_follows_from_it(table, audit):
    path = table(operations)
    with log.rewritten(path, 2) as actions:
        mark = next(action["domainMetadata"] for action in actions if "domainMetadata" in action)
        mark["configuration"] = json.dumps({"rowIdHighWaterMark": 3})
    log.forget_checkpoints(path)
    found = {finding.code: finding for finding in audit(path).findings if finding.severity is Severity.ERROR}
    lowered = found["RT11"]
    assert (lowered.version, lowered.operation, lowered.writer) == (2, "WRITE", "Delta Spark 4.4.0")
    assert json.loads(lowered.action)["domainMetadata"]["domain"] == "delta.rowTracking"
    assert {finding.caused_by for code, finding in found.items() if code != "RT11"} <= {lowered.fingerprint}
