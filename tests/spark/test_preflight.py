"""Changes name the engines that they lock out: a commit of the real deltalake, and a declared fleet."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.request.check_compatibility import CheckCompatibilityOptions
from tests.tables import log
from tests.tables.protocols import legacy

deltalake = pytest.importorskip("deltalake")


def test_a_commit_of_deltalake_is_named_when_row_tracking_would_lock_it_out(table, enable, run_job):
    path = table(legacy)
    rows = deltalake.DeltaTable(path)
    rows.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    rows.alter.set_table_properties({"delta.appendOnly": "false"})
    engine = f"delta-rs {deltalake.__version__}"
    before = log.contents(path)

    refused = enable(path, "rowTracking", allow=False)
    assert [finding.code for finding in refused.findings] == ["RQ09"]
    assert f"{engine} wrote " in refused.findings[0].message
    assert any(note.startswith(f"{engine} wrote ") for note in refused.plan["notes"])
    kept = enable(path, "rowTracking", fleet={"must_stay_writable_by": ["deltalake " + deltalake.__version__]})
    assert (kept.verdict, [finding.code for finding in kept.findings]) == (Verdict.REFUSED, ["CP02"])
    assert log.contents(path) == before

    (checked,) = run_job([path], CheckCompatibilityOptions(features=("rowTracking",))).tables
    assert [(finding.code, finding.subject) for finding in checked.findings] == [("CP02", engine)]
    done = enable(path, "rowTracking")
    assert done.verdict is Verdict.PASS
    assert any(note.startswith(f"{engine} wrote ") for note in done.plan["notes"])
