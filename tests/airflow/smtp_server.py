"""An SMTP server on loopback: takes every mail and keeps it."""

from __future__ import annotations

import email
import email.policy
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from typing import cast


@dataclass(frozen=True)
class Mail:
    """What arrived: the envelope's recipients and the message."""

    recipients: tuple[str, ...]
    message: EmailMessage

    @property
    def subject(self) -> str:
        return str(self.message["Subject"])

    @property
    def html(self) -> str:
        body = self.message.get_body(("html",))
        assert body is not None
        return str(body.get_content())


class SmtpServer(socketserver.ThreadingTCPServer):
    """Speaks what smtplib asks of a server without TLS and login (RFC 5321)."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.mails: list[Mail] = []

    @property
    def port(self) -> int:
        return cast("int", self.server_address[1])


class _Session(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self._say("220 loopback ready")
        recipients: list[str] = []
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if verb == b"RCPT":
                recipients.append(line.partition(b"<")[2].partition(b">")[0].decode())
            elif verb == b"DATA":
                self._say("354 end with a single dot")
                message = email.message_from_bytes(self._content(), policy=email.policy.default)
                cast("SmtpServer", self.server).mails.append(Mail(tuple(recipients), cast("EmailMessage", message)))
                recipients = []
            elif verb == b"QUIT":
                self._say("221 bye")
                return
            self._say("250 OK")

    def _content(self) -> bytes:
        lines = []
        while (line := self.rfile.readline()).rstrip(b"\r\n") != b".":
            lines.append(line[1:] if line.startswith(b"..") else line)
        return b"".join(lines)

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@contextmanager
def smtp_server() -> Iterator[SmtpServer]:
    """Serve until the block is left."""
    with SmtpServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
