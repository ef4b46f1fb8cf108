"""Statements and requests, carried out by the ``spark-submit`` of another release, with the archive that jobs ship."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.engine.spark_library import LEAN_JAVA_OPTIONS
from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.hooks.workspace import Workspace
from tests.engines.pair import Pair

#: Carries out each entry of a file: ``sql``; ``request``, with a statement ``during`` it that another writer makes when
#: the function ``at`` of a module is called; and prints what each gives. It knows nothing of the tests.
APPLICATION = """
import importlib, json, sys
import airflow_delta_provider
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import submitted_session

assert ".zip" in airflow_delta_provider.__file__
session = SparkDeltaSession(submitted_session("engines"))


def disturbed(entry):
    module, _, name = entry["at"].rpartition(".")
    module = importlib.import_module(module)
    function = getattr(module, name)

    def meanwhile(*arguments):
        setattr(module, name, function)
        session.spark.newSession().sql(entry["during"])
        return function(*arguments)

    setattr(module, name, meanwhile)


def done(entry):
    if "sql" in entry:
        try:
            return [[repr(value) for value in row] for row in session.spark.sql(entry["sql"]).collect()]
        except Exception as error:
            return str(error)
    if "at" in entry:
        disturbed(entry)
    return run(JobRequest.from_json(entry["request"]), session).to_json()


entries = json.load(open(sys.argv[1]))
with open(sys.argv[2], "w") as out:
    json.dump([done(entry) for entry in entries], out)
"""


class Script:
    """Collects what is to be done, and does it in one driver."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []

    def sql(self, statement: str) -> int:
        """Add a statement; its place is where its rows will be."""
        self._entries.append({"sql": statement})
        return len(self._entries) - 1

    def request(self, path: Path, options: Options, *, at: str = "", during: str = "", dry_run: bool = False) -> int:
        """Add a request; its place is where its report will be."""
        entry: dict[str, Any] = {"request": JobRequest((str(path),), options, dry_run=dry_run).to_json()}
        self._entries.append({**entry, "at": at, "during": during} if at else entry)
        return len(self._entries) - 1

    def run(self, pair: Pair, folder: Path) -> Results:
        """Submit it, and return what came of it."""
        entries, results, application = (folder / name for name in ("entries.json", "results.json", "application.py"))
        entries.write_text(json.dumps(self._entries))
        application.write_text(APPLICATION)
        home = next(pair.binaries.parent.joinpath("lib").glob("python*/site-packages/pyspark"))
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "SPARK_CONF_DIR")}
        environment |= {"SPARK_HOME": str(home), "PYSPARK_PYTHON": str(pair.binaries / "python")}
        with Workspace("engines") as workspace:
            command = [str(pair.binaries / "spark-submit"), "--master", "local[2]", "--packages", pair.coordinates]
            command += ["--driver-java-options", LEAN_JAVA_OPTIONS, "--conf", "spark.sql.shuffle.partitions=2"]
            command += ["--conf", "spark.log.level=ERROR"]
            command += ["--py-files", str(workspace.archive), str(application), str(entries), str(results)]
            ran = subprocess.run(
                command, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=1800
            )
        assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-8000:]
        return Results(json.loads(results.read_text()))


class Results:
    """What came of a script, by the places that it gave."""

    def __init__(self, results: Sequence[Any]) -> None:
        self._results = results

    def rows(self, place: int) -> list[list[str]]:
        """Return the rows of a statement, each value as Python writes it."""
        found: list[list[str]] | str = self._results[place]
        assert not isinstance(found, str), found
        return found

    def report(self, place: int) -> TableReport:
        """Return the report on the table of a request."""
        return TableReport.from_json(self._results[place]["tables"][0])
