"""YARN's resource manager as its REST API shows it: applications that tests add."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest


class ResourceManager:
    """The applications by id, and the server."""

    def __init__(self) -> None:
        self.applications: dict[str, dict[str, Any]] = {}
        #: The status of answers; 200 where the manager works.
        self.status = 200
        manager = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(manager.found(self.path))

            def do_POST(self) -> None:
                application = self._sent()
                manager.applications[application["id"]] = application
                self._answer({})

            def do_PUT(self) -> None:
                ended = {"state": self._sent()["state"], "finalStatus": "KILLED", "diagnostics": "killed by a user"}
                manager.applications[self.path.split("/")[-2]].update(ended)
                self._answer({})

            def log_message(self, *_: Any) -> None:
                pass

            def _sent(self) -> dict[str, Any]:
                return dict(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _answer(self, document: dict[str, Any] | None) -> None:
                self.send_response(404 if document is None else manager.status)
                self.end_headers()
                self.wfile.write(json.dumps(document).encode())

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def found(self, path: str) -> dict[str, Any] | None:
        """Return the answer to a request; None where there is no such application."""
        address = urlsplit(path)
        if address.path.endswith("/apps"):
            (tag,) = parse_qs(address.query)["applicationTags"]
            found = [each for each in self.applications.values() if tag in each["applicationTags"].split(",")]
            return {"apps": {"app": found} if found else None}
        found_one = self.applications.get(address.path.rpartition("/")[2])
        return None if found_one is None else {"app": found_one}


@pytest.fixture
def resource_manager() -> Iterator[ResourceManager]:
    """A resource manager on loopback."""
    manager = ResourceManager()
    threading.Thread(target=manager.server.serve_forever, daemon=True).start()
    yield manager
    manager.server.shutdown()
    manager.server.server_close()
