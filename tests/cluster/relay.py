"""A way to a server that can be cut: TCP on loopback."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit


class Relay:
    """Passes on what comes, until it is cut. A context manager.

    :param address: the server's, as a URL
    """

    def __init__(self, address: str) -> None:
        server = urlsplit(address)
        self._server = (server.hostname or "", server.port or 80)
        self._listening: socket.socket | None = None
        self._port = 0
        self.restore()

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    def cut(self) -> None:
        """Refuse connections, as a machine does on which the server no longer runs."""
        if self._listening is not None:
            self._listening.shutdown(socket.SHUT_RDWR)  # ends the waiting for the next one
            self._listening.close()
            self._listening = None

    def restore(self) -> None:
        """Take connections, at the same address as before."""
        self._listening = socket.create_server(("127.0.0.1", self._port))
        self._port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, args=(self._listening,), daemon=True).start()

    def _serve(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                server = socket.create_connection(self._server)
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=_pass_on, args=(source, target), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(65536):
            target.sendall(content)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
