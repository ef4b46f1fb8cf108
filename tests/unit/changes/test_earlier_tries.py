from __future__ import annotations

import json
from typing import Any

from airflow_delta_provider.jobs.changes.planned_change import earlier_commits

LABELS = {"run_id": "r", "task_id": "t"}
SINCE = "2026-01-01T12:00:00+00:00"
NOON = 1767268800000
HOUR = 3_600_000


class Log:
    """Commits with their times, and those that are read of them."""

    def __init__(self, *commits: tuple[int | None, Any]) -> None:
        self._commits = commits
        self.read = 0

    def newest_commits(self) -> Any:
        for version, (time, metadata) in sorted(enumerate(self._commits), reverse=True):
            self.read += 1
            yield version, [{"commitInfo": {"timestamp": time, "userMetadata": metadata}}]


def found(*commits: tuple[int | None, Any], labels: Any = LABELS, since: str | None = SINCE) -> list[int]:
    return earlier_commits(Log(*commits), labels, since)  # type: ignore[arg-type]  # a stand-in


def test_own_commits_bear_all_labels_of_the_run() -> None:
    own = json.dumps({**LABELS, "plan_digest": "a", "mine": 1})
    others = [None, "", "{", "[]", "plain text", json.dumps({"run_id": "r"}), json.dumps({**LABELS, "task_id": "u"})]
    assert found((NOON, own), *((NOON, other) for other in others), (NOON, own)) == [0, len(others) + 1]


def test_first_try_and_one_without_labels_look_at_nothing() -> None:
    own = (NOON, json.dumps(LABELS))
    assert found(own, since=None) == []
    assert found(own, labels={}) == []


def test_commits_from_long_before_the_run_are_not_read_and_a_few_wrong_times_do_no_harm() -> None:
    own, old = (NOON, json.dumps(LABELS)), (NOON - 2 * HOUR, None)
    log = Log(*[old] * 1000, own, (1, None), (None, None), *[old] * 99, (NOON - HOUR // 2, None))
    assert earlier_commits(log, LABELS, SINCE) == [1000]  # type: ignore[arg-type]  # a stand-in
    assert log.read == 203
