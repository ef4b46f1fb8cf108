"""The hook against a fake spark-submit."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from airflow_delta_provider.domain.engine.spark_library import LEAN_JAVA_OPTIONS
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.change_options import EnableFeatureOptions
from airflow_delta_provider.domain.request.check_options import (
    AuditOptions,
    CheckRowTrackingOptions,
    PaimonCheckRowTrackingOptions,
)
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import DetailOptions, Options
from airflow_delta_provider.exceptions import DeltaConnectionError, DeltaJobError, DeltaRequestError
from airflow_delta_provider.hooks.delta_spark_submit import DeltaSparkSubmitHook
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit

__all__ = ["spark_submit"]
COORDINATES = "io.delta:delta-spark_4.1_2.13:4.3.1"


def make_hook(*tables: str, **arguments: Any) -> DeltaSparkSubmitHook:
    request = JobRequest(tables or ("/t",), EnableFeatureOptions(features=("typeWidening",)))
    return DeltaSparkSubmitHook(request, **{"delta_jars": "provided", **arguments})


def option(call: list[str], name: str) -> list[str]:
    return [call[i + 1] for i, word in enumerate(call) if word == name]


def test_report_comes_back_and_stays_out_of_the_log(
    spark_submit: FakeSparkSubmit, capsys: pytest.CaptureFixture[str]
) -> None:
    spark_submit.does("print('INFO SparkContext: noise'); send('progress', 'half way'); report()")
    report = make_hook("/a", "/b").run()
    assert [(t.table, t.verdict) for t in report.tables] == [("/a", Verdict.PASS), ("/b", Verdict.PASS)]
    logged = capsys.readouterr().out
    assert "half way" in logged
    assert "@@delta-provider" not in logged
    assert "noise" not in logged


def test_spark_log_level_brings_spark_lines_back_and_reaches_the_job(
    spark_submit: FakeSparkSubmit, capsys: pytest.CaptureFixture[str]
) -> None:
    spark_submit.does("print('INFO SparkContext: noise'); report()")
    make_hook(spark_log_level="INFO").run()
    assert "INFO SparkContext: noise" in capsys.readouterr().out
    assert spark_submit.calls[0][-1] == "INFO"


@pytest.mark.parametrize(
    ("table", "options", "resolves"),
    [
        ("/t", DetailOptions(), False),
        ("/t", AuditOptions(level="data"), False),
        ("/t", CheckRowTrackingOptions(level="data", compare_to_version=1), False),
        ("/t", CheckRowTrackingOptions(level="data", compare_to_version=1, key_columns=("id",)), True),
        ("sales.t", DetailOptions(), True),
        ("sales.t", PaimonCheckRowTrackingOptions(), False),
        ("/t", EnableFeatureOptions(features=("typeWidening",)), True),
    ],
)
def test_jars_of_delta_are_resolved_for_jobs_that_may_need_them(
    spark_submit: FakeSparkSubmit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    options: Options,
    resolves: bool,
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.2.0.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    jar = tmp_path / "io.delta_delta-spark_4.2_2.13-4.4.0.jar"
    jar.touch()
    spark_submit.does(f"send('jars', [{jar.as_uri()!r}], submission) if '--packages' in arguments else report()")
    DeltaSparkSubmitHook(JobRequest((table,), options)).run()
    assert ["--packages" in call for call in spark_submit.calls] == ([True, False] if resolves else [False])
    make_hook(delta_jars=None).run()
    DeltaSparkSubmitHook(JobRequest((table,), options)).run()
    (class_path,) = option(spark_submit.calls[-1], "--driver-class-path")
    assert Path(class_path).name == jar.name  # as it was resolved by then


def test_request_of_5000_tables_travels_in_a_file_not_in_an_argument(spark_submit: FakeSparkSubmit) -> None:
    tables = [f"/lake/{'x' * 60}/table-{n}" for n in range(5000)]
    report = make_hook(*tables).run()
    assert [t.table for t in report.tables] == tables
    assert sum(map(len, spark_submit.calls[0])) < 4000


def test_report_counts_whatever_the_exit_code(spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does("report(verdict='VIOLATED'); sys.exit(1)")
    assert make_hook().run().verdict is Verdict.VIOLATED


def test_report_cut_by_a_log_line_is_taken_from_its_second_copy(spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does(
        "line = next(iter(marker_lines('report', submission, {'x': 1})));"
        "print(line[:60] + 'WARN Executor: torn' + line[60:]); report()"
    )
    assert make_hook().run().verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        ("pass", "held no report"),
        ("sys.exit(3)", "Error code is: 3"),
        ("print(next(iter(marker_lines('report', submission, {})))[:-12])", "arrived damaged"),
        ("report(nonce='ab' * 16)", "another submission"),
        ("raise LookupError('no such module')", "LookupError: no such module"),
        ("import signal; os.kill(os.getpid(), signal.SIGKILL)", "Error code is: -9"),
    ],
    ids=["no output", "exit code", "torn", "foreign", "traceback", "killed"],
)
def test_job_without_a_report_is_a_retryable_error_that_says_why(
    spark_submit: FakeSparkSubmit, behaviour: str, says: str
) -> None:
    spark_submit.does(behaviour)
    with pytest.raises(DeltaJobError, match=says) as caught:
        make_hook().run()
    assert "the state of its tables is unknown" in str(caught.value)


def test_error_in_the_job_shows_its_own_traceback(spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does(
        "send('error', {'message': 'ValueError: bad', 'traceback': 'Traceback: job.py line 7'}); sys.exit(1)"
    )
    with pytest.raises(DeltaJobError, match=r"^ValueError: bad\n\nTraceback: job.py line 7$"):
        make_hook().run()


def test_traceback_survives_a_flood_of_spark_lines(spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does(
        "import traceback\n"
        "try: 1/0\n"
        "except ZeroDivisionError: traceback.print_exc()\n"
        "sys.stderr.flush()\n"
        "for n in range(1000): print('INFO ShutdownHookManager: line', n)\n"
        "sys.exit(1)"
    )
    with pytest.raises(DeltaJobError, match="ZeroDivisionError: division by zero"):
        make_hook().run()


def test_100000_lines_of_output_are_read_without_being_logged(
    spark_submit: FakeSparkSubmit, capsys: pytest.CaptureFixture[str]
) -> None:
    spark_submit.does("print('INFO line\\n' * 100_000); report()")
    assert make_hook().run().verdict is Verdict.PASS
    assert "Spark-Submit cmd" in (logged := capsys.readouterr().out)
    assert "INFO line" not in logged


def test_killing_ends_the_whole_process_tree(spark_submit: FakeSparkSubmit, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    child = f"import os, time; open({str(pids)!r}, 'a').write(f'{{os.getpid()}} '); time.sleep(60)"
    spark_submit.does(f"subprocess.Popen([sys.executable, '-c', {child!r}]); exec({child!r})")
    hook = make_hook()
    outcome: list[BaseException] = []

    def submit() -> None:
        try:
            hook.run()
        except DeltaJobError as error:
            outcome.append(error)

    thread = threading.Thread(target=submit)
    thread.start()
    deadline = time.monotonic() + 20
    while not (pids.exists() and len(pids.read_text().split()) == 2):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    hook.on_kill()
    thread.join(timeout=10)
    assert not thread.is_alive()
    assert len(outcome) == 1
    assert not any(psutil.pid_exists(int(pid)) for pid in pids.read_text().split())


def test_local_master_gets_the_lean_profile_and_keeps_the_users_files(spark_submit: FakeSparkSubmit) -> None:
    make_hook(py_files="/mine.py", files="/mine.txt", conf={"spark.x": "1"}, delta_jars=["/d1.jar", "/d2.jar"]).run()
    (call,) = spark_submit.calls
    (settings,) = spark_submit.settings
    assert "TieredStopAtLevel=1" in settings["spark.driver.extraJavaOptions"]
    assert settings["spark.x"] == "1"
    assert option(call, "--py-files") == ["/mine.py"]
    assert option(call, "--files") == ["/mine.txt"]
    assert option(call, "--driver-class-path") == ["/d1.jar:/d2.jar"]


def test_users_java_options_are_not_replaced(spark_submit: FakeSparkSubmit) -> None:
    make_hook(conf={"spark.driver.extraJavaOptions": "-Xss4m"}).run()
    assert spark_submit.settings[0]["spark.driver.extraJavaOptions"] == "-Xss4m"


@pytest.mark.parametrize(
    ("environment", "arguments", "options"),
    [
        ({}, {}, LEAN_JAVA_OPTIONS),
        ({"SPARK_LAUNCHER_OPTS": "-Xmx64m"}, {}, "-Xmx64m"),
        ({"SPARK_LAUNCHER_OPTS": "-Xmx64m"}, {"env_vars": {"OTHER": "1"}}, "-Xmx64m"),
        ({"SPARK_LAUNCHER_OPTS": "-Xmx64m"}, {"env_vars": {"SPARK_LAUNCHER_OPTS": "-Xmx32m"}}, "-Xmx32m"),
    ],
)
def test_options_of_the_launcher_are_the_users_where_there_are_any(
    spark_submit: FakeSparkSubmit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    arguments: dict[str, Any],
    options: str,
) -> None:
    monkeypatch.delenv("SPARK_LAUNCHER_OPTS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    seen = tmp_path / "options"
    spark_submit.does(f"import os; open({str(seen)!r}, 'w').write(os.environ['SPARK_LAUNCHER_OPTS']); report()")
    make_hook(**arguments).run()
    assert seen.read_text() == options


def test_classes_are_archived_by_the_first_run_and_shared_by_the_next(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__DELTA_PROVIDER__CLASS_DATA_SHARING", "True")
    spark_submit.does(
        "import re\n"
        "archive = re.search('ArchiveClassesAtExit=([^ ]+)', settings['spark.driver.extraJavaOptions'])\n"
        "if archive: open(archive[1], 'w').close()\n"
        "report()"
    )
    for _ in range(2):
        make_hook().run()
    first, second = (settings["spark.driver.extraJavaOptions"] for settings in spark_submit.settings)
    assert "-XX:ArchiveClassesAtExit=" in first
    assert "-XX:SharedArchiveFile=" in second
    assert "-XX:SharedArchiveFile=" not in first


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.session.token",
        "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net",
        "spark.hadoop.fs.azure.sas.files.lake.dfs.core.windows.net",
        "spark.hadoop.google.cloud.auth.service.account.private.key",
    ],
)
def test_secret_setting_reaches_spark_and_neither_log_nor_request(
    spark_submit: FakeSparkSubmit, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    spark_submit.does("assert 'AKIA=/+ z' not in json.dumps(request); report()")
    make_hook(conf={name: "AKIA=/+ z", "spark.x": "shown"}).run()
    assert spark_submit.settings[0][name] == "AKIA=/+ z"
    assert "AKIA" not in str(spark_submit.calls)
    logged = capsys.readouterr().out
    assert f"{name}=******" in logged
    assert "spark.x=shown" in logged
    assert "AKIA" not in logged


def test_secret_setting_stays_out_of_the_error_too(spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does("sys.exit(3)")
    with pytest.raises(DeltaJobError) as caught:
        make_hook(conf={"spark.hadoop.fs.s3a.session.token": "AKIA"}).run()
    assert "AKIA" not in str(caught.value)


def test_keytab_of_the_connection_is_a_file_that_nobody_else_can_read(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    extra = {"keytab": "a2V5", "principal": "ann"}
    monkeypatch.setenv(
        "AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]", "extra": extra})
    )
    make_hook().run()
    (keytab,) = option(spark_submit.calls[0], "--keytab")
    assert (Path(keytab).read_bytes(), Path(keytab).stat().st_mode & 0o777) == (b"key", 0o600)


def test_cluster_master_gets_no_setting_but_what_was_asked_for(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch
) -> None:
    master = socket.create_server(("127.0.0.1", 0))  # takes connections as long as it is not collected
    port = master.getsockname()[1]
    monkeypatch.setenv(
        "AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "spark://127.0.0.1", "port": port})
    )
    make_hook(delta_jars=None).run()
    (call,) = spark_submit.calls
    assert option(call, "--master") == [f"spark://127.0.0.1:{port}"]
    assert not {"--conf", "--properties-file", "--packages", "--jars", "--driver-class-path"} & set(call)
    assert option(call, "--py-files")[0].endswith(".zip")


def kept(folder: Path, coordinates: str) -> Path:
    """Return where a worker keeps the jars of coordinates."""
    return folder / "airflow" / "delta_provider" / "jars" / coordinates


def test_jars_are_resolved_once_and_reused(
    spark_submit: FakeSparkSubmit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark_home = tmp_path / "spark"
    (spark_home / "jars").mkdir(parents=True)
    (spark_home / "jars" / "spark-core_2.13-4.2.0.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(spark_home))
    jars = [tmp_path / "io.delta_delta-spark_4.2_2.13-4.4.0.jar", tmp_path / "com.fasterxml_jackson.jar"]
    for jar in jars:
        jar.touch()
    spark_submit.does(
        f"send('jars', {[jar.as_uri() for jar in jars]!r}, submission) if '--packages' in arguments else report()"
    )
    for _ in range(2):
        make_hook(delta_jars="packages").run()
    resolving, *running = spark_submit.calls
    assert option(resolving, "--packages") == ["io.delta:delta-spark_4.2_2.13:4.4.0"]
    (class_path,), (again,) = (option(call, "--driver-class-path") for call in running)
    assert class_path == again == str(kept(tmp_path, "io.delta_delta-spark_4.2_2.13_4.4.0") / jars[0].name)


@pytest.mark.parametrize("named", [COORDINATES, [COORDINATES], ["/own.jar", COORDINATES]])
def test_jars_that_are_named_by_coordinates_are_resolved_whatever_spark_it_is(
    spark_submit: FakeSparkSubmit, tmp_path: Path, named: str | list[str]
) -> None:
    jar = tmp_path / "io.delta_delta-spark_4.1_2.13-4.3.1.jar"
    jar.touch()
    spark_submit.does(f"send('jars', {[jar.as_uri()]!r}, submission) if '--packages' in arguments else report()")
    make_hook(delta_jars=named).run()
    resolving, running = spark_submit.calls
    assert option(resolving, "--packages") == [COORDINATES]
    own = [text for text in named if text.endswith(".jar")] if isinstance(named, list) else []
    copy = kept(tmp_path, "io.delta_delta-spark_4.1_2.13_4.3.1") / jar.name
    assert option(running, "--driver-class-path") == [":".join([*own, str(copy)])]


def test_coordinates_on_a_cluster_are_packages(spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch) -> None:
    master = socket.create_server(("127.0.0.1", 0))  # takes connections as long as it is not collected
    address = f"spark://127.0.0.1:{master.getsockname()[1]}"
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": address}))
    make_hook(delta_jars=["/own.jar", COORDINATES], packages="g:a:1").run()
    (call,) = spark_submit.calls
    assert option(call, "--packages") == [f"g:a:1,{COORDINATES}"]
    assert option(call, "--jars") == ["/own.jar"]


@pytest.mark.parametrize("named", ["delta-spark", "io.delta:delta-spark", "a.jar,b", "", []])
def test_what_names_no_jar_is_refused(named: str | list[str]) -> None:
    with pytest.raises(DeltaRequestError, match=r"delta_jars is .*Maven coordinates"):
        make_hook(delta_jars=named)


def test_resolving_that_fails_is_said_with_the_remedy(
    spark_submit: FakeSparkSubmit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.2.0.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    spark_submit.does("print('unresolved dependency', file=sys.stderr); sys.exit(1)")
    with pytest.raises(DeltaJobError, match=r"could not be resolved.*(?s:.)*unresolved dependency"):
        make_hook(delta_jars="packages").run()


def test_missing_connection_fails_in_place_of_falling_back_to_yarn(spark_submit: FakeSparkSubmit) -> None:
    with pytest.raises(DeltaConnectionError, match=r"no connection 'nowhere'.*conn_type"):
        make_hook(conn_id="nowhere")
    assert spark_submit.calls == []


@pytest.mark.parametrize("uri", ["yarn://", "local://"])
def test_connection_uri_with_an_impossible_master_is_refused(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, uri: str
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", uri)
    with pytest.raises(DeltaConnectionError, match="JSON"):
        make_hook()


@pytest.mark.parametrize("argument", ["application", "java_class", "application_args"])
def test_arguments_that_are_ours_are_refused(spark_submit: FakeSparkSubmit, argument: str) -> None:
    with pytest.raises(DeltaRequestError, match=f"{argument} is set by this provider"):
        make_hook(**{argument: ["x"]})


def test_no_spark_submit_on_path_says_what_to_install(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeltaConnectionError, match="no spark-submit on the worker's PATH"):
        make_hook().run()


def test_workspace_is_gone_afterwards(spark_submit: FakeSparkSubmit) -> None:
    make_hook().run()
    (application,) = (word for word in spark_submit.calls[0] if word.endswith("_job.py"))
    assert not os.path.exists(os.path.dirname(application))


def test_driver_on_this_machine_takes_the_package_as_it_is_installed_and_nothing_beside_it(
    spark_submit: FakeSparkSubmit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/mine")
    spark_submit.does(
        "library, *others = os.environ['PYTHONPATH'].split(os.pathsep);"
        f"open({str(tmp_path / 'seen')!r}, 'w').write(repr((os.listdir(library), others, JobReport.__module__)));"
        "import airflow_delta_provider; assert airflow_delta_provider.__file__.startswith(library); report()"
    )
    make_hook().run()
    assert (tmp_path / "seen").read_text() == repr(
        (["airflow_delta_provider"], ["/mine"], "airflow_delta_provider.domain.report.report")
    )
