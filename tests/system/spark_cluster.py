"""A Spark standalone cluster on loopback: one master, one worker, from PySpark's own classes."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demo.free_port import free_port
from tests.system.process_tree import ProcessTree, wait_for

_SPARK_CLASS = Path(sys.executable).parent / "spark-class"


class SparkCluster:
    """A context manager: it ends master and worker with everything that they started.

    :param environment: for both
    :param folder: for logs and the worker's files
    """

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment = {
            **environment,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "256m",
        }
        self._folder = folder
        self.port, self._page = free_port(), free_port()
        self._trees: list[ProcessTree] = []

    def __enter__(self) -> SparkCluster:
        try:
            self._start(
                "master.Master", "--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(self._page)
            )
            wait_for(lambda: self._status() is not None, "a Spark master")
            self._start(
                "worker.Worker",
                *("--host", "127.0.0.1", "--port", str(free_port()), "--webui-port", str(free_port())),
                *("--cores", "2", "--memory", "1g", "--work-dir", str(self._folder / "work")),
                f"spark://127.0.0.1:{self.port}",
            )
            wait_for(lambda: (self._status() or {}).get("aliveworkers") == 1, "a Spark worker")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for tree in reversed(self._trees):
            tree.end()

    def finished_applications(self) -> list[str]:
        """Return the names of the applications that ran on the cluster."""
        return [application["name"] for application in (self._status() or {})["completedapps"]]

    def _start(self, name: str, *arguments: str) -> None:
        with open(self._folder / f"{name}.log", "wb") as output:
            process = subprocess.Popen(
                [str(_SPARK_CLASS), f"org.apache.spark.deploy.{name}", *arguments],
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._trees.append(ProcessTree(process.pid))

    def _status(self) -> dict[str, Any] | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=10) as page:
                return dict(json.load(page))
        except OSError:
            return None
