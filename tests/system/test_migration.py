"""Migrations through a real scheduler: planned, asked about, answered over Airflow's API, applied, verified."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.system.airflow_services import AirflowServices
from tests.system.approver import answered
from tests.system.lake import MIGRATED, ROWS, logged, make_tables, rows
from tests.system.orders_table import orders
from tests.tables import log

pytestmark = pytest.mark.nightly


def example_states(tables: Sequence[str] = ("products", "stock"), *, asked: Sequence[str]) -> dict[str, list[str]]:
    """Return the states of the tasks of ``migrate_lake`` after a run that migrated all tables.

    :param tables: in their order; they are migrated two at a time, products and stock one after the other
    :param asked: tables whose migration somebody was asked about
    """
    waves = 1 if len(tables) == 1 else 2
    states = {f"migrations.before_wave_{number}": ["success"] for number in range(2, waves + 1)}
    for table in tables:
        states |= {f"migrations.{table}.{task}": ["success"] for task in ("plan", "apply", "verify")}
        states[f"migrations.{table}.approve"] = ["success" if table in asked else "skipped"]
    return {**states, "migrations.done": ["success"]}


def migrated_by_example(spark: SparkSession, services: AirflowServices, lake: Path) -> dict[str, Path]:
    """Run ``migrate_lake`` on tables as they are before, check the result, and return the tables."""
    tables = make_tables(spark, lake, ["products", "stock"])
    run = services.trigger("migrate_lake")
    asked = answered(run)
    assert run.states() == example_states(asked=["stock"])
    assert list(asked) == ["migrations.stock.approve"]
    assert "rewrite 2 data files" in asked["migrations.stock.approve"].body
    for name, path in tables.items():
        assert logged(path) == MIGRATED[name]
        assert rows(spark, path) == ROWS[name]
    return tables


def test_example_asks_and_migrates(spark: SparkSession, services: AirflowServices, lake: Path) -> None:
    migrated_by_example(spark, services, lake)


@pytest.mark.soak
def test_example_has_nothing_to_do_in_its_second_run(
    spark: SparkSession, services: AirflowServices, lake: Path
) -> None:
    tables = migrated_by_example(spark, services, lake)
    before = {name: log.contents(path) for name, path in tables.items()}
    run = services.trigger("migrate_lake")
    assert answered(run) == {}
    assert run.states() == example_states(asked=[])
    assert {name: log.contents(path) for name, path in tables.items()} == before


def test_migrations_that_nobody_approves_change_nothing(
    spark: SparkSession, services: AirflowServices, tmp_path: Path
) -> None:
    rejected, approved = orders(spark, tmp_path / "rejected"), orders(spark, tmp_path / "approved")
    before = log.contents(rejected)
    run = services.trigger("unapproved_migrations", tables=[str(rejected), str(approved)])
    answered(
        run,
        {
            "in_window.approve[0]": "Reject",
            "rejected.approve": "Reject",
            "rejected_fails.approve": "Reject",
            "unanswered.approve": None,
        },
    )
    assert run.states() == {
        "tables": ["success"],
        "in_window.plan": ["success", "success"],
        "in_window.approve": ["success", "success"],
        "in_window.quiet_window": ["skipped", "success"],
        "in_window.apply": ["skipped", "success"],
        "in_window.verify": ["skipped", "success"],
        "rejected.plan": ["success"],
        "rejected.approve": ["success"],
        "rejected.apply": ["skipped"],
        "rejected.verify": ["skipped"],
        "rejected_fails.plan": ["success"],
        "rejected_fails.approve": ["failed"],
        "rejected_fails.apply": ["upstream_failed"],
        "rejected_fails.verify": ["upstream_failed"],
        "unanswered.plan": ["success"],
        "unanswered.approve": ["failed"],
        "unanswered.apply": ["upstream_failed"],
        "unanswered.verify": ["upstream_failed"],
    }
    assert log.contents(rejected) == before
    assert log.configuration(approved)["delta.constraints.counted"] == "quantity >= 0"
    assert log.user_metadata(approved, log.newest(approved))["approved_by"] == "Anonymous"
