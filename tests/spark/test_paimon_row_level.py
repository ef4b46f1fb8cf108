"""The kind ``check-paimon-row-tracking`` at level ``data``, on tables of Paimon's connector and on damaged ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.request.paimon_check_row_tracking import PaimonCheckRowTrackingOptions
from tests.tables.paimon.archive import HISTORIES, table_of

Check = Callable[..., list[TableReport]]

#: Which snapshots of tables that are otherwise as they should be gave rows new ids, by Paimon's own doing.
REASSIGNED = {
    **dict.fromkeys(HISTORIES),
    "big/dv/06_call": 4,
    "real_violation/dv_merge": 4,
    "real_violation/sort_compact_z": 3,
    "real_violation/sort_compact_m": 4,
}
DAMAGED = {
    "bad/phys_row_id_dup": ("PD02", 4),
    "bad/phys_row_id_swapped": ("PD05", 4),
    "bad/seq_in_future": ("PD03", 4),
    "bad/row_count_mismatch": ("PD10", 4),
}


@pytest.fixture
def check(run_job: Callable[..., JobReport]) -> Check:
    """Check the rows of some tables in one job."""

    def check_all(tables: Iterable[Path], **known: Any) -> list[TableReport]:
        options = PaimonCheckRowTrackingOptions(level="data", **known)
        return list(run_job(list(tables), options).tables)

    return check_all


def test_well_formed_tables_have_no_finding_but_the_row_ids_that_paimon_itself_reassigned(
    check: Check, paimon_archive: Path
) -> None:
    reports = check(table_of(paimon_archive, name) for name in REASSIGNED)

    for (name, snapshot), report in zip(REASSIGNED.items(), reports):
        assert report.verdict is Verdict.PASS, name
        code = "PD11" if "sort" in name else "PM13"
        expected = [] if snapshot is None else [(code, snapshot)]
        assert [(finding.code, finding.version) for finding in report.findings] == expected, name


def test_keys_prove_that_ids_were_reassigned_and_by_what(check: Check, paimon_archive: Path) -> None:
    names = ["real_violation/dv_merge", "big/p/final"]

    merged, plain = check(
        (table_of(paimon_archive, name) for name in names), key_columns=("id",), fail_on_reassigned=True
    )

    [finding] = merged.findings
    assert (finding.code, finding.version, finding.operation) == ("PD11", 4, "MERGE (OVERWRITE)")
    assert merged.verdict is Verdict.VIOLATED
    assert finding.message.startswith("4 keys came back under new row ids")
    assert plain.verdict is Verdict.PASS, plain.findings


def test_damaged_tables_of_the_archive_are_named_at_the_snapshot_that_broke_them(
    check: Check, paimon_archive: Path
) -> None:
    reports = check(table_of(paimon_archive, name) for name in DAMAGED)

    for (name, expected), report in zip(DAMAGED.items(), reports):
        found = {(finding.code, finding.version) for finding in report.findings if finding.code.startswith("PD")}
        assert found == {expected}, (name, report.findings)
        assert report.verdict is Verdict.VIOLATED
