"""Planning migrations of tables from their logs, and the kind ``plan-migration`` on its command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import PlanMigrationOptions
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from tests.unit.jobs.test_check_compatibility import METADATA, RUST, SPARK, Log, protocol


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return Log(tmp_path / "orders").commit(1, SPARK, protocol(), METADATA).path


def planned(path: Path, *specs: Any, **options: Any) -> Any:
    request = JobRequest((str(path),), PlanMigrationOptions(spec=specs, **options))
    (report,) = run(request, python_session()).tables
    return report


def test_a_table_that_is_what_is_declared_has_no_steps(table: Path) -> None:
    report = planned(table, {"columns": [{"name": "q", "type": "int"}]})
    assert report.verdict is Verdict.PASS
    assert report.plan["steps"] == []
    assert report.plan["changed"] is False


def test_steps_lint_and_lock_outs(tmp_path: Path) -> None:
    path = Log(tmp_path / "t").commit(1, RUST, protocol(), METADATA).path
    report = planned(path, {"columns": [{"name": "q", "type": "bigint"}]})
    assert [step["sql"] is not None for step in report.plan["steps"]] == [True, True]
    assert report.plan["permissions"] == ["allow_protocol_upgrade"]
    assert [finding["code"] for finding in report.plan["locked_out"]] == ["CP02"]
    assert {finding.code for finding in report.findings} >= {"CP02", "MG25"}
    assert report.verdict is Verdict.VIOLATED
    assert report.changed is False


def test_a_policy_weighs_and_waives_lock_outs(tmp_path: Path) -> None:
    path = Log(tmp_path / "t").commit(1, RUST, protocol(), METADATA).path
    spec = {"columns": [{"name": "q", "type": "bigint"}]}
    entry = {"table": "*", "approve_without_asking": ["nobody_locked_out"]}
    report = planned(path, spec, policy={"tables": [{**entry, "warning": ["CP02"]}]})
    assert (report.verdict, report.plan["approval"]) == (Verdict.PASS, ["Engines are locked out."])
    waiver = {"code": "CP02", "owner": "ana", "reason": "retired", "expires": "2999-01-01"}
    report = planned(path, spec, policy={"tables": [entry], "waivers": [waiver]})
    assert (report.verdict, report.plan["approval"]) == (Verdict.PASS, [])
    assert report.plan["locked_out"][0]["waiver"]["owner"] == "ana"


def test_a_refused_plan_says_why(table: Path) -> None:
    report = planned(table, {"columns": [{"name": "q", "type": "string"}]})
    assert report.verdict is Verdict.REFUSED
    assert [finding.code for finding in report.findings] == ["RQ60"]
    assert report.plan is None


def with_columns(*names: str, physical: str | None = None) -> dict[str, Any]:
    """Return the metaData of a table with columns of type int; with column mapping, if a physical name is given."""
    known = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": physical} if physical else {}
    fields = [{"name": name, "type": "integer", "nullable": True, "metadata": known} for name in names]
    mapping = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"} if physical else {}
    schema = json.dumps({"type": "struct", "fields": fields})
    return {"metaData": {**METADATA["metaData"], "schemaString": schema, "configuration": mapping}}


def test_a_name_that_an_earlier_version_dropped_is_found(tmp_path: Path) -> None:
    log = Log(tmp_path / "t").commit(3, SPARK, protocol(), with_columns("q", "Note")).commit(2, SPARK)
    table = log.commit(1, SPARK, with_columns("q")).path
    report = planned(table, {"columns": [{"name": "q", "type": "int"}, {"name": "note", "type": "string"}]})
    (again,) = (finding for finding in report.findings if finding.code == "MG14")
    assert again.evidence == "note has the name of the column Note, which an earlier version had."
    fresh = planned(table, {"columns": [{"name": "q", "type": "int"}, {"name": "other", "type": "string"}]})
    assert "MG14" not in {finding.code for finding in fresh.findings}


def test_a_column_that_was_renamed_is_not_gone(tmp_path: Path) -> None:
    versions = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    log = Log(tmp_path / "t").commit(2, SPARK, versions, with_columns("old", physical="c1"))
    table = log.commit(1, SPARK, with_columns("new", physical="c1")).path
    report = planned(table, {"columns": [{"name": "old", "renamed_from": "new"}]})
    assert {finding.code for finding in report.findings} >= {"MG02"}
    assert "MG14" not in {finding.code for finding in report.findings}


def test_a_policy_weighs_findings_and_says_who_has_to_approve(table: Path) -> None:
    spec = {"columns": [{"name": "q", "type": "int"}, {"name": "note", "type": "string"}]}
    assert planned(table, spec).plan["approval"]
    policy = {"tables": [{"table": "*", "approve_without_asking": ["additive"]}]}
    assert planned(table, spec, policy=policy).plan["approval"] == []


def test_a_table_is_to_be_like_another(table: Path, tmp_path: Path) -> None:
    fields = [
        {"name": "Q", "type": "integer", "nullable": True, "metadata": {"comment": "pieces"}},
        {"name": "note", "type": "string", "nullable": False, "metadata": {}},
    ]
    schema = json.dumps({"type": "struct", "fields": fields})
    other = {"metaData": {**METADATA["metaData"], "schemaString": schema}}
    template = Log(tmp_path / "template").commit(1, SPARK, protocol(), other).path
    report = planned(table, {"like": str(template), "columns": [{"name": "q", "type": "int"}]})
    told = [step["explanation"] for step in report.plan["steps"]]
    assert told == ["add note string (1 commit)", "set the comment of q to 'pieces' (1 commit)"]
    assert planned(table, {"like": str(tmp_path / "gone")}).verdict is Verdict.REFUSED


def test_every_table_needs_a_spec(table: Path) -> None:
    with pytest.raises(RequestError, match=r"nothing for '/lake/ordrs'.*Did you mean '/lake/orders'"):
        JobRequest(("/lake/ordrs",), PlanMigrationOptions(spec=({"table": "/lake/orders"},)))


def test_the_command_line_plans_what_a_file_declares(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "specs"
    folder.mkdir()
    spec = folder / "orders.yaml"
    spec.write_text(f"table: {table}\ncolumns:\n  - {{name: q, type: int, comment: pieces}}\n")
    (folder / "README.md").write_text("not a spec")
    for place in (spec, folder):
        assert main(["plan-migration", "--spec", str(place), "--format", "json", "--no-config"]) == 0
        (report,) = json.loads(capsys.readouterr().out)["tables"]
        (step,) = report["plan"]["steps"]
        assert step["explanation"] == "set the comment of q to 'pieces' (1 commit)"


def test_what_is_wrong_with_a_file_is_said_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "orders.yaml"
    spec.write_text("table: /lake/orders\ncolums: []\n")
    with pytest.raises(SystemExit) as ended:
        main(["plan-migration", "--spec", str(spec), "--no-config"])
    assert ended.value.code == 2
    assert "line 2, column 1" in (said := capsys.readouterr().err)
    assert "columns" in said


def file_with(nulls: int, **known: Any) -> dict[str, Any]:
    stats = json.dumps({"numRecords": 3, "minValues": {"q": 1}, "maxValues": {"q": 5}, "nullCount": {"q": nulls}})
    return {"add": {"path": "a.parquet", "partitionValues": {}, "size": 9, "dataChange": True, "stats": stats, **known}}


def test_plan_that_the_statistics_of_live_files_disprove_is_refused(tmp_path: Path) -> None:
    log = Log(tmp_path / "t").commit(3, SPARK, protocol(), METADATA, file_with(2))
    required = {"columns": [{"name": "q", "nullable": False}]}
    (finding,) = planned(log.path, required).findings
    assert finding.code == "RQ70"
    assert "q is NULL in at least 2 rows of version 0" in finding.message
    assert planned(log.path, {"constraints": {"c": "q < 5"}}).findings[0].code == "RQ73"
    gone = log.commit(2, SPARK, {"remove": {"path": "a.parquet", "dataChange": True}}).path
    assert planned(gone, required).verdict is Verdict.PASS
    assert planned(gone, {"constraints": {"c": "q < 5"}}).verdict is not Verdict.REFUSED


def test_not_null_within_an_array_and_within_a_new_struct_of_a_table_with_rows_is_refused(tmp_path: Path) -> None:
    field = {"name": "p", "type": "int", "nullable": False}
    array = {"columns": [{"name": "l", "type": "array", "element": {"type": "struct", "fields": [field]}}]}
    struct = {"columns": [{"name": "s", "type": "struct", "fields": [field]}]}
    empty = Log(tmp_path / "empty").commit(3, SPARK, protocol(), METADATA).path
    full = Log(tmp_path / "full").commit(3, SPARK, protocol(), METADATA, file_with(0)).path
    for path in (empty, full):
        (finding,) = planned(path, array).findings
        assert (finding.code, finding.column) == ("RQ74", "l.element.p")
    assert planned(empty, struct).verdict is Verdict.PASS
    (finding,) = planned(full, struct).findings
    assert (finding.code, finding.column) == ("RQ52", "s.p")
    assert "s is NULL in the rows that are there" in finding.message
