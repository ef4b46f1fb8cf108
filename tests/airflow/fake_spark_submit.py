"""A stand-in for ``spark-submit`` on PATH: an executable that the hook starts as it starts the real one.

``FAKE_SPARK_SUBMIT`` is Python code that it runs, with these names at hand: ``request`` (the request
of the application), ``submission`` (the nonce), ``arguments`` (the command line), ``report(**verdicts)`` and
``send(channel, document)``, which print as the real job does.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

_SCRIPT = f"""#!{sys.executable}
import ast, json, os, subprocess, sys, time
arguments = sys.argv[1:]
option = lambda name: arguments[arguments.index(name) + 1]
with open(os.environ["FAKE_RECORD"], "a") as record:
    record.write(json.dumps(arguments) + "\\n")
if "--py-files" in arguments:
    sys.path.insert(0, option("--py-files").split(",")[-1])
from airflow_delta_provider.domain.engine.spark_library import parse_defaults
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.report.transport import marker_lines
from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.report.report import Verdict
settings = parse_defaults(open(option("--properties-file")).read()) if "--properties-file" in arguments else {{}}
with open(os.environ["FAKE_RECORD"] + ".settings", "a") as record:
    record.write(json.dumps(settings) + "\\n")
application = next(i for i, a in enumerate(arguments) if a.endswith(("_job.py", "_jars.py", "_warm_up.py")))
submission = arguments[application + 1]
if arguments[application].endswith("_job.py"):
    source = ast.parse(open(arguments[application]).read())
    request = json.loads(next(ast.literal_eval(n.value) for n in source.body if isinstance(n, ast.Assign)))

def send(channel, document, nonce=None):
    for line in marker_lines(channel, nonce or submission, document):
        print(line, flush=True)

def report(verdict="PASS", retryable=False, nonce=None, withheld=False, **by_table):
    tables = tuple(
        TableReport(
            t,
            Verdict(by_table.get(t, verdict)),
            retryable=retryable and by_table.get(t, verdict) != "PASS",
            withheld=withheld,
        )
        for t in request["tables"]
    )
    document = JobReport(request["kind"], "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:01+00:00", tables, {{}})
    send("report", document.to_json(), nonce)

exec(os.environ["FAKE_SPARK_SUBMIT"])
"""


class FakeSparkSubmit:
    """The executable, and what it was called with."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._record = folder / "calls.jsonl"
        script = folder / "bin" / "spark-submit"
        script.parent.mkdir()
        script.write_text(_SCRIPT)
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("FAKE_RECORD", str(self._record))
        self.does("report()")

    def does(self, code: str) -> None:
        """Choose what the next calls do."""
        self._monkeypatch.setenv("FAKE_SPARK_SUBMIT", code)

    @property
    def settings(self) -> list[dict[str, str]]:
        """The settings that came by a file, call by call."""
        return [json.loads(line) for line in Path(f"{self._record}.settings").read_text().splitlines()]

    @property
    def calls(self) -> list[list[str]]:
        """The command lines so far, without the command."""
        if not self._record.exists():
            return []
        return [json.loads(line) for line in self._record.read_text().splitlines()]


@pytest.fixture
def spark_submit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSparkSubmit:
    """A fake ``spark-submit`` that reports PASS for every table, and a connection that uses it."""
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]"}))
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    return FakeSparkSubmit(tmp_path, monkeypatch)
