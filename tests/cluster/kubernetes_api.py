"""A stand-in for the API of Kubernetes: what Spark and Airflow ask of it, and drivers that run as processes here.

A pod of a driver runs what its container would: ``spark-submit`` in client mode with the properties of its config map,
but with threads instead of executors.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from demo.process_tree import end_tree

_NOT_OF_A_DRIVER = (
    "spark.kubernetes.",
    "spark.submit.",
    "spark.master",
    "spark.driver.host",
    "spark.driver.bindAddress",
)


class KubernetesApi:
    """Objects by path, such as ``/api/v1/namespaces/etl/pods/driver``. A context manager.

    :param folder: for the output of drivers
    :param environment: of drivers
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = dict(environment)
        self._objects: dict[str, dict[str, Any]] = {}
        self._drivers: dict[str, subprocess.Popen[bytes]] = {}
        #: What became of each pod that there was, by name.
        self.pods: dict[str, dict[str, Any]] = {}
        self._changing = threading.RLock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))

    def __enter__(self) -> KubernetesApi:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for driver in self._drivers.values():
            end_tree(driver.pid)
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        """Where it is served."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def kube_config(self) -> Path:
        """Write a configuration of kubectl that leads here."""
        file = self._folder / "kube.json"
        cluster = {"name": "stub", "cluster": {"server": self.address}}
        context = {"name": "stub", "context": {"cluster": "stub", "user": "stub", "namespace": "default"}}
        user = {"name": "stub", "user": {"token": "none"}}
        config = {"clusters": [cluster], "contexts": [context], "users": [user], "current-context": "stub"}
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **config}))
        return file

    def evict(self, pod: str) -> None:
        """Do what a node does that runs out of memory."""
        with self._changing:
            end_tree(self._drivers[pod].pid)
            status = self.pods[pod]["status"]
            status.update(phase="Failed", reason="Evicted", message="The node was low on resource: memory.")

    def driver_log(self, pod: str) -> str:
        """Return what a driver printed."""
        return (self._folder / f"{pod}.log").read_text(errors="replace")

    def get(self, path: str, query: Mapping[str, list[str]]) -> dict[str, Any] | None:
        """Return an object, or the objects of a folder that have the labels of a selector; None where there is none."""
        with self._changing:
            if path in self._objects:
                return self._objects[path]
            if path.rpartition("/")[2] not in ("pods", "configmaps", "services"):
                return None
            wanted = dict(part.split("=") for part in query.get("labelSelector", [""])[0].split(",") if part)
            below = (each for name, each in self._objects.items() if name.startswith(f"{path}/"))
            found = [each for each in below if wanted.items() <= each["metadata"].get("labels", {}).items()]
            return {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": found}

    def put(self, path: str, made: dict[str, Any]) -> dict[str, Any]:
        """Make or replace an object; a driver begins when the objects that it needs are there."""
        with self._changing:
            known = self._objects.get(path, {})
            metadata = {"uid": path, "resourceVersion": "1", **made["metadata"]}
            self._objects[path] = {**known, **made, "metadata": metadata}
            if made.get("kind") == "Pod" and not known:
                self._objects[path]["status"] = {"phase": "Pending"}
                self.pods[metadata["name"]] = self._objects[path]
            self._begin_what_can()
            return self._objects[path]

    def delete(self, path: str) -> dict[str, Any] | None:
        """Remove an object; of a pod, the driver ends."""
        with self._changing:
            if driver := self._drivers.get(path.rpartition("/")[2]):
                end_tree(driver.pid)
            return self._objects.pop(path, None)

    def _begin_what_can(self) -> None:
        for path, pod in self._objects.items():
            name = pod["metadata"]["name"]
            if pod.get("kind") != "Pod" or name in self._drivers:
                continue
            volumes = (volume.get("configMap", {}).get("name") for volume in pod["spec"].get("volumes", []))
            folder = path.rpartition("/pods/")[0]
            maps = [self._objects.get(f"{folder}/configmaps/{volume}") for volume in volumes if volume]
            if all(maps):
                self._begin(pod, {file: text for each in maps if each for file, text in each["data"].items()})

    def _begin(self, pod: dict[str, Any], files: Mapping[str, str]) -> None:
        name = pod["metadata"]["name"]
        lines = files["spark.properties"].splitlines()
        properties = self._folder / f"{name}.properties"
        properties.write_text("\n".join(line for line in lines if not line.startswith(_NOT_OF_A_DRIVER)))
        (arguments,) = (each["args"] for each in pod["spec"]["containers"])
        application = arguments[arguments.index("org.apache.spark.deploy.PythonRunner") + 1 :]
        with (self._folder / f"{name}.log").open("wb") as output:
            self._drivers[name] = subprocess.Popen(
                ["spark-submit", "--master", "local[1]", "--properties-file", str(properties), *application],
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        pod["status"]["phase"] = "Running"
        threading.Thread(target=self._follow, args=(pod, self._drivers[name]), daemon=True).start()

    def _follow(self, pod: dict[str, Any], driver: subprocess.Popen[bytes]) -> None:
        code = driver.wait()
        with self._changing:
            if pod["status"]["phase"] == "Running":
                pod["status"]["phase"] = "Failed" if code else "Succeeded"


def _handler(api: KubernetesApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            address = urlsplit(self.path)
            self._answer(api.get(address.path, parse_qs(address.query)))

        def do_POST(self) -> None:
            made = self._sent()
            self._answer(api.put(f"{urlsplit(self.path).path}/{made['metadata']['name']}", made), 201)

        def do_PATCH(self) -> None:
            self._answer(api.put(urlsplit(self.path).path, self._sent()))

        do_PUT = do_PATCH

        def do_DELETE(self) -> None:
            self._sent()
            self._answer(api.delete(urlsplit(self.path).path))

        def log_message(self, *_: Any) -> None:
            pass

        def _sent(self) -> dict[str, Any]:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            return dict(json.loads(content)) if content else {}

        def _answer(self, document: dict[str, Any] | None, status: int = 200) -> None:
            missing = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
            content = json.dumps(missing if document is None else document).encode()
            self.send_response(404 if document is None else status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler
