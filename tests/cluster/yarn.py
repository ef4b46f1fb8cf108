"""YARN and HDFS on loopback, from Hadoop's own classes for tests."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_delta_provider.hooks.settings_file import HadoopConfiguration
from tests.system.process_tree import ProcessTree, wait_for

_HERE = Path(__file__).parent / "minicluster"


class Yarn:
    """A context manager: it ends the cluster with everything that it started.

    :param class_path: of :file:`Minicluster.java`
    :param folder: for its files and logs
    """

    def __init__(self, class_path: str, folder: Path) -> None:
        self._class_path = class_path
        self._folder = folder

    def __enter__(self) -> Yarn:
        command = ["java", "-Xmx768m", f"-Dtest.build.data={self._folder / 'nodes'}"]
        command += [f"-Dlog4j.configuration=file:{_HERE / 'log4j.properties'}", "-cp", self._class_path]
        output = self._folder / "output.log"
        with output.open("wb") as out, (self._folder / "errors.log").open("wb") as errors:
            self._process = subprocess.Popen(
                [*command, str(_HERE / "Minicluster.java"), str(self._folder)],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=errors,
                cwd=self._folder,
                start_new_session=True,
            )
        self._tree = ProcessTree(self._process.pid)
        try:
            wait_for(lambda: "READY" in output.read_text(), "YARN and HDFS", 180, every=1)
        except BaseException:
            self._tree.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._tree.end()

    @property
    def environment(self) -> Mapping[str, str]:
        """What a worker has that submits to it."""
        return {"HADOOP_CONF_DIR": str(self._folder / "conf"), "PYSPARK_PYTHON": sys.executable}

    @property
    def file_system(self) -> str:
        """URI of the root of HDFS."""
        text = (self._folder / "conf" / "core-site.xml").read_text()
        return text.partition("<name>fs.defaultFS</name><value>")[2].partition("<")[0]

    @property
    def web_hdfs(self) -> str:
        """Where HDFS is served over HTTP."""
        (address,) = HadoopConfiguration(self.environment).web_hdfs("")
        return address

    @property
    def manager(self) -> str:
        """Address of the resource manager's REST API."""
        address = HadoopConfiguration(self.environment).resource_manager()
        assert address is not None
        return address

    def applications(self) -> list[dict[str, Any]]:
        """Return what YARN says of all applications, the oldest first."""
        with urllib.request.urlopen(f"{self.manager}/ws/v1/cluster/apps", timeout=30) as answer:
            found = (json.load(answer)["apps"] or {}).get("app", [])
        return sorted(found, key=lambda application: str(application["id"]))

    def kill(self, application: str) -> None:
        """Do what an administrator does."""
        request = urllib.request.Request(
            f"{self.manager}/ws/v1/cluster/apps/{application}/state",
            data=b'{"state": "KILLED"}',
            headers={"Content-Type": "application/json"},
            method="PUT",
        )
        urllib.request.urlopen(request, timeout=30).close()

    def driver_log(self, application: str) -> str:
        """Return what the drivers of an application printed."""
        files = sorted((self._folder / "nodes").rglob(f"{application}/container_*_000001/std*"))
        return "\n".join(file.read_text(errors="replace") for file in files)
