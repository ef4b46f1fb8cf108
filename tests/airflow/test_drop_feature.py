"""Dropping features: when a task waits, for what, and what it does then; over a fake spark-submit."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred
from airflow.providers.standard.triggers.temporal import DateTimeTrigger

from airflow_delta_provider.exceptions import DeltaRequestError, DeltaRetryableError, DeltaViolationError
from airflow_delta_provider.operators.drop_feature import DeltaDropFeatureOperator
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit
from tests.airflow.test_operators import Run, Store

__all__ = ["spark_submit"]

SOON, LATER = "2199-01-01T00:00:00.000+00:00", "2199-01-02T00:00:00.000+00:00"
#: A report in which some tables wait, and others ended otherwise.
_REPORT = """
from dataclasses import replace
from airflow_delta_provider.domain.checks.protocol.changes import DROP_WAITS
waiting, verdicts = {waiting!r}, {verdicts!r}
def of(t):
    if t in waiting:
        found = replace(DROP_WAITS.found('It waits.'), earliest=waiting[t])
        return TableReport.of_findings(t, found, earliest=waiting[t])
    return TableReport(t, Verdict(verdicts.get(t, 'PASS')), changed=True, retryable=verdicts.get(t) == 'FAULT')
send('report', JobReport(request['kind'], 'then', 'now', tuple(map(of, request['tables'])), {{}}).to_json())
"""


def drop(**arguments: Any) -> DeltaDropFeatureOperator:
    defaults = {"task_id": "t", "features": ["typeWidening"], "delta_jars": "provided", "truncate_history": True}
    return DeltaDropFeatureOperator(**{**defaults, "tables": ["/a", "/b", "/c"], **arguments})


def says(waiting: dict[str, str], **verdicts: str) -> str:
    return _REPORT.format(waiting=waiting, verdicts={f"/{name}": verdict for name, verdict in verdicts.items()})


def test_task_waits_without_a_worker_for_the_last_table_and_then_finishes_those_that_waited(
    spark_submit: FakeSparkSubmit,
) -> None:
    spark_submit.does(says({"/a": LATER, "/c": SOON}))
    run = Run()
    with pytest.raises(TaskDeferred) as caught:
        drop().execute(run.context)
    deferred = caught.value
    assert isinstance(deferred.trigger, DateTimeTrigger)
    assert deferred.trigger.moment == datetime.fromisoformat(LATER)
    waiting = {row["table"]: row.get("earliest") for row in run.pushed["return_value"]["tables"]}
    assert waiting == {"/a": LATER, "/b": None, "/c": SOON}

    spark_submit.does("assert request['tables'] == ['/a', '/c'], request; " + "report()")
    run = Run()
    resumed = getattr(drop(), deferred.method_name)
    summary = resumed(run.context, event=datetime.now(timezone.utc), **deferred.kwargs)
    assert summary == run.pushed["return_value"]
    assert [(row["table"], row["verdict"]) for row in summary["tables"]] == [(t, "PASS") for t in ("/a", "/b", "/c")]
    assert summary["changed"]


@pytest.mark.parametrize("arguments", [{"wait": False}, {"dry_run": True}])
def test_task_that_does_not_wait_says_when_another_run_can_finish(
    spark_submit: FakeSparkSubmit, arguments: dict[str, Any]
) -> None:
    spark_submit.does(says({"/a": LATER}))
    summary = drop(**arguments).execute(Run().context)
    assert summary["verdict"] == "UNDETERMINED"
    assert summary["tables"][0] == {
        "table": "/a",
        "verdict": "UNDETERMINED",
        "version": None,
        "changed": False,
        "findings": 1,
        "earliest": LATER,
    }


def test_time_that_has_come_leaves_the_worker_time_to_report_the_deferral(spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does(says({"/a": "2020-01-01T00:00:00.000+00:00"}))
    with pytest.raises(TaskDeferred) as caught:
        drop().execute(Run().context)
    assert isinstance(caught.value.trigger, DateTimeTrigger)
    left = caught.value.trigger.moment - datetime.now(timezone.utc)
    assert timedelta(seconds=2) < left <= timedelta(seconds=5)


@pytest.mark.parametrize(("verdict", "error"), [("REFUSED", DeltaViolationError), ("FAULT", DeltaRetryableError)])
def test_task_does_not_wait_where_another_table_failed(
    spark_submit: FakeSparkSubmit, verdict: str, error: type[Exception]
) -> None:
    spark_submit.does(says({"/a": LATER}, b=verdict))
    with pytest.raises(error):
        drop().execute(Run().context)


def test_task_waits_for_the_others_where_a_refusal_is_only_warned_of(spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does(says({"/a": LATER}, b="REFUSED"))
    with pytest.raises(TaskDeferred) as caught:
        drop(on_violation="warn").execute(Run().context)
    spark_submit.does("report()")
    summary = drop(on_violation="warn").execute_complete(Run().context, None, **caught.value.kwargs)
    assert summary["counts"] == {"PASS": 2, "REFUSED": 1}


def test_run_after_the_wait_looks_for_what_the_run_before_it_committed(spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does("assert request['retry_since'] is None\n" + says({"/a": LATER}))
    with pytest.raises(TaskDeferred) as caught:
        drop().execute(Run().context)
    spark_submit.does("assert request['retry_since'] is not None\nreport()")
    assert drop().execute_complete(Run().context, None, **caught.value.kwargs)["counts"] == {"PASS": 3}


def test_retry_of_the_run_after_the_wait_does_only_what_failed(spark_submit: FakeSparkSubmit) -> None:
    store = Store()
    spark_submit.does(says({"/a": LATER, "/c": LATER}))
    with pytest.raises(TaskDeferred) as caught:
        drop().execute(Run(store).context)
    spark_submit.does(says({}, c="FAULT"))
    with pytest.raises(DeltaRetryableError):
        drop().execute_complete(Run(store).context, None, **caught.value.kwargs)
    spark_submit.does("assert request['tables'] == ['/c'], request; report()")
    assert drop().execute(Run(store, try_number=2).context)["counts"] == {"PASS": 3}


def test_task_gives_up_waiting_for_a_table_that_never_gets_ready(spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does(says({"/a": LATER}))
    with pytest.raises(TaskDeferred) as caught:
        drop().execute(Run().context)
    for _ in range(2):
        kwargs = caught.value.kwargs
        with pytest.raises(TaskDeferred) as caught:
            drop().execute_complete(Run().context, None, **kwargs)
    assert drop().execute_complete(Run().context, None, **caught.value.kwargs)["verdict"] == "UNDETERMINED"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"features": []}, "features is empty"), ({"allow_rewrite": "perhaps"}, "allow_rewrite has to be True or False")],
)
def test_literal_mistake_is_refused_at_construction(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DeltaRequestError, match=message):
        drop(**arguments)
