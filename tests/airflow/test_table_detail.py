"""The detail of tables as other tasks get it, over a fake spark-submit."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.table_detail import DeltaTableDetailOperator
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit
from tests.airflow.test_operators import Run

__all__ = ["spark_submit"]

_REPORT = """
verdicts = {'/gone': Verdict.REFUSED}
tables = tuple(
    TableReport(t, verdicts.get(t, Verdict.PASS), version=7, detail=None if t in verdicts else {'location': t + '/'})
    for t in request['tables']
)
send('report', JobReport(request['kind'], 'then', 'now', tables, {}).to_json())
"""


def detail(**arguments: Any) -> DeltaTableDetailOperator:
    return DeltaTableDetailOperator(task_id="t", delta_jars="provided", **arguments)


def test_details_are_pushed_by_table_beside_the_summary(spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does(_REPORT)
    run = Run()
    summary = detail(tables=["/a", "/gone"], on_violation="warn").execute(run.context)
    assert run.pushed["details"] == {"tables": {"/a": {"version": 7, "location": "/a/"}}, "truncated": False}
    assert run.pushed["return_value"] == summary
    assert summary["counts"] == {"PASS": 1, "REFUSED": 1}


def test_table_is_named_in_one_way() -> None:
    with pytest.raises(DeltaRequestError, match="exactly one"):
        detail()
