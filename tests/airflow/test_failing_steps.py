"""What a task does after its job has found something: a step that fails hides nothing from the others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airflow_delta_provider import report_store
from airflow_delta_provider.exceptions import DeltaViolationError
from airflow_delta_provider.operators import durable, metrics, reporting
from airflow_delta_provider.operators.check_row_tracking import DeltaCheckRowTrackingOperator
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit
from tests.airflow.test_kept_reports import TABLES, Night

__all__ = ["spark_submit"]


class BrokenError(Exception):
    """What a step fails with."""


def fails(*_: Any, **__: Any) -> Any:
    raise BrokenError("no room")


def shown(error: BaseException, printed: pytest.CaptureFixture[str]) -> bool:
    """Whether the findings of the first table are in the log of the task, to which its error belongs."""
    text = f"{printed.readouterr().out}\n{error}"
    return TABLES[0] in text and "RT15" in text


@pytest.mark.parametrize("step", ["metrics", "kept report", "submission", "receipt"])
def test_task_is_judged_if_a_step_fails_that_nothing_depends_on(
    step: str, spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    night = Night(spark_submit, on_violation="fail")
    if step == "metrics":
        monkeypatch.setattr(metrics.Stats, "incr", fails)
    elif step == "kept report":
        monkeypatch.setattr(report_store, "_packed", fails)
    elif step == "submission":
        monkeypatch.setattr(DeltaCheckRowTrackingOperator, "_forget_submission", fails)
    else:
        monkeypatch.setattr(reporting.Delivery, "pushed", fails)
    with pytest.raises(DeltaViolationError) as raised:
        night.run()
    assert shown(raised.value, capsys)
    assert night.pushed["findings"]["findings"]


@pytest.mark.parametrize("step", ["XCom", "asset events"])
@pytest.mark.parametrize(("on_violation", "ends_with"), [("fail", DeltaViolationError), ("warn", BrokenError)])
def test_task_is_judged_and_logged_before_it_fails_with_a_step_that_others_rely_on(
    step: str,
    on_violation: str,
    ends_with: type[Exception],
    spark_submit: FakeSparkSubmit,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    night = Night(spark_submit, on_violation=on_violation)
    outcomes: list[BaseException | None] = []
    monkeypatch.setattr(reporting.Delivery, "pushed", lambda _, __, outcome: outcomes.append(outcome))
    if step == "XCom":
        night.instance.xcom_push = fails
    else:
        monkeypatch.setattr(reporting, "add_asset_events", fails)
    with pytest.raises(ends_with) as raised:
        night.run()
    assert shown(raised.value, capsys)
    assert [type(outcome) for outcome in outcomes] == [ends_with]
    assert night.operator.kept_report is not None


def test_lineage_that_fails_says_so_in_the_log(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    night = Night(spark_submit)
    night.run()
    monkeypatch.setattr(reporting, "operator_lineage", fails)
    assert night.operator.get_openlineage_facets_on_complete(night.instance) is None
    assert "lineage" in capsys.readouterr().out


def test_report_is_judged_if_the_finished_tables_cannot_be_kept(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(durable, "task_state", lambda _: SimpleNamespace(get=lambda _: None, set=fails))
    monkeypatch.setattr(durable, "is_retryable", lambda _: True)
    night = Night(spark_submit, on_violation="fail")
    with pytest.raises(DeltaViolationError) as raised:
        night.run()
    assert TABLES[0] in str(raised.value)
    assert "could not be saved" in caplog.text
