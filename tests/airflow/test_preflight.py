"""What is said before spark-submit is started."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from airflow_delta_provider.domain.engine.spark_library import SparkMaster
from airflow_delta_provider.domain.request.change_options import EnableFeatureOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.exceptions import DeltaConnectionError, DeltaJobError
from airflow_delta_provider.hooks.delta_spark_submit import DeltaSparkSubmitHook
from airflow_delta_provider.hooks.preflight import check_before_submit
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit

__all__ = ["spark_submit"]


def hook(**arguments: object) -> DeltaSparkSubmitHook:
    request = JobRequest(("/t",), EnableFeatureOptions(features=("typeWidening",)))
    return DeltaSparkSubmitHook(request, **{"delta_jars": "provided", **arguments})  # type: ignore[arg-type]  # of any type


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def connect(monkeypatch: pytest.MonkeyPatch, host: str, **more: object) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": host, **more}))


def is_one_line(error: BaseException) -> bool:
    return "\n" not in str(error)


def test_real_spark_submit_is_not_started_for_a_master_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, closed: int
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    connect(monkeypatch, f"spark://127.0.0.1:{closed}")
    begun = time.monotonic()
    with pytest.raises(DeltaJobError, match=f"127.0.0.1:{closed}: connection refused") as caught:
        hook().run()
    assert time.monotonic() - begun < 5
    assert is_one_line(caught.value)


def test_master_whose_name_is_unknown_is_said(spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(monkeypatch, "spark://no-such-host.invalid:7077")
    with pytest.raises(DeltaJobError, match=r"no-such-host.invalid:7077: (the host name cannot|no answer)"):
        hook().run()
    assert spark_submit.calls == []


def test_one_of_several_masters_is_enough(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, closed: int, listening: int
) -> None:
    connect(monkeypatch, f"spark://127.0.0.1:{closed},127.0.0.1:{listening}")
    assert hook().run().tables
    (call,) = spark_submit.calls
    assert f"spark://127.0.0.1:{closed},127.0.0.1:{listening}" in call


def test_api_of_kubernetes_that_does_not_answer_is_said_unless_there_is_a_proxy(
    monkeypatch: pytest.MonkeyPatch, closed: int
) -> None:
    master = SparkMaster.parse(f"k8s://https://127.0.0.1:{closed}")
    with pytest.raises(DeltaJobError, match=f"127.0.0.1:{closed}: connection refused"):
        check_before_submit("/x/bin/spark-submit", master, {"PATH": os.environ["PATH"]})
    check_before_submit("/x/bin/spark-submit", master, {"PATH": os.environ["PATH"], "HTTPS_PROXY": "http://proxy"})


@pytest.mark.parametrize(
    ("connection", "says"),
    [
        ({"host": "spark://m"}, "'m' is not HOST:PORT"),
        ({"host": ""}, "'spark://' is malformed"),
        ({"host": "lokal[2]"}, "'lokal\\[2\\]' is malformed"),
        ({"host": "local[2]", "extra": {"spark-binary": "sparky"}}, "it was `sparky`"),
        ({"host": "local[2]", "extra": {"spark-home": "/opt/spark"}}, "cannot be used"),
    ],
)
def test_connection_that_cannot_work_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, connection: dict[str, object], says: str
) -> None:
    connect(monkeypatch, **connection)  # type: ignore[arg-type]  # of any type
    with pytest.raises(DeltaConnectionError, match=says) as caught:
        hook()
    assert is_one_line(caught.value)
    assert "spark_default" in str(caught.value)


def test_kubernetes_without_its_provider_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if it were not installed; another test may have imported it.
    monkeypatch.setitem(sys.modules, "airflow.providers.cncf", None)
    monkeypatch.setitem(sys.modules, "airflow.providers.cncf.kubernetes", None)
    connect(monkeypatch, "k8s://https://api:6443")
    with pytest.raises(
        DeltaConnectionError,
        match=r"Install airflow-delta-provider\[kubernetes\] there, or apache-airflow-providers-cncf-kubernetes",
    ) as caught:
        hook()
    assert is_one_line(caught.value)


def java(folder: Path, version: str, *, release: bool = True) -> Path:
    """A stand-in for a Java of some version."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    if release:
        (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\nOS_VERSION="7.9"\n')
    return folder


def spark_4(folder: Path) -> Path:
    (folder / "jars").mkdir(parents=True)
    (folder / "jars" / "spark-core_2.13-4.2.0.jar").touch()
    return folder


@pytest.mark.parametrize("release", [True, False], ids=["release file", "asked"])
def test_java_that_is_too_old_is_said_with_the_version_found(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, release: bool
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(spark_4(tmp_path / "spark")))
    old = java(tmp_path / "old", "11.0.2", release=release)
    with pytest.raises(DeltaConnectionError, match=r"is Java 11, and Spark 4.2.0 needs Java 17 or later") as caught:
        hook(env_vars={"JAVA_HOME": str(old)}).run()
    assert is_one_line(caught.value)
    assert spark_submit.calls == []
    assert hook(env_vars={"JAVA_HOME": str(java(tmp_path / "new", "21", release=release))}).run().tables


def test_java_8_is_enough_for_spark_3(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.12-3.5.8.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "java", "1.8.0_392")))
    assert hook().run().tables


@pytest.mark.parametrize("settings", ["", "export JAVA_HOME=/usr\n"])
def test_java_home_without_java_is_said_unless_spark_env_sets_another(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-env.sh").write_text(settings)
    if settings:
        assert hook().run().tables
    else:
        with pytest.raises(DeltaConnectionError, match=r"JAVA_HOME is .*gone, but there is no bin/java"):
            hook().run()


def test_worker_without_java_is_said(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    found = shutil.which("spark-submit")
    assert found
    monkeypatch.setenv("PATH", str(Path(found).parent))
    with pytest.raises(DeltaConnectionError, match="There is no Java on the worker") as caught:
        hook().run()
    assert is_one_line(caught.value)


def test_java_that_does_not_run_is_said(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = java(tmp_path / "java", "17", release=False)
    (broken / "bin" / "java").write_text("#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2; exit 1\n")
    monkeypatch.setenv("JAVA_HOME", str(broken))
    with pytest.raises(DeltaConnectionError, match="does not run: Unable to locate a Java Runtime"):
        hook().run()


def test_spark_submit_without_the_right_to_run_it_is_said(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "other" / "spark-submit"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(script.parent))
    with pytest.raises(DeltaConnectionError, match=f"{script} is not executable"):
        hook().run()


def test_yarn_without_a_configuration_is_said(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    connect(monkeypatch, "yarn")
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(DeltaConnectionError, match="neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set"):
        hook().run()
    with pytest.raises(DeltaConnectionError, match=r"YARN_CONF_DIR is .*gone, but there is no such folder"):
        hook(env_vars={"YARN_CONF_DIR": str(tmp_path / "gone")}).run()
    assert hook(env_vars={"YARN_CONF_DIR": str(tmp_path)}).run().tables


def test_mesos_is_left_to_spark_3_and_refused_for_spark_4(tmp_path: Path) -> None:
    master = SparkMaster.parse("mesos://m:5050")
    environment = {"PATH": os.environ["PATH"], "SPARK_HOME": str(spark_4(tmp_path))}
    with pytest.raises(DeltaConnectionError, match=r"Spark 4.2.0 no longer supports Mesos"):
        check_before_submit("/x/bin/spark-submit", master, environment)
    check_before_submit("/x/bin/spark-submit", master, {"PATH": os.environ["PATH"]})


def test_real_driver_ended_by_signal_9_is_likely_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    connect(monkeypatch, "local[1]")
    running = hook()
    ended: list[psutil.Process] = []

    def end_driver() -> None:
        while not ended:
            submit = running._submit_sp
            below = psutil.Process(submit.pid).children(recursive=True) if submit else []
            for process in below:
                with suppress(psutil.NoSuchProcess, IndexError):
                    command = process.cmdline()
                    if "python" in command[0] and any("delta_provider_job" in word for word in command):
                        process.kill()
                        ended.append(process)
            time.sleep(0.05)

    ender = threading.Thread(target=end_driver, daemon=True)
    ender.start()
    with pytest.raises(DeltaJobError, match=r"ended by signal 9.*\n(?s:.)*Error code is: 137"):
        running.run()


@pytest.mark.parametrize("exit_code", ["137", "kill"])
def test_signal_9_is_likely_lack_of_memory(spark_submit: FakeSparkSubmit, exit_code: str) -> None:
    spark_submit.does("sys.exit(137)" if exit_code == "137" else "import signal; os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(DeltaJobError, match=r"ended by signal 9.*Memory probably ran out: raise driver_memory"):
        hook().run()
