"""A server that behaves like PagerDuty, Opsgenie and Jira, as far as their public documentation describes the calls."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Record:
    """An incident in a service."""

    key: str
    service: str
    content: dict[str, Any]
    is_open: bool = True
    calls: int = 1


@dataclass
class Services:
    """The state of all services.

    :param down: parts of paths that are answered by 503
    """

    records: list[Record] = field(default_factory=list)
    down: set[str] = field(default_factory=set)
    resolved: list[str] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def open_record(self, key: str, service: str) -> Record | None:
        return next((r for r in self.records if (r.key, r.service, r.is_open) == (key, service, True)), None)

    def trigger(self, key: str, service: str, content: dict[str, Any]) -> None:
        """Open an incident, or count the call for the open one with the key."""
        if (found := self.open_record(key, service)) is None:
            self.records.append(Record(key, service, content))
        else:
            found.calls += 1

    def close(self, key: str, service: str) -> bool:
        found = self.open_record(key, service)
        if found is not None:
            found.is_open = False
            self.resolved.append(key)
        return found is not None

    def answer(self, method: str, path: str, headers: Any, body: dict[str, Any]) -> tuple[int, Any]:
        place, query = urlsplit(path).path, parse_qs(urlsplit(path).query)
        self.asked.append((method, place))
        if any(part in place for part in self.down):
            return 503, {"message": "Service unavailable"}
        if (method, place) == ("POST", "/v2/enqueue"):
            return self._pagerduty(body)
        if place.startswith("/v2/alerts"):
            return self._opsgenie(method, place, query, headers, body)
        if place.startswith("/rest/api/2/"):
            return self._jira(method, place.removeprefix("/rest/api/2/"), query, body)
        return 404, {"message": f"no such call: {method} {place}"}

    def _pagerduty(self, event: dict[str, Any]) -> tuple[int, Any]:
        """Events API v2: triggers with the key of an open alert are added to it; resolves of others are ignored."""
        if not event.get("routing_key") or event.get("event_action") not in ("trigger", "resolve"):
            return 400, {"status": "invalid event", "errors": ["routing_key or event_action"]}
        if event["event_action"] == "trigger":
            payload = event["payload"]
            if payload["severity"] not in ("critical", "error", "warning", "info") or not payload["source"]:
                return 400, {"status": "invalid event", "errors": ["severity or source"]}
            self.trigger(event["dedup_key"], event["routing_key"], event)
        else:
            self.close(event["dedup_key"], event["routing_key"])
        return 202, {"status": "success", "message": "Event processed", "dedup_key": event["dedup_key"]}

    def _opsgenie(self, method: str, place: str, query: Any, headers: Any, body: Any) -> tuple[int, Any]:
        """Alert API: requests are accepted, and processed later; an alias has one open alert."""
        if not str(headers.get("Authorization", "")).startswith("GenieKey "):
            return 401, {"message": "Could not authenticate"}
        if (method, place) == ("POST", "/v2/alerts"):
            if not 0 < len(body["message"]) <= 130 or len(body["alias"]) > 512:
                return 422, {"message": "Request body is not processable"}
            self.trigger(body["alias"], "opsgenie", body)
        elif (found := re.fullmatch(r"/v2/alerts/([^/]+)/close", place)) and query["identifierType"] == ["alias"]:
            self.close(found[1], "opsgenie")
        else:
            return 404, {"message": "no such call"}
        return 202, {"result": "Request will be processed", "took": 0.1, "requestId": "r"}

    def _jira(self, method: str, place: str, query: Any, body: Any) -> tuple[int, Any]:
        """REST API v2: several issues may have one label; resolved ones are those in a status of the category Done."""
        issues = [record for record in self.records if record.service == "jira"]
        if (method, place) == ("GET", "search"):
            wanted = re.fullmatch(r'labels = "([^" ]+)" AND statusCategory != Done', query["jql"][0])
            assert wanted, query
            found = [each for each in issues if wanted[1] in each.content["labels"] and each.is_open]
            return 200, {"total": len(found), "issues": [{"key": each.content["key"]} for each in found]}
        if (method, place) == ("POST", "issue"):
            fields = body["fields"]
            if any(" " in label for label in fields["labels"]) or len(fields["summary"]) > 255:
                return 400, {"errors": {"labels": "no spaces"}}
            number = f"{fields['project']['key']}-{len(issues) + 1}"
            own = next(label for label in fields["labels"] if label.startswith("delta-"))
            self.records.append(Record(own, "jira", {**fields, "key": number}))
            return 201, {"id": "1", "key": number}
        if found_key := re.fullmatch(r"issue/([A-Z]+-\d+)/transitions", place):
            [issue] = [each for each in issues if each.content["key"] == found_key[1]]
            if method == "GET":
                return 200, {"transitions": [{"id": "31", "name": "Finish", "to": {"name": "Done"}}]}
            assert str(body["transition"]["id"]) == "31"
            assert issue.is_open
            issue.is_open = False
            self.resolved.append(issue.key)
            return 204, None
        return 404, {"errorMessages": [f"no such call: {method} {place}"]}


@contextmanager
def served() -> Iterator[tuple[str, Services]]:
    """Yield the address and the state of the services."""
    services = Services()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            with lock:
                status, answer = services.answer(self.command, self.path, self.headers, body)
            content = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _serve

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", services
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
