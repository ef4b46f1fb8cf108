"""An Airflow of the demo's own: its folder, its database, its connection."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.api_server import ApiServer
from demo.free_port import free_port
from demo.process_tree import end_tree

_MASTER = "local[2]"
_LOOK_EVERY = 0.2
#: What a shell may have set for another Airflow or another Spark.
_FOREIGN = ("AIRFLOW_", "_AIRFLOW_", "SPARK_", "PYSPARK_")


class AirflowFailedError(Exception):
    """Airflow itself did not work; the message names its log."""


@dataclass(frozen=True)
class TaskOutcome:
    """How a task ended, with what it pushed."""

    task_id: str
    state: str
    xcoms: dict[str, Any]


class AirflowHome:
    """Runs DAGs in processes of their own.

    :param home: folder for Airflow's database and configuration
    :param dags: folder of the DAG files
    :param cache: folder for what the provider finds out once, which stays from one demo to the next
    :param logs: folder for everything that Airflow prints
    """

    def __init__(self, home: Path, dags: Path, cache: Path, logs: Path) -> None:
        self._home = home
        self._logs = logs
        tools = Path(sys.executable).parent
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
        self.environment = {
            **kept,
            "PATH": f"{tools}{os.pathsep}{kept.get('PATH', os.defpath)}",
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__DELTA_PROVIDER__WORKER_CACHE": str(cache),
            "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(logs / "airflow"),
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": _MASTER}),
        }

    def start_migration(self) -> subprocess.Popen[bytes]:
        """Begin to make the database; it takes some seconds in which others can work."""
        return self._start([sys.executable, "-m", "airflow", "db", "migrate"], "airflow-database.log")

    def finish_migration(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for the database.

        :raises AirflowFailedError: if it could not be made
        """
        if process.wait() != 0:
            raise AirflowFailedError(f"Airflow's database could not be made, see {self._logs}/airflow-database.log")

    @contextmanager
    def runner(self, log: str = "dags.log") -> Iterator[DagRunner]:
        """Start a process that runs DAGs; it is ended, with its Spark, when the block is left."""
        process = self._start([sys.executable, "-m", "demo.dag_run"], log)
        try:
            yield DagRunner(process, self._home, self._logs / log)
        finally:
            end_tree(process.pid)
            process.wait()

    def api_server(self, log: str = "api-server.log") -> ApiServer:
        """Begin to start the API server; it takes some seconds."""
        port = free_port()
        options = ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
        return ApiServer(self._start([sys.executable, "-m", "airflow", "api-server", *options], log), port)

    def _start(self, command: list[str], log: str) -> subprocess.Popen[bytes]:
        with open(self._logs / log, "wb") as output:
            return subprocess.Popen(
                command,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=Path(__file__).parent.parent,
            )


class DagRunner:
    """Runs DAGs, one after the other.

    :param log: what Airflow prints
    """

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, log: Path) -> None:
        self._process = process
        self._folder = folder
        self._log = log
        self._runs = 0

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def start(self, dag_id: str, **params: Any) -> DagRun:
        """Start a run. The one before has to be over."""
        self._runs += 1
        run = DagRun(self._process, self._folder / f"{self._runs}-{dag_id}.json", self._log)
        asked = {"dag_id": dag_id, "params": params, "result": str(run.result)}
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(asked)}\n".encode())
        self._process.stdin.flush()
        return run


class DagRun:
    """A DAG run under way."""

    def __init__(self, process: subprocess.Popen[bytes], result: Path, log: Path) -> None:
        self._process = process
        self.result = result
        self._log = log
        self._log_before = log.stat().st_size

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None and not self.result.exists()

    @property
    def log(self) -> str:
        """What Airflow printed since it began."""
        with self._log.open("rb") as log:
            log.seek(self._log_before)
            return log.read().decode(errors="replace")

    def started(self) -> list[str]:
        """Return the ids of the tasks that were started so far."""
        return re.findall(r"\[DAG TEST\] starting task_id=(\S+)", self.log)

    def tasks(self) -> dict[str, TaskOutcome]:
        """Wait for the end; return how each task ended, in a DAG without mapped tasks.

        :raises AirflowFailedError: if the DAG could not be run at all
        """
        return {task_id: outcomes[0] for task_id, outcomes in self.outcomes().items()}

    def outcomes(self) -> dict[str, list[TaskOutcome]]:
        """Wait for the end; return how each task ended, mapped ones in the order of their map indexes.

        :raises AirflowFailedError: if the DAG could not be run at all
        """
        while self.running:
            time.sleep(_LOOK_EVERY)
        if not self.result.exists():
            raise AirflowFailedError(f"The DAG could not be run, see {self._log}")
        outcomes: dict[str, list[TaskOutcome]] = {}
        for task in sorted(
            json.loads(self.result.read_text(encoding="utf-8"))["tasks"], key=lambda task: int(task["map_index"])
        ):
            outcomes.setdefault(task["task_id"], []).append(TaskOutcome(task["task_id"], task["state"], task["xcoms"]))
        return outcomes
