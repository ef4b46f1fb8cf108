"""Somebody who reads what a task asks, and approves it over Airflow's API."""

from __future__ import annotations

import re
import time

from demo.api_server import ApiServer, Question
from demo.screen import Screen
from demo.table_log import TableLog

#: Seconds for which a plan is looked at: Airflow loses answers that come at once.
_READING = 3.0


class Approver:
    """Looks for a question now and then, shows it, and answers once.

    :param log: of the table that the question is about
    """

    def __init__(self, api: ApiServer, screen: Screen, log: TableLog) -> None:
        self._api = api
        self._screen = screen
        self._log = log
        self._seen_at = 0.0
        self.question: Question | None = None
        #: Newest version of the table when it was approved; None before.
        self.approved_at: int | None = None
        #: Name of the person.
        self.name = ""

    def look(self) -> None:
        """Look once."""
        if self.approved_at is not None or not self._api.answers:
            return
        if self.question is None:
            self.question = self._api.question()
            if self.question is not None:
                self._seen_at = time.monotonic()
                self._screen.event(f"the task approve asks: {self.question.subject}")
                self._screen.show(excerpt(self.question.body))
        elif time.monotonic() - self._seen_at > _READING:
            self.approved_at = self._log.version
            self.name = self._api.answer(self.question, "Approve")
            self._screen.event(f"{self.name} approves over Airflow's API")


def excerpt(body: str) -> str:
    """Return the diff of a plan, and who is locked out, without the marks of Markdown."""
    diff = re.search(r"~~~~diff\n(.*?)\n~~~~", body, re.DOTALL)
    locked_out = re.search(r"### Who is locked out[^\n]*\n\n(.*?)(?=\n\n###|\Z)", body, re.DOTALL)
    parts = [diff.group(1) if diff else "", "Who is locked out:", locked_out.group(1) if locked_out else "nobody"]
    return re.sub(r"\\(?=[\W_])|\*\*", "", "\n".join(parts))
