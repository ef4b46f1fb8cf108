"""The command line: as a user calls it, in a process of its own, or in the session of the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pyspark
import pytest

from airflow_delta_provider.command_line import engine
from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.domain.engine.spark_library import delta_coordinates
from airflow_delta_provider.jobs.delta.checkpoint_files import FILES_ON_DRIVER
from airflow_delta_provider.jobs.spark import session as spark_session
from airflow_delta_provider.jobs.spark.large_checkpoint import SparkCheckpoint
from tests.tables import broken_logs, log
from tests.tables.protocols import legacy
from tests.tables.widening import flat
from tests.unit.audit.test_audit_log_files import AT, SIDECAR, history, tags, v2, with_sidecar
from tests.unit.audits_in_parts import Kept
from tests.unit.checkpoint_builder import as_parquet, classic_name, uuid_name, v2_metadata
from tests.unit.report_contract import violations


def call(*arguments, cwd=None):
    done = subprocess.run(
        [sys.executable, "-m", "airflow_delta_provider", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert "\n\tat " not in done.stdout + done.stderr
    return done


def report_in(path):
    wire = json.loads(path.read_text())
    assert violations(wire) == []
    return wire


def test_several_tables_by_relative_path_give_a_report_and_the_exit_code_of_the_worst(table, tmp_path):
    good, broken = table(legacy, "good"), table(broken_logs.gap, "broken")
    options = ("--feature", "typeWidening", "--property", "note=a=b", "--allow-protocol-upgrade", "--report", "r.json")
    done = call("enable-feature", "--table", "./good", "--table", broken, *options, cwd=tmp_path)
    assert done.returncode == 3
    wire = report_in(tmp_path / "r.json")
    assert [(t["table"], t["verdict"], t["changed"]) for t in wire["tables"]] == [
        ("./good", "PASS", True),
        (str(broken), "REFUSED", False),
    ]
    assert wire["verdict"] == "REFUSED"
    assert wire["engine"] == {"spark": "4.2.0", "delta": "4.4.0"}
    assert log.configuration(good)["note"] == "a=b"
    assert "PASS ./good version 2 -> 3" in " ".join(done.stdout.split())
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["r.json"]


def test_refusal_is_reported_with_its_plan_and_exit_3(table, tmp_path, capsys):
    path = table(flat, enabled=False)
    before = log.contents(path)
    columns = ("--column", "q=bigint", "--enable-type-widening")
    code = main(["widen-types", "--table", str(path), *columns, "--report", str(tmp_path / "r.json")])
    assert code == 3
    wire = report_in(tmp_path / "r.json")
    assert wire["verdict"] == "REFUSED"
    assert [finding["code"] for finding in wire["tables"][0]["findings"]] == ["RQ09"]
    assert wire["tables"][0]["plan"]["steps"][1]["sql"].endswith("ALTER COLUMN `q` TYPE bigint")
    assert "--allow-protocol-upgrade" in capsys.readouterr().out
    assert log.contents(path) == before


def test_fault_of_all_tables_is_reported_with_exit_4(session, tmp_path, capsys):
    arguments = ("--feature", "typeWidening", "--report", str(tmp_path / "r.json"))
    assert main(["enable-feature", "--table", "hologram://x/y", *arguments]) == 4
    assert report_in(tmp_path / "r.json")["verdict"] == "FAULT"
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    assert "\n\tat " not in printed.out + printed.err


def test_audit_needs_no_delta_and_leaves_nothing_but_its_result_in_the_output(table, tmp_path):
    path = table(legacy)
    place = (tmp_path / "new" / "r.json").as_uri()
    done = call("audit", "--level", "data", "--table", path, "--report", place, "--format", "json")
    started = "Starting Spark: audit reads rows with these options.\n"
    assert (done.returncode, done.stderr) == (0, f"{started}{path}: reading the footers of 2 files\n")
    assert json.loads(done.stdout) == (wire := report_in(tmp_path / "new" / "r.json"))
    assert (wire["verdict"], wire["engine"]) == ("PASS", {"spark": "4.2.0", "delta": None})


def test_report_to_a_storage_that_spark_does_not_know_is_refused_before_anything_is_done(
    session, table, tmp_path, capsys
):
    path = table(legacy)
    before = log.contents(path)
    change = ("enable-feature", "--feature", "appendOnly", "--table", str(path))
    assert main([*change, "--report", "hologram://x/r.json"]) == 2
    assert "--report hologram://x/r.json: No Hadoop filesystem for this storage" in capsys.readouterr().err
    assert log.contents(path) == before


def test_report_that_cannot_be_written_is_printed_all_the_same(session, table, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    detail = ("detail", "--table", str(table(legacy)), "--format", "json", "--engine", "spark")
    assert main([*detail, "--report", (tmp_path / "file" / "r.json").as_uri()]) == 4
    printed = capsys.readouterr()
    assert json.loads(printed.out)["verdict"] == "PASS"
    assert "could not be written" in printed.err
    assert "Traceback" not in printed.err


def test_java_that_is_not_there_is_said_with_what_the_start_of_spark_printed(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    done = call("detail", "--table", "/t", "--report", tmp_path / "r.json", "--engine", "spark")
    assert (done.returncode, done.stdout) == (4, "")
    assert "there is no Spark session: Java was not found. Install Java 17" in done.stderr
    assert "/nonexistent/bin/java: No such file" in done.stderr


def test_spark_without_delta_is_said_in_a_sentence_with_exit_4(tmp_path):
    arguments = ("--feature", "typeWidening", "--report", tmp_path / "r.json", "--delta-jars", "provided")
    done = call("enable-feature", "--table", "/nowhere", *arguments)
    assert done.returncode == 4
    assert "Delta Lake is not on Spark's classpath" in done.stderr
    assert not (tmp_path / "r.json").exists()


def test_under_spark_submit_the_master_and_the_settings_are_those_of_spark_submit(table, tmp_path):
    path = table(legacy)
    script = tmp_path / "job.py"
    script.write_text(
        "import sys\n"
        "from pyspark.sql import SparkSession\n"
        "from airflow_delta_provider.command_line.main import main\n"
        "code = main(sys.argv[1:])\n"
        "spark = SparkSession.getActiveSession()\n"
        "print('master', spark.sparkContext.master, spark.conf.get('spark.sql.shuffle.partitions'))\n"
        "sys.exit(code)\n"
    )
    scripts = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    settings = ("--master", "local[1]", "--packages", delta_coordinates(pyspark.__version__))
    settings += ("--conf", "spark.sql.shuffle.partitions=3")
    job = ("enable-feature", "--feature", "appendOnly", "--table", path, "--report", tmp_path / "r.json")
    command = [*map(str, (scripts / "spark-submit", *settings, script, *job))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert "master local[1] 3" in done.stdout
    assert done.returncode == 0
    assert report_in(tmp_path / "r.json")["verdict"] == "PASS"


def test_audit_of_a_pattern_with_waivers_prints_what_it_writes(table, tmp_path, capsys):
    path = table(legacy, "lake")
    metadata = log.last(path, "metaData")
    log.commit(path, {"metaData": {**metadata, "id": "another"}})
    waivers = tmp_path / "waivers.yaml"
    waivers.write_text("- {code: MD08, owner: ann, reason: a pilot, expires: 2999-12-31}\n")
    arguments = ["audit", "--table", f"{tmp_path}/la*", "--report", str(tmp_path / "r.json"), "--engine", "spark"]
    assert main([*arguments, "--format", "json"]) == 1
    wire = report_in(tmp_path / "r.json")
    assert json.loads(capsys.readouterr().out) == wire
    assert [(t["table"], t["verdict"]) for t in wire["tables"]] == [(str(path), "VIOLATED")]
    assert main([*arguments, "--waivers", str(waivers)]) == 0
    assert report_in(tmp_path / "r.json")["verdict"] == "PASS"
    assert "Not counted: 1 accepted" in capsys.readouterr().out
    owners = tmp_path / "owners.yaml"
    owners.write_text(f"- {{table: '{tmp_path}/*', owner: bob, severities: {{MD08: warning}}}}\n")
    assert main([*arguments, "--owners", str(owners), "--seconds-per-table", "60"]) == 0
    (judged,) = report_in(tmp_path / "r.json")["tables"]
    assert (judged["verdict"], judged["evidence"]["owner"]) == ("PASS", "bob")


def test_report_that_was_written_is_received_and_one_that_was_not_is_told_again(session, table, tmp_path, capsys):
    path = table(legacy)
    (tmp_path / "file").write_text("")
    log.commit(path, {"metaData": {**log.last(path, "metaData"), "id": "another"}})
    arguments = ["audit", "--table", str(path), "--state-path", str(tmp_path / "state"), "--format", "json"]
    arguments += ["--engine", "spark"]
    statuses = []
    for file in ("file/r.json", "r.json", "r.json"):
        code = main([*arguments, "--report", (tmp_path / file).as_uri()])
        (finding,) = json.loads(capsys.readouterr().out)["tables"][0]["findings"]
        statuses.append((code, finding["status"]))
    assert statuses == [(4, "NEW"), (1, "NEW"), (1, "KNOWN")]


def large_table(path: Path, form: str) -> Path:
    """Write a table whose log begins with a checkpoint of some files, and a configuration with a lower limit."""
    table = history() if form == "parquet" else v2()
    storage = Kept(table.commits).clean_up(table, AT)
    if form == "sidecar":
        actions, sidecar = with_sidecar(table)
        del storage.files[classic_name(AT)]
        storage.files[uuid_name(AT, "parquet")] = as_parquet([v2_metadata(AT, **tags(table)), *actions])
        storage.files[f"_sidecars/{SIDECAR}"] = sidecar
    for name, content in storage.files.items():
        (path / "t/_delta_log" / name).parent.mkdir(parents=True, exist_ok=True)
        (path / "t/_delta_log" / name).write_bytes(content)
    config = path / "delta-provider.toml"
    config.write_text(f'[spark.conf]\n"{FILES_ON_DRIVER}" = "2"\n')
    return config


def audited(path: Path, config: Path, capsys: pytest.CaptureFixture[str], *engine: str) -> tuple[dict[str, Any], str]:
    main(["audit", str(path / "t"), "--config", str(config), "--report", str(path / "r.json"), *engine])
    wire = report_in(path / "r.json")
    return {**wire["tables"][0], "timings": None}, capsys.readouterr().err


@pytest.mark.parametrize("form", ["parquet", "sidecar"])
def test_spark_reads_a_checkpoint_with_more_files_than_the_limit(session, tmp_path, capsys, monkeypatch, form):
    config, read = large_table(tmp_path, form), []
    reduced = SparkCheckpoint.reduced
    monkeypatch.setattr(SparkCheckpoint, "reduced", lambda *given: read.append(1) or reduced(*given))
    by_python, said = audited(tmp_path, config, capsys, "--engine", "python")
    assert not read
    assert "Spark" not in said
    by_both, said = audited(tmp_path, config, capsys)
    assert "Starting Spark: a checkpoint has" in said
    assert "the limit is 2." in said
    assert read
    assert by_both == by_python
    config.write_text("")
    assert audited(tmp_path, config, capsys)[1].count("Spark") == 0


def test_python_reads_a_large_checkpoint_if_spark_does_not_start(session, tmp_path, capsys, monkeypatch):
    def own_session(*_: object) -> NoReturn:
        raise RuntimeError("there is no room")

    config = large_table(tmp_path, "parquet")
    by_python, _ = audited(tmp_path, config, capsys, "--engine", "python")
    monkeypatch.setattr(spark_session, "own_session", own_session)
    by_python_alone, said = audited(tmp_path, config, capsys)
    assert "The checkpoint is read without Spark: there is no Spark session: there is no room" in " ".join(said.split())
    assert by_python_alone == by_python
    monkeypatch.setattr(engine, "has_java", lambda: False)
    assert "Spark" not in audited(tmp_path, config, capsys)[1]
