"""Names in the metadata of a Paimon table are untrusted: no file outside the table is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.errors import UnreadFileError
from airflow_delta_provider.jobs.tables.table_storage import DataFiles
from tests.tables.paimon.editing import EditedTable
from tests.unit.paimon_checks import copy

_TABLE = "big/w1/06_delete"


def check(table: EditedTable, *allowed: Path) -> TableReport:
    options = PaimonCheckRowTrackingOptions(level="metadata")
    request = JobRequest((str(table.root),), options, allowed_locations=tuple(map(str, allowed)))
    report = run(request, python_session()).tables[0]
    assert "wJal" not in json.dumps(report.to_json())
    return report


def leads_up(table: EditedTable, secret: Path) -> None:
    number = table.snapshot_ids()[-1]

    def rename(records: list[dict[str, object]]) -> None:
        records[0]["_FILE_NAME"] = f"../../{secret.name}"

    table.relist(number, "delta", rename, mend=False)


def is_link(table: EditedTable, secret: Path) -> None:
    manifest = table.manifest(table.snapshot_ids()[-1])
    manifest.unlink()
    manifest.symlink_to(secret)


@pytest.mark.parametrize("lead", [leads_up, is_link])
def test_manifest_outside_is_not_read_and_leaves_the_table_undetermined(
    paimon_archive: Path, tmp_path: Path, lead: Callable[[EditedTable, Path], None]
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("topsecret=wJalrXUtnFEMI")
    table = copy(paimon_archive, _TABLE, tmp_path)
    before = {finding.code for finding in check(table).findings}
    lead(table, secret)

    report = check(table)

    assert {finding.code for finding in report.findings} - before == {"PM22"}
    assert report.verdict is Verdict.UNDETERMINED
    assert {finding.code for finding in check(table, table.root).findings} >= {"PM22"}


@pytest.mark.parametrize("folder", ["snapshot", "manifest"])
def test_folder_of_metadata_that_leads_outside_is_not_read(paimon_archive: Path, tmp_path: Path, folder: str) -> None:
    table = copy(paimon_archive, _TABLE, tmp_path)
    outside = tmp_path / "outside"
    (table.root / folder).rename(outside)
    (table.root / folder).symlink_to(outside)

    assert check(table).verdict in (Verdict.REFUSED, Verdict.UNDETERMINED)


@pytest.mark.parametrize("path", ["file:/proc/self/environ", "../secret.txt", "s3://bucket/x", "/etc/passwd"])
def test_external_path_outside_is_not_read(tmp_path: Path, path: str) -> None:
    location = f"file:{tmp_path}/table"
    files = DataFiles(python_session().files_of(location), location)

    with pytest.raises(UnreadFileError):
        files._storage.read(files._place(path))
