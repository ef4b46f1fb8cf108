"""Changes name the engines that they lock out: a commit of the real deltalake, and a declared fleet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.change_options import (
    DropFeatureOptions,
    EnableFeatureOptions,
    WidenTypesOptions,
)
from airflow_delta_provider.domain.request.check_options import CheckCompatibilityOptions
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions
from tests.tables import log
from tests.tables.protocols import legacy

pytestmark = pytest.mark.nightly

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


ALLOWED = {"allow_protocol_upgrade": True}
#: An engine about which nothing is known; the policy keeps it.
FLEET = {
    "profiles": [{"engine": "bi", "releases": [{"version": "1.0"}]}],
    "must_stay_readable_by": ["bi"],
    "must_stay_writable_by": ["bi"],
}
KEPT = [
    pytest.param(EnableFeatureOptions(features=("typeWidening",), **ALLOWED), id="enable-feature"),
    pytest.param(WidenTypesOptions(columns={"i": "bigint"}, enable_type_widening=True, **ALLOWED), id="widen-types"),
    pytest.param(
        ApplyMigrationOptions(spec=({"columns": [{"name": "i", "type": "bigint"}]},), **ALLOWED), id="apply-migration"
    ),
    pytest.param(DropFeatureOptions(features=("deletionVectors",), allow_rewrite=True, **ALLOWED), id="drop-feature"),
]


@pytest.mark.parametrize("asked", KEPT)
def test_a_change_is_withheld_while_the_support_of_an_engine_that_must_stay_is_unknown(asked, spark, tmp_path, run_job):
    path = tmp_path / "t"
    vectors = isinstance(asked, DropFeatureOptions)
    spark.sql(
        f"CREATE TABLE delta.`{path}` (i INT) USING delta "
        f"TBLPROPERTIES ('delta.enableDeletionVectors' = '{str(vectors).lower()}')"
    )
    before = log.contents(path)
    for dry_run in (True, False):
        (withheld,) = run_job([path], replace(asked, fleet=FLEET), dry_run=dry_run).tables
        assert (withheld.verdict, withheld.changed) == (Verdict.UNDETERMINED, False)
        assert withheld.withheld is not dry_run
        assert [(found.code, found.subject) for found in withheld.findings if found.code != "MG18"] == [("CP04", "bi")]
        assert log.contents(path) == before
    (done,) = run_job([path], replace(asked, fleet=FLEET, accept_unknown=("bi",))).tables
    assert (done.verdict, done.changed, done.withheld) == (Verdict.PASS, True, False)
    assert any("accepts that the support of bi is unknown" in note for note in done.plan["notes"])
