"""Rows after a rewrite, against those that should be there."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.data_files.files import rewritten_otherwise


def test_same_rows_are_no_finding() -> None:
    assert list(rewritten_otherwise("t", (3, {"a": 1, "b": 2}), (3, {"b": 2, "a": 1}))) == []


def test_another_number_of_rows_and_other_values_are_named() -> None:
    found = list(rewritten_otherwise("t", (3, {"a": 1, "b.c": 2}), (2, {"a": 1, "b.c": 9})))
    assert [(each.code, each.column) for each in found] == [("DF10", None), ("DF10", "`b.c`")]
    assert "have 2 rows instead of 3" in found[0].message
