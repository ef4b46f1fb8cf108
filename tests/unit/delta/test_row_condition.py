"""Conditions on rows: what they need, what they depend on, and which commit brought them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from airflow_delta_provider.domain.audit.file_findings import condition_origins
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.row_condition import ConditionKind, RowCondition, row_conditions
from tests.unit.states import field, metadata_of, struct

COLUMNS = (
    replace(field("id", "long"), nullable=False),
    field("v", "integer"),
    field("at", "timestamp"),
    replace(field("c", "string"), metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}),
    field("day", "date", delta__generationExpression="CAST(at AS DATE)"),
    field("i", "integer", delta__invariants=json.dumps({"expression": {"expression": "i > 3"}})),
    field("odd", "integer", delta__invariants="{}", delta__generationExpression=" "),
)


def conditions(*, writer: int = 4, **constraints: str) -> dict[str, RowCondition]:
    found = row_conditions(of(**constraints), Protocol(1, writer))
    return {condition.holder.split()[-1]: condition for condition in found}


def of(**constraints: str) -> Metadata:
    properties = {f"delta.constraints.{name}": text for name, text in constraints.items()}
    return replace(metadata_of(struct(*COLUMNS)), configuration=properties)


def test_each_condition_is_there_once():
    kinds = {name: condition.kind for name, condition in conditions(positive="v > 0").items()}
    assert kinds == {
        "positive": ConditionKind.CHECK,
        "id": ConditionKind.NOT_NULL,
        "day": ConditionKind.GENERATED,
        "i": ConditionKind.INVARIANT,
    }


@pytest.mark.parametrize(("writer", "known"), [(1, {"id"}), (2, {"id", "i"}), (3, {"id", "i", "positive"})])
def test_condition_of_a_feature_that_is_not_supported_is_none(writer: int, known: set[str]):
    assert conditions(writer=writer, positive="v > 0").keys() == known


@pytest.mark.parametrize(
    ("expression", "columns", "depends"),
    [
        ("v > 0", {"v"}, None),
        ("V > 0 AND `id` > 0", {"v", "id"}, None),
        ("t.v > 0 -- of the table", {"v"}, None),
        ("at > '2020-01-01'", {"at"}, "time zone"),
        ("to_timestamp('2020-01-01') IS NOT NULL", set(), "time zone"),
        ("v < rand()", {"v"}, "rand"),
        ("day < current_date", {"day"}, "current_date"),
        ("c = 'a'", {"c"}, "c compares"),
        ("v / 2 = 1", {"v"}, "divide integers"),
        ("v > 1 AND name <> '/'", {"v"}, None),
    ],
)
def test_columns_and_what_it_depends_on(expression: str, columns: set[str], depends: str | None):
    found = conditions(it=expression)["it"]
    assert found.columns == columns
    assert found.holds == f"({expression}\n)"
    assert found.depends is None if depends is None else depends in str(found.depends)


def test_generated_date_is_surely_wrong_by_two_days():
    found = conditions()["day"]
    assert (found.columns, found.holds) == ({"day", "at"}, "`day` <=> (CAST(at AS DATE)\n)")
    assert "datediff" in str(found.surely_broken)


def commits(*metadata: Metadata) -> list[list[dict[str, Any]]]:
    """Each metadata in a commit, and a file after each."""
    found: list[list[dict[str, Any]]] = []
    for number, each in enumerate(metadata):
        found += [[{"metaData": each.to_json()}], [{"add": {"path": f"{number}", "size": 1}}]]
    return found


def test_condition_is_as_old_as_its_expression():
    history = commits(of(a="v > 0"), of(a="v > 0", b="v > 1"), of(a="v > 2", b="v > 1"), of(b="v > 1"), of(b="v > 1"))
    paths = {"0", "1", "2", "4"}
    for before, since in ((None, 2), (of(b="v > 1"), None)):
        origins = condition_origins(history[2:] if before else history, 2 if before else 0, before, paths)
        condition = conditions(b="v > 1")["b"]
        assert origins.newer(condition, "0") == since
        assert origins.newer(condition, "1") is None
    origins = condition_origins(history[:6], 0, None, paths)
    assert [origins.newer(conditions(a="v > 2")["a"], path) for path in ("0", "1", "2")] == [4, 4, None]
