"""Somebody who answers what the tasks of a run ask, over Airflow's API."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

from tests.system.airflow_services import DagRun, Question
from tests.system.process_tree import wait_for

#: How old a question is when it is answered. Airflow may lose an answer to a task that does not wait for it yet.
_AGE = timedelta(seconds=10)


def answered(run: DagRun, answers: Mapping[str, str | None] | None = None) -> dict[str, Question]:
    """Answer the questions of a run until it is over; return them by task, that of a mapped one as ``task[0]``.

    :param answers: by task; None for no answer, and others are approved
    """
    asked: dict[str, Question] = {}

    def is_over() -> bool:
        for question in run.questions():
            asked[question.task] = question
            option = (answers or {}).get(question.task, "Approve")
            if option and not question.is_answered and datetime.now(timezone.utc) - question.asked_at > _AGE:
                run.answer(question, option)
        return run.state in ("success", "failed")

    wait_for(is_over, "the end of the run", 900, every=1)
    return asked
