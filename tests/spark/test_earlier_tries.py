"""A try whose worker died reported nothing: the next one reports what it committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.change_options import CreateTableOptions, WidenTypesOptions
from tests.tables import log
from tests.tables.widening import flat

LABELS = {"dag_id": "d", "run_id": "r", "task_id": "t", "map_index": -1}
RETRY = {"labels": LABELS, "retry_since": "2020-01-01T00:00:00+00:00"}
OPTIONS = WidenTypesOptions(columns={"q": "bigint"}, enable_type_widening=True, allow_protocol_upgrade=True)


class Died(BaseException):
    """The driver is no more."""


@pytest.mark.parametrize("steps", [1, 2])
def test_retry_reports_what_a_try_that_died_committed(table, run_job, steps: int) -> None:
    path = table(flat, enabled=False)
    before = log.newest(path)
    protocol = log.protocol(path)

    def progress(line: str) -> None:
        if log.newest(path) == before + steps:
            raise Died(line)

    try:
        run_job([path], OPTIONS, labels=LABELS, progress=progress)
    except Died:
        assert steps == 1
    assert log.newest(path) == before + steps

    for other in (
        {**RETRY, "labels": {**LABELS, "run_id": "other"}},
        {**RETRY, "labels": {}},
        {**RETRY, "dry_run": True},
    ):
        planned = run_job([path], OPTIONS, **{**other, "dry_run": True}).tables[0]
        assert planned.changed is False
    lines: list[str] = []
    report = run_job([path], OPTIONS, **RETRY, progress=lines.append).tables[0]
    assert (report.verdict, report.changed, report.version_before) == (Verdict.PASS, True, before)
    assert (report.version, log.newest(path)) == (before + 2, before + 2)
    assert report.protocol_before == protocol
    versions = ", ".join(str(before + step) for step in range(1, steps + 1))
    assert f"{path}: an earlier try of this task run committed version {versions}" in lines
    assert run_job([path], OPTIONS, **{**RETRY, "labels": {**LABELS, "run_id": "other"}}).tables[0].changed is False
    assert run_job([path], OPTIONS, labels=LABELS).tables[0].changed is False  # nobody says that there was a try before


def test_retry_reports_the_table_that_a_try_that_died_created(run_job, tmp_path: Path) -> None:
    options = CreateTableOptions(columns={"id": "bigint"}, acknowledge_writer_lockout=True)
    path = tmp_path / "created"
    first = run_job([path], options, labels=LABELS).tables[0]
    again = run_job([path], options, **RETRY).tables[0]
    assert (first.changed, first.version_before, first.version) == (True, None, 0)
    assert (again.changed, again.version_before, again.version) == (True, None, 0)
    assert run_job([path], options, labels={"run_id": "other"}).tables[0].changed is False
