"""Every step of a plan can be told, and rendered or told to have no SQL."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.changes.explain import explain
from airflow_delta_provider.domain.changes.sql import render_sql
from airflow_delta_provider.domain.changes.step import Step


@pytest.mark.parametrize("kind", Step.__subclasses__())
def test_step_has_an_explanation_and_says_whether_there_is_sql(kind: type) -> None:
    for function in (explain, render_sql):
        assert function.dispatch(kind) is not function.dispatch(object)
