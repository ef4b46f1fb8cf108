"""Lets fake-gcs-server take what obstore writes: ``python -m tests.stores.gcs_front PORT SERVER``.

The server knows the XML API for reading alone. A write by it is turned into an upload by the JSON API, with its
condition; all else is passed on as it is.
"""

from __future__ import annotations

import http.client
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote, urlsplit

#: Paths of the JSON API; others are those of objects.
_JSON = ("/storage/", "/upload/", "/download/", "/batch/", "/b/")
_OF_THE_CONNECTION = {"connection", "transfer-encoding", "content-length", "keep-alive", "date", "server"}


class Front(BaseHTTPRequestHandler):
    """Passes on requests to the server."""

    protocol_version = "HTTP/1.1"
    server_port = 0

    def _pass_on(self) -> None:
        body = self._body()
        url = urlsplit(self.path)
        writes = self.command == "PUT" and not url.path.startswith(_JSON) and not url.query
        if writes:
            status, headers, content = self._upload(url.path, body)
        else:
            given = {name: value for name, value in self.headers.items() if name.lower() not in _OF_THE_CONNECTION}
            status, headers, content = self._ask(self.command, self.path, body, given)
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in _OF_THE_CONNECTION:
                self.send_header(name, value)
        length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PATCH = _pass_on

    def _upload(self, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        bucket, _, name = path.lstrip("/").partition("/")
        target = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(unquote(name), safe='')}"
        if condition := self.headers.get("x-goog-if-generation-match"):
            target += f"&ifGenerationMatch={condition}"
        kind = self.headers.get("Content-Type") or "application/octet-stream"
        status, headers, content = self._ask("POST", target, body, {"Content-Type": kind})
        if status != 200:
            return status, headers, content
        written = json.loads(content)
        return 200, {"ETag": f'"{written["etag"]}"', "x-goog-generation": str(written["generation"])}, b""

    def _ask(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        server = http.client.HTTPConnection("127.0.0.1", self.server_port, timeout=60)
        try:
            server.request(method, target, body or None, headers)
            answer = server.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            server.close()

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main(port: int, server: int) -> None:
    """Serve until the process is ended."""
    Front.server_port = server
    ThreadingHTTPServer(("127.0.0.1", port), Front).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
