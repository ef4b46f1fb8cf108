"""``delta-provider warm-up``, with a stand-in for spark-submit; ``make images`` runs it for real."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.command_line.parser import warm_up_parser
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import DetailOptions
from airflow_delta_provider.hooks.delta_spark_submit import DeltaSparkSubmitHook
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit

__all__ = ["spark_submit"]

#: What spark-submit does in turn: it resolves jars, writes an archive of classes, or runs a job.
RESOLVE = "if '--packages' in arguments: send('jars', [os.environ['FAKE_JAR']])"
WRITE = """
elif '_warm_up.py' in arguments[application]:
    _, _, rest = option('--conf').partition('ArchiveClassesAtExit=')
    open(rest.split()[0], 'w').write('classes')
else: report()
"""
PROVIDED = ["--delta-jars", "provided"]


@pytest.fixture(autouse=True)
def installed(spark_submit: FakeSparkSubmit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.2.0.jar").touch()
    jar = tmp_path / "io.delta_delta-spark_4.2_2.13-4.4.0.jar"
    jar.write_text("delta")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setenv("FAKE_JAR", jar.as_uri())
    spark_submit.does(RESOLVE + WRITE)


def test_first_task_after_a_warm_up_resolves_nothing_and_uses_the_archive(
    spark_submit: FakeSparkSubmit,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["warm-up"]) == 0
    jars, archive, *_ = capsys.readouterr().out.splitlines()
    cache = tmp_path / "airflow" / "delta_provider"
    assert jars == f"Delta's jars: {next((cache / 'jars').glob('*/*.jar'))}, 0.0 MB"
    assert archive == f"Class archive: {next(cache.glob('*.jsa'))}, 0.0 MB"
    DeltaSparkSubmitHook(JobRequest(("/t",), DetailOptions())).run()
    assert len(spark_submit.calls) == 3
    assert (
        f"SharedArchiveFile={next(cache.glob('*.jsa'))}" in spark_submit.settings[-1]["spark.driver.extraJavaOptions"]
    )
    assert main(["warm-up"]) == 0
    assert len(spark_submit.calls) == 3


def test_tasks_do_not_write_archives_by_default(spark_submit: FakeSparkSubmit) -> None:
    DeltaSparkSubmitHook(JobRequest(("/t",), DetailOptions())).run()
    assert "Archive" not in spark_submit.settings[-1]["spark.driver.extraJavaOptions"]


def test_another_folder_comes_with_the_setting_by_which_tasks_find_it(
    spark_submit: FakeSparkSubmit,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["warm-up", "--folder", str(tmp_path / "image"), *PROVIDED]) == 0
    archive, note, *_ = capsys.readouterr().out.splitlines()
    assert archive.startswith(f"Class archive: {tmp_path}/image/classes-")
    setting, value = note.removeprefix("Set ").partition(" ")[0].split("=")
    monkeypatch.setenv(setting, value)
    DeltaSparkSubmitHook(JobRequest(("/t",), DetailOptions()), delta_jars="provided").run()
    assert f"SharedArchiveFile={value}/classes-" in spark_submit.settings[-1]["spark.driver.extraJavaOptions"]


def test_folder_that_other_users_cannot_enter_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "home").mkdir(0o700)
    assert main(["warm-up", "--folder", str(tmp_path / "home" / "cache"), *PROVIDED]) == 0
    assert "others may not enter" in capsys.readouterr().out


def test_jars_alone_take_no_run_of_jobs(spark_submit: FakeSparkSubmit, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm-up", "--jars-only"]) == 0
    assert "Class archive" not in capsys.readouterr().out
    assert len(spark_submit.calls) == 1


def test_repositories_are_asked_for_the_jars(spark_submit: FakeSparkSubmit) -> None:
    assert main(["warm-up", "--jars-only", "--repositories", "https://mirror/maven"]) == 0
    (call,) = spark_submit.calls
    assert call[call.index("--repositories") + 1] == "https://mirror/maven"


def test_no_network_is_told_with_what_spark_said(
    spark_submit: FakeSparkSubmit,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spark_submit.does("print('SERVER ERROR: Network is unreachable', file=sys.stderr); sys.exit(1)")
    assert main(["warm-up"]) == 4
    error = capsys.readouterr().err
    assert "io.delta:delta-spark_4.2_2.13:4.4.0 could not be resolved" in error
    assert "Network is unreachable" in error


def test_driver_that_fails_leaves_no_archive_and_its_last_lines_are_shown(
    spark_submit: FakeSparkSubmit,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spark_submit.does("print('no space left', file=sys.stderr); sys.exit(1)")
    assert main(["warm-up", *PROVIDED]) == 4
    error = capsys.readouterr().err
    assert "The driver left no archive of classes (exit code 1)" in error
    assert "no space left" in error
    assert list((tmp_path / "airflow" / "delta_provider").glob("*.jsa")) == []


@pytest.mark.parametrize(
    ("variable", "expected"),
    [("SPARK_CONF_DIR", "spark-defaults.conf"), ("HADOOP_CONF_DIR", "core-site.xml")],
)
def test_folder_with_files_on_the_class_path_is_named(
    variable: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "configuration"
    folder.mkdir()
    (folder / expected).touch()
    monkeypatch.setenv(variable, str(folder))
    assert main(["warm-up", *PROVIDED]) == 4
    assert f"has a folder with files: {folder}." in capsys.readouterr().err
    assert main(["warm-up", "--jars-only"]) == 0


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"JAVA_HOME": "/nowhere"}, "JAVA_HOME is /nowhere"),
        ({"PATH": "/nowhere"}, "There is no spark-submit"),
    ],
)
def test_what_the_image_lacks_is_named(
    environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(["warm-up"]) == 4
    assert expected in capsys.readouterr().err


def test_folder_that_cannot_be_used_is_an_error_of_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["warm-up", "--folder", str(tmp_path / "file" / "cache")]) == 2
    assert f"{tmp_path}/file/cache cannot be made: {tmp_path}/file: File exists." in capsys.readouterr().err
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    assert main(["warm-up", "--folder", str(tmp_path / "shared")]) == 2
    assert f"Tasks would not use the files in {tmp_path}/shared: every user can write" in capsys.readouterr().err
    assert main(["warm-up", "--delta-jars", "maven"]) == 2
    assert "delta_jars is 'maven'" in capsys.readouterr().err


def test_where_there_is_no_airflow_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "airflow_delta_provider.hooks.warm_up", None)
    assert main(["warm-up"]) == 2
    assert "prepares Airflow workers" in capsys.readouterr().err


def test_commands_of_the_guide_can_be_parsed() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "images.md"
    commands = re.findall(r"delta-provider warm-up((?: [^`&|\n]+)?)", guide.read_text(encoding="utf-8"))
    assert len(commands) >= 6
    for command in commands:
        warm_up_parser().parse_args(shlex.split(command))
