"""Findings recorded in a Delta table without Spark: once per run, whatever fails, and without effect on the result."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from airflow_delta_provider.domain.report.findings_table import COLUMNS, Run
from airflow_delta_provider.domain.report.report import JobReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions, CheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.delta.findings_writer import append
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.storages import Storages
from tests.small_s3 import SmallS3
from tests.unit.command_line.tables import damaged, sound, write
from tests.unit.damages import FIRST
from tests.unit.jobs.findings_queries import BOARD, EXPECTED, QUERIES, ROOT, ROWS, without_times

CODE = "AC08"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    damaged(tmp_path / "bad", CODE)
    sound(tmp_path / "good")
    return tmp_path


def request(lake: Path, attempt: str | None = "try-1", **known: Any) -> JobRequest:
    options = AuditOptions(findings_table=str(known.pop("table", lake / "ops" / "findings")), **known)
    labels = {"dag_id": "nightly", "run_id": "r1", "task_id": "audit", "map_index": -1}
    return JobRequest(
        (str(lake / "bad"), str(lake / "good")),
        options,
        attempt=attempt,
        try_number=1,
        labels=labels if attempt else {},
    )


def audited(asked: JobRequest, **known: Any) -> JobReport:
    return run(asked, python_session(), **known)


def rows(table: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(str(table)).to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda row: (row["run"], row["table_name"], row["record"]))


def test_each_table_and_each_finding_has_a_row(lake: Path) -> None:
    report = audited(request(lake))

    assert report.warnings == ()
    finding, bad, good = rows(lake / "ops" / "findings")
    assert list(finding) == [column.name for column in COLUMNS]
    assert (finding["record"], bad["record"], good["record"]) == ("finding", "table", "table")
    [found] = report.tables[0].findings
    assert (finding["code"], finding["fingerprint"], finding["version"]) == (CODE, found.fingerprint, found.version)
    assert finding["since"].isoformat().startswith(str(found.timestamp)[:19])
    assert finding["message"] == found.message
    assert (bad["verdict"], bad["open_errors"], bad["table_version"]) == ("VIOLATED", 1, report.tables[0].version)
    assert (good["verdict"], good["open_errors"]) == ("PASS", 0)
    of_task = ("run", "dag_id", "run_id", "task_id", "map_index", "try_number")
    assert [finding[name] for name in of_task] == ["try-1", "nightly", "r1", "audit", -1, 1]


def test_outside_airflow_the_columns_of_the_task_are_null(lake: Path) -> None:
    audited(request(lake, attempt=None))
    audited(request(lake, attempt=None))

    found = rows(lake / "ops" / "findings")
    assert len({row["run"] for row in found}) == 2
    assert {row["dag_id"] for row in found} == {None}


def test_waiver_and_owner_are_recorded(lake: Path) -> None:
    waiver = {"code": CODE, "owner": "ann", "reason": "known", "expires": "2999-01-01"}
    audited(request(lake, waivers=(waiver,), ownership=({"table": "*bad", "owner": "sales"},)))

    finding, bad, _ = rows(lake / "ops" / "findings")
    assert (finding["waiver_owner"], finding["waiver_expires"], finding["is_open"]) == ("ann", "2999-01-01", False)
    assert (bad["owner"], bad["accepted"], bad["open_errors"]) == ("sales", 1, 0)


def test_replay_adds_nothing_and_the_next_try_adds_its_own_rows(lake: Path) -> None:
    audited(request(lake))
    before = rows(lake / "ops" / "findings")
    audited(request(lake))
    assert rows(lake / "ops" / "findings") == before

    audited(request(lake, attempt="try-2"))
    assert len(rows(lake / "ops" / "findings")) == 2 * len(before)


def _race(lake: Path, attempt: str, gate: Any) -> None:
    gate.wait()
    assert audited(request(lake, attempt=attempt)).warnings == ()


def test_concurrent_runs_create_one_table_and_add_their_rows_once(lake: Path) -> None:
    context = multiprocessing.get_context("spawn")  # the package deltalake does not work in a fork
    gate = context.Barrier(4)
    started = [context.Process(target=_race, args=(lake, attempt, gate)) for attempt in ("a", "a", "b", "b")]
    for process in started:
        process.start()
    for process in started:
        process.join()

    assert [process.exitcode for process in started] == [0, 0, 0, 0]
    assert [row["run"] for row in rows(lake / "ops" / "findings")] == ["a"] * 3 + ["b"] * 3
    logs = (lake / "ops" / "findings" / "_delta_log").glob("*.json")
    assert sum("metaData" in log.read_text() for log in logs) == 1
    assert audited(JobRequest((str(lake / "ops" / "findings"),), AuditOptions())).verdict is Verdict.PASS


def test_missing_columns_are_added_and_foreign_columns_stay(lake: Path) -> None:
    table = lake / "ops" / "findings"
    audited(request(lake))
    old = DeltaTable(str(table)).to_pyarrow_table().drop(["alike", "message"])
    write_deltalake(table, old.append_column("Team", old["owner"]), mode="overwrite", schema_mode="overwrite")

    assert audited(request(lake, attempt="try-2")).warnings == ()
    assert audited(request(lake, attempt="try-3")).warnings == ()

    names = [field.name for field in DeltaTable(str(table)).schema().fields]
    assert names[-3:] == ["Team", "alike", "message"]
    assert [bool(row["message"]) for row in rows(table) if row["record"] == "finding"] == [False, True, True]


@pytest.mark.parametrize("change", ["other table", "other type"])
def test_table_of_another_shape_is_not_touched(change: str, lake: Path) -> None:
    table = lake / "ops" / "findings"
    if change == "other table":
        sound(table)
    else:
        audited(request(lake))
        found = DeltaTable(str(table)).to_pyarrow_table()
        index = found.schema.get_field_index("try_number")
        write_deltalake(
            table,
            found.set_column(index, "try_number", found["try_number"].cast("string")),
            mode="overwrite",
            schema_mode="overwrite",
        )
    before = sorted((table / "_delta_log").iterdir())

    report = audited(request(lake, attempt="other"))

    [warning] = report.warnings
    assert f"not recorded in {table}" in warning
    assert "it is no table of findings" in warning
    assert sorted((table / "_delta_log").iterdir()) == before
    assert [each.verdict.value for each in report.tables] == ["VIOLATED", "PASS"]


def test_folder_of_tables_does_not_become_a_table(lake: Path) -> None:
    [warning] = audited(request(lake, table=f"{lake}/")).warnings
    assert "no Delta table. Name a folder of its own" in warning
    assert not (lake / "_delta_log").exists()


def test_missing_package_is_a_warning(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    report = audited(request(lake))
    assert "Install airflow-delta-provider[findings]" in report.warnings[0]
    assert report.verdict is Verdict.VIOLATED


def test_store_that_refuses_the_write_is_a_warning(lake: Path) -> None:
    (lake / "ops").write_text("a file where a folder has to be")
    report = audited(request(lake))
    assert len(report.warnings) == 1
    assert [each.verdict.value for each in report.tables] == ["VIOLATED", "PASS"]


#: Writes no file above a size, as on a full disk; without the signal, the write fails with an error.
SMALL_DISK = """
import resource, signal, sys
from airflow_delta_provider.command_line.main import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("size", [0, 9_000])  # nothing, or the first commit and no data file
def test_disk_that_is_full_is_one_line_and_leaves_the_exit_code_and_the_next_run_alone(size: int, lake: Path) -> None:
    table = lake / "ops" / "findings"
    command = ["audit", str(lake / "bad"), "--findings-table", str(table)]
    done = subprocess.run(
        [sys.executable, "-c", SMALL_DISK, str(size), *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "VIOLATED" in done.stdout
    (warning,) = [line for line in done.stderr.splitlines() if "not recorded in" in line]
    assert "File too large" in warning
    assert "x1b" not in warning
    assert audited(request(lake)).warnings == ()
    assert len(rows(table)) == 3


def test_table_that_is_checked_is_refused_also_through_a_link(lake: Path) -> None:
    os.symlink(lake / "good", lake / "link")
    report = audited(request(lake, table=lake / "link"))

    bad, good = report.tables
    assert bad.verdict is Verdict.VIOLATED
    assert good.verdict is Verdict.REFUSED
    assert "is the table" in good.findings[0].message
    assert len(list((lake / "good" / "_delta_log").iterdir())) == 5


def test_place_inside_a_checked_table_is_refused(lake: Path) -> None:
    report = audited(request(lake, table=lake / "good" / "findings"))
    assert [each.verdict.value for each in report.tables] == ["VIOLATED", "REFUSED"]


def test_place_outside_the_allowed_locations_is_not_written(lake: Path) -> None:
    asked = replace(request(lake), allowed_locations=(str(lake / "bad"), str(lake / "good")))
    report = audited(asked)

    assert {each.verdict for each in report.tables} == {Verdict.REFUSED}
    assert "findings_table (--findings-table)" in report.tables[0].findings[0].message
    assert not (lake / "ops").exists()


def test_other_checks_record_too_and_refused_tables_have_a_row(lake: Path) -> None:
    options = CheckRowTrackingOptions(level="log", findings_table=str(lake / "ops" / "findings"))
    audited(JobRequest((str(lake / "none"),), options))

    finding, table = rows(lake / "ops" / "findings")
    assert (table["job"], table["verdict"], table["table_version"]) == ("check-row-tracking", "REFUSED", None)
    assert (finding["code"][:2], finding["fingerprint"], len(finding["finding_key"])) == ("RQ", None, 16)


def test_warnings_are_part_of_the_report(lake: Path) -> None:
    report = audited(request(lake, table=lake))
    assert JobReport.from_json(json.loads(json.dumps(report.to_json()))).warnings == report.warnings
    assert "warnings" not in audited(request(lake)).to_json()


def test_object_store_is_written_with_the_options_of_the_tables(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SmallS3().running() as s3:
        for name in list(os.environ):
            if name.startswith("AWS_"):
                monkeypatch.delenv(name)
        options = {
            "endpoint": s3.endpoint,
            "region": "us-east-1",
            "access_key_id": "key",
            "secret_access_key": "secret",
        }
        asked = request(lake, table="s3://lake/ops/findings")
        for _ in range(2):
            assert run(asked, python_session(Storages(options))).warnings == ()
    commits = [key for key in s3.objects if key.startswith("ops/findings/_delta_log/") and key.endswith(".json")]
    assert sorted(commits) == [f"ops/findings/_delta_log/{version:020d}.json" for version in (0, 1)]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> DeltaTable:
    place = tmp_path_factory.mktemp("history") / "findings"
    append(python_session(), TableName.parse(str(place)), f"file:{place}", ROWS, Run("all", None, {}))
    return DeltaTable(str(place))


@pytest.mark.parametrize("name", QUERIES)
def test_query_of_the_guide_gives_its_answer(name: str, history: DeltaTable) -> None:
    found = pyarrow.table(QueryBuilder().register("findings", history).execute(QUERIES[name]).read_all())
    rows = [without_times(name, tuple(row.values())) for row in found.to_pylist()]
    assert rows == EXPECTED[name]


def test_board_runs_the_queries_of_the_guide_and_shows_metrics_that_exist() -> None:
    board = json.loads(BOARD.read_text(encoding="utf-8"))
    targets = [target for panel in board["panels"] for target in panel["targets"]]
    asked = {target["rawSQL"].replace("$findings", "findings") for target in targets if "rawSQL" in target}
    assert asked == set(QUERIES.values())
    shown = {name for target in targets for name in re.findall(r"airflow_(delta_provider_\w+)", target.get("expr", ""))}
    source = (ROOT / "airflow_delta_provider" / "operators" / "metrics.py").read_text(encoding="utf-8")
    assert shown == {name.replace(".", "_") for name in re.findall(r'= "(delta_provider\.\w+)"', source)} - {
        "delta_provider_findings"
    }
    places = [tuple(panel["gridPos"].values()) for panel in board["panels"]]
    assert len(set(places)) == len(places) == 8


def test_healed_finding_has_the_time_of_the_commit_that_fixed_it(lake: Path) -> None:
    case = FIRST[CODE]
    table = case.before().damaged(case.damage)
    case.step(table)
    write(lake / "healed", table)
    live = [a["add"] for actions in table.commits for a in actions if "add" in a]
    removed = {"path": live[-1]["path"], "deletionTimestamp": 1, "dataChange": True}
    info = {"timestamp": 1_800_000_000_000, "operation": "DELETE", "operationParameters": {}}
    commit = lake / "healed" / "_delta_log" / f"{len(table.commits):020d}.json"
    commit.write_text("".join(json.dumps(a) + "\n" for a in ({"commitInfo": info}, {"remove": removed})))

    [table_report] = audited(
        JobRequest((str(lake / "healed"),), AuditOptions(findings_table=str(lake / "ops" / "findings")))
    ).tables
    [found] = [each for each in table_report.findings if each.code == CODE]
    assert (found.healed_version, found.healed_at) == (len(table.commits), "2027-01-15T08:00:00.000+00:00")
    [row] = [row for row in rows(lake / "ops" / "findings") if row["code"] == CODE]
    assert row["healed_at"].isoformat() == "2027-01-15T08:00:00+00:00"


def test_commits_that_an_audit_did_not_check_are_counted(lake: Path) -> None:
    for version, expected in ((2, 4), (None, None)):
        [table] = audited(JobRequest((str(lake / "good"),), AuditOptions(version=version))).tables
        assert (table.evidence or {}).get("newest_version") == expected
