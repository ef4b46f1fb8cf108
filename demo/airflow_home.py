"""An Airflow of the demo's own: its folder, its database, its connection."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.process_tree import end_tree

_MASTER = "local[2]"
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
    :param jars: folder for the list of Delta's jars, which stays from one demo to the next
    :param logs: folder for everything that Airflow prints
    """

    def __init__(self, home: Path, dags: Path, jars: Path, logs: Path) -> None:
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
            "AIRFLOW__DELTA_PROVIDER__JAR_CACHE": str(jars),
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
    def running(self, dag_id: str, **params: Any) -> Iterator[DagProcess]:
        """Run a DAG; it is ended, with its Spark, if the block is left before it ends."""
        result = self._home / f"{dag_id}.json"
        result.unlink(missing_ok=True)
        log = self._logs / f"dag-{dag_id}.log"
        process = self._start(
            [sys.executable, "-m", "demo.dag_run", dag_id, str(result)], log.name, json.dumps(params).encode()
        )
        try:
            yield DagProcess(process, result, log)
        finally:
            if process.poll() is None:
                end_tree(process.pid)
                process.wait()

    def _start(self, command: list[str], log: str, stdin: bytes = b"") -> subprocess.Popen[bytes]:
        with open(self._logs / log, "wb") as output:
            process = subprocess.Popen(
                command,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=Path(__file__).parent.parent,
            )
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
        return process


class DagProcess:
    """A DAG run under way.

    :param log: what Airflow prints
    """

    def __init__(self, process: subprocess.Popen[bytes], result: Path, log: Path) -> None:
        self._process = process
        self._result = result
        self.log = log

    @property
    def pid(self) -> int:
        """The process that runs it."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def started(self) -> list[str]:
        """Return the ids of the tasks that were started so far."""
        return re.findall(
            r"\[DAG TEST\] starting task_id=(\S+)", self.log.read_text(encoding="utf-8", errors="replace")
        )

    def tasks(self) -> dict[str, TaskOutcome]:
        """Wait for the end; return how each task ended, in a DAG without mapped tasks.

        :raises AirflowFailedError: if the DAG could not be run at all
        """
        return {task_id: outcomes[0] for task_id, outcomes in self.outcomes().items()}

    def outcomes(self) -> dict[str, list[TaskOutcome]]:
        """Wait for the end; return how each task ended, mapped ones in the order of their map indexes.

        :raises AirflowFailedError: if the DAG could not be run at all
        """
        if self._process.wait() != 0 or not self._result.exists():
            raise AirflowFailedError(f"The DAG could not be run, see {self.log}")
        outcomes: dict[str, list[TaskOutcome]] = {}
        for task in sorted(
            json.loads(self._result.read_text(encoding="utf-8"))["tasks"], key=lambda task: int(task["map_index"])
        ):
            outcomes.setdefault(task["task_id"], []).append(TaskOutcome(task["task_id"], task["state"], task["xcoms"]))
        return outcomes
