"""Tables that pypaimon 2.1.0 wrote: a second real writer, with two faults of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from tests.unit.paimon_checks import check, told

_ARCHIVE = Path(__file__).parents[2] / "tables" / "paimon" / "pypaimon.tar.gz"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("pypaimon")
    shutil.unpack_archive(_ARCHIVE, target)
    return target


@pytest.mark.parametrize("name", ["partitions", "rollback", "updates", "deletes", "branches", "merges", "blobs"])
def test_sound_tables_have_no_finding_from_any_snapshot_on(written: Path, tmp_path: Path, name: str) -> None:
    table = shutil.copytree(written / name, tmp_path / name)
    for snapshot in sorted((table / "snapshot").glob("snapshot-*"), key=lambda path: int(path.name[9:])):
        report = check(table)
        assert (report.verdict, report.findings) == (Verdict.PASS, ())
        snapshot.unlink()


@pytest.mark.parametrize(
    ("name", "verdict", "findings"),
    [
        # It writes no statistics, so the metadata does not show that the rows are others.
        ("overwrite", Verdict.PASS, [("PM13", 3, None)]),
        ("partial_blobs", Verdict.UNDETERMINED, [("PM24", 2, None)]),
        ("rolled_blobs", Verdict.VIOLATED, [("PM09", 1, None)]),
        ("repeated", Verdict.VIOLATED, [("PM07", 3, None), ("PM08", 3, None)]),
    ],
)
def test_faults_of_pypaimon_are_found(
    written: Path, name: str, verdict: Verdict, findings: list[tuple[str, int, None]]
) -> None:
    report = check(written / name)

    assert (report.verdict, told(report.findings)) == (verdict, findings)
