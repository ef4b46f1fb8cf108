"""Airflow's API server: over its API people answer what tasks ask."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from demo.airflow_api import AirflowApi
from demo.process_tree import end_tree


@dataclass(frozen=True)
class Question:
    """What a task asks.

    :param path: of the question in the API
    """

    path: str
    subject: str
    body: str


class ApiServer:
    """A server under way. A context manager: it ends the process.

    :param process: which may still be starting
    """

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self._process = process
        self._api = AirflowApi(f"http://127.0.0.1:{port}")

    def __enter__(self) -> ApiServer:
        return self

    def __exit__(self, *_: object) -> None:
        end_tree(self._process.pid)
        self._process.wait()

    @property
    def answers(self) -> bool:
        """Whether it is up."""
        try:
            self._api.sign_in()
        except OSError:
            return False
        return True

    def question(self) -> Question | None:
        """Return what a task asks and nobody has answered yet."""
        open_only = "response_received=false&state=awaiting_input"
        found = self._api.call("GET", f"/api/v2/dags/~/dagRuns/~/hitlDetails?{open_only}")["hitl_details"]
        if not found:
            return None
        task = found[0]["task_instance"]
        path = f"/api/v2/dags/{task['dag_id']}/dagRuns/{task['dag_run_id']}/taskInstances/{task['task_id']}"
        return Question(f"{path}/{task['map_index']}/hitlDetails", found[0]["subject"], found[0]["body"])

    def answer(self, question: Question, option: str) -> str:
        """Answer, as a person does who presses a button; return the name of that person."""
        answered = self._api.call("PATCH", question.path, {"chosen_options": [option], "params_input": {}})
        return str(answered["responded_by"]["name"])
