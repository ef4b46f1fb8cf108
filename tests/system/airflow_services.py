"""A real Airflow: scheduler, triggerer, DAG processor and API server, as ``airflow standalone`` starts them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.error
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil

from demo.airflow_api import AirflowApi
from demo.airflow_home import AirflowHome
from demo.free_port import free_port
from demo.process_tree import end_tree
from tests.system.process_tree import ProcessTree, wait_for


def airflow_home(folder: Path, dags: Iterable[Path]) -> AirflowHome:
    """Return an Airflow below a folder that knows some DAGs; its database is not there yet."""
    for name in ("dags", "logs"):
        (folder / name).mkdir()
    for file in dags:
        shutil.copy(file, folder / "dags")
    return AirflowHome(folder / "home", folder / "dags", folder / "cache", folder / "logs")


@contextmanager
def services_of(home: AirflowHome) -> Iterator[AirflowServices]:
    """Start the services of an Airflow, and end them."""
    logs = Path(home.environment["AIRFLOW__LOGGING__BASE_LOG_FOLDER"]).parent
    with AirflowServices(home.environment, logs / "services.log") as services:
        yield services


class AirflowServices:
    """The processes and their API. A context manager: it ends the whole process tree.

    :param environment: of an Airflow whose database is there
    :param log: where they all print
    """

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self._api = AirflowApi(self.address)
        self._log = log
        self._environment = {
            **environment,
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__BASE_URL": self.address,
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.address}/execution/",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "2",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(free_port()),
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
            # The files stay as they are: parsing each twice a minute keeps a core busy.
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
            # On a busy machine, each of these takes longer than Airflow waits by default, and tasks fail.
            "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "120",
            "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "240",
            "AIRFLOW__TRIGGERER__RUNNER_HEALTH_CHECK_THRESHOLD": "120",
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
            # A triggerer that follows a killed one takes its triggers over after so many seconds.
            "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "12",
        }
        #: Services that were started again, by name.
        self._again: dict[str, ProcessTree] = {}

    def __enter__(self) -> AirflowServices:
        with self._log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "airflow", "standalone"],
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.tree = ProcessTree(process.pid)
        try:
            wait_for(self._healthy, "a healthy scheduler, triggerer and DAG processor", every=1)
            self._api.sign_in()
        except BaseException:
            self.tree.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for tree in self._again.values():
            tree.end()
        self.tree.end()

    @property
    def environment(self) -> Mapping[str, str]:
        """That of the services."""
        return self._environment

    def below(self, *words: str) -> list[psutil.Process]:
        """Return the processes whose command line has all of ``words``; also of services that were started again."""
        return [process for tree in (self.tree, *self._again.values()) for process in tree.below(*words)]

    def kill(self, service: str) -> None:
        """Kill a service, and what it started, at once.

        :param service: ``scheduler`` or ``triggerer``
        """
        if service in self._again:
            self._again[service].end()
            return
        for process in self.tree.below(f"airflow {service}"):
            end_tree(process.pid)

    def start(self, service: str) -> None:
        """Start another of a service, after one was killed."""
        with self._log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "airflow", service],
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._again[service] = ProcessTree(process.pid)

    def trigger(self, dag_id: str, **params: Any) -> DagRun:
        """Start a DAG run, as soon as the DAG is known."""
        wait_for(lambda: self._found(f"/api/v2/dags/{dag_id}"), f"{dag_id} parsed", every=1)
        run = self._api.call("POST", f"/api/v2/dags/{dag_id}/dagRuns", {"logical_date": None, "conf": params})
        return DagRun(self, f"/api/v2/dags/{dag_id}/dagRuns/{run['dag_run_id']}")

    def runs(self, dag_id: str) -> list[DagRun]:
        """Return the runs of a DAG; none as long as it is not known."""
        path = f"/api/v2/dags/{dag_id}/dagRuns"
        if not self._found(path):
            return []
        return [DagRun(self, f"{path}/{quote(run['dag_run_id'], safe='')}") for run in self.get(path)["dag_runs"]]

    def asset_events(self, name: str) -> list[dict[str, Any]]:
        """Return the payloads of the events of an asset that a trigger watches, oldest first."""
        assets = self.get(f"/api/v2/assets?name_pattern={quote(name)}")["assets"]
        (number,) = (asset["id"] for asset in assets if asset["name"] == name)
        events: list[dict[str, Any]] = []
        path = f"/api/v2/assets/events?asset_id={number}&order_by=timestamp&limit=100"
        while page := self.get(f"{path}&offset={len(events)}")["asset_events"]:
            events += page
        return [event["extra"]["payload"] for event in events]

    def get(self, path: str) -> dict[str, Any]:
        """Return what the API answers."""
        return self._api.call("GET", path)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask the API to do something."""
        return self._api.call("POST", path, body)

    def patch(self, path: str, body: dict[str, Any]) -> None:
        """Change something through the API."""
        self._api.call("PATCH", path, body)

    def _healthy(self) -> bool:
        try:
            health = self._api.call("GET", "/api/v2/monitor/health")
        except OSError:
            return False
        return all(health[name]["status"] == "healthy" for name in ("scheduler", "triggerer", "dag_processor"))

    def _found(self, path: str) -> bool:
        try:
            self._api.call("GET", path)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return False
            raise
        return True


@dataclass(frozen=True)
class Question:
    """What a task asks people.

    :param map_index: -1 of a task that is not mapped
    """

    task_id: str
    map_index: int
    body: str
    asked_at: datetime
    is_answered: bool

    @property
    def task(self) -> str:
        """The task, with its map index if it is mapped."""
        return self.task_id if self.map_index < 0 else f"{self.task_id}[{self.map_index}]"


class DagRun:
    """A run and its tasks, seen through the API."""

    def __init__(self, airflow: AirflowServices, path: str) -> None:
        self._airflow = airflow
        self._path = path

    @property
    def run_id(self) -> str:
        """Id of the run."""
        return self._path.rpartition("/")[2]

    @property
    def state(self) -> str:
        """State of the run."""
        return str(self._airflow.get(self._path)["state"])

    def wait_for_end(self) -> None:
        """Wait until the run succeeded or failed."""
        wait_for(lambda: self.state in ("success", "failed"), "the end of the run", every=1)

    def task_state(self, task_id: str) -> str | None:
        """State of a task."""
        state = self._airflow.get(f"{self._path}/taskInstances/{task_id}")["state"]
        return None if state is None else str(state)

    def states(self) -> dict[str, list[str | None]]:
        """States of all tasks by id, of a mapped task in the order of its map indexes."""
        tasks = self._airflow.get(f"{self._path}/taskInstances?limit=100")["task_instances"]
        found: dict[str, list[str | None]] = {}
        for task in sorted(tasks, key=lambda task: task["map_index"]):
            found.setdefault(task["task_id"], []).append(task["state"])
        return found

    def tries(self, task_id: str) -> int:
        """How often a task was tried."""
        return int(self._airflow.get(f"{self._path}/taskInstances/{task_id}")["try_number"])

    def xcom(self, task_id: str, key: str) -> Any:
        """What a task pushed."""
        return self._airflow.get(f"{self._path}/taskInstances/{task_id}/xcomEntries/{key}")["value"]

    def questions(self) -> list[Question]:
        """What its tasks asked people so far."""
        return [
            Question(
                detail["task_instance"]["task_id"],
                detail["task_instance"]["map_index"],
                detail["body"],
                datetime.fromisoformat(detail["created_at"]),
                detail["response_received"],
            )
            for detail in self._airflow.get(f"{self._path}/hitlDetails")["hitl_details"]
        ]

    def answer(self, question: Question, option: str) -> None:
        """Do what a person does who chooses one of the options."""
        task = f"{self._path}/taskInstances/{question.task_id}/{question.map_index}"
        self._airflow.patch(f"{task}/hitlDetails", {"chosen_options": [option], "params_input": {}})

    def result(self, task_id: str) -> Any:
        """What a task returned; None as long as it did not."""
        try:
            value = self.xcom(task_id, "return_value")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise
        return json.loads(value) if isinstance(value, str) else value

    def mark_failed(self, task_id: str) -> None:
        """Do what a person does who presses the button."""
        self._airflow.patch(f"{self._path}/taskInstances/{task_id}", {"new_state": "failed"})

    def task_log(self, task_id: str, attempt: int) -> str:
        """What one try of a task logged so far."""
        path = f"{self._path}/taskInstances/{task_id}/logs/{attempt}?full_content=true"
        try:
            return json.dumps(self._airflow.get(path))
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return ""
            raise

    def clear(self) -> None:
        """Clear the tasks of the run, as a person does who wants it done again."""
        dag, _, run_id = self._path.rpartition("/dagRuns/")
        body = {"dry_run": False, "dag_run_id": run_id, "only_failed": False, "reset_dag_runs": True}
        self._airflow.post(f"{dag}/clearTaskInstances", body)
