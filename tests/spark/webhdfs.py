"""A server of a local directory by WebHDFS's REST interface, so that jobs read it over a network, as a remote storage.

It can be told to fail: real HTTP errors, met by Hadoop's own client.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

_PREFIX = "/webhdfs/v1"


class _Server(ThreadingHTTPServer):
    request_queue_size = 256  # clients come by dozens at once: one that is not heard waits for seconds


class WebHdfs:
    """The server, and what it was asked for.

    :param root: directory that it serves
    :param delay: seconds that each listing takes, at least
    """

    def __init__(self, root: Path, delay: float = 0.0) -> None:
        self.root = root
        self.most_at_once = 0
        """How many listings were under way at once, at most."""
        self._delay = delay
        self._under_way = 0
        self.asked: Counter[tuple[str, str]] = Counter()
        self.replaced: Counter[str] = Counter()
        self._failures: dict[str, int] = {}
        self._denied: set[str] = set()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), self._handler())

    @property
    def uri(self) -> str:
        """The root's URI."""
        return f"webhdfs://127.0.0.1:{self._server.server_port}"

    def fail(self, suffix: str, times: int) -> None:
        """Answer the next ``times`` reads of files whose names end with ``suffix`` with an error of the server."""
        self._failures[suffix] = times

    def deny(self, directory: str) -> None:
        """Answer everything about what is below a directory with a lack of permission."""
        self._denied.add(directory)

    @contextmanager
    def running(self) -> Iterator[WebHdfs]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    @contextmanager
    def _delayed(self) -> Iterator[None]:
        with self._lock:
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        time.sleep(self._delay)
        yield
        with self._lock:
            self._under_way -= 1

    def _fails(self, name: str) -> bool:
        with self._lock:
            for suffix, left in self._failures.items():
                if name.endswith(suffix) and left > 0:
                    self._failures[suffix] = left - 1
                    return True
        return False

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        storage = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                query, path = self._asked()
                if storage._denied & set(path.parts):
                    kind = "org.apache.hadoop.security.AccessControlException"
                    self._error(403, kind, f"Permission denied: user=job, path={path}")
                elif not path.exists():
                    self._error(404, "java.io.FileNotFoundException", f"File does not exist: {path}")
                elif query["op"] == "GETFILESTATUS":
                    self._json({"FileStatus": _status(path, "")})
                elif query["op"] in ("LISTSTATUS", "OPEN") and storage._fails(path.name):
                    self._error(500, "java.io.IOException", "the storage has a bad day")
                elif query["op"] == "LISTSTATUS":
                    children = sorted(path.iterdir()) if path.is_dir() else []
                    found = [_status(child, child.name) for child in children] if path.is_dir() else [_status(path, "")]
                    with storage._delayed():
                        self._json({"FileStatuses": {"FileStatus": found}})
                elif query["op"] in ("GETFILEBLOCKLOCATIONS", "GET_BLOCK_LOCATIONS"):
                    self._json({"BlockLocations": {"BlockLocation": []}})
                elif "redirected" not in query:
                    self._redirect()
                else:
                    start = int(query.get("offset", 0))
                    content = path.read_bytes()[start:]
                    self._answer(200, content[: int(query["length"])] if "length" in query else content)

            def _asked(self) -> tuple[dict[str, str], Path]:
                url = urlsplit(self.path.encode("latin-1").decode())  # the client sends UTF-8 as it is
                query = {key.lower(): values[0] for key, values in parse_qs(url.query).items()}
                path = storage.root / unquote(url.path)[len(_PREFIX) :].lstrip("/")
                storage.asked[query["op"], path.name] += 1
                return query, path

            def _redirect(self) -> None:
                again = quote(self.path.encode("latin-1"), safe="%/?&=:+,;@")
                self.send_response(307)
                self.send_header("Location", f"http://127.0.0.1:{self.server.server_address[1]}{again}&redirected=1")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_PUT(self) -> None:
                query, path = self._asked()
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if query["op"] == "CREATE" and "redirected" not in query:
                    self._redirect()
                elif query["op"] == "CREATE":
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content or self._chunks())
                    self._answer(201, b"")
                elif query["op"] == "RENAME":
                    target = storage.root / query["destination"].lstrip("/")
                    replaces = query.get("renameoptions") == "OVERWRITE"
                    if replaces or not target.exists():
                        path.replace(target)
                        storage.replaced[target.name] += replaces
                    self._answer(200, b"") if replaces else self._json({"boolean": not path.exists()})

            def do_DELETE(self) -> None:
                _, path = self._asked()
                self._json({"boolean": path.exists()})
                path.unlink(missing_ok=True)

            def _chunks(self) -> bytes:
                content = b""
                while size := int(self.rfile.readline().strip() or b"0", 16):
                    content += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return content

            def _json(self, document: Any) -> None:
                self._answer(200, json.dumps(document).encode())

            def _error(self, code: int, kind: str, message: str) -> None:
                document = {"exception": kind.rsplit(".", maxsplit=1)[-1], "javaClassName": kind, "message": message}
                self._answer(code, json.dumps({"RemoteException": document}).encode())

            def _answer(self, code: int, content: bytes) -> None:
                # No Content-Type: the client would read it with classes that Spark's build of Hadoop lacks.
                self.send_response(code)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def _status(path: Path, suffix: str) -> dict[str, Any]:
    stat = path.stat()
    return {
        "accessTime": 0,
        "blockSize": 134217728,
        "group": "g",
        "length": 0 if path.is_dir() else stat.st_size,
        "modificationTime": int(stat.st_mtime * 1000),
        "owner": "o",
        "pathSuffix": suffix,
        "permission": "755",
        "replication": 0,
        "type": "DIRECTORY" if path.is_dir() else "FILE",
    }
