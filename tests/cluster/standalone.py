"""A standalone cluster of Spark on loopback: a master and a worker, as ``spark-class`` starts them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyspark

from demo.free_port import free_port
from tests.system.process_tree import ProcessTree, wait_for

_SPARK_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
_DEPLOY = "org.apache.spark.deploy"


class Standalone:
    """A context manager: it ends master and worker with everything that they started.

    :param folder: for logs, and the files of executors
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._trees: dict[str, ProcessTree] = {}
        self.master = f"spark://127.0.0.1:{free_port()}"

    def __enter__(self) -> Standalone:
        port = self.master.rpartition(":")[2]
        try:
            self._start("master", ["--host", "127.0.0.1", "--port", port], "I have been elected leader")
            resources = ["--cores", "2", "--memory", "2g", "--work-dir", str(self._folder / "work")]
            self._start("worker", ["--host", "127.0.0.1", *resources, self.master], "Successfully registered")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for tree in self._trees.values():
            tree.end()

    def kill_master(self) -> None:
        """Do what happens when its machine is gone."""
        self._trees.pop("master").end()

    def executors(self) -> list[Path]:
        """Return the folders of all executors that there were."""
        return sorted(path for path in (self._folder / "work").glob("app-*/*") if path.is_dir())

    def _start(self, name: str, arguments: list[str], ready: str) -> None:
        file = self._folder / f"{name}.log"
        with file.open("wb") as output:
            process = subprocess.Popen(
                [_SPARK_CLASS, f"{_DEPLOY}.{name}.{name.title()}", "--webui-port", "0", *arguments],
                env={**os.environ, "SPARK_NO_DAEMONIZE": "1"},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._trees[name] = ProcessTree(process.pid)
        wait_for(lambda: ready in file.read_text(), f"a {name}", 60)
