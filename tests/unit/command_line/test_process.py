"""The command line as a process: what it imports, signals, pipes and encodings."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.command_line.tables import damaged, sound

#: Runs the command line where neither Airflow nor Spark can be imported.
ALONE = (
    "import sys\nfor name in ('airflow', 'pyspark', 'py4j', 'delta'):\n    sys.modules[name] = None\n"
    "from airflow_delta_provider.command_line.main import run\nrun()"
)


def start(words: Sequence[str], folder: Path, **known: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ALONE, *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, text=True, **{"env": environment, **pipes, **known})  # type: ignore[call-overload, no-any-return]  # any pipes


def run(words: Sequence[str], folder: Path, **known: object) -> tuple[int, str, str]:
    process = start(words, folder, **known)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_audit_runs_without_airflow_and_without_spark(tmp_path):
    sound(tmp_path / "good")
    damaged(tmp_path / "bad", "AC08")
    code, out, err = run(["audit", "*"], tmp_path)
    assert (code, err) == (1, "")
    assert "2 tables · 1 pass · 1 violated (AC08)" in out.splitlines()[-1]


def test_misspelt_path_without_a_slash_is_said_to_be_a_name(tmp_path):
    sound(tmp_path / "orders")
    code, _, err = run(["audit", "ordrs"], tmp_path)
    assert (code, "ordrs is a name in a catalog; a path has a slash, such as ./orders)" in err) == (4, True)


def test_audit_imports_only_its_own_code(tmp_path):
    sound(tmp_path / "t")
    code = (
        "import sys\nfrom airflow_delta_provider.command_line.main import main\nmain(['audit', 't', '-q'])\n"
        "print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    slow = {"concurrent.futures", "uuid", "traceback", "asyncio", "airflow_delta_provider.command_line.rules"}
    others = ("change_options", "migration_options", "spec.", "domain.changes.", "jobs.migrations", "jobs.spark")
    imported = done.stderr.splitlines()
    assert "airflow_delta_provider.jobs.audit.protocol_audit" in imported
    assert [name for name in imported if name in slow or any(part in name for part in others)] == []


def test_module_is_the_same_command_line(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "airflow_delta_provider", "--version"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("delta-provider 0.")


#: Runs the former command line; its tables are read without Spark.
FORMER = (
    "import contextlib, runpy\n"
    "from airflow_delta_provider.command_line import table_command\n"
    "from airflow_delta_provider.jobs.delta.session import python_session\n"
    "@contextlib.contextmanager\n"
    "def opened(choice, *_, **__):\n"
    "    assert choice.name == 'spark'\n"
    "    yield python_session()\n"
    "table_command.opened = opened\n"
    "runpy.run_module('airflow_delta_provider.jobs', run_name='__main__')"
)


@pytest.mark.parametrize(
    ("tables", "code", "verdict"),
    [
        (["bad"], 0, "VIOLATED"),
        (["good", "hologram://x/y"], 0, "FAULT"),
        (["hologram://x/y"], 1, "FAULT"),
        (["no*"], 0, "REFUSED"),
    ],
)
def test_former_name_reports_with_its_own_exit_codes(tmp_path, tables, code, verdict):
    sound(tmp_path / "good")
    damaged(tmp_path / "bad", "AC08")
    (tmp_path / "delta-provider.toml").write_text("not read", encoding="utf-8")
    named = [word for table in tables for word in ("--table", table if ":" in table else f"./{table}")]
    command = [sys.executable, "-c", FORMER, "audit", *named, "--report", "r.json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.startswith("python -m airflow_delta_provider.jobs is now delta-provider")
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["verdict"] == verdict


def test_former_name_without_spark_ends_with_1(tmp_path):
    code = (
        ALONE.partition("from ")[0]
        + "import runpy\nrunpy.run_module('airflow_delta_provider.jobs', run_name='__main__')"
    )
    command = [sys.executable, "-c", code, "detail", "--table", "./t", "--report", "r.json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "PySpark is not installed" in done.stderr) == (1, True)


def test_interrupt_ends_with_130_and_no_traceback(tmp_path):
    process = start(["audit", "@-"], tmp_path, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    time.sleep(2)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (130, "", "delta-provider: interrupted")


def test_interrupt_ends_a_request_that_hangs(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:  # accepts and never answers
        keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1"}
        endpoint = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.getsockname()[1]}", "AWS_ALLOW_HTTP": "true"}
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **keys, **endpoint}
        reset = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
        process = start(["audit", "s3://lake/orders", "--quiet"], tmp_path, env=environment, preexec_fn=reset)
        server.settimeout(60)
        connection, _ = server.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err.strip()) == (130, "", "delta-provider: interrupted")


#: An import that takes long.
SLOW = (
    "import sys, time\n"
    "class Slow:\n"
    "    def find_spec(self, name, *_):\n"
    "        if name == 'airflow_delta_provider.command_line':\n"
    "            print('importing', flush=True)\n"
    "            time.sleep(60)\n"
    "sys.meta_path.insert(0, Slow())\n"
    "from airflow_delta_provider.__main__ import start\n"
    "start()"
)


def test_interrupt_of_imports_ends_with_130_and_no_traceback(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SLOW, "audit", "t"]
    reset = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, text=True, preexec_fn=reset, **pipes)
    assert process.stdout is not None
    assert process.stdout.readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "\ndelta-provider: interrupted\n")


def test_command_line_without_a_command_is_a_mistake(tmp_path):
    code, out, err = run([], tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith("usage: delta-provider COMMAND")


def test_reader_that_goes_away_is_no_error(tmp_path):
    process = start(["rules"], tmp_path)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(60) == 0


def test_exit_code_is_that_of_the_result_where_nobody_reads_it(tmp_path):
    damaged(tmp_path / "t", "AC08")
    process = start(["audit", "t"], tmp_path)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(60) == 1


def test_result_that_cannot_be_printed_is_one_line(tmp_path):
    with open("/dev/full", "w") as full:
        code, _, err = run(["rules"], tmp_path, stdout=full)
    assert (code, err) == (4, "delta-provider: the result could not be printed: No space left on device\n")


def test_closed_output_is_no_error(tmp_path):
    damaged(tmp_path / "t", "AC08")
    script = f'exec "{sys.executable}" -c "$0" audit t >&- 2>&-'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(["bash", "-c", script, ALONE], cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 1


def test_terminal_without_unicode_is_no_error(tmp_path):
    damaged(tmp_path / "t", "AC08")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "ascii"}
    code, out, err = run(["audit", "t"], tmp_path, env=environment)
    assert (code, err) == (1, "")
    assert "1 table \\xb7 1 violated" in out
